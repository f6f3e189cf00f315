"""Painted wooden vehicles seen from the side: car, bus, truck, train. Same paint, same wheels."""

from __future__ import annotations

from random import Random

from forget_me_not.models.packs.canvas import Canvas, Colour, box, dark, light, mix, rgb
from forget_me_not.models.packs.paint import CREAM, INK, PATTERNS, TOYS, WOOD, near, toy_colour

GLASS = [rgb(c) for c in ("CFE3E8", "B9D5DF", "F3E3B0", "DDE7DF")]
GROUND = 0.62
"""Where wheels touch the ground."""


def _wheel(c: Canvas, r: Random, x: float, size: float, rim: Colour) -> None:
    d = c.at(x, GROUND - size, size)
    d.oval(0, 0, 1, 1, rgb("3A3848"))
    d.oval(0, 0, 0.58, 0.58, rim)
    d.oval(0, 0, 0.2, 0.2, dark(rim, 0.35))


def _wheels(c: Canvas, r: Random, places: tuple[float, ...], size: float) -> None:
    rim = r.choice([WOOD, CREAM, toy_colour(r)])
    for x in places:
        _wheel(c, r, x, size, rim)


def _windows(
    c: Canvas, left: float, right: float, top: float, bottom: float, count: int, glass: Colour, gap: float = 0.06
) -> None:
    wide = (right - left - gap * (count - 1)) / count
    for i in range(count):
        x = left + i * (wide + gap)
        path = c.poly(box(x, top, x + wide, bottom), glass, radius=0.05)
        inner = c.inside(path)
        inner.poly(
            [(x + wide * 0.2, bottom), (x + wide * 0.6, top), (x + wide * 0.85, top), (x + wide * 0.45, bottom)],
            light(glass, 0.6),
            0.7,
        )


def _hull(c: Canvas, r: Random, points: list[tuple[float, float]], colour: Colour, radius: float):
    """A painted body with a shaded sill and a lit roof."""
    path = c.poly(points, colour, radius=radius)
    bottom, top = max(y for _, y in points), min(y for _, y in points)
    inner = c.inside(path)
    inner.poly(box(-2, bottom - 0.13, 2, bottom), dark(colour, 0.2))
    inner.poly(box(-2, top, 2, top + 0.05), light(colour, 0.35))
    return path


def _lamps(c: Canvas, front: float, back: float, y: float) -> None:
    c.oval(front, y, 0.06, 0.08, rgb("F7DE8A"))
    c.oval(back, y, 0.045, 0.07, rgb("C7473F"))


def _trim(c: Canvas, r: Random, path, colour: Colour, y: float) -> None:
    """A stripe, a pattern or nothing on a body."""
    kind, second = r.random(), toy_colour(r, colour)
    if kind < 0.35:
        c.inside(path).poly(box(-2, y, 2, y + r.uniform(0.07, 0.14)), second)
    elif kind < 0.5:
        r.choice(PATTERNS)(c.at(0, y + 0.1, 0.6), path, light(colour, 0.45), r)


def car(c: Canvas, r: Random) -> None:
    """Two wheels' length, a cabin on a low body: saloon, hatchback, beetle or open."""
    colour, glass = toy_colour(r), r.choice(GLASS)
    form = r.choice(["saloon", "hatch", "beetle", "beetle", "open"])
    low, wide = 0.5, r.uniform(0.86, 1.0)
    roof = {"saloon": [(-0.62, 0.04), (-0.4, -0.36), (0.2, -0.36), (0.5, 0.04)],
            "hatch": [(-0.86, 0.04), (-0.7, -0.4), (0.1, -0.4), (0.46, 0.04)],
            "beetle": [(-0.75, 0.1), (-0.5, -0.36), (-0.05, -0.5), (0.36, -0.34), (0.6, 0.1)], "open": []}[form]  # fmt: skip
    if roof:
        c.poly(roof, colour, radius=0.2 if form == "beetle" else 0.12)
        d = c.at(-0.096, 0.02, 0.8)
        for side in (-1, 1):
            d.poly([(side * 0.05, -0.36), (side * 0.36, -0.32), (side * 0.56, 0.02), (side * 0.05, 0.02)], glass, radius=0.06)
    else:
        c.poly([(0.2, 0.05), (0.06, -0.34), (0.12, -0.36), (0.34, 0.05)], light(glass, 0.2), radius=0.03)
        c.poly(box(-0.5, -0.14, -0.34, 0.1), dark(colour, 0.4), radius=0.06)
    nose = r.uniform(-0.02, 0.12)
    body = [(-wide, 0.06), (-wide * 0.7, -0.02), (wide * 0.55, -0.02), (wide, nose + 0.08), (wide, low), (-wide, low)]
    path = _hull(c, r, body, colour, 0.16)
    _trim(c, r, path, colour, 0.14)
    c.poly(box(0.02, 0.1, 0.14, 0.135), dark(colour, 0.45), radius=0.015)
    _lamps(c, wide - 0.06, -wide + 0.05, 0.2)
    if r.random() < 0.35 and roof:
        _load(c, r, -0.1, -0.4)
    _wheels(c, r, (-0.54 * wide, 0.56 * wide), r.uniform(0.2, 0.26))


