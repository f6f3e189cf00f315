"""Fruit: apple, pear, lemon, strawberry. Each function draws one thing that spans about -1 to 1, by chance from `r`."""

from __future__ import annotations

from random import Random

import numpy as np

from forget_me_not.models.packs.canvas import Canvas, Colour, dark, light, mirrored, mix, rgb
from forget_me_not.models.packs.paint import CREAM, LEAF, leaf, near, shade, shine, wobbly

RIPE = [rgb(c) for c in ("CF3F3A", "B8323E", "DE6A4C", "E9B44C", "D6C552", "9DB552", "7FA653")]
"""Skins that apple and pear share."""
STEM = rgb("7A563C")


def _skin(c: Canvas, r: Random, outline: list[tuple[float, float]], colour: Colour, blush: Colour) -> np.ndarray:
    """A painted fruit: base, blush, speckles, form shadow."""
    path = c.blob(outline, colour)
    inner = c.inside(path)
    if r.random() < 0.6:
        x, y = r.uniform(-0.6, 0.6), r.uniform(-0.4, 0.5)
        inner.soft(lambda d: d.oval(x, y, 0.5, 0.6, CREAM), 0.03, blush, r.uniform(0.4, 0.8))
    if r.random() < 0.5:
        for _ in range(r.randint(8, 22)):
            size = r.uniform(0.015, 0.03)
            inner.oval(r.uniform(-0.8, 0.8), r.uniform(-0.7, 0.8), size, size, light(colour, 0.5), 0.8)
    shade(c, path, colour)
    return path


def _stem(c: Canvas, r: Random, y: float) -> None:
    lean = r.uniform(-0.18, 0.18)
    c.stroke([(0, y + 0.12), (lean * 0.4, y - 0.08), (lean, y - r.uniform(0.16, 0.34))], 0.09, near(r, STEM), end=0.07)
    for side in (0, 180):
        if r.random() < 0.5:
            leaf(c, lean * 0.4, y - 0.06, r.uniform(0.4, 0.65), side - 25 + r.uniform(-20, 45), near(r, r.choice(LEAF)))


def apple(c: Canvas, r: Random) -> None:
    """Round with a dimple; red, green or yellow; now and then cut open or bitten."""
    wide = r.uniform(0.92, 1.06)
    half = [(0, -0.6), (0.34, -0.78), (0.76, -0.6), (0.95, -0.08), (0.8, 0.45), (0.45, 0.83), (0, 0.76)]
    outline = wobbly(r, [(x * wide, y) for x, y in mirrored(half)], 0.025)
    colour = near(r, r.choice(RIPE))
    if r.random() < 0.18:
        _cut(c, r, outline, colour)
        _stem(c, r, -0.62)
        return
    _skin(c, r, outline, colour, near(r, r.choice(RIPE)))
    c.blob([(-0.28, -0.6), (0, -0.66), (0.28, -0.6), (0, -0.46)], dark(colour, 0.35))
    _stem(c, r, -0.6)
    shine(c, -0.48, -0.32, 0.13, 0.24, 24)
    if r.random() < 0.15:
        for y in (-0.18, 0.12, 0.4):
            c.oval(0.93 * wide, y, 0.26, 0.22, CREAM)


def pear(c: Canvas, r: Random) -> None:
    """A narrow neck on a round belly, in the colours of apples."""
    neck, belly = r.uniform(0.24, 0.42), r.uniform(0.64, 0.8)
    half = [(0, -0.88), (neck * 0.8, -0.8), (neck, -0.48), (neck + 0.14, -0.12), (belly, 0.36), (belly * 0.78, 0.8), (0, 0.9)]
    bend = r.uniform(-0.16, 0.16)
    outline = wobbly(r, [(x + bend * max(0, -y), y) for x, y in mirrored(half)], 0.025)
    colour = near(r, r.choice([*RIPE[2:], rgb("B98B4E")]))
    if r.random() < 0.18:
        _cut(c, r, outline, colour, middle=0.34)
    else:
        _skin(c, r, outline, colour, near(r, r.choice(RIPE)))
        shine(c, -0.36, 0.2, 0.11, 0.26, 12)
    _stem(c.at(bend * 0.8, 0), r, -0.84)


