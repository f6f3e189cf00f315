"""The paint box: one set of colours for all toys, so that colour alone tells no class; patterns, shading, drawing by chance."""

from __future__ import annotations

import colorsys
from random import Random

import numpy as np

from forget_me_not.models.packs.canvas import Canvas, Colour, Points, dark, light, mix, rgb

INK = rgb("2B2A3A")
PAPER = rgb("FAF8F3")
CREAM = rgb("F6E9CF")
WOOD = rgb("C99B66")
LEAF = [rgb(c) for c in ("6E9C5B", "4F8663", "8FAE5A", "A3B86C")]

TOYS = [rgb(c) for c in ("D9503F", "E8935A", "EDB944", "8FB06A", "4C9A8A", "5B8FC4", "4B62A8", "8A6AA8", "D77C95", "F0E3CB")]
"""Colours of painted things: vehicles, household, clothes, clutter."""
FUR = [rgb(c) for c in ("A9744A", "D7A15F", "8B8890", "F1E6D6", "4A4653", "C9825B", "BFA58A", "6B5348")]


def near(r: Random, colour: Colour, amount: float = 0.05) -> Colour:
    """A neighbour of the colour: hue, saturation and value each moved a little."""
    h, s, v = colorsys.rgb_to_hsv(*(c / 255 for c in colour))
    h = (h + r.uniform(-amount, amount) * 0.5) % 1
    s, v = (min(1, max(0, x + r.uniform(-amount, amount) * 1.6)) for x in (s, v))
    return tuple(round(255 * c) for c in colorsys.hsv_to_rgb(h, s, v))


def toy_colour(r: Random, *but: Colour) -> Colour:
    """A colour of the paint box that none of `but` is like."""
    free = [c for c in TOYS if all(sum(abs(a - b) for a, b in zip(c, other, strict=True)) > 130 for other in but)]
    return near(r, r.choice(free or TOYS))


def wobbly(r: Random, points: Points, amount: float) -> list[tuple[float, float]]:
    """The points, each moved by chance up to `amount`: no two cut-outs are alike."""
    return [(x + r.uniform(-amount, amount), y + r.uniform(-amount, amount)) for x, y in points]


def shade(c: Canvas, path: np.ndarray, colour: Colour, *, side: float = 1, x: float = 0, y: float = 0, size: float = 1) -> None:
    """The form shadow of a round thing around (x, y): all but an oval towards the light. side 1: light from the left."""
    inner = c.inside(path)
    inner.soft(
        lambda d: d.poly(_ring(x - 0.28 * side * size, y - 0.22 * size, 0.95 * size, 3 * size), PAPER),
        0.012,
        dark(colour, 0.3),
        0.55,
    )


def _ring(x: float, y: float, hole: float, out: float) -> np.ndarray:
    """(n, 2) a square around (x, y) with a round hole, as one line that goes in and out at the same place."""
    t = np.linspace(0, 2 * np.pi, 49)
    circle = np.stack([x + hole * np.cos(t), y + hole * np.sin(t)], 1)
    outer = np.array([(x + out, y), (x + out, y - out), (x - out, y - out), (x - out, y + out), (x + out, y + out), (x + out, y)])
    return np.concatenate([outer, circle])


def shine(c: Canvas, x: float, y: float, rx: float, ry: float, angle: float = 0, alpha: float = 0.45) -> None:
    """A spot of light on a glossy thing."""
    c.oval(x, y, rx, ry, PAPER, alpha, angle)


def leaf(c: Canvas, x: float, y: float, length: float, angle: float, colour: Colour) -> None:
    """A leaf that grows from (x, y)."""
    d = c.at(x, y, length, angle)
    path = d.blob([(0, 0), (0.25, -0.2), (0.62, -0.22), (1, 0), (0.62, 0.16), (0.25, 0.16)], colour)
    d.inside(path).poly([(0, 0), (1.1, 0), (1.1, 0.5), (0, 0.5)], dark(colour, 0.18))
    d.stroke([(0, 0), (0.5, -0.02), (0.85, 0)], 0.035, light(colour, 0.35))


def stripes(c: Canvas, path: np.ndarray, colour: Colour, r: Random) -> None:
    """Bands across a shape that spans about -1 to 1."""
    inner, count = c.inside(path), r.randint(2, 5)
    for i in range(count):
        y = -1 + 2 * (i + 0.5) / count
        inner.poly([(-2, y - 0.36 / count), (2, y - 0.36 / count), (2, y + 0.36 / count), (-2, y + 0.36 / count)], colour)


def dots(c: Canvas, path: np.ndarray, colour: Colour, r: Random) -> None:
    """Dots in rows over a shape that spans about -1 to 1."""
    inner, step, size = c.inside(path), r.uniform(0.3, 0.5), r.uniform(0.07, 0.12)
    for row in range(-5, 6):
        for column in range(-5, 6):
            inner.oval(step * (column + row % 2 / 2), step * row * 0.85, size, size, colour)


def waves(c: Canvas, path: np.ndarray, colour: Colour, r: Random) -> None:
    """Wavy bands."""
    inner, step = c.inside(path), r.uniform(0.45, 0.7)
    for row in range(-3, 4):
        points = [(x / 4, row * step + (0.09 if x % 2 else -0.09)) for x in range(-7, 8)]
        inner.stroke(points, 0.1, colour)


def petals(c: Canvas, path: np.ndarray, colour: Colour, r: Random) -> None:
    """A few flowers."""
    inner = c.inside(path)
    for _ in range(r.randint(3, 6)):
        flower(inner, r.uniform(-0.8, 0.8), r.uniform(-0.8, 0.8), r.uniform(0.16, 0.24), colour, TOYS[2])


def half(c: Canvas, path: np.ndarray, colour: Colour, r: Random) -> None:
    """The lower half in another colour."""
    y = r.uniform(-0.2, 0.3)
    c.inside(path).poly([(-2, y), (2, y), (2, 3), (-2, 3)], colour)


def plain(c: Canvas, path: np.ndarray, colour: Colour, r: Random) -> None:
    """Nothing."""


PATTERNS = (plain, plain, stripes, dots, waves, petals, half)


def flower(c: Canvas, x: float, y: float, size: float, colour: Colour, eye: Colour, angle: float = 0) -> None:
    """Five round petals and an eye."""
    for i in range(5):
        t = np.deg2rad(angle + 72 * i)
        c.oval(x + np.cos(t) * size * 0.55, y + np.sin(t) * size * 0.55, size * 0.42, size * 0.42, colour)
    c.oval(x, y, size * 0.28, size * 0.28, eye)


def tint(colour: Colour, share: float, other: Colour = PAPER) -> Colour:
    """The colour thinned with paper."""
    return mix(colour, other, share)
