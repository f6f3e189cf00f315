"""Where a network that is trained throughout gets its pixels: ready tensors, permuted on the way out, or photos of a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import torch
from PIL import Image
from torch import Tensor

from forget_me_not.models.core import PIXELS
from forget_me_not.models.decode import SMALL
from forget_me_not.models.encoder import TableVit
from forget_me_not.models.problem import Problem

if TYPE_CHECKING:
    from forget_me_not.models.edit import Edit
    from forget_me_not.models.images import Photo

CHUNK = 16
"""Photos decoded between two turns of others: 16 take below 0.1 s."""

View = Callable[[int], Tensor]
"""View number -> (S * S,) the place each pixel comes from."""


class PixelTable:
    """A core.Source over images (N, c, S, S): float as they are, uint8 as [-1, 1]. Only the cut PIXELS: Problem("pixels_only").

    Image i in view v is number v * N + i. view: the permutation of each view, made when asked, so that many views take no
    memory; None has one view, the images themselves.
    """

    def __init__(self, images: Tensor, view: View | None = None, name: str = "pixels"):
        self.images, self.view = images, view and lru_cache(2)(view)
        self.vit = TableVit(0, name, name)

    def encode(self, index: Tensor, cut: int, edit: Edit | None = None) -> Iterator[int]:
        """Yields len(index): everything is ready."""
        _refuse(cut, edit)
        yield len(index)

    def get(self, index: Tensor, cut: int, edit: Edit | None = None) -> Tensor:
        """(B, c, S, S) float32 pixels of images `index`, each in its view."""
        _refuse(cut, edit)
        whole = _floating(self.images[index % len(self.images)])
        if self.view is None:
            return whole
        flat, views = whole.flatten(2), index // len(self.images)
        for v in views.unique().tolist():
            mine = views == v
            flat[mine] = flat[mine][..., self.view(v)]
        return flat.view_as(whole)


class PhotoPixels:
    """A core.Source over photos at S x S pixels, colour, [-1, 1]: short side to S (bicubic), centre crop, decoded once.

    Up to S = 32 a JPEG is read at a reduced size that has at least twice the pixels, which is up to eight times as fast.
    It holds 3 S^2 bytes a photo. Only the cut PIXELS: Problem("pixels_only").
    """

    def __init__(self, photos: Sequence[Photo], size: int):
        self.photos, self.size = photos, size
        self.vit = TableVit(0, f"photos {size}", f"photos {size}")
        self._images = torch.zeros(len(photos), 3, size, size, dtype=torch.uint8)
        self._ready = torch.zeros(len(photos), dtype=torch.bool)

    def encode(self, index: Tensor, cut: int, edit: Edit | None = None) -> Iterator[int]:
        """Decodes photos `index`, yielding after each chunk how many are ready."""
        _refuse(cut, edit)
        missing = index[~self._ready[index]].unique()
        done = len(index) - len(missing)
        for part in missing.split(CHUNK):
            for i in part.tolist():
                self._images[i] = square(self.photos[i].open(small=2 * self.size <= SMALL), self.size)
            self._ready[part] = True
            done += len(part)
            yield min(done, len(index))
        if not len(missing):
            yield len(index)

    def get(self, index: Tensor, cut: int, edit: Edit | None = None) -> Tensor:
        """(B, 3, S, S) float32 pixels of photos `index`."""
        for _ in self.encode(index, cut, edit):
            pass
        return _floating(self._images[index])


def square(image: Image.Image, size: int) -> Tensor:
    """(3, size, size) uint8: short side to `size`, centre crop, of an upright RGB image."""
    width, height = image.size
    scale = size / min(width, height)
    wide, high = max(size, round(width * scale)), max(size, round(height * scale))
    left, top = (wide - size) // 2, (high - size) // 2
    cut = image.resize((wide, high), Image.Resampling.BICUBIC).crop((left, top, left + size, top + size))
    return torch.frombuffer(bytearray(cut.convert("RGB").tobytes()), dtype=torch.uint8).view(size, size, 3).permute(2, 0, 1)


def _floating(images: Tensor) -> Tensor:
    return images.float() / 127.5 - 1 if images.dtype == torch.uint8 else images


def _refuse(cut: int, edit: Edit | None) -> None:
    if cut != PIXELS or edit is not None:
        raise Problem("pixels_only")
