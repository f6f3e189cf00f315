"""Things of the house: cup, teapot, vase, lamp. One glaze, one set of patterns."""

from __future__ import annotations

from random import Random

import numpy as np

from forget_me_not.models.packs.canvas import Canvas, Colour, dark, light, mirrored, mix, rgb
from forget_me_not.models.packs.paint import (
    CREAM,
    LEAF,
    PAPER,
    PATTERNS,
    TOYS,
    WOOD,
    flower,
    leaf,
    near,
    shade,
    shine,
    toy_colour,
)


def _glazed(
    c: Canvas, r: Random, outline: list[tuple[float, float]], colour: Colour, y: float = 0.2, size: float = 0.7
) -> np.ndarray:
    """A pot of the outline: glaze, pattern around (0, y), form shadow."""
    path = c.blob(outline, colour)
    r.choice(PATTERNS)(c.at(0, y, size), path, toy_colour(r, colour), r)
    shade(c.at(0, y, size), path, colour)
    return path


def _handle(c: Canvas, r: Random, x: float, top: float, bottom: float, out: float, colour: Colour, width: float = 0.13) -> None:
    middle = (top + bottom) / 2
    points = [(x, top), (x + out * 0.8, top + 0.02), (x + out, middle), (x + out * 0.7, bottom - 0.02), (x - 0.06, bottom)]
    c.stroke(points, width, dark(colour, 0.1))


def _steam(c: Canvas, r: Random, y: float) -> None:
    for x in (-0.22, 0.04, 0.28):
        bend = r.uniform(0.06, 0.12)
        c.stroke([(x, y), (x + bend, y - 0.16), (x - bend * 0.4, y - 0.32), (x + bend, y - 0.46)], 0.07, PAPER, 0.75, end=0.02)


def cup(c: Canvas, r: Random) -> None:
    """A mug, a bowl-like tea cup on its saucer, or a beaker."""
    colour = toy_colour(r)
    rim, foot = r.uniform(0.56, 0.76), r.uniform(0.32, 0.6)
    top, bottom = r.uniform(-0.52, -0.2), 0.62
    if r.random() < 0.45:
        c.oval(0, bottom, rim + 0.32, 0.15, dark(colour, 0.05))
        c.oval(0, bottom - 0.03, rim + 0.3, 0.12, light(colour, 0.35))
    if r.random() < 0.85:
        _handle(c, r, rim * 0.86, top + 0.2, top + 0.2 + (bottom - top) * 0.5, r.uniform(0.28, 0.42), colour)
    half = [(0, top), (rim * 0.6, top), (rim, top + 0.02), (rim * 0.98, top + 0.2), (rim * 0.4 + foot * 0.6, bottom - 0.2),
            (foot, bottom - 0.02), (foot * 0.5, bottom + 0.02), (0, bottom + 0.03)]  # fmt: skip
    _glazed(c, r, mirrored(half), colour)
    c.oval(0, top, rim, 0.13, light(colour, 0.3))
    c.oval(0, top + 0.01, rim * 0.9, 0.1, dark(colour, 0.35))
    drink = r.choice([rgb("7A4E36"), rgb("B98A4F"), rgb("E9D9B8"), rgb("6E8F5A")])
    c.oval(0, top + 0.035, rim * 0.8, 0.07, drink)
    shine(c, -rim * 0.62, top + 0.4, 0.05, 0.17, 4, 0.4)
    if r.random() < 0.5:
        _steam(c, r, top - 0.08)


def teapot(c: Canvas, r: Random) -> None:
    """Belly, spout, handle and lid; tall or squat."""
    colour = toy_colour(r)
    wide, high = r.uniform(0.54, 0.68), r.uniform(0.44, 0.6)
    y = 0.6 - high
    if r.random() < 0.25:  # a handle over the top
        top = y - high - 0.42
        arch = [
            (-wide * 0.7, y - high * 0.6),
            (-wide * 0.6, top),
            (0, top - 0.2),
            (wide * 0.6, top),
            (wide * 0.7, y - high * 0.6),
        ]
        c.stroke(arch, 0.1, WOOD)
    else:
        _handle(c.at(0, 0, 1, flip=True), r, wide * 0.8, y - high * 0.5, y + high * 0.55, r.uniform(0.3, 0.42), colour)
    c.stroke(
        [(wide * 0.7, y + 0.16), (wide + 0.2, y + 0.02), (wide + 0.26, y - 0.24), (wide + 0.42, y - 0.36)], 0.26, colour, end=0.12
    )
    half = [(0, y - high), (wide * 0.5, y - high * 0.95), (wide * 0.94, y - high * 0.4), (wide, y + high * 0.2),
            (wide * 0.8, y + high * 0.8), (wide * 0.5, y + high), (0, y + high + 0.02)]  # fmt: skip
    _glazed(c, r, mirrored(half), colour, y, wide)
    c.oval(0, y + high, wide * 0.52, 0.06, dark(colour, 0.25))
    lid = toy_colour(r, colour) if r.random() < 0.4 else light(colour, 0.15)
    c.blob([(-wide * 0.52, y - high * 0.88), (-wide * 0.3, y - high - 0.12), (0, y - high - 0.18), (wide * 0.3, y - high - 0.12),
            (wide * 0.52, y - high * 0.88), (0, y - high * 0.8)], lid)  # fmt: skip
    c.oval(0, y - high - 0.24, 0.09, 0.09, dark(lid, 0.12))
    shine(c, -wide * 0.55, y - high * 0.3, 0.07, 0.17, 22, 0.4)


