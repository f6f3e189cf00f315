"""Which photos of a class are learnt from and which are tested on, with every group whole on one side.

Everything is drawn by `random.Random`, whose draws are the same on every platform, from the seed and the name of the class:
how a class is split depends on neither the order of the tasks nor the other classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from forget_me_not.models.problem import Problem

REPAIRS = 1000
"""Groups moved to the other side before classes that share all their groups are called a problem."""

Cell = Hashable
"""One class of one task: what is split by itself."""
Where = Mapping[Cell, Mapping[str, Any]]
"""How a problem names a cell: name (of the class), task (from 1), task_name."""


class Size(NamedTuple):
    """How many photos of a cell go where: counts, or a share for the test side; None leaves a side what there is."""

    train: int | None = None
    test: int | None = None
    share: float = 1 / 3


class Sides(NamedTuple):
    """Positions in the data set, ascending. in_time: the photos are one group, and the last of them are the test."""

    train: tuple[int, ...]
    test: tuple[int, ...]
    in_time: bool = False


def split(
    cells: Mapping[Cell, Sequence[int]], groups: Sequence[int], size: Size, where: Where, seed: int
) -> dict[Cell, Sides]:
    """Both sides of every cell, at least one photo each.

    A cell of one group is cut in time; apart from these no group has photos on both sides, in whatever cells they are.
    Where whole groups give a side more photos than its count, the surplus is left out. Problem: class_too_small,
    groups_tied (all groups of a cell reach into other cells, and no choice of sides suits all).
    """
    inside = {cell: _grouped(photos, groups) for cell, photos in cells.items()}
    for cell, photos in cells.items():
        if len(photos) < 2:
            raise Problem("class_too_small", **where[cell], photos=len(photos), need=2)
    aims = {cell: _aim(len(photos), size) for cell, photos in cells.items()}
    several = {cell: held for cell, held in inside.items() if len(held) > 1}
    shared = _shared(several, aims, where, seed)
    return {
        cell: _whole(several[cell], aims[cell], shared, size, f"{seed} groups {where[cell]['name']}")
        if cell in several
        else _in_time(photos, aims[cell].test, size)
        for cell, photos in cells.items()
    }


@dataclass(frozen=True)
class _Aim:
    """Test photos of a cell: the number wanted, and the numbers that leave both sides what they were promised."""

    test: int
    low: int
    high: int


def _aim(photos: int, size: Size) -> _Aim:
    """The wanted size; where the two counts together ask for too much, both sides shrink in proportion."""

    def fit(test: int) -> int:
        return max(1, min(test, photos - 1))

    if size.train and size.test and size.train + size.test > photos:
        test = fit(round(photos * size.test / (size.train + size.test)))
        return _Aim(test, test, test)
    high = photos - (size.train or 1)
    return _Aim(fit(min(size.test or round(photos * size.share), high)), fit(size.test or 1), fit(high))


def _in_time(photos: Sequence[int], test: int, size: Size) -> Sides:
    """The last photos are the test, the first the training: as far apart as can be."""
    cut = len(photos) - test
    return Sides(tuple(photos[:cut][: size.train]), tuple(photos[cut:]), in_time=True)


def _whole(held: Mapping[int, Sequence[int]], aim: _Aim, shared: Mapping[int, bool], size: Size, seed: str) -> Sides:
    """A cell's groups on two sides; those in `shared` already have theirs (True: test)."""
    order = _shuffled(held, seed)
    own = [g for g in order if g not in shared]
    already = sum(len(held[g]) for g in order if shared.get(g))
    taken = _choose([len(held[g]) for g in own], sum(map(len, held.values())), already, aim)
    tested = {**shared, **dict(zip(own, taken, strict=True))}
    train = [p for g in order if not tested[g] for p in held[g]]
    test = [p for g in order if tested[g] for p in held[g]]
    return Sides(tuple(sorted(train[: size.train])), tuple(sorted(test[: size.test])))


def _shared(
    inside: Mapping[Cell, Mapping[int, Sequence[int]]], aims: Mapping[Cell, _Aim], where: Where, seed: int
) -> dict[int, bool]:
    """The side of each group that several cells hold (True: test), such that cells with no other group get both sides."""
    rng = Random(f"{seed} shared")
    homes = Counter(g for held in inside.values() for g in held)
    sides: dict[int, bool] = {}
    tested: Counter[Cell] = Counter()
    for group in _shuffled((g for g, n in homes.items() if n > 1), f"{seed} shared groups"):
        mine = {cell: len(held[group]) for cell, held in inside.items() if group in held}
        share = sum(aims[c].test for c in mine) / sum(len(photos) for c in mine for photos in inside[c].values())
        sides[group] = rng.random() < share and all(tested[c] + n <= aims[c].test for c, n in mine.items())
        if sides[group]:
            tested.update(mine)
    tied = {cell: list(held) for cell, held in inside.items() if all(g in sides for g in held)}
    for _ in range(REPAIRS):
        broken = [cell for cell, held in tied.items() if len({sides[g] for g in held}) == 1]
        if not broken:
            return sides
        moved = rng.choice(tied[rng.choice(broken)])
        sides[moved] = not sides[moved]
    raise Problem("groups_tied", **where[broken[0]])


def _choose(sizes: Sequence[int], photos: int, already: int, aim: _Aim) -> list[bool]:
    """Which groups of these sizes are test, early ones first: as near to the aim as whole groups come.

    photos: all of the cell, `already` of them test in shared groups. Both sides get a photo.
    """
    taken, rest = [], aim.test - already
    for size in sizes:
        taken.append(size <= rest)
        rest -= size if taken[-1] else 0
    if rest == 0:
        return taken
    reach = [1]  # bit s of reach[i]: some of the last i groups have s photos together
    for size in reversed(sizes):
        reach.append(reach[-1] | reach[-1] << size)
    sums = [s for s in range(sum(sizes) + 1) if reach[-1] >> s & 1 and 1 <= already + s < photos]
    rest = min(sums, key=lambda s: (max(aim.low - already - s, already + s - aim.high, 0), abs(already + s - aim.test)))
    taken = []
    for i, size in enumerate(sizes, 1):
        taken.append(size <= rest and bool(reach[len(sizes) - i] >> (rest - size) & 1))
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
