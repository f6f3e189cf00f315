"""Photos made for tests: classes that a random ViT can tell apart, every photo of a class different."""

import io
import random
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

COLOURS = {"apple": (200, 40, 40), "brick": (40, 200, 60), "cloud": (60, 60, 210), "desk": (210, 200, 50), "egg": (190, 60, 200)}


def photo(name: str, number: int, side: int = 48, kind: str = "PNG") -> bytes:
    """An image file: stripes of the class's colour in a direction of its own, noise of the number's."""
    rng = np.random.default_rng([sorted(COLOURS).index(name) if name in COLOURS else len(name), number])
    colour = np.array(COLOURS.get(name, (120, 120, 120)), float)
    waves = np.kron(rng.random((8, 8)), np.ones((side // 8, side // 8)))[..., None]
    pixels = np.clip(colour * (0.4 + 0.6 * waves) + rng.normal(0, 12, (side, side, 3)), 0, 255).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind)
    return out.getvalue()


def folder(root: Path, counts: dict[str, int], above: str = "") -> Path:
    """A folder of class folders below `root`."""
    for name, count in counts.items():
        (root / above / name).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            (root / above / name / f"{number}.png").write_bytes(photo(name, number + 1000 * len(above)))
    return root


def zipped(root: Path, target: Path, wrap: str = "") -> Path:
    """A zip of everything below `root`, entries in no helpful order."""
    files = [p for p in root.rglob("*") if p.is_file()]
    random.Random(1).shuffle(files)
    with zipfile.ZipFile(target, "w") as archive:
        for file in files:
            archive.write(file, str(Path(wrap) / file.relative_to(root)))
    return target
