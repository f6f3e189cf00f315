"""Drawn photos that a random ViT can tell apart: each class has a colour, each photo its own pattern. As a zip, from a seed."""

from __future__ import annotations

import io
import zipfile

import numpy as np
from PIL import Image

CLASSES = ("apple", "brick", "cloud", "desk", "egg", "fern")
SIDE = 48


def photo(label: int, number: int, seed: int = 0) -> bytes:
    """A PNG: cells of the class's colour in a pattern of the number's own."""
    rng = np.random.default_rng([label, number, seed])
    colour = np.random.default_rng([label, 99]).uniform(40, 220, 3)
    cells = np.kron(rng.random((8, 8)), np.ones((SIDE // 8, SIDE // 8)))[..., None]
    pixels = np.clip(colour * (0.4 + 0.6 * cells) + rng.normal(0, 12, (SIDE, SIDE, 3)), 0, 255).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def zipped(each: int = 8, seed: int = 0) -> bytes:
    """A zip of class folders with `each` photos a class."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for label, name in enumerate(CLASSES):
            for number in range(each):
                archive.writestr(f"{name}/{number}.png", photo(label, number, seed))
    return out.getvalue()
