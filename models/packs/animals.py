"""Soft toys: cat, dog, rabbit, bear. One pattern for all four; only ears, muzzle, tail and markings tell them apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from forget_me_not.models.packs.canvas import Canvas, Colour, dark, light, mirrored, mix, rgb
from forget_me_not.models.packs.paint import CREAM, FUR, INK, near, shade, stripes, toy_colour, wobbly

PINK = rgb("E8A39B")


@dataclass(frozen=True)
class Coat:
    """The colours of one toy: fur, its light parts (belly, muzzle), a second colour for patches; whether it sleeps."""

    fur: Colour
    pale: Colour
    patch: Colour
    asleep: bool


@dataclass(frozen=True)
class Kind:
    """What makes a species. Each draws around a head that is an oval of 0.56 x 0.48 at (0, 0), or around a tail's root."""

    ears: Callable[[Canvas, Random, Coat], None]
    muzzle: Callable[[Canvas, Random, Coat], None]
    tail: Callable[[Canvas, Random, Coat], None]
    cheeks: float = 0.5


def _coat(r: Random) -> Coat:
    fur = near(r, r.choice(FUR), 0.06)
    return Coat(fur, mix(fur, CREAM, r.uniform(0.45, 0.9)), near(r, r.choice([f for f in FUR if f != fur])), r.random() < 0.2)


def _cat_ears(c: Canvas, r: Random, coat: Coat) -> None:
    high, out = r.uniform(0.7, 0.86), r.uniform(0.46, 0.54)
    for side in (-1, 1):
        c.poly([(side * 0.08, -0.32), (side * out, -high), (side * 0.56, -0.08)], coat.fur, radius=0.07)
        c.poly([(side * 0.2, -0.34), (side * out * 0.95, -high + 0.13), (side * 0.48, -0.16)], PINK, radius=0.06)


def _cat_muzzle(c: Canvas, r: Random, coat: Coat) -> None:
    if r.random() < 0.55:
        for x in (-0.14, 0, 0.14):
            c.stroke([(x, -0.46), (x * 0.8, -0.27)], 0.07, dark(coat.patch, 0.1), end=0.03)
    for x in (-0.1, 0.1):
        c.oval(x, 0.17, 0.14, 0.11, coat.pale)
    c.poly([(-0.07, 0.06), (0.07, 0.06), (0, 0.14)], PINK, radius=0.02)
    whisker = dark(coat.pale, 0.25) if sum(coat.fur) > 330 else coat.pale
    for side in (-1, 1):
        for y in (0.1, 0.2):
            c.stroke([(side * 0.26, y + 0.02), (side * 0.66, y + 0.18 * (y - 0.14))], 0.022, whisker)


def _cat_tail(c: Canvas, r: Random, coat: Coat) -> None:
    c.stroke([(0, 0), (0.34, 0.02), (0.5, -0.28), (0.4, -0.56), (0.52, -0.74)], 0.17, dark(coat.fur, 0.08), end=0.13)


def _dog_ears(c: Canvas, r: Random, coat: Coat) -> None:
    colour = dark(coat.patch if r.random() < 0.6 else coat.fur, 0.12)
    long = r.uniform(0.26, 0.5)
    for side in (-1, 1):
        d = c.at(0, 0, 1, flip=side < 0)
        if r.random() < 0.08:  # one ear pricked
            d.poly([(0.12, -0.34), (0.42, -0.72), (0.56, -0.1)], colour, radius=0.1)
        else:
            d.blob([(0.22, -0.43), (0.5, -0.42), (0.74, -0.1), (0.76, long), (0.56, long + 0.04), (0.46, -0.1)], colour)


def _dog_muzzle(c: Canvas, r: Random, coat: Coat) -> None:
    if r.random() < 0.5:
        c.oval(r.choice([-0.22, 0.22]), -0.1, 0.17, 0.2, coat.patch)
    c.blob([(-0.09, -0.44), (0.09, -0.44), (0.12, 0.1), (-0.12, 0.1)], coat.pale)
    if r.random() < 0.7:
        c.blob([(-0.07, 0.26), (0.09, 0.26), (0.08, 0.44), (0, 0.48), (-0.06, 0.44)], rgb("D8697A"))
    c.blob([(0, -0.04), (0.2, 0.04), (0.26, 0.2), (0.14, 0.34), (-0.14, 0.34), (-0.26, 0.2), (-0.2, 0.04)], coat.pale)
    c.blob([(-0.12, 0.03), (0, 0), (0.12, 0.03), (0.06, 0.13), (-0.06, 0.13)], INK)
    c.stroke([(0, 0.12), (0, 0.21)], 0.026, INK)
    c.stroke([(-0.13, 0.19), (-0.06, 0.25), (0, 0.21), (0.06, 0.25), (0.13, 0.19)], 0.026, INK)


