"""Two small streams of drawn photos, and a source that notes who looks at which photo: the ground methods are checked on."""

from __future__ import annotations

import copy
import hashlib
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from forget_me_not.models import neck
from forget_me_not.models.backbone import FrozenViT, random_vit
from forget_me_not.models.core import Samples, Stream, Task, TestedTask
from forget_me_not.models.edit import Edit
from forget_me_not.models.encoder import Encoder

EASY = ((0,), (1, 2), (3, 4, 5))
"""Classes of each task of the easy stream: one class, two, three."""
RETURNING = ((0, 1), (1, 0, 2))
"""Classes of the stream whose second task shows two of them again, in another light."""
TRAIN, TEST = (6, 9), (4, 6)
"""Photos a class on either side; classes of even and odd id differ, so that tasks are uneven."""


class Drawn:
    """A photo of class `label`: the class's pattern of coloured squares, a little noise, and in light 1 the negative of it."""

    def __init__(self, label: int, number: int, light: int, size: int):
        pattern = np.random.default_rng([7, label]).uniform(20, 235, (4, 4, 3))
        rng = np.random.default_rng([11, label, number, light])
        pixels = np.kron(pattern, np.ones((8, 8, 1))) * rng.uniform(0.9, 1.1) + rng.normal(0, 12, (32, 32, 3))
        pixels = (255 - pixels if light else pixels).clip(0, 255).astype(np.uint8)
        self.image = Image.fromarray(pixels).resize((size + number % 3, size))
        self.sha = hashlib.sha256(f"{label} {number} {light} {size}".encode()).hexdigest()

    def open(self) -> Image.Image:
        """The photo as upright RGB."""
        return self.image


class WatchedVit(FrozenViT):
    """A frozen ViT that keeps how far the first edit it was ever asked for moved the feature, relative to its size."""

    first_move: float | None = None

    def above(self, h: Tensor, cut: int, edit: Edit | None = None) -> Tensor:
        """As FrozenViT.above."""
        z = super().above(h, cut, edit)
        if edit is not None and self.first_move is None:
            still = super().above(h, cut)
            self.first_move = float((z - still).detach().norm() / still.norm()) if z.shape == still.shape else float("inf")
        return z


class PhotoGuard:
    """A core.Source that notes every look at a photo outside those `only` allows, and how often photos are read.

    Attributes: trespasses: (who, photos, line of code) of each such look; looks: reads since it was last set to 0.
    """

    def __init__(self, encoder: Encoder, file: str = ""):
        self.encoder, self.vit, self.file = encoder, encoder.vit, file
        self.trespasses: list[tuple[str, int, str]] = []
        self.looks = 0
        self._allowed: Tensor | None = None
        self._who = ""

    @contextmanager
    def only(self, index: Tensor, who: str) -> Iterator[None]:
        """While this lasts, `who` may look at the photos `index` and at no others."""
        before = self._allowed, self._who
        self._allowed, self._who = index, who
        try:
            yield
        finally:
            self._allowed, self._who = before

    def encode(self, index: Tensor, cut: int, edit: Edit | None = None) -> Iterator[int]:
        """As the encoder."""
        self._look(index)
        yield from self.encoder.encode(index, cut, edit)

    def get(self, index: Tensor, cut: int, edit: Edit | None = None) -> Tensor:
        """As the encoder."""
        self._look(index)
        return self.encoder.get(index, cut, edit)

    def _look(self, index: Tensor) -> None:
        self.looks += 1
        if self._allowed is None:
            return
        foreign = int((~torch.isin(index.cpu(), self._allowed.cpu())).sum())
        if foreign:
            self.trespasses.append((self._who, foreign, line_in(self.file, traceback.extract_stack())))


def line_in(file: str, stack: traceback.StackSummary) -> str:
    """The place in `file` of the innermost frame of `stack`, as " (line 37 of my_method.py)"; "" where there is none."""
    lines = [frame.lineno for frame in stack if frame.filename == file]
    return f" (line {lines[-1]} of {file.rsplit('/', 1)[-1]})" if lines else ""


@dataclass(frozen=True)
class Ground:
    """A stream, the guarded source of its photos and the ViT beneath."""

    stream: Stream
    source: PhotoGuard
    vit: WatchedVit

    def upto(self, tasks: int) -> Stream:
        """The stream's first tasks."""
        return Stream(self.stream.tasks[:tasks], self.stream.classes, self.stream.kind)

    def seen(self, tasks: int) -> Tensor:
        """(N,) classes of the first `tasks` tasks."""
        return torch.tensor(sorted({c for tested in self.stream.tasks[:tasks] for c in tested.task.classes}))

    def tested(self, tasks: int) -> Tensor:
        """(N,) test photos of the first `tasks` tasks, sorted by class."""
        both = Samples.union([tested.test for tested in self.stream.tasks[:tasks]])
        return both.index[both.labels.argsort(stable=True)]


def ground(tasks: Sequence[Sequence[int]], *, patch: int, layer_scale: float | None, device: str = "cpu",
           file: str = "") -> Ground:  # fmt: skip
    """A fresh ViT (3 blocks, 64 wide) with a neck and a stream over drawn photos whose features are all ready.

    file: the method's source file, to name the line that looks where it should not.
    """
    plain = _plain(patch, layer_scale)
    vit = WatchedVit(copy.deepcopy(plain.network), plain.name, plain.mean, plain.std, _neck(patch, layer_scale)).to(device)
    photos, parts = [], []
    for t, classes in enumerate(tasks):
        light = int(any(c in earlier for earlier in tasks[:t] for c in classes))
        sides: tuple[list[tuple[int, int]], ...] = ([], [])  # (photo, label) to train and to test
        for label in classes:
            for number in range(TRAIN[label % 2] + TEST[label % 2]):
                sides[number >= TRAIN[label % 2]].append((len(photos), label))
                photos.append(Drawn(label, number, light, vit.size))
        parts.append((tuple(classes), sides))
    source = PhotoGuard(Encoder(vit, _Photos(tuple(photos))), file)

    def samples(pairs: list[tuple[int, int]]) -> Samples:
        return Samples(source, *torch.tensor(pairs).unbind(1))

    tested = tuple(
        TestedTask(Task(t, f"task {t + 1}", classes, samples(train)), samples(test))
        for t, (classes, (train, test)) in enumerate(parts)
    )
    names = tuple(f"class {c}" for c in range(1 + max(c for part in tasks for c in part)))
    return Ground(Stream(tested, names, "class" if len(names) == sum(map(len, tasks)) else "domain"), source, vit)


@dataclass(frozen=True)
class _Photos:
    photos: tuple[Drawn, ...]


@cache
def _plain(patch: int, layer_scale: float | None) -> FrozenViT:
    return random_vit(patch=patch, layer_scale=layer_scale, seed=3)  # a draw that sees the classes apart; not every one does


@cache
def _neck(patch: int, layer_scale: float | None) -> tuple[Tensor, Tensor]:
    """A random ViT's features differ little from photo to photo: whitening with drawn photos makes them healthy."""
    vit = _plain(patch, layer_scale)
    photos = [Drawn(label, 100 + number, light, vit.size) for label in range(20, 60) for number in range(3) for light in (0, 1)]
    with torch.no_grad():
        return neck.fit(vit.encode(torch.stack([vit.preprocess(p.open()) for p in photos])))
