"""The toy box: sixteen kinds of toy in four tasks, every picture drawn from its class, its number and the seed alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import numpy as np
from PIL import Image, ImageChops

from forget_me_not.models.packs import animals, fruit, household, vehicles
from forget_me_not.models.packs.canvas import SIDE, Canvas, blurred, rgb
from forget_me_not.models.packs.clutter import FLAT, STANDING
from forget_me_not.models.packs.scenes import SCENES, Scene

Draw = Callable[[Canvas, Random], None]

TASKS: dict[str, dict[str, Draw]] = {
    "fruit": {"apple": fruit.apple, "pear": fruit.pear, "lemon": fruit.lemon, "strawberry": fruit.strawberry},
    "animals": {"cat": animals.cat, "dog": animals.dog, "rabbit": animals.rabbit, "bear": animals.bear},
    "vehicles": {"car": vehicles.car, "bus": vehicles.bus, "truck": vehicles.truck, "train": vehicles.train},
    "household": {"cup": household.cup, "teapot": household.teapot, "vase": household.vase, "lamp": household.lamp},
}
PER_CLASS = 30
SEED = 1

FEET = {"apple": 0.8, "pear": 0.88, "lemon": 0.68, "strawberry": 0.86, "cup": 0.66, "teapot": 0.62, "vase": 0.95, "lamp": 0.92,
        **dict.fromkeys(TASKS["animals"], 1.0), **dict.fromkeys(TASKS["vehicles"], vehicles.GROUND)}  # fmt: skip
"""How far below its middle a thing touches the ground, in its own units."""
REACH = {"rabbit": 0.86, "cat": 0.94, "dog": 0.94, "bear": 0.94, "vase": 0.96, "lamp": 0.96}
"""Size against the others of things that would stand out of the picture."""
LEAN = {"fruit": 28, "animals": 6, "vehicles": 4, "household": 5}
"""Degrees a standing thing may lean."""
LIGHT = [rgb(c) for c in ("FFFFFF", "FFFFFF", "FFF4E2", "FFEACF", "EDF1FC", "E4EAF6")]
SHADOW = rgb("4A3F48")
SEEN = 6
"""Grey levels by which a thing differs from what is behind it; a lamp's faint glow throws no shadow."""


def pictures(per_class: int = PER_CLASS, seed: int = SEED) -> Iterator[tuple[str, Image.Image]]:
    """(class, SIDE x SIDE RGB) of every picture, class after class."""
    for kinds in TASKS.values():
        for name in kinds:
            for number in range(per_class):
                yield name, picture(name, number, seed)


def picture(name: str, number: int, seed: int = SEED) -> Image.Image:
    """Picture `number` of a class: SIDE x SIDE, RGB."""
    task = next(t for t, kinds in TASKS.items() if name in kinds)
    r = Random(f"toy box {seed} {name} {number}")
    scene = r.choice(SCENES)(r)
    c, size = scene.canvas, r.uniform(0.33, 0.44) * REACH.get(name, 1)
    x, y, turn = _pose(r, scene, name, LEAN[task], size)
    around = list(_around(r, scene, x, y, size))
    behind = [r.random() < 0.75 for _ in around]
    for item, back in zip(around, behind, strict=True):
        if back:
            _put(c, r, scene, *item)
    flip = r.random() < 0.5
    _grounded(c, r, scene, lambda d: TASKS[task][name](d.at(x, y, size, turn, flip), r), size)
    for item, back in zip(around, behind, strict=True):
        if not back:
            _put(c, r, scene, *item)
    return _lit(r, c.reduced())


def _pose(r: Random, scene: Scene, name: str, lean: float, size: float) -> tuple[float, float, float]:
    """Middle and turn of the thing the picture is of; it may stand a little out of the picture."""
    x = r.uniform(0.38, 0.62)
    if scene.ground is None:
        return x, r.uniform(0.42, 0.58), r.gauss(0, 16)
    return x, r.uniform(*scene.ground) - size * FEET[name], r.uniform(-1, 1) * lean


def _around(r: Random, scene: Scene, x: float, y: float, size: float) -> Iterator[tuple[Draw, float, float, float]]:
    """Up to four (draw, x, y, size) beside the thing, mostly clear of it."""
    for _ in range(r.choice([0, 1, 1, 2, 2, 3])):
        small = r.uniform(0.05, 0.1)
        if scene.ground is None:
            t, away = r.uniform(0, 2 * np.pi), size * 0.95 + small + r.uniform(0, 0.15)
            yield r.choice(FLAT), x + away * np.cos(t), y + away * np.sin(t), small
        else:
            side = r.choice([-1, 1])
            beside = x + side * (size * 0.8 + r.uniform(0, 0.3))
            yield r.choice(STANDING), beside, r.uniform(*scene.ground) + 0.03 - small * 0.85, small


def _put(c: Canvas, r: Random, scene: Scene, draw: Draw, x: float, y: float, size: float) -> None:
    """A small thing with its shadow."""
    turn = r.uniform(0, 360) if scene.ground is None else r.uniform(-6, 6)
    _grounded(c, r, scene, lambda d: draw(d.at(x, y, size, turn), r), size)


def _grounded(c: Canvas, r: Random, scene: Scene, draw: Callable[[Canvas], None], size: float) -> None:
    """Draws a thing with the shadow of its own outline: below its lowest part, or all around where it lies seen from above.

    It is drawn twice from the same state of chance: once to learn its outline, once over its shadow.
    """
    state, trial = r.getstate(), Canvas(c.image.copy(), c.frame)
    draw(trial)
    r.setstate(state)
    mask = ImageChops.difference(c.image, trial.image).convert("L").point(lambda v: 255 if v > SEEN else 0)
    wide = c.image.size[0]
    if scene.ground is None:
        shadow = ImageChops.offset(mask, round(0.03 * wide * size / 0.3), round(0.04 * wide * size / 0.3))
        c.image.paste(SHADOW, (0, 0), blurred(shadow, 0.05 * size).point(lambda v: round(v * 0.42)))
    elif (bounds := mask.getbbox()) is not None:
        feet = mask.crop((0, max(0, bounds[3] - round(size * 0.3 * wide)), wide, bounds[3])).getbbox()
        left, right, bottom = feet[0] / wide, feet[2] / wide, bounds[3] / wide
        middle, half = (left + right) / 2, (right - left) / 2
        d = c.at(middle + size * 0.06, bottom - size * 0.03)
        d.soft(lambda e: e.oval(0, 0, half * 1.08 + size * 0.06, size * 0.11, SHADOW), 0.04 * size, SHADOW, 0.5)
    draw(c)


def _lit(r: Random, image: Image.Image) -> Image.Image:
    """The picture in warm, cool or plain light, with the grain of paper."""
    image = ImageChops.multiply(image, Image.new("RGB", image.size, r.choice(LIGHT)))
    pixels = np.asarray(image, dtype=np.float64) * r.uniform(0.93, 1.06)
    grain = np.random.default_rng(r.getrandbits(32)).normal(0, 2.2, (SIDE, SIDE, 1))
    return Image.fromarray(np.clip(np.rint(pixels + grain), 0, 255).astype(np.uint8))