def vase(c: Canvas, r: Random) -> None:
    """A slim, round or waisted pot, mostly with flowers, twigs or grasses."""
    colour = toy_colour(r)
    mouth, neck, belly, foot = r.uniform(0.2, 0.42), r.uniform(0.14, 0.3), r.uniform(0.34, 0.58), r.uniform(0.2, 0.36)
    top, fat = r.uniform(-0.3, 0.0), r.uniform(0.3, 0.55)
    if r.random() < 0.8:
        _bunch(c, r, top)
    if r.random() < 0.2:
        for flip in (False, True):
            _handle(c.at(0, 0, 1, flip=flip), r, neck * 0.9, top + 0.16, fat, 0.3, colour, 0.09)
    half = [(0, top), (mouth * 0.7, top - 0.01), (mouth, top + 0.01), (neck, top + 0.18), (belly * 0.9, fat - 0.1),
            (belly, fat + 0.08), (belly * 0.8, 0.74), (foot, 0.93), (foot * 0.5, 0.95), (0, 0.95)]  # fmt: skip
    _glazed(c, r, mirrored(half), colour, 0.45, 0.55)
    c.oval(0, top + 0.02, mouth * 0.9, 0.05, dark(colour, 0.4))
    shine(c, -belly * 0.55, fat, 0.05, 0.16, 10, 0.4)


def _bunch(c: Canvas, r: Random, top: float) -> None:
    kind, petal, green = r.random(), toy_colour(r), near(r, r.choice(LEAF))
    for _ in range(r.randint(3, 6)):
        lean = r.uniform(-0.62, 0.62)
        tip = (lean, top - r.uniform(0.42, 0.8))
        c.stroke([(lean * 0.15, top + 0.1), (lean * 0.55, (top + tip[1]) / 2), tip], 0.04, dark(green, 0.1))
        leaf(c, lean * 0.5, (top + tip[1]) / 2, r.uniform(0.22, 0.36), r.choice([200, -20]) + r.uniform(-25, 25), green)
        if kind < 0.5:
            flower(c, *tip, r.uniform(0.17, 0.25), near(r, petal), rgb("F3C54B"), r.uniform(0, 72))
        elif kind < 0.75:
            tulip = [(-0.12, -0.1), (0, -0.02), (0.12, -0.1), (0.1, 0.12), (0, 0.17), (-0.1, 0.12)]
            c.at(*tip).blob(tulip, near(r, petal))
        else:
            for i in range(4):
                leaf(c, tip[0] * (1 - 0.1 * i), tip[1] + 0.1 * i, 0.26, -90 + 55 * (-1) ** i + r.uniform(-10, 10), near(r, green))


def lamp(c: Canvas, r: Random) -> None:
    """A table lamp: a shade, on or off, over a foot like a pot, a stick or an arm."""
    colour, cloth = toy_colour(r), toy_colour(r)
    on, top, wide, low = r.random() < 0.5, r.uniform(0.22, 0.42), r.uniform(0.5, 0.7), r.uniform(-0.14, 0.04)
    if on:
        c.soft(lambda d: d.oval(0, low - 0.2, 0.95, 0.8, PAPER), 0.06, rgb("FBE6A2"), 0.6)
    foot = r.random()
    if foot < 0.4:
        half = [(0, low), (0.1, low), (0.12, 0.14), (0.36, 0.42), (0.34, 0.76), (0.2, 0.92), (0, 0.93)]
        _glazed(c, r, mirrored(half), colour, 0.5, 0.42)
    else:
        bend = r.uniform(-0.3, 0.3) if foot > 0.75 else 0
        c.stroke([(0, low), (bend, 0.35), (0, 0.86)], 0.09, WOOD if r.random() < 0.5 else dark(colour, 0.1))
        c.oval(0, 0.88, r.uniform(0.3, 0.44), 0.1, colour)
    shape = [(-top, -0.84), (top, -0.84), (wide, low), (-wide, low)]
    if r.random() < 0.35:
        shape = [(-wide, low), (-wide * 0.86, -0.4), (-wide * 0.4, -0.74), (wide * 0.4, -0.74), (wide * 0.86, -0.4), (wide, low)]
    glow = mix(cloth, rgb("FFE9A8"), 0.45) if on else cloth
    path = c.poly(shape, glow, radius=0.08)
    r.choice(PATTERNS)(c.at(0, -0.4, 0.55), path, mix(toy_colour(r, cloth), glow, 0.3), r)
    if on:
        c.inside(path).soft(lambda d: d.oval(0, low - 0.05, wide * 0.8, 0.4, PAPER), 0.03, rgb("FFF6D2"), 0.6)
    else:
        c.inside(path).poly([(wide * 0.2, -1), (2, -1), (2, 1), (wide * 0.45, 1)], dark(cloth, 0.25), 0.4)
    if r.random() < 0.4:
        c.stroke([(wide * 0.4, low), (wide * 0.4, low + 0.22)], 0.025, CREAM)
        c.oval(wide * 0.4, low + 0.25, 0.045, 0.045, r.choice(TOYS))