def _cut(c: Canvas, r: Random, outline: list[tuple[float, float]], colour: Colour, middle: float = 0.05) -> None:
    """A fruit cut in half: skin, flesh, core and pips."""
    c.blob(outline, colour)
    flesh = near(r, rgb("F5E6B8"), 0.03)
    path = c.blob([(x * 0.89, y * 0.9 + 0.01) for x, y in outline], flesh)
    shade(c, path, flesh)
    c.blob([(0, middle - 0.34), (0.24, middle), (0, middle + 0.3), (-0.24, middle)], light(dark(flesh, 0.12), 0.1))
    for x in (-0.09, 0.09):
        c.oval(x, middle, 0.05, 0.1, rgb("5A3D2E"), angle=-12 * np.sign(x))


def lemon(c: Canvas, r: Random) -> None:
    """An oval with a tip at either end; yellow, at times a little green or orange; now and then a slice."""
    colour = near(r, r.choice([rgb("EBC944"), rgb("F0D75A"), rgb("E3B23C"), rgb("E9DE8C")]))
    if r.random() < 0.25:
        _slice(c, r, colour)
        return
    fat = r.uniform(0.6, 0.74)
    top = [(-1, -0.06), (-0.82, -0.2), (-0.5, -fat * 0.86), (0, -fat), (0.5, -fat * 0.84), (0.78, -0.24), (0.98, -0.1)]
    outline = wobbly(r, [*top, *[(-x * 0.99, -y) for x, y in top]], 0.02)
    path = _skin(c, r, outline, colour, near(r, r.choice([rgb("A9BE55"), rgb("E3A03C")])))
    for _ in range(16):
        c.inside(path).oval(r.uniform(-0.8, 0.8), r.uniform(-0.55, 0.55), 0.025, 0.025, dark(colour, 0.14))
    shine(c, -0.3, -fat * 0.5, 0.26, 0.1, -14)
    if r.random() < 0.45:
        leaf(c, -0.92, 0, r.uniform(0.4, 0.6), r.uniform(150, 250), near(r, r.choice(LEAF)))


def _slice(c: Canvas, r: Random, colour: Colour) -> None:
    c.oval(0, 0, 0.92, 0.92, colour)
    c.oval(0, 0, 0.82, 0.82, rgb("FBF3D8"))
    count, turn = r.choice([8, 9, 10]), r.uniform(0, 40)
    for i in range(count):
        a, b = (np.deg2rad(turn + 360 * (i + s) / count) for s in (0.09, 0.91))
        m = (a + b) / 2
        wedge = [(0.1 * np.cos(m), 0.1 * np.sin(m)), (0.74 * np.cos(a), 0.74 * np.sin(a)), (0.78 * np.cos(m), 0.78 * np.sin(m)),
                 (0.74 * np.cos(b), 0.74 * np.sin(b))]  # fmt: skip
        c.poly(wedge, mix(colour, rgb("FFF1B0"), 0.35), radius=0.1)


def strawberry(c: Canvas, r: Random) -> None:
    """A heart with seeds under a green crown; ripe or not yet."""
    wide, tip = r.uniform(0.86, 1.02), r.uniform(0.88, 1.02)
    half = [(0, -0.6), (0.42, -0.68), (0.8, -0.45), (0.8, -0.02), (0.5, 0.5), (0.16, 0.84 * tip), (0, 0.9 * tip)]
    colour = near(r, r.choice([rgb("CF3F3A"), rgb("B8323E"), rgb("DE5E5A"), rgb("E58E7C"), rgb("D6C98A")]))
    path = _skin(c, r, wobbly(r, [(x * wide, y) for x, y in mirrored(half)], 0.02), colour, near(r, rgb("D9503F")))
    seed = rgb("F3D679") if colour[1] < 130 else dark(colour, 0.3)
    for row in range(-2, 5):
        for column in range(-3, 4):
            x, y = 0.3 * (column + (row % 2) / 2) + r.uniform(-0.03, 0.03), 0.24 * row + r.uniform(-0.03, 0.03)
            c.inside(path).oval(x, y, 0.032, 0.055, seed)
    shine(c, -0.45, -0.25, 0.1, 0.22, 20, 0.35)
    green = near(r, r.choice(LEAF))
    for angle in (10, 50, 90, 130, 170):
        leaf(c, 0, -0.62, r.uniform(0.42, 0.56), angle + r.uniform(-10, 10) + (90 - angle) * 0.1, green)
    c.stroke([(0, -0.6), (r.uniform(-0.1, 0.1), -0.9)], 0.08, dark(green, 0.15))