def _load(c: Canvas, r: Random, x: float, y: float) -> None:
    """Luggage on the roof."""
    c.poly(box(x - 0.34, y - 0.03, x + 0.34, y + 0.02), WOOD)
    for i in range(r.randint(1, 2)):
        left, high = x - 0.28 + 0.3 * i, r.uniform(0.12, 0.24)
        c.poly(box(left, y - 0.03 - high, left + 0.27, y - 0.03), toy_colour(r), radius=0.04)


def bus(c: Canvas, r: Random) -> None:
    """A long box full of windows, one deck or two."""
    colour, glass = toy_colour(r), r.choice(GLASS)
    decks = 2 if r.random() < 0.3 else 1
    wide, top = (0.82, -0.78) if decks == 2 else (1.0, r.uniform(-0.5, -0.36))
    path = _hull(c, r, [(-wide, top), (wide * 0.96, top), (wide, 0.1), (wide, 0.46), (-wide, 0.46)], colour, 0.14)
    second = toy_colour(r, colour)
    if r.random() < 0.5:
        c.inside(path).poly(box(-2, top, 2, top + 0.12), second)
    _trim(c, r, path, colour, 0.14)
    door = r.random() < 0.7
    right = wide - (0.36 if door else 0.1)
    for deck in range(decks):
        y = top + 0.14 + deck * 0.44
        end = right if deck == decks - 1 else wide - 0.1
        _windows(c, -wide + 0.1, end, y, y + 0.28, r.randint(3, 5), glass)
    if door:
        y = top + 0.14 + (decks - 1) * 0.44
        c.poly(box(wide - 0.3, y, wide - 0.1, 0.44), dark(colour, 0.3), radius=0.03)
        _windows(c, wide - 0.27, wide - 0.13, y + 0.04, 0.3, 2, glass, 0.03)
    _lamps(c, wide - 0.03, -wide + 0.03, 0.26)
    _wheels(c, r, (-wide * 0.6, wide * 0.56), r.uniform(0.17, 0.22))


def truck(c: Canvas, r: Random) -> None:
    """A cab in front of what it carries: a box, a tank, a tipper or planks with cargo."""
    colour, second, glass = toy_colour(r), toy_colour(r), r.choice(GLASS)
    c.poly(box(-0.96, 0.3, 0.9, 0.44), rgb("4A4757"), radius=0.04)
    kind = r.choice(["box", "box", "tank", "tipper", "cargo"])
    if kind == "box":
        path = _hull(c, r, box(-1, r.uniform(-0.66, -0.4), 0.3, 0.34), second, 0.06)
        r.choice(PATTERNS)(c.at(-0.35, -0.1, 0.62), path, toy_colour(r, second), r)
    elif kind == "tank":
        path = c.poly(box(-1, -0.3, 0.3, 0.32), second, radius=0.28)
        c.inside(path).poly(box(-2, 0.12, 2, 0.4), dark(second, 0.22))
        c.inside(path).poly(box(-2, -0.22, 2, -0.12), light(second, 0.5))
        c.poly(box(-0.46, -0.38, -0.24, -0.28), dark(second, 0.25), radius=0.03)
    elif kind == "tipper":
        for _ in range(5):
            x = r.uniform(-0.75, 0.1)
            c.oval(x, -0.2, 0.2, 0.16, near(r, rgb("8C7A66")))
        _hull(c, r, [(-1.04, -0.26), (0.32, -0.2), (0.2, 0.32), (-0.84, 0.32)], second, 0.05)
    else:
        for i in range(3):
            high = r.uniform(0.28, 0.56)
            c.poly(box(-0.94 + 0.4 * i, 0.26 - high, -0.58 + 0.4 * i, 0.3), toy_colour(r), radius=r.choice([0.04, 0.16]))
        c.poly(box(-1, 0.18, 0.28, 0.34), WOOD, radius=0.03)
    top = r.uniform(-0.36, -0.2)
    if r.random() < 0.5:
        cab = [(0.36, top), (0.8, top), (0.96, 0.1), (0.98, 0.44), (0.36, 0.44)]
        pane = [(0.5, top + 0.09), (0.76, top + 0.09), (0.88, 0.1), (0.5, 0.1)]
    else:  # a bonnet in front
        cab = [(0.36, top), (0.66, top), (0.72, 0.06), (1.02, 0.1), (1.04, 0.44), (0.36, 0.44)]
        pane = [(0.44, top + 0.08), (0.62, top + 0.08), (0.66, 0.06), (0.44, 0.06)]
    _hull(c, r, cab, colour, 0.09)
    c.poly(pane, glass, radius=0.05)
    _lamps(c, 0.99, -0.98, 0.3)
    _wheels(c, r, (-0.68, 0.7) if r.random() < 0.5 else (-0.76, -0.36, 0.7), r.uniform(0.19, 0.23))


