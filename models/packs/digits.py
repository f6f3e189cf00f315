"""Handwritten digits: scikit-learn's 8 x 8 scans, made large as ink on paper; five tasks of two.

The scans are the test half of UCI's "Optical Recognition of Handwritten Digits" (E. Alpaydin, C. Kaynak, 1998; CC BY 4.0):
1,797 digits of 13 writers, inside every copy of scikit-learn, so nothing is fetched. Who wrote what is not recorded; a writer
may be on both sides of the split.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from PIL import Image

from forget_me_not.models.packs.canvas import SIDE, rgb

PER_CLASS = 60
TASKS = tuple((str(d), str(d + 1)) for d in range(0, 10, 2))

MARGIN = 1
"""Empty pixels put around the 8 x 8 of a scan."""
EDGE = (0.26, 0.8)
"""Ink coverage at which paper ends and at which full ink begins."""
INK, PAPER = rgb("1D2236"), rgb("FAF8F3")


def pictures(per_class: int = PER_CLASS) -> Iterator[tuple[str, Image.Image]]:
    """(class, SIDE x SIDE RGB) digit after digit: `per_class` scans of each, evenly from first to last, so from all writers."""
    from sklearn.datasets import load_digits

    data = load_digits()
    for digit in range(10):
        scans = data.images[data.target == digit]
        for i in range(per_class):
            yield str(digit), enlarged(scans[i * len(scans) // per_class])


def enlarged(scan: np.ndarray) -> Image.Image:
    """SIDE x SIDE RGB of a scan (8, 8) of ink 0 to 16: bicubic, then a steep tone curve that gives strokes an edge again."""
    ink = Image.fromarray(np.pad(scan / 16, MARGIN).astype(np.float32), "F").resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    t = np.clip((np.asarray(ink) - EDGE[0]) / (EDGE[1] - EDGE[0]), 0, 1)[..., None]  # (S, S, 1)
    cover = t * t * (3 - 2 * t)
    return Image.fromarray(np.rint(np.array(PAPER) * (1 - cover) + np.array(INK) * cover).astype(np.uint8))
