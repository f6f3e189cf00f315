"""Small things that lie about beside a toy: ball, brick, star, pencil, sprig and more. They belong to no class."""

from __future__ import annotations

from random import Random

import numpy as np

from forget_me_not.models.packs.canvas import Canvas, box, dark, light, rgb
from forget_me_not.models.packs.paint import CREAM, LEAF, PAPER, TOYS, WOOD, flower, leaf, near, shade, toy_colour


def ball(c: Canvas, r: Random) -> None:
    """A ball with panels or a band."""
    colour, second = toy_colour(r), toy_colour(r)
    path = c.oval(0, 0, 0.9, 0.9, colour)
    inner = c.inside(path).at(0, 0, 1, r.uniform(0, 180))
    if r.random() < 0.5:
        inner.poly(box(-1, -0.25, 1, 0.25), second)
    else:
        for angle in (0, 120, 240):
            inner.at(0, 0, 1, angle).poly([(0, 0), (1.4, -0.7), (1.4, 0.5)], second)
    shade(c, path, colour)


def brick(c: Canvas, r: Random) -> None:
    """A wooden cube with a sign on its face."""
    colour = toy_colour(r)
    c.poly([(-0.8, -0.6), (-0.5, -0.9), (0.95, -0.9), (0.75, -0.6)], light(colour, 0.35))
    c.poly([(0.7, -0.6), (0.95, -0.9), (0.95, 0.55), (0.7, 0.85)], dark(colour, 0.28))
    c.poly(box(-0.8, -0.6, 0.72, 0.85), colour, radius=0.08)
    c.poly(box(-0.62, -0.42, 0.54, 0.67), CREAM, radius=0.06)
    sign = r.random()
    if sign < 0.35:
        flower(c, -0.04, 0.12, 0.42, toy_colour(r), TOYS[2])
    elif sign < 0.7:
        c.oval(-0.04, 0.12, 0.34, 0.34, toy_colour(r))
    else:
        c.poly([(-0.4, 0.48), (-0.04, -0.22), (0.32, 0.48)], toy_colour(r), radius=0.08)


def star(c: Canvas, r: Random) -> None:
    """A felt star."""
    points = [((0.95 if i % 2 == 0 else 0.45) * np.sin(np.pi * i / 5), -(0.95 if i % 2 == 0 else 0.45) * np.cos(np.pi * i / 5))
              for i in range(10)]  # fmt: skip
    colour = toy_colour(r)
    path = c.poly(points, colour, radius=0.16)
    c.inside(path).poly(box(0, -1, 1, 1), dark(colour, 0.12))


def pencil(c: Canvas, r: Random) -> None:
    """A coloured pencil."""
    colour = toy_colour(r)
    c.poly(box(-1, -0.14, 0.6, 0.14), colour)
    c.poly(box(-1, 0.03, 0.6, 0.14), dark(colour, 0.2))
    c.poly([(0.6, -0.14), (1, 0), (0.6, 0.14)], CREAM)
    c.poly([(0.86, -0.05), (1, 0), (0.86, 0.05)], dark(colour, 0.1))


def sprig(c: Canvas, r: Random) -> None:
    """A twig of leaves."""
    green = near(r, r.choice(LEAF))
    c.stroke([(-0.9, 0.2), (0, 0), (0.8, -0.1)], 0.06, dark(green, 0.2))
    for i in range(4):
        x = -0.6 + 0.4 * i
        leaf(c, x, 0.1 - 0.06 * i, 0.55, -50 + r.uniform(-10, 10), green)
        leaf(c, x, 0.1 - 0.06 * i, 0.55, 40 + r.uniform(-10, 10), green)


def forget_me_nots(c: Canvas, r: Random) -> None:
    """Three small blue flowers."""
    for x, y in ((-0.45, 0.2), (0.4, 0.35), (0.05, -0.4)):
        flower(c, x, y, 0.48, near(r, rgb("7D8FDC")), rgb("F3C54B"), r.uniform(0, 72))


def button(c: Canvas, r: Random) -> None:
    """A sewing button."""
    colour = toy_colour(r)
    c.oval(0, 0, 0.7, 0.7, dark(colour, 0.2))
    c.oval(-0.03, -0.04, 0.64, 0.64, colour)
    for x in (-0.17, 0.17):
        for y in (-0.17, 0.17):
            c.oval(x, y, 0.08, 0.08, dark(colour, 0.45))


def mushroom(c: Canvas, r: Random) -> None:
    """A wooden mushroom."""
    colour = toy_colour(r)
    c.blob([(-0.26, 0), (0.26, 0), (0.34, 0.7), (0, 0.86), (-0.34, 0.7)], CREAM)
    path = c.blob([(-0.88, 0.08), (-0.6, -0.55), (0, -0.82), (0.6, -0.55), (0.88, 0.08), (0, 0.2)], colour)
    for x, y in ((-0.4, -0.2), (0.1, -0.5), (0.45, -0.1), (0, 0)):
        c.inside(path).oval(x, y, 0.12, 0.1, PAPER)


def cactus(c: Canvas, r: Random) -> None:
    """A cactus in a pot."""
    green = near(r, LEAF[1])
    c.stroke([(0, 0.4), (0, -0.7)], 0.5, green)
    c.stroke([(0.1, 0.05), (0.5, 0), (0.52, -0.35)], 0.24, dark(green, 0.1))
    for y in (-0.6, -0.3, 0):
        c.oval(-0.05, y, 0.03, 0.03, PAPER)
    c.poly([(-0.5, 0.25), (0.5, 0.25), (0.38, 0.95), (-0.38, 0.95)], toy_colour(r), radius=0.08)


def rings(c: Canvas, r: Random) -> None:
    """A stack of rings on a peg."""
    c.poly(box(-0.08, -0.95, 0.08, 0.8), WOOD, radius=0.08)
    for i in range(4):
        wide = 0.75 - 0.14 * i
        c.poly(box(-wide, 0.5 - 0.34 * i, wide, 0.86 - 0.34 * i), toy_colour(r), radius=0.17)


FLAT = (ball, star, pencil, sprig, forget_me_nots, button)
STANDING = (ball, brick, star, mushroom, cactus, rings, forget_me_nots)
