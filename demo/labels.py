"""Where the labels of marks go so that none lies on another: greedy over a few places around each mark. Pure; pixels, y up."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

LETTER, HEIGHT = 8.2, 20.0
"""Width of a Latin letter and height of a line at 15 px."""
MARK, SMALL = 11.0, 5.0
"""Half the side of a large and of a small mark."""
Box = tuple[float, float, float, float]


class Place(NamedTuple):
    """A label's place beside its mark: it begins (or has its middle) `right` and `up` of it and goes off to `side`.

    far: a thin line must lead to it.
    """

    side: str
    right: float
    up: float
    far: bool = False


NEAR = (Place("right", 14, 0), Place("left", -14, 0), Place("right", 12, 20), Place("left", -12, 20), Place("right", 12, -20),
        Place("left", -12, -20), Place("centre", 0, 24), Place("centre", 0, -24))  # fmt: skip
FAR = tuple(Place(side, sign * right, up, True) for right, up in ((12, 44), (12, 66), (10, 88), (34, 30), (54, 48), (82, 72))
            for up in (up, -up) for side, sign in (("right", 1), ("left", -1)))  # fmt: skip
"""The steep ones stack above and below the near ones, and their lines pass between these."""


def place(marks: Sequence[tuple[float, float]], names: Sequence[str], size: tuple[float, float], taken: Sequence[Box] = (),
          better_free: Sequence[Box] = ()) -> list[Place | None]:  # fmt: skip
    """A place for every name, or None where all are taken: the name is then left to hover. Earlier names choose first.

    size: width and height of the ground, which no label leaves. taken: boxes no label may touch, as it may touch no mark, no
    other label and no line to one. better_free: boxes it may, where every near place would.
    """
    fixed, texts, lines = [*taken, *(around(mark, MARK) for mark in marks)], [], []
    found: list[Place | None] = []
    for mark, name in zip(marks, names, strict=True):
        fits = [at for at in (*NEAR, *FAR) if _inside(covered(mark, name, at), size)
                and not _any(covered(mark, name, at), [*fixed, *texts, *lines])
                and not any(_any(dot, texts) for dot in _line(mark, at))]  # fmt: skip
        clear = [at for at in fits if not _any(covered(mark, name, at), better_free)]
        near = [at for at in fits if not at.far]
        best = next(iter([at for at in clear if not at.far] or near or clear or fits), None)
        found.append(best)
        if best is not None:
            texts.append(covered(mark, name, best))
            lines += _line(mark, best)
    return found


def around(mark: tuple[float, float], half: float) -> Box:
    return mark[0] - half, mark[1] - half, mark[0] + half, mark[1] + half


def covered(mark: tuple[float, float], name: str, at: Place) -> Box:
    """The box a label covers."""
    width = LETTER * letters(name)
    left = mark[0] + at.right - {"right": 0.0, "left": width, "centre": width / 2}[at.side]
    return left, mark[1] + at.up - HEIGHT / 2, left + width, mark[1] + at.up + HEIGHT / 2


def _line(mark: tuple[float, float], at: Place) -> list[Box]:
    """The line from a mark to a label that is far, as small boxes."""
    return [around((mark[0] + at.right * n / 24, mark[1] + at.up * n / 24), 2) for n in range(24)] if at.far else []


def letters(text: str) -> int:
    """How many letters wide a text is; a Japanese one takes the room of two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _any(a: Box, boxes: Sequence[Box]) -> bool:
    """Whether `a` touches one of the boxes."""
    return any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for b in boxes)


def _inside(a: Box, size: tuple[float, float]) -> bool:
    return a[0] >= 0 and a[1] >= 0 and a[2] <= size[0] and a[3] <= size[1]