def train(c: Canvas, r: Random) -> None:
    """A steam engine: boiler, chimney, cab; at times the wagon behind it."""
    colour, second, glass = toy_colour(r), toy_colour(r), r.choice(GLASS)
    if r.random() < 0.3:  # smaller, with a wagon
        c = c.at(0.24, 0.16, 0.74)
        c.poly(box(-1.1, 0.3, -0.8, 0.38), INK)
        path = _hull(c, r, box(-1.66, -0.12, -0.98, 0.42), toy_colour(r), 0.06)
        _windows(c, -1.58, -1.06, -0.04, 0.18, 2, glass) if r.random() < 0.5 else _trim(c, r, path, colour, 0.1)
        _wheels(c, r, (-1.52, -1.14), 0.15)
    if r.random() < 0.6:
        steam = mix(CREAM, rgb("FFFFFF"), 0.5)
        for i in range(r.randint(2, 4)):
            size = 0.13 + 0.05 * i
            c.oval(0.52 - 0.2 * i * r.uniform(0.6, 1.2), -0.72 - 0.15 * i, size * 1.2, size, steam, 0.9)
    c.poly(box(0.42, -0.58, 0.66, -0.1), dark(second, 0.25), radius=0.03)
    c.poly([(0.34, -0.66), (0.74, -0.66), (0.66, -0.5), (0.42, -0.5)], second, radius=0.03)
    c.oval(0.1, -0.16, 0.13, 0.15, rgb("E3B54C"))
    path = c.poly(box(-0.2, -0.18, 0.92, 0.36), colour, radius=0.2)
    inner = c.inside(path)
    inner.poly(box(-2, 0.18, 2, 0.4), dark(colour, 0.22))
    inner.poly(box(-2, -0.12, 2, -0.04), light(colour, 0.45))
    for x in r.sample([0.05, 0.32, 0.6], r.randint(1, 3)):
        inner.poly(box(x, -0.2, x + 0.06, 0.36), rgb("E3B54C"))
    top = r.uniform(-0.62, -0.46)
    _hull(c, r, box(-0.86, top, -0.16, 0.42), second, 0.05)
    c.poly(box(-0.96, top - 0.1, -0.06, top + 0.02), dark(colour, 0.15), radius=0.05)
    _windows(c, -0.74, -0.28, top + 0.12, top + 0.42, r.randint(1, 2), glass)
    c.poly(box(-0.9, 0.32, 0.96, 0.44), rgb("4A4757"), radius=0.04)
    c.poly([(0.88, 0.36), (1.08, 0.6), (0.78, 0.6), (0.7, 0.4)], near(r, TOYS[0]), radius=0.03)
    c.oval(0.92, 0.02, 0.07, 0.09, rgb("F7DE8A"))
    _wheels(c, r, (-0.62,), 0.28)
    _wheels(c, r, (0.02, 0.4, 0.74)[: r.randint(2, 3)], 0.18)
