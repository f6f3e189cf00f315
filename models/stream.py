"""Labelled photos -> a sequence of tasks with a training and a test side: class-, domain- and task-incremental streams.

Everything is drawn by `random.Random`, whose draws are the same on every platform, from the seed and the name of what is
drawn: the split of a class depends on neither the order of the tasks nor the other classes.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from forget_me_not.models.core import Problem

if TYPE_CHECKING:
    from forget_me_not.models.core import Source, Stream

Kind = Literal["class", "domain", "task"]

CLASSES_PER_TASK = 2
"""Where nothing says how to make tasks."""
FEW_TEST_PHOTOS = 10
"""Below this the count of test photos is shown beside every accuracy."""
REPAIRS = 1000
"""Flips of group sides tried before groups that tie classes together are called a problem."""


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
    notes: "few_test" (name, task, photos), "one_group" (name, task, photos), "short" (name, task, train, test).
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
    are domains, never shuffled: one a task unless `tasks` or `per_task` say otherwise; classes recur, kind is "domain".

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
    named = names or [_title(part) for part in parts]

    wanted = {cell: _wanted(len(cells[cell]), train_per_class, test_per_class, test_share) for cell in order}
    sides, notes = _split({cell: cells[cell] for cell in order}, groups, wanted, named, seed)
    planned = []
    for t, name in enumerate(named):
        mine = [cell for cell in order if cell[0] == t]
        train = tuple(p for cell in mine for p in sides[cell][0])
        test = tuple(p for cell in mine for p in sides[cell][1])
        planned.append(PlannedTask(name, tuple(ids[c] for _, c in mine), train, test))
    for cell in order:
        train, test = map(len, sides[cell])
        where = {"name": cell[1], "task": cell[0] + 1, "task_name": named[cell[0]]}
        if (train_per_class and train < train_per_class) or (test_per_class and test < test_per_class):
            notes.append(Note("short", {**where, "train": train, "test": test}))
        if test < FEW_TEST_PHOTOS:
            notes.append(Note("few_test", {**where, "photos": test}))
    inside = {p for photos in cells.values() for p in photos}
    known = tuple(ids[name] if p in inside else -1 for p, name in enumerate(labels))
    return Plan(tuple(ids), tuple(planned), known, "domain" if by_domain else kind, tuple(notes))


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


@dataclass(frozen=True)
class _Wanted:
    """How many photos of one class of a task go where: test photos aimed at and allowed, and what is kept of each side."""

    test: int
    low: int
    high: int
    keep_train: int | None
    keep_test: int | None


def _wanted(photos: int, train: int | None, test: int | None, share: float) -> _Wanted:
    """Aim: `test` photos, or `share`; where `train` and `test` together ask for too many, in their proportion."""
    if train is not None and test is not None and train + test > photos:
        aim = round(photos * test / (train + test))
        return _Wanted(_clamp(aim, photos), _clamp(aim, photos), _clamp(aim, photos), train, test)
    aim = round(photos * share) if test is None else test
    high = photos - (train or 1)
    return _Wanted(_clamp(min(aim, high), photos), _clamp(test or 1, photos), _clamp(high, photos), train, test)


def _clamp(test: int, photos: int) -> int:
    return max(1, min(test, photos - 1))


Cell = tuple[int, str]


def _split(
    cells: Mapping[Cell, Sequence[int]], groups: Sequence[int], wanted: Mapping[Cell, _Wanted], named: Sequence[str], seed: int
) -> tuple[dict[Cell, tuple[list[int], list[int]]], list[Note]]:
    """Training and test photos of every cell, in the order of the data set, and what there is to note."""
    notes: list[Note] = []
    members = {cell: _grouped(photos, groups) for cell, photos in cells.items()}
    for cell, photos in cells.items():
        where = {"name": cell[1], "task": cell[0] + 1, "task_name": named[cell[0]]}
        if len(photos) < 2:
            raise Problem("class_too_small", **where, photos=len(photos), need=2)
        if len(members[cell]) == 1:
            notes.append(Note("one_group", {**where, "photos": len(photos)}))
    one_group = {cell for cell in cells if len(members[cell]) == 1}
    homes = Counter(g for cell, inside in members.items() if cell not in one_group for g in inside)
    shared = _shared_sides({c: m for c, m in members.items() if c not in one_group}, homes, wanted, named, seed)

    sides = {}
    for cell, photos in cells.items():
        want, inside = wanted[cell], members[cell]
        if cell in one_group:
            late = set(photos[len(photos) - want.test :])
            shuffled = list(photos)
        else:
            shuffled_groups = _shuffled(inside, f"{seed} groups {cell[1]}")
            late = {p for g in shuffled_groups if shared.get(g) for p in inside[g]}
            own = [g for g in shuffled_groups if g not in shared]
            chosen = _choose([len(inside[g]) for g in own], len(photos), len(late), want)
            late |= {p for g, taken in zip(own, chosen, strict=True) if taken for p in inside[g]}
            shuffled = [p for g in shuffled_groups for p in inside[g]]
        early = [p for p in shuffled if p not in late][: want.keep_train]
        sides[cell] = (sorted(early), sorted([p for p in shuffled if p in late][: want.keep_test]))
    return sides, notes


def _shared_sides(
    members: Mapping[Cell, Mapping[int, Sequence[int]]],
    homes: Mapping[int, int],
    wanted: Mapping[Cell, _Wanted],
    named: Sequence[str],
    seed: int,
) -> dict[int, bool]:
    """For groups with photos in several cells: whether each is test. A cell with no group of its own gets both sides."""
    rng = Random(f"{seed} shared")
    sides: dict[int, bool] = {}
    tested: Counter[Cell] = Counter()
    for group in _shuffled([g for g, n in homes.items() if n > 1], f"{seed} shared groups"):
        mine = {cell: len(inside[group]) for cell, inside in members.items() if group in inside}
        share = sum(wanted[c].test for c in mine) / sum(len(photos) for c in mine for photos in members[c].values())
        sides[group] = rng.random() < share and all(tested[c] + n <= wanted[c].test for c, n in mine.items())
        if sides[group]:
            tested.update(mine)
    tied = {cell: list(inside) for cell, inside in members.items() if all(g in sides for g in inside)}
    for _ in range(REPAIRS):
        broken = [cell for cell, inside in tied.items() if len({sides[g] for g in inside}) == 1]
        if not broken:
            return sides
        flipped = rng.choice(tied[rng.choice(broken)])
        sides[flipped] = not sides[flipped]
    cell = broken[0]
    raise Problem("groups_tied", name=cell[1], task=cell[0] + 1, task_name=named[cell[0]])


def _choose(sizes: Sequence[int], photos: int, already: int, want: _Wanted) -> list[bool]:
    """Which own groups of a cell are test, taking early ones first: as near to what is wanted as whole groups allow.

    photos: all of the cell; already: its test photos in shared groups. Both sides get a photo.
    """
    taken, rest = [], want.test - already
    for size in sizes:
        taken.append(size <= rest)
        rest -= size if taken[-1] else 0
    if rest == 0:
        return taken
    reach = [1]  # bit s of reach[i]: groups from the (len - i)th on can make s photos
    for size in reversed(sizes):
        reach.append(reach[-1] | reach[-1] << size)
    sums = [s for s in range(sum(sizes) + 1) if reach[-1] >> s & 1 and 1 <= already + s < photos]
    rest = min(sums, key=lambda s: (max(want.low - already - s, already + s - want.high, 0), abs(already + s - want.test)))
    taken = []
    for i, size in enumerate(sizes):
        taken.append(size <= rest and bool(reach[len(sizes) - i - 1] >> (rest - size) & 1))
        rest -= size if taken[-1] else 0
    return taken


def _grouped(photos: Iterable[int], groups: Sequence[int]) -> dict[int, list[int]]:
    made: dict[int, list[int]] = {}
    for photo in photos:
        made.setdefault(int(groups[photo]), []).append(photo)
    return made


def _shuffled(things: Iterable[Any], seed: str) -> list[Any]:
    made = list(things)
    Random(seed).shuffle(made)
    return made
