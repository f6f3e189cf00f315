"""From a protocol to the tasks of a run: drawn by seed, of given sizes, or along the split a benchmark is published with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forget_me_not.models import stream
from forget_me_not.models.images import ImageSet


@dataclass(frozen=True)
class Protocol:
    """Which photos, cut into which tasks, seen through which backbone.

    folder: below the suite's folder of images ("" = that folder itself); only: the part of it that is used, e.g. one
    domain; per_task: classes a task, or the sizes of all tasks; train, test: photos a class at most (None = all there
    are); order: None = class order drawn by each run's seed, "given" = as the classes are named, a number = the
    permutation numpy's old generator draws from it, as the papers' code does; split: DIR/train and DIR/test are given.
    """

    name: str
    folder: str = ""
    only: str = ""
    domains: bool = False
    per_task: int | tuple[int, ...] | None = 4
    train: int | None = 20
    test: int | None = 10
    backbone: str = "starter"
    size: int = 112
    neck: str = "auto"
    order: int | str | None = None
    split: bool = False


SPLIT = ("train", "test")


def cut(protocol: Protocol, data: ImageSet, seed: int) -> stream.Plan:
    """The stream of one run. Problems: those of stream.plan."""
    photos = data.photos
    if protocol.split:
        return _published(protocol, data, seed)
    sizes = protocol.per_task
    return stream.plan(
        [p.label for p in photos], [p.group for p in photos], domains=[p.domain for p in photos] if protocol.domains else None,
        tasks=_groups(_order(protocol, data.classes, seed), sizes) if isinstance(sizes, tuple) else None,
        per_task=sizes if isinstance(sizes, int) else None, by_domain=protocol.domains, seed=seed,
        train_per_class=protocol.train, test_per_class=protocol.test,
    )  # fmt: skip


def _published(protocol: Protocol, data: ImageSet, seed: int) -> stream.Plan:
    """Tasks along a given split: every photo keeps its side, only the order of classes is drawn."""
    order = _order(protocol, data.classes, seed)
    of = {name: i for i, name in enumerate(order)}
    labels = tuple(of[p.label] for p in data.photos)
    sides = {side: [i for i, p in enumerate(data.photos) if p.domain == side] for side in SPLIT}
    tasks = []
    for number, names in enumerate(_groups(order, protocol.per_task or 1), 1):
        classes = {of[name] for name in names}
        train, test = (tuple(i for i in sides[side] if labels[i] in classes) for side in SPLIT)
        tasks.append(stream.PlannedTask(f"task {number}", tuple(sorted(classes)), train, test))
    return stream.Plan(tuple(order), tuple(tasks), labels)


def _order(protocol: Protocol, classes: Sequence[str], seed: int) -> list[str]:
    if protocol.order == "given":
        return list(classes)
    draw = np.random.RandomState(seed if protocol.order is None else int(protocol.order))
    return [classes[i] for i in draw.permutation(len(classes))]


def _groups(order: Sequence[str], sizes: int | tuple[int, ...]) -> list[list[str]]:
    """Classes in tasks of one size (the last may be smaller), or of the given sizes."""
    given = isinstance(sizes, tuple)
    ends = np.cumsum(sizes).tolist() if given else [min(end, len(order)) for end in range(sizes, len(order) + sizes, sizes)]
    return [list(order[begin:end]) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
