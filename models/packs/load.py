"""A shipped pack as it is on disk: classes, tasks, words, pictures, measured levels; and its features as a source of a run.

    assets/packs/NAME/pack.json             what the pack is, and what was measured on it
                      features.safetensors  "rows" (N, D) float32: z = neck(final [CLS]) of the backbone named in pack.json
                      thumbs.zip            0000.webp … of every photo, stored, SIDE pixels

Only `Pack.source` and `Pack.features` import torch.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forget_me_not.models.problem import Problem
from forget_me_not.models.stream import Plan, plan

if TYPE_CHECKING:
    from torch import Tensor

    from forget_me_not.models.encoder import FeatureTable

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "packs"
FORMAT = 1
MEMORY = 4
ABOUT, FEATURES, THUMBS = "pack.json", "features.safetensors", "thumbs.zip"

Words = Mapping[str, str]
"""A text by language, "en" and "ja"."""


@dataclass(frozen=True)
class PackTask:
    """One task of a pack: its name in run files, its title to show, the names of its classes."""

    name: str
    title: Words
    classes: tuple[str, ...]


@dataclass(frozen=True)
class Pack:
    """A starter pack. Photos are numbered 0 to N - 1, class after class."""

    folder: Path
    about: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of its folder and in every command."""
        return self.about["name"]

    @property
    def title(self) -> Words:
        """What people call it."""
        return self.about["title"]

    @property
    def line(self) -> Words:
        """One sentence about it."""
        return self.about["line"]

    @property
    def captions(self) -> Mapping[str, Words]:
        """Class name -> what to write below its photos."""
        return self.about["captions"]

    @cached_property
    def tasks(self) -> tuple[PackTask, ...]:
        """The tasks in the order of learning."""
        return tuple(PackTask(t["name"], t["title"], tuple(t["classes"])) for t in self.about["tasks"])

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes in the order of learning; a class id of `plan` is a place in it."""
        return tuple(name for task in self.tasks for name in task.classes)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """(N,) the class of every photo."""
        return tuple(name for name, photos in self.about["photos"].items() for _ in range(photos))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def fingerprint(self) -> str:
        """The backbone, neck and preprocessing that made the features."""
        return self.about["backbone"]["fingerprint"]

    @property
    def seed(self) -> int:
        """The seed of the split and of the first run on show."""
        return self.about["seed"]

    @property
    def levels(self) -> Mapping[str, Any]:
        """What each method reached over many seeds: see measure.py."""
        return self.about["levels"]

    def plan(self, seed: int | None = None, **options: Any) -> Plan:
        """The stream of the pack's tasks, split by `seed`; `options` of stream.plan may replace its tasks or counts."""
        given = {"train_per_class": self.about["train_per_class"], "test_per_class": self.about["test_per_class"], **options}
        if not {"tasks", "per_task"} & set(options):
            given |= {"tasks": [t.classes for t in self.tasks], "names": [t.name for t in self.tasks]}
        return plan(self.labels, range(len(self)), seed=self.seed if seed is None else seed, **given)

    def memory(self, plan: Plan) -> tuple[int, ...]:
        """The memory photos of a plan: the first test photos of each class of its first task, four in all, never chosen ones."""
        task = plan.tasks[0]
        of = {c: [p for p in task.test if plan.labels[p] == c] for c in task.classes}
        rounds = -(-MEMORY // len(of))
        return tuple(photos[n] for n in range(rounds) for photos in of.values() if n < len(photos))[:MEMORY]

    def cover(self) -> tuple[int, ...]:
        """Four photos that stand for the pack: the first of the first class of each task, of the first four tasks."""
        return tuple(self.labels.index(task.classes[0]) for task in self.tasks[:4])

    # Pictures

    @cached_property
    def _thumbs(self) -> tuple[bytes, ...]:
        try:
            with zipfile.ZipFile(self.folder / THUMBS) as file:
                return tuple(file.read(thumb_name(i)) for i in range(len(self)))
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise Problem("pack_broken", name=self.name, file=THUMBS) from error

    def thumb(self, photo: int) -> bytes:
        """The WebP file of a photo, `about["thumb"]` pixels square. Problem pack_broken."""
        return self._thumbs[photo]

    @cached_property
    def shas(self) -> tuple[str, ...]:
        """(N,) sha256 of every photo's shipped picture: what run.json keeps of the data set."""
        return tuple(hashlib.sha256(data).hexdigest() for data in self._thumbs)

    # Features

    def features(self) -> Tensor:
        """(N, D) float32. Problem pack_broken."""
        from forget_me_not.models.disk import Damaged
        from forget_me_not.models.packed import unpack

        try:
            tensors, metadata = unpack(self.folder / FEATURES)
            if metadata["fingerprint"] != self.fingerprint or len(tensors["rows"]) != len(self):
                raise Damaged("not the features of this pack")
        except (OSError, KeyError, Damaged) as error:
            raise Problem("pack_broken", name=self.name, file=FEATURES) from error
        return tensors["rows"].float()

    def source(self) -> FeatureTable:
        """The features as a source: every method that reads only the final [CLS] runs on it, with no backbone at all."""
        from forget_me_not.models.encoder import FeatureTable

        return FeatureTable(self.features(), self.fingerprint, self.about["backbone"]["name"])


def thumb_name(photo: int) -> str:
    """Its name in the zip."""
    return f"{photo:04d}.webp"


def names(folder: Path = FOLDER) -> tuple[str, ...]:
    """The shipped packs, the one to begin with first."""
    found = sorted(file.parent.name for file in folder.glob(f"*/{ABOUT}"))
    return tuple(sorted(found, key=lambda name: name != "toybox"))


def load(name: str, folder: Path = FOLDER) -> Pack:
    """The pack called `name`. Problems: pack_unknown, pack_broken."""
    if name not in names(folder):
        raise Problem("pack_unknown", name=name, known=", ".join(names(folder)))
    try:
        about = json.loads((folder / name / ABOUT).read_bytes())
        if about["format"] > FORMAT or about["name"] != name:
            raise ValueError("not this pack")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Problem("pack_broken", name=name, file=ABOUT) from error
    return Pack(folder / name, about)