def _dog_tail(c: Canvas, r: Random, coat: Coat) -> None:
    c.stroke([(0, 0), (0.24, -0.14), (0.34, -0.38)], 0.16, dark(coat.fur, 0.08), end=0.08)


def _rabbit_ears(c: Canvas, r: Random, coat: Coat) -> None:
    long = r.uniform(0.82, 1.05)
    for side in (-1, 1):
        d = c.at(side * 0.2, -0.34, 1, side * r.uniform(-2, 24))
        if r.random() < 0.1:  # folded over
            d.blob([(-0.13, 0.1), (-0.16, -0.4), (0, -0.56), (0.14, -0.4), (0.12, 0.1)], coat.fur)
            d.blob(
                [(-0.1, -0.5), (0.08, -0.56), (side * 0.4, -0.3), (side * 0.44, -0.06), (side * 0.28, -0.1)], dark(coat.fur, 0.1)
            )
        else:
            d.blob([(-0.12, 0.1), (-0.2, -0.4 * long), (0, -0.82 * long), (0.2, -0.4 * long), (0.12, 0.1)], coat.fur)
            d.blob([(-0.05, 0), (-0.09, -0.38 * long), (0, -0.66 * long), (0.09, -0.38 * long), (0.05, 0)], PINK)


def _rabbit_muzzle(c: Canvas, r: Random, coat: Coat) -> None:
    for x in (-0.09, 0.09):
        c.oval(x, 0.17, 0.13, 0.1, coat.pale)
    if r.random() < 0.6:
        c.poly([(-0.06, 0.22), (0.06, 0.22), (0.05, 0.34), (-0.05, 0.34)], rgb("FFFDF6"), radius=0.02)
    c.oval(0, 0.1, 0.055, 0.04, PINK if sum(coat.pale) > 420 else dark(PINK, 0.2))
    c.stroke([(0, 0.12), (0, 0.2)], 0.022, dark(coat.pale, 0.5))


def _rabbit_tail(c: Canvas, r: Random, coat: Coat) -> None:
    c.oval(0.1, -0.02, 0.2, 0.19, light(coat.pale, 0.3))


def _bear_ears(c: Canvas, r: Random, coat: Coat) -> None:
    out, size = r.uniform(0.38, 0.44), r.uniform(0.18, 0.23)
    for side in (-1, 1):
        c.oval(side * out, -0.36, size, size, coat.fur)
        c.oval(side * out, -0.35, size * 0.55, size * 0.55, mix(coat.pale, PINK, 0.3))


def _bear_muzzle(c: Canvas, r: Random, coat: Coat) -> None:
    c.oval(0, 0.16, 0.25, 0.19, coat.pale)
    c.blob([(-0.1, 0.06), (0, 0.03), (0.1, 0.06), (0.05, 0.14), (-0.05, 0.14)], INK)
    c.stroke([(-0.09, 0.22), (0, 0.27), (0.09, 0.22)], 0.026, INK)
    c.stroke([(0, 0.13), (0, 0.22)], 0.026, INK)


def _bear_tail(c: Canvas, r: Random, coat: Coat) -> None:
    c.oval(0.08, 0, 0.13, 0.13, dark(coat.fur, 0.08))


CAT = Kind(_cat_ears, _cat_muzzle, _cat_tail, 0.3)
DOG = Kind(_dog_ears, _dog_muzzle, _dog_tail, 0.1)
RABBIT = Kind(_rabbit_ears, _rabbit_muzzle, _rabbit_tail, 0.8)
BEAR = Kind(_bear_ears, _bear_muzzle, _bear_tail, 0.5)


def _head(c: Canvas, r: Random, kind: Kind, coat: Coat) -> None:
    kind.ears(c, r, coat)
    outline = mirrored([(0, -0.46), (0.38, -0.36), (0.57, 0), (0.42, 0.34), (0, 0.45)])
    path = c.blob(wobbly(r, outline, 0.02), coat.fur)
    shade(c, path, coat.fur, size=0.58)
    if r.random() < kind.cheeks:
        for x in (-0.36, 0.36):
            c.inside(path).oval(x, 0.13, 0.12, 0.09, PINK, 0.7)
    kind.muzzle(c, r, coat)
    apart = r.uniform(0.2, 0.26)
    eye = INK if sum(coat.fur) > 300 else rgb("F1D58A")
    for x in (-apart, apart):
        if coat.asleep:
            c.stroke([(x - 0.07, -0.05), (x, -0.01), (x + 0.07, -0.05)], 0.032, eye)
        else:
            c.oval(x, -0.05, 0.055, 0.065, eye)
            if eye == INK:
                c.oval(x - 0.018, -0.075, 0.018, 0.018, CREAM)
            else:
                c.oval(x, -0.05, 0.026, 0.045, INK)


