"""What the page asked the worker for: one run's photos, classes, tasks, method and seed, as they lie in its folder."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from forget_me_not.demo.disk import read_json
from forget_me_not.models import registry
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.cache import Cache
from forget_me_not.models.core import Method, Source, Stream
from forget_me_not.models.encoder import Encoder
from forget_me_not.models.events import Event
from forget_me_not.models.experiment import conduct, facts
from forget_me_not.models.images import ImageSet, OnDisk, Photo
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder
from forget_me_not.models.stream import Plan, build, plan

RUN_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Request:
    """What the page asked for, as it lies in the run's folder: the photos, classes and tasks of that moment, method and seed.

    classes: {"key", "name"}; the key is what the split is drawn from, the name is shown. tasks: {"name", "classes": keys} or, for
    domains, {"name", "domain"}. photos: {"sha", "ext", "name", "class": key, "domain", "phash"} in the order they are read;
    those a camera took also "burst".
    """

    folder: Path
    project: str
    training: str
    created: float
    method: str
    settings: Mapping[str, Any]
    seed: int
    kind: str
    classes: tuple[Mapping[str, str], ...]
    tasks: tuple[Mapping[str, Any], ...]
    photos: tuple[Mapping[str, Any], ...]

    @classmethod
    def read(cls, folder: Path) -> Request:
        """The request in a run's folder; Problem("run_unknown") where there is none."""
        data = read_json(folder / "request.json")
        if not isinstance(data, dict) or not RUN_ID.fullmatch(folder.name):
            raise Problem("run_unknown")
        kind = cls
        if "pack" in data:
            from forget_me_not.demo.packjobs import PackRequest  # it builds on this file

            kind = PackRequest
        elif "study" in data:
            from forget_me_not.demo.plasticjobs import PlasticRequest

            kind = PlasticRequest
        names = {f.name for f in dataclasses.fields(kind)} - {"folder"}
        return kind(folder, **{k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in names})

    @property
    def needs_backbone(self) -> bool:
        """Whether it must wait for the backbone."""
        return True

    @property
    def owner(self) -> str:
        """Whose training it is: of one project's trainings one is learnt at a time."""
        return self.project

    @property
    def behind(self) -> float:
        """Seconds of turns it counts as used up at its start: those that start with it go first."""
        return 0.0

    @property
    def shelf(self) -> Path:
        """The folder the project's photos lie in."""
        return self.folder.parent.parent / "projects" / self.project / "photos"

    @cached_property
    def photos_key(self) -> str:
        """The same for two requests over the same photos."""
        return hashlib.sha256(json.dumps([self.project, self.photos], sort_keys=True).encode()).hexdigest()

    @cached_property
    def images(self) -> ImageSet:
        """The photos as `images.read` of the same files would give them."""
        return ImageSet.of(Photo(p["name"], p["class"], p["domain"], p["sha"], int(p["phash"], 16),
                                 OnDisk(self.shelf / f"{p['sha']}.{p['ext']}"), burst=p.get("burst", ""))
                           for p in self.photos)  # fmt: skip

    @cached_property
    def shown(self) -> Mapping[str, str]:
        """Class key -> name."""
        return {c["key"]: c["name"] for c in self.classes}

    @cached_property
    def plan(self) -> Plan:
        """The stream of tasks; Problem where these photos do not make one."""
        photos = self.images.photos
        labels, groups = [p.label for p in photos], [p.group for p in photos]
        names = [t["name"] for t in self.tasks]
        if self.kind == "domain":
            return plan(labels, groups, domains=[p.domain for p in photos], tasks=[[t["domain"]] for t in self.tasks],
                        names=names, by_domain=True, seed=self.seed)  # fmt: skip
        return plan(labels, groups, tasks=[t["classes"] for t in self.tasks], names=names, kind=self.kind, seed=self.seed)

    def stream(self, source: Source) -> Stream:
        """The tasks over encoded photos, classes by the names people see."""
        stream = build(self.plan, source)
        return dataclasses.replace(stream, classes=tuple(self.shown.get(key, key) for key in stream.classes))

    @cached_property
    def complete(self) -> dict[str, Any]:
        """All settings, those asked for over the defaults; Problem where one is wrong."""
        return registry.card(self.method).read(self.settings)

    def learner(self, vit: FrozenViT) -> Method:
        """A new learner with these settings."""
        return registry.card(self.method).learner(vit, **self.complete)

    def source(self, vit: Callable[[], FrozenViT], cache: Cache) -> Source:
        """Where the photos' activations come from. vit: the backbone, or Problem("backbone_away")."""
        return Encoder(vit(), self.images, cache)

    def photo(self, sha: str | None) -> Photo:
        """The photo with this hash; Problem("photo_unknown")."""
        found = next((p for p in self.photos if p["sha"] == sha), None)
        if found is None:
            raise Problem("photo_unknown")
        source = OnDisk(self.shelf / f"{sha}.{found['ext']}")
        return Photo(found["name"], found["class"], found["domain"], found["sha"], int(found["phash"], 16), source)

    def alone(self, photo: Photo, vit: FrozenViT) -> tuple[Source, Tensor]:
        """A source that has this photo, and its place there (1,)."""
        return Encoder(vit, ImageSet.of([photo])), torch.tensor([0])

    def facts(self, vit: FrozenViT) -> dict[str, Any]:
        """What run.json says beyond photos, tasks and settings."""
        return {"backbone": vit.name, "size": vit.size, "project": self.project}

    def record(self, vit: FrozenViT) -> dict[str, Any]:
        """What run.json holds."""
        photos = [p.sha for p in self.images.photos]
        return facts(self.method, self.complete, self.seed, self.plan, photos, vit.fingerprint, **self.facts(vit))

    def events(self, stream: Stream, folder: RunFolder, stop: Callable[[], bool]) -> Iterator[Event | None]:
        """The run's events, each in the folder before anyone hears of it."""
        yield from conduct(stream, self.method, self.complete, self.seed, folder, stop)

    def check(self) -> None:
        """Nothing, or the Problem that starting would run into."""
        _ = self.complete
        try:
            _ = self.plan
        except Problem as problem:
            raise self.named(problem) from None

    def named(self, problem: Problem) -> Problem:
        """The same problem with its class by the name people see: a key would puzzle who has renamed it."""
        key = problem.values.get("name")
        named = {"name": self.shown[key]} if key in self.shown else {}
        return Problem(problem.code, **{**problem.values, **named})
