"""Where toys lie: rooms, rugs, cloths, lawns, shelves. Every scene serves every class, so that a place tells nothing."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from forget_me_not.models.packs.canvas import Canvas, Colour, box, dark, light, mix, rgb
from forget_me_not.models.packs.paint import CREAM, LEAF, PAPER, TOYS, WOOD, dots, flower, near, stripes, tint, toy_colour, waves

WALLS = [rgb(c) for c in ("F2E7D3", "E9D7C3", "D9E0D2", "CFDDE3", "EBCFC2", "E3D5E0", "F0DDA9", "B9C9C4", "C8B7A6")]
FLOORS = [rgb(c) for c in ("D8B48A", "C39A70", "E6CFA8", "B58A66", "CFC3B2", "A9A08F")]


@dataclass(frozen=True)
class Scene:
    """A painted background. ground: how far down things stand (parts of the side), or None where they lie seen from above."""

    canvas: Canvas
    ground: tuple[float, float] | None


def _wall(r: Random, colour: Colour) -> Canvas:
    c = Canvas.new(colour)
    paper = c.poly(box(0, 0, 1, 1), colour)
    kind = r.random()
    if kind < 0.2:
        stripes(c.at(0.5, 0.5, 0.6, 90), paper, tint(colour, 0.4), r)
    elif kind < 0.35:
        dots(c.at(0.5, 0.5, 0.22), paper, tint(colour, 0.45), r)
    elif kind < 0.5:
        c.poly(box(0, 0.4, 1, 1), dark(colour, 0.09))
    return c


def _window(c: Canvas, r: Random) -> None:
    x, y, wide, high = r.choice([0.2, 0.78]), r.uniform(0.2, 0.28), r.uniform(0.15, 0.2), r.uniform(0.16, 0.22)
    c.poly(box(x - wide, y - high, x + wide, y + high), PAPER, radius=0.015)
    sky = r.choice([rgb("BFDCE6"), rgb("F4D9AE"), rgb("8FA6C9")])
    for a in (0, 1):
        for b in (0, 1):
            left, top = x - wide + 0.018 + a * wide, y - high + 0.018 + b * high
            pane = c.poly(box(left, top, left + wide - 0.034, top + high - 0.034), sky)
            if b:
                c.inside(pane).oval(x, y + high + 0.05, wide * 1.3, 0.14, tint(LEAF[0], 0.3))


def _picture(c: Canvas, r: Random) -> None:
    x, y = r.choice([0.17, 0.82]), r.uniform(0.16, 0.28)
    c.poly(box(x - 0.1, y - 0.12, x + 0.1, y + 0.12), WOOD, radius=0.01)
    inner = c.inside(c.poly(box(x - 0.08, y - 0.1, x + 0.08, y + 0.1), CREAM))
    inner.oval(x, y - 0.02, 0.035, 0.035, tint(TOYS[2], 0.2))
    inner.oval(x - 0.03, y + 0.14, 0.12, 0.1, tint(toy_colour(r), 0.35))


def _bunting(c: Canvas, r: Random) -> None:
    for i in range(9):
        x = -0.02 + 0.125 * i
        y = 0.05 + 0.05 * np.sin(np.pi * (i % 4) / 4)
        c.poly([(x, y), (x + 0.1, y + 0.004), (x + 0.05, y + 0.12)], tint(r.choice(TOYS), 0.25), radius=0.008)
    c.stroke([(-0.05, 0.04), (0.25, 0.085), (0.5, 0.05), (0.75, 0.085), (1.05, 0.04)], 0.006, PAPER)


def _planks(c: Canvas, r: Random, top: float, colour: Colour) -> None:
    c.poly(box(0, top, 1, 1), colour)
    y, step = top, 0.05
    while y < 1:
        c.poly(box(0, y, 1, y + 0.006), dark(colour, 0.16))
        for _ in range(2):
            x = r.random()
            c.poly(box(x, y, x + 0.005, y + step), dark(colour, 0.16))
        y, step = y + step, step * 1.25


def room(r: Random) -> Scene:
    """A wall, perhaps a window, a picture or bunting, and a wooden floor."""
    c = _wall(r, near(r, r.choice(WALLS), 0.03))
    for thing, chance in ((_window, 0.35), (_picture, 0.3), (_bunting, 0.22)):
        if r.random() < chance:
            thing(c, r)
            break
    top = r.uniform(0.56, 0.7)
    _planks(c, r, top, near(r, r.choice(FLOORS), 0.03))
    c.poly(box(0, top - 0.03, 1, top), PAPER, 0.85)
    if r.random() < 0.4:
        rug = toy_colour(r)
        c.oval(0.5, 0.88, r.uniform(0.36, 0.6), 0.1, tint(rug, 0.35))
        c.oval(0.5, 0.88, 0.32, 0.07, tint(rug, 0.6))
    return Scene(c, (top + 0.1, top + 0.24))


def rug(r: Random) -> Scene:
    """A round rug on planks, from above."""
    c = Canvas.new(CREAM)
    _planks(c.at(0, 0), r, -0.02, near(r, r.choice(FLOORS), 0.03))
    x, y, colour, second = r.uniform(0.3, 0.7), r.uniform(0.3, 0.7), tint(toy_colour(r), 0.25), tint(toy_colour(r), 0.5)
    for i in range(5):
        size = 0.56 - 0.1 * i
        c.oval(x, y, size, size, colour if i % 2 == 0 else second)
    return Scene(c, None)


def gingham(r: Random) -> Scene:
    """A checked cloth, from above."""
    colour, count = toy_colour(r, rgb("F0E3CB")), r.choice([5, 6, 8])
    c = Canvas.new(rgb("FBF5E9"))
    d = c.at(0.5, 0.5, 1, r.choice([0, 0, 45, r.uniform(0, 90)]))
    for i in range(-count, count):
        if i % 2 == 0:
            a, b = i / count, (i + 1) / count
            d.poly(box(a, -1, b, 1), colour, 0.32)
            d.poly(box(-1, a, 1, b), colour, 0.32)
    return Scene(c, None)


def meadow(r: Random) -> Scene:
    """Sky, hills, grass, daisies."""
    sky = near(r, r.choice([rgb("CFE3EA"), rgb("F3DDB8"), rgb("BBD3E3"), rgb("EBD3CF")]), 0.03)
    c = Canvas.new(sky)
    if r.random() < 0.5:
        c.oval(r.uniform(0.1, 0.9), r.uniform(0.1, 0.22), 0.08, 0.08, light(rgb("F4CF73"), 0.2))
    for _ in range(r.randint(0, 3)):
        x, y = r.random(), r.uniform(0.06, 0.3)
        for dx, size in ((-0.08, 0.04), (0, 0.06), (0.09, 0.045)):
            c.oval(x + dx, y, size * 1.5, size, PAPER, 0.9)
    green = near(r, r.choice(LEAF), 0.05)
    top = r.uniform(0.42, 0.56)
    for i, share in ((0, 0.6), (1, 0.4)):
        x = r.uniform(0, 1)
        c.oval(x, top + 0.34 + 0.05 * i, 0.75, 0.36, tint(green, share, sky))
    c.poly(box(0, top + 0.12, 1, 1), mix(green, CREAM, 0.12))
    for _ in range(40):
        x, y = r.random(), r.uniform(top + 0.14, 1)
        c.stroke([(x, y), (x + r.uniform(-0.01, 0.01), y - 0.03)], 0.006, dark(green, 0.2), 0.7)
    petal = r.choice([PAPER, tint(toy_colour(r), 0.3)])
    for _ in range(r.randint(0, 8)):
        flower(c, r.random(), r.uniform(top + 0.2, 0.98), 0.024, petal, TOYS[2])
    return Scene(c, (top + 0.24, top + 0.36))


def shelf(r: Random) -> Scene:
    """A board on a wall with books at one side."""
    c = _wall(r, near(r, r.choice(WALLS), 0.03))
    y, board = r.uniform(0.72, 0.82), near(r, r.choice([WOOD, CREAM, rgb("8C6A4F")]), 0.03)
    x, left = 0.0, r.random() < 0.5
    while x < r.uniform(0.1, 0.34):
        wide, high = r.uniform(0.035, 0.07), r.uniform(0.26, 0.46)
        a = x if left else 1 - x - wide
        book = tint(toy_colour(r), 0.18)
        path = c.poly(box(a, y - high, a + wide, y), book, radius=0.008)
        c.inside(path).poly(box(a, y - high + 0.05, a + wide, y - high + 0.075), tint(book, 0.55))
        x += wide + 0.004
    c.poly(box(0, y, 1, y + 0.05), board)
    c.poly(box(0, y + 0.05, 1, y + 0.075), dark(board, 0.3))
    c.poly(box(0, y + 0.075, 1, y + 0.13), dark(board, 0.4), 0.16)
    return Scene(c, (y + 0.01, y + 0.025))


def night(r: Random) -> Scene:
    """A dark room with stars on the wall and a moon."""
    colour = near(r, r.choice([rgb("3B4668"), rgb("4A4A6E"), rgb("33505F"), rgb("5B4B66")]), 0.03)
    c = Canvas.new(colour)
    for _ in range(r.randint(8, 18)):
        size = r.uniform(0.005, 0.012)
        c.oval(r.random(), r.uniform(0, 0.6), size, size, rgb("F5E3A8"), 0.85)
    if r.random() < 0.6:
        x, y = r.choice([0.18, 0.82]), r.uniform(0.14, 0.24)
        c.oval(x, y, 0.09, 0.09, rgb("F7E7B4"))
        c.oval(x + 0.045, y - 0.02, 0.08, 0.08, colour)
    top = r.uniform(0.58, 0.7)
    c.poly(box(0, top, 1, 1), dark(mix(colour, WOOD, 0.35), 0.12))
    c.poly(box(0, top, 1, top + 0.012), dark(colour, 0.35))
    return Scene(c, (top + 0.1, top + 0.22))


def beach(r: Random) -> Scene:
    """Sky, sea, sand."""
    sky, sea = near(r, rgb("D6E6E8"), 0.03), near(r, r.choice([rgb("7FB3BF"), rgb("5F97B0"), rgb("8CC0B4")]), 0.04)
    c = Canvas.new(sky)
    top = r.uniform(0.34, 0.46)
    path = c.poly(box(0, top, 1, 1), sea)
    waves(c.at(0.5, top + 0.1, 0.24), path, tint(sea, 0.4), r)
    sand = near(r, rgb("EBD3A4"), 0.03)
    c.blob(
        [(-0.2, top + 0.2), (0.2, top + 0.17), (0.55, top + 0.2), (0.9, top + 0.16), (1.2, top + 0.2), (1.2, 1.2), (-0.2, 1.2)],
        sand,
    )
    for _ in range(60):
        c.oval(r.random(), r.uniform(top + 0.24, 1), 0.004, 0.004, dark(sand, 0.2))
    return Scene(c, (top + 0.32, top + 0.42))


def cutouts(r: Random) -> Scene:
    """Sheets of coloured paper with leaf-like cut-outs, from above."""
    c = Canvas.new(near(r, r.choice([*WALLS, rgb("D98E6A"), rgb("6F8FA6"), rgb("8FA98B")]), 0.03))
    for _ in range(r.randint(3, 7)):
        colour = tint(toy_colour(r), r.uniform(0.1, 0.55))
        d = c.at(r.random(), r.random(), r.uniform(0.12, 0.3), r.uniform(0, 360))
        if r.random() < 0.5:
            d.blob(
                [(r.uniform(0.6, 1.2) * np.cos(t), r.uniform(0.5, 1.1) * np.sin(t)) for t in np.linspace(0, 2 * np.pi, 8)[:-1]],
                colour,
            )
        else:
            d.stroke([(-1, 0), (0, 0.1), (1, 0)], 0.18, colour)
            for x in (-0.7, -0.3, 0.1, 0.5):
                d.stroke([(x, 0.05), (x + 0.2, -0.45)], 0.2, colour)
                d.stroke([(x, 0.05), (x + 0.2, 0.5)], 0.2, colour)
    return Scene(c, None)


def box_of_toys(r: Random) -> Scene:
    """Inside a wooden box: boards behind, a heap of bricks and balls below."""
    wood = near(r, r.choice([WOOD, rgb("B98A5E"), rgb("DDBE93")]), 0.03)
    c = Canvas.new(wood)
    for i in range(4):
        c.poly(box(0.25 * i, 0, 0.25 * i + 0.012, 1), dark(wood, 0.25))
    c.poly(box(0, 0, 1, 0.09), dark(wood, 0.22))
    for row in range(3):
        for i in range(9):
            x, y, size = i / 8 + r.uniform(-0.05, 0.05), 0.74 + 0.11 * row + r.uniform(-0.03, 0.03), r.uniform(0.06, 0.1)
            colour = tint(toy_colour(r), 0.15)
            if r.random() < 0.5:
                c.oval(x, y, size, size, dark(colour, 0.12 + 0.1 * (2 - row)))
            else:
                d = c.at(x, y, size, r.uniform(0, 90))
                d.poly(box(-0.9, -0.9, 0.9, 0.9), dark(colour, 0.12 + 0.1 * (2 - row)), radius=0.2)
    return Scene(c, (0.76, 0.86))


SCENES = (room, room, rug, gingham, meadow, shelf, night, beach, cutouts, box_of_toys)
