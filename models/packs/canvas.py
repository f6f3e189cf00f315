"""A small vector canvas: smooth shapes in flat colour, clipped and shaded, drawn twice too large and reduced.

Everything is placed in units: (0, 0) is the middle of what is drawn, y points down, and `at` sets where that lies, how
large a unit is, and how it is turned. A canvas never draws anything by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter

SIDE = 224
OVER = 2
"""Pixels drawn for a pixel kept, each way."""

Colour = tuple[int, int, int]
Points = Sequence[tuple[float, float]]

CURVE = 10
"""Points a smooth curve gets between two given ones."""
ROUND = 48
"""Corners of an oval."""


def rgb(code: str) -> Colour:
    """The colour of "RRGGBB"."""
    return int(code[:2], 16), int(code[2:4], 16), int(code[4:], 16)


def mix(a: Colour, b: Colour, share: float) -> Colour:
    """`a` with `share` (0 to 1) of `b` in it."""
    return tuple(round(x + (y - x) * share) for x, y in zip(a, b, strict=True))


def dark(colour: Colour, amount: float = 0.2) -> Colour:
    """The colour in shadow: deeper and a little bluer, as gouache is shaded."""
    return mix(colour, (44, 38, 66), amount)


def light(colour: Colour, amount: float = 0.25) -> Colour:
    """The colour in light: paler and a little warmer."""
    return mix(colour, (255, 250, 235), amount)


def smooth(points: Points, closed: bool = True) -> np.ndarray:
    """(n, 2) a Catmull-Rom curve through the points."""
    p = np.asarray(points, dtype=float)
    if closed:
        before, here, after, then = np.roll(p, 1, 0), p, np.roll(p, -1, 0), np.roll(p, -2, 0)
    else:
        ends = np.concatenate([2 * p[:1] - p[1:2], p, 2 * p[-1:] - p[-2:-1]])
        before, here, after, then = ends[:-3], ends[1:-2], ends[2:-1], ends[3:]
    t = (np.arange(CURVE) / CURVE)[None, :, None]
    a, b, c, d = (x[:, None] for x in (before, here, after, then))
    curve = 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - 3 * c + d - a) * t**3)
    curve = curve.reshape(-1, 2)
    return curve if closed else np.concatenate([curve, p[-1:]])


def rounded(points: Points, radius: float) -> np.ndarray:
    """(n, 2) a polygon whose corners are arcs that begin `radius` (at most half an edge) before the corner."""
    p = np.asarray(points, dtype=float)
    t = np.linspace(0, 1, 8)[:, None]
    made = []
    for before, corner, after in zip(np.roll(p, 1, 0), p, np.roll(p, -1, 0), strict=True):
        ends = []
        for other in (before, after):
            length = max(1e-9, float(np.hypot(*(other - corner))))
            ends.append(corner + (other - corner) * min(radius / length, 0.5))
        made.append((1 - t) ** 2 * ends[0] + 2 * t * (1 - t) * corner + t**2 * ends[1])
    return np.concatenate(made)


def box(left: float, top: float, right: float, bottom: float) -> list[tuple[float, float]]:
    """The corners of a rectangle."""
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def mirrored(half: Points) -> list[tuple[float, float]]:
    """A closed outline from its right half, given from top to bottom: the left half is its mirror image."""
    return [*half, *[(-x, y) for x, y in reversed(half) if x > 1e-6]]


@dataclass(frozen=True)
class Canvas:
    """A place to draw. image: side * OVER square RGB; frame (2, 3): units -> pixels; clip: a mask ("L") or None."""

    image: Image.Image
    frame: np.ndarray
    clip: Image.Image | None = None

    @classmethod
    def new(cls, colour: Colour, side: int = SIDE) -> Canvas:
        """A square of one colour; units are parts of its side, (0, 0) its upper left corner."""
        wide = side * OVER
        return cls(Image.new("RGB", (wide, wide), colour), np.array([[wide, 0, 0], [0, wide, 0]], dtype=float))

    def at(self, x: float, y: float, scale: float = 1, angle: float = 0, flip: bool = False, squash: float = 1) -> Canvas:
        """The same picture with (0, 0) at (x, y), a unit `scale` long, turned by `angle` degrees clockwise."""
        turn = np.deg2rad(angle)
        cos, sin = np.cos(turn) * scale, np.sin(turn) * scale
        local = np.array([[cos * (-1 if flip else 1), -sin * squash, x], [sin * (-1 if flip else 1), cos * squash, y], [0, 0, 1]])
        return replace(self, frame=self.frame @ local)

    def inside(self, path: np.ndarray) -> Canvas:
        """The same picture where nothing is drawn outside `path`, a shape drawn before."""
        mask = Image.new("L", self.image.size)
        ImageDraw.Draw(mask).polygon([tuple(p) for p in path], fill=255)
        return replace(self, clip=mask if self.clip is None else ImageChops.multiply(mask, self.clip))

    # Shapes: each returns its outline in pixels, for `inside`

    def poly(self, points: Points | np.ndarray, fill: Colour, alpha: float = 1, radius: float = 0) -> np.ndarray:
        """A polygon, its corners rounded by `radius`."""
        return self._filled(rounded(points, radius) if radius else np.asarray(points, dtype=float), fill, alpha)

    def blob(self, points: Points, fill: Colour, alpha: float = 1) -> np.ndarray:
        """A smooth closed shape through the points."""
        return self._filled(smooth(points), fill, alpha)

    def oval(self, x: float, y: float, rx: float, ry: float, fill: Colour, alpha: float = 1, angle: float = 0) -> np.ndarray:
        """An ellipse around (x, y), turned by `angle` degrees."""
        t, turn = np.linspace(0, 2 * np.pi, ROUND, endpoint=False), np.deg2rad(angle)
        u, v = rx * np.cos(t), ry * np.sin(t)
        return self._filled(
            np.stack([x + u * np.cos(turn) - v * np.sin(turn), y + u * np.sin(turn) + v * np.cos(turn)], 1), fill, alpha
        )

    def stroke(self, points: Points, width: float, fill: Colour, alpha: float = 1, end: float | None = None) -> np.ndarray:
        """A smooth line with round ends, `width` wide, or narrowing to `end`."""
        middle = smooth(points, closed=False)
        along = np.gradient(middle, axis=0)
        along /= np.maximum(np.hypot(along[:, 0], along[:, 1]), 1e-9)[:, None]
        across = np.stack([-along[:, 1], along[:, 0]], 1)
        half = np.linspace(width, width if end is None else end, len(middle))[:, None] / 2
        t = np.linspace(0, np.pi, 9)[1:-1, None]
        first = middle[0] + half[0] * (-across[0] * np.cos(t) - along[0] * np.sin(t))
        last = middle[-1] + half[-1] * (across[-1] * np.cos(t) + along[-1] * np.sin(t))
        return self._filled(np.concatenate([middle + across * half, last, (middle - across * half)[::-1], first]), fill, alpha)

    def _filled(self, points: np.ndarray, fill: Colour, alpha: float) -> np.ndarray:
        path = points @ self.frame[:, :2].T + self.frame[:, 2]
        corners = [tuple(p) for p in path]
        if self.clip is None and alpha >= 1:
            ImageDraw.Draw(self.image).polygon(corners, fill=fill)
            return path
        wide, high = self.image.size
        left, top = (max(0, int(v)) for v in path.min(0))
        right, bottom = min(wide, int(path[:, 0].max()) + 2), min(high, int(path[:, 1].max()) + 2)
        if left < right and top < bottom:
            mask = Image.new("L", (right - left, bottom - top))
            ImageDraw.Draw(mask).polygon([(x - left, y - top) for x, y in corners], fill=round(255 * alpha))
            if self.clip is not None:
                mask = ImageChops.multiply(mask, self.clip.crop((left, top, right, bottom)))
            self.image.paste(fill, (left, top), mask)
        return path

    def soft(self, draw: Callable[[Canvas], object], blur: float, fill: Colour, alpha: float) -> None:
        """What `draw` draws, as one soft shadow or glow of `fill`; blur in parts of the picture's side."""
        white = Canvas(Image.new("RGB", self.image.size), self.frame, self.clip)
        draw(white)
        mask = white.image.convert("L").point(lambda v: 255 if v else 0)
        mask = blurred(mask, blur).point(lambda v: round(v * alpha))
        self.image.paste(fill, (0, 0), mask if self.clip is None else ImageChops.multiply(mask, self.clip))

    def reduced(self) -> Image.Image:
        """The finished picture at its kept size."""
        wide = self.image.size[0] // OVER
        return self.image.resize((wide, wide), Image.Resampling.BOX)


def blurred(mask: Image.Image, blur: float) -> Image.Image:
    """The mask ("L") made soft; blur in parts of its side. Done at the kept size: four times the speed, no eye can tell."""
    small = mask.reduce(OVER).filter(ImageFilter.GaussianBlur(blur * mask.size[0] / OVER))
    return small.resize(mask.size, Image.Resampling.BILINEAR)
