"""Labelled photos -> a sequence of tasks with a training and a test side: class-, domain- and task-incremental streams.

The class order is drawn by `random.Random`, whose draws are the same on every platform; the split is drawn in split.py.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from forget_me_not.models.problem import Problem
from forget_me_not.models.split import Sides, Size, split

if TYPE_CHECKING:
    from forget_me_not.models.core import Source, Stream

Kind = Literal["class", "domain", "task"]

CLASSES_PER_TASK = 2
"""Where nothing says how to make tasks."""
FEW_TEST_PHOTOS = 10
"""Below this the count of test photos is shown beside every accuracy."""


@dataclass(frozen=True)
class Note:
    """Something to say about a plan that is no error: demo/text holds the sentence of "note.<code>"."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PlannedTask:
    """One task: its class ids in order, and the positions of its training and test photos in the data set."""

    name: str
    classes: tuple[int, ...]
    train: tuple[int, ...]
    test: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """A stream as plain data. classes: names by class id, in order of first appearance in the stream.

    labels: class id of each photo of the data set, -1 where no task has its class.
    notes: "one_group" (photos), "short" (train, test), "few_test" (photos), each also with name, task (from 1), task_name.
    """

    classes: tuple[str, ...]
    tasks: tuple[PlannedTask, ...]
    labels: tuple[int, ...]
    kind: Kind = "class"
    notes: tuple[Note, ...] = ()


def plan(
    labels: Sequence[str],
    groups: Sequence[int],
    *,
    domains: Sequence[str] | None = None,
    tasks: Sequence[Sequence[str]] | None = None,
    names: Sequence[str] | None = None,
    per_task: int | None = None,
    by_domain: bool = False,
    kind: Kind = "class",
    seed: int = 0,
    train_per_class: int | None = None,
    test_per_class: int | None = None,
    test_share: float = 1 / 3,
) -> Plan:
    """The stream of tasks over photos with class `labels` (N,) and burst or duplicate `groups` (N,).

    Tasks: `tasks` lists the classes of each and keeps its order; `per_task` fills tasks of that size (the last may be
    smaller) with the classes in an order drawn by seed; neither: as `per_task=2`. With `by_domain` the things in a task
    are domains, never shuffled: one a task unless `tasks` or `per_task` say otherwise; classes recur, and kind "class"
    becomes "domain".

    Split: per task and class by seed; photos of a group stay on one side over the whole data set, and every class of
    a task has a photo on either side. The test side is `test_per_class` photos or `test_share` of them, less where
    `train_per_class` needs them; photos beyond a given number are left out, and where there are too few the two sides
    shrink alike (note "short"). The test photos of a seed do not depend on `train_per_class` as long as there are enough.
    A class whose photos are all one group is split in time instead: the last are the test (note "one_group").

    Problem: class_too_small, class_unknown, class_twice, and others a person can repair.
    """
    if not len(labels):
        raise Problem("stream_empty")
    for option, value in (("per_task", per_task), ("train_per_class", train_per_class), ("test_per_class", test_per_class)):
        if value is not None and value < 1:
            raise Problem("count_bad", name=option, value=value)
    if not 0 < test_share < 1:
        raise Problem("share_bad", value=test_share)
    if by_domain and domains is None:
        raise Problem("no_domains")
    parts = _parts(domains if by_domain else labels, tasks, per_task, by_domain, seed)
    if names is not None and len(names) != len(parts):
        raise Problem("names_count", names=len(names), tasks=len(parts))

    task_of = {unit: t for t, part in enumerate(parts) for unit in part}
    cells: dict[tuple[int, str], list[int]] = {}  # photos of each task and class
    for photo, unit in enumerate(domains if by_domain else labels):
        if unit in task_of:
            cells.setdefault((task_of[unit], labels[photo]), []).append(photo)
    rank = {name: r for r, name in enumerate(dict.fromkeys(labels) if by_domain else task_of)}
    order = sorted(cells, key=lambda cell: (cell[0], rank[cell[1]]))
    ids = {name: c for c, name in enumerate(dict.fromkeys(name for _, name in order))}
    order.sort(key=lambda cell: (cell[0], ids[cell[1]]))
    named = names or [_title(part) for part in parts]

    where = {(t, name): {"name": name, "task": t + 1, "task_name": named[t]} for t, name in order}
    size = Size(train_per_class, test_per_class, test_share)
    sides = split({cell: cells[cell] for cell in order}, groups, size, where, seed)
    planned = []
    for t, name in enumerate(named):
        mine = [cell for cell in order if cell[0] == t]
        train = tuple(p for cell in mine for p in sides[cell].train)
        test = tuple(p for cell in mine for p in sides[cell].test)
        planned.append(PlannedTask(name, tuple(ids[c] for _, c in mine), train, test))
    inside = {p for photos in cells.values() for p in photos}
    known = tuple(ids[name] if p in inside else -1 for p, name in enumerate(labels))
    notes = tuple(note for cell in order for note in _notes(sides[cell], size, where[cell]))
    return Plan(tuple(ids), tuple(planned), known, "domain" if by_domain and kind == "class" else kind, notes)


