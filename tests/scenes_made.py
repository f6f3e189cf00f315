"""Pictures made from a number, files and zips of them, and how far two pictures are apart."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pillow_heif
from PIL import Image

from forget_me_not.models.images import ImageSet


def scene(seed: int = 0, width: int = 96, height: int = 64) -> Image.Image:
    """A smooth random picture: no two seeds look alike."""
    coarse = np.random.default_rng(seed).integers(0, 256, (5, 6, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)


def encoded(image: Image.Image, format: str = "JPEG", **how) -> bytes:
    file = io.BytesIO()
    if format == "HEIF":
        pillow_heif.from_pillow(image).save(file)
    else:
        image.save(file, format, **how)
    return file.getvalue()


def lay(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def pack(path: Path, files: dict[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def animals() -> dict[str, bytes]:
    return {f"{label}/img{i}.jpg": encoded(scene(10 * c + i)) for c, label in enumerate(("cat", "dog")) for i in (1, 2, 10)}


def apart(a: Image.Image, b: Image.Image) -> float:
    """Mean difference of two pictures in grey levels."""
    return float(np.abs(np.asarray(a, dtype=float) - np.asarray(b, dtype=float)).mean())


def key(images: ImageSet) -> list:
    return [(photo.sha, photo.label, photo.domain, photo.group) for photo in images.photos]
