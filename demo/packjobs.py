"""Runs of starter packs in the worker: ready features instead of photos, so no backbone and no download, and task 1 watched.

While a task is learnt the learner's weights of that very step answer the test photos of task 1 (a second learner of the same
kind takes them over and only predicts). At the end of a task the answers are those the engine has judged and kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from forget_me_not.demo.request import Request
from forget_me_not.demo.watch import Mark
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.cache import Cache
from forget_me_not.models.core import Batch, Method, Samples, Source, Stream
from forget_me_not.models.encoder import FeatureTable, TableVit
from forget_me_not.models.events import Evaluated, Event, Step
from forget_me_not.models.experiment import follow
from forget_me_not.models.images import ImageSet, InMemory, Photo
from forget_me_not.models.packs.load import Pack, load, thumb_name
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder
from forget_me_not.models.stream import Plan

LOOKS = 12
"""Looks at task 1 while a task is learnt, evenly spread over its steps."""


@dataclass(frozen=True)
class PackRequest(Request):
    """A run of the pack called `pack`; everything else about its photos and tasks comes from there."""

    pack: str = ""

    @property
    def owner(self) -> str:
        """Nobody's: whoever looks starts one, and none waits for another's."""
        return self.training

    @property
    def needs_backbone(self) -> bool:
        """Its features are ready."""
        return False

    @cached_property
    def loaded(self) -> Pack:
        """The pack; Problem("pack_unknown")."""
        return load(self.pack)

    @property
    def photos_key(self) -> str:
        """The pack's own."""
        return self.project

    @cached_property
    def images(self) -> ImageSet:
        """The shipped pictures under the hashes that run.json keeps."""
        pack = self.loaded
        photos = tuple(Photo(thumb_name(i), label, "", pack.shas[i], 0, InMemory(pack.thumb(i)), i)
                       for i, label in enumerate(pack.labels))  # fmt: skip
        return ImageSet(photos, pack.classes)

    @cached_property
    def plan(self) -> Plan:
        """The pack's tasks, split by the run's seed."""
        return self.loaded.plan(self.seed)

    def source(self, vit: Callable[[], FrozenViT], cache: Cache) -> FeatureTable:
        """The shipped features; no backbone is asked for."""
        return self.loaded.source()

    def photo(self, sha: str | None) -> Photo:
        """As shipped; Problem("photo_unknown")."""
        if sha not in self.loaded.shas:
            raise Problem("photo_unknown")
        return self.images.photos[self.loaded.shas.index(sha)]

    def alone(self, photo: Photo, vit: FrozenViT | TableVit) -> tuple[Source, Tensor]:
        """The shipped features where the photo is the pack's; the shipped pictures are too small to make them again."""
        if photo.sha not in self.loaded.shas:
            return super().alone(photo, vit)
        return self.loaded.source(), torch.tensor([self.loaded.shas.index(photo.sha)])

    def facts(self, vit: TableVit) -> dict[str, Any]:
        """As of photos, with the pack's name."""
        return {"backbone": vit.name, "size": self.loaded.about["backbone"]["size"], "project": self.project, "pack": self.pack}

    def events(self, stream: Stream, folder: RunFolder, stop: Callable[[], bool]) -> Iterator[Event | None]:
        """The run's events; beside them watch.jsonl gets a Mark a line."""
        vit = stream.tasks[0].test.source.vit
        learner, mirror = self.learner(vit), self.learner(vit)
        watcher = Watcher(self, stream, folder)
        for event in follow(stream, learner, self.method, self.seed, folder, stop):
            if isinstance(event, Step):
                watcher.look(event, learner, mirror)
            elif isinstance(event, Evaluated):
                watcher.judged(event)
            yield event


class Watcher:
    """Writes how task 1 does into the run's folder."""

    def __init__(self, request: PackRequest, stream: Stream, folder: RunFolder):
        pack, plan = request.loaded, request.plan
        self.path, self.folder, self.classes = folder.path / "watch.jsonl", folder, stream.classes
        self.tested: Samples = stream.tasks[0].test
        self.memory = list(pack.memory(plan))
        self.truth = [pack.labels[photo] for photo in self.memory]
        self._last = 0

    def look(self, event: Step, learner: Method, mirror: Method) -> None:
        """A look in the middle of a task, where the method can be looked at and one is due."""
        due, first = event.step * LOOKS // event.steps, event.step == 1
        if event.step == event.steps or (due == self._last and not first):
            return
        self._last = due
        state = learner.so_far() if hasattr(learner, "so_far") else {}
        if not state:
            return
        mirror.load_state_dict(state)
        with torch.no_grad():
            said = mirror.predict(Batch(self.tested.source, self.tested.index, mirror.reads)).logits.argmax(-1).cpu()
        self._write(event.task, event.step, event.steps, self.tested.index, self.tested.labels, said)

    def judged(self, event: Evaluated) -> None:
        """The end of a task, from the answers the engine keeps."""
        answers = self.folder.answers(event.task)
        first = answers["task"] == 0
        self._write(event.task, 1, 1, answers["photo"][first], answers["label"][first], answers["class"][first])

    def _write(self, task: int, step: int, steps: int, photos: Tensor, labels: Tensor, said: Tensor) -> None:
        place: dict[int, Any] = {photo: at for at, photo in enumerate(photos.tolist())}
        says = [self.classes[int(said[place[photo]])] for photo in self.memory]
        mark = Mark(task, step, steps, int((said == labels).sum()), len(labels), says, self.truth)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(vars(mark), ensure_ascii=False) + "\n")