def _scarf(c: Canvas, r: Random, y: float) -> None:
    colour = toy_colour(r)
    if r.random() < 0.5:
        path = c.blob([(-0.4, y - 0.03), (0, y + 0.06), (0.4, y - 0.03), (0.42, y + 0.1), (0, y + 0.2), (-0.42, y + 0.1)], colour)
        if r.random() < 0.5:
            stripes(c.at(0, y, 0.4, 90), path, light(colour, 0.5), r)
        c.poly([(0.12, y + 0.12), (0.3, y + 0.1), (0.34, y + 0.46), (0.18, y + 0.48)], dark(colour, 0.08), radius=0.03)
    else:
        for side in (-1, 1):
            c.poly([(0, y + 0.1), (side * 0.26, y - 0.02), (side * 0.26, y + 0.22)], colour, radius=0.05)
        c.oval(0, y + 0.1, 0.07, 0.07, dark(colour, 0.12))


def _sitting(c: Canvas, r: Random, kind: Kind, coat: Coat) -> None:
    kind.tail(c.at(0.34, 0.72, 0.9), r, coat)
    body = c.blob(
        wobbly(
            r, [(0, 0), (0.34, 0.12), (0.5, 0.56), (0.38, 0.92), (0, 0.98), (-0.38, 0.92), (-0.5, 0.56), (-0.34, 0.12)], 0.025
        ),
        coat.fur,
    )
    c.inside(body).oval(0, 0.62, 0.28, 0.32, coat.pale)
    shade(c.at(0, 0.5, 0.55), body, coat.fur)
    for side in (-1, 1):
        c.oval(side * 0.34, 0.9, 0.22, 0.13, coat.fur)
        c.oval(side * 0.36, 0.91, 0.11, 0.075, coat.pale)
        wave = r.random() < 0.15
        hand = (side * 0.72, 0.02) if wave else (side * r.uniform(0.2, 0.44), r.uniform(0.5, 0.64))
        c.stroke([(side * 0.36, 0.24), (side * 0.5, 0.34 if wave else 0.42), hand], 0.2, dark(coat.fur, 0.06), end=0.18)
    _head(c.at(0, -0.3, 1.1, r.uniform(-12, 12)), r, kind, coat)
    if r.random() < 0.45:
        _scarf(c, r, 0.1)


def _standing(c: Canvas, r: Random, kind: Kind, coat: Coat) -> None:
    kind.tail(c.at(-0.66, 0.22, 0.9, flip=True), r, coat)
    for x in (-0.42, 0.34):
        c.stroke([(x, 0.4), (x + 0.04, 0.82)], 0.2, dark(coat.fur, 0.22))
    body = c.blob(
        wobbly(r, [(-0.7, 0.24), (-0.5, 0), (0, -0.02), (0.5, -0.02), (0.66, 0.3), (0.44, 0.6), (0, 0.58), (-0.5, 0.62)], 0.025),
        coat.fur,
    )
    if r.random() < 0.4:
        c.inside(body).oval(r.uniform(-0.4, 0), 0.1, 0.26, 0.22, coat.patch)
    c.inside(body).oval(0, 0.68, 0.5, 0.22, coat.pale)
    for x in (-0.58, 0.5):
        c.stroke([(x, 0.4), (x + r.uniform(-0.06, 0.06), 0.84)], 0.22, coat.fur)
        c.oval(x, 0.88, 0.14, 0.08, coat.pale)
    _head(c.at(0.5, -0.26, 0.95, r.uniform(-10, 14)), r, kind, coat)
    if r.random() < 0.35:
        _scarf(c.at(0.5, 0, 0.8), r, 0.12)


def _close(c: Canvas, r: Random, kind: Kind, coat: Coat) -> None:
    c.blob([(-0.62, 1.05), (-0.5, 0.6), (0, 0.42), (0.5, 0.6), (0.62, 1.05)], dark(coat.fur, 0.12))
    _head(c.at(0, 0.02, 1.35, r.uniform(-10, 10)), r, kind, coat)
    if r.random() < 0.6:
        _scarf(c.at(0, 0, 1.1), r, 0.56)


def _draw(c: Canvas, r: Random, kind: Kind) -> None:
    pose = r.choices([_sitting, _standing, _close], [5, 2, 3])[0]
    pose(c, r, kind, _coat(r))


def cat(c: Canvas, r: Random) -> None:
    """Pointed ears, whiskers, a long tail."""
    _draw(c, r, CAT)


def dog(c: Canvas, r: Random) -> None:
    """Hanging ears, a large muzzle, at times its tongue out."""
    _draw(c, r, DOG)


def rabbit(c: Canvas, r: Random) -> None:
    """Long ears, a tuft for a tail."""
    _draw(c, r, RABBIT)


def bear(c: Canvas, r: Random) -> None:
    """Round ears, a round muzzle."""
    _draw(c, r, BEAR)