def build(plan: Plan, source: Source) -> Stream:
    """The plan's photos as tasks of samples over `source`, whose photo n is the plan's photo n."""
    import torch  # here, so that who only plans (the page) does not wait for it

    from forget_me_not.models.core import Samples, Stream, Task, TestedTask

    def samples(photos: Sequence[int]) -> Samples:
        return Samples(source, torch.tensor(photos, dtype=torch.long), torch.tensor([plan.labels[p] for p in photos]))

    return Stream(
        tuple(TestedTask(Task(t, p.name, p.classes, samples(p.train)), samples(p.test)) for t, p in enumerate(plan.tasks)),
        plan.classes,
        plan.kind,
    )


def _parts(
    units: Sequence[str], tasks: Sequence[Sequence[str]] | None, per_task: int | None, by_domain: bool, seed: int
) -> list[list[str]]:
    """The classes (or domains) of each task, in order."""
    known = list(dict.fromkeys(units))
    if tasks is None:
        if not by_domain:
            Random(f"{seed} order").shuffle(known)
        size = per_task or (1 if by_domain else CLASSES_PER_TASK)
        return [known[i : i + size] for i in range(0, len(known), size)]
    if per_task is not None:
        raise Problem("tasks_twice")
    if not tasks:
        raise Problem("no_tasks")
    first: dict[str, int] = {}
    for t, part in enumerate(tasks, 1):
        if not part:
            raise Problem("task_empty", task=t)
        for name in part:
            if name not in known:
                raise Problem("domain_unknown" if by_domain else "class_unknown", name=name, near=", ".join(_near(name, known)))
            if name in first:
                raise Problem("class_twice", name=name, first=first[name], second=t)
            first[name] = t
    return [list(part) for part in tasks]


def _near(name: str, known: Sequence[str]) -> list[str]:
    """The known names someone who wrote `name` may have meant; the first few where none is like it."""
    lower = {k.lower(): k for k in known}
    return [lower[k] for k in difflib.get_close_matches(name.lower(), lower, 3, 0.5)] or list(known[:8])


def _title(part: Sequence[str]) -> str:
    """A task's name made of its classes."""
    return ", ".join(part) if len(part) <= 4 else f"{part[0]} … {part[-1]}"


def _notes(sides: Sides, size: Size, where: Mapping[str, Any]) -> Iterator[Note]:
    """What to say about the photos of one class in one task."""
    train, test = len(sides.train), len(sides.test)
    if sides.in_time:
        yield Note("one_group", {**where, "photos": train + test})
    if train < (size.train or 0) or test < (size.test or 0):
        yield Note("short", {**where, "train": train, "test": test})
    if test < FEW_TEST_PHOTOS:
        yield Note("few_test", {**where, "photos": test})
