"""Makes a starter pack: pictures -> features of the starter backbone and thumbnails -> measured levels -> a folder of assets."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from PIL import Image
from torch import Tensor

from forget_me_not.models.core import FEATURE
from forget_me_not.models.disk import write_json, write_whole, writing
from forget_me_not.models.encoder import CHUNK, Encoder, FeatureTable
from forget_me_not.models.packed import pack as packed
from forget_me_not.models.packs.load import ABOUT, FEATURES, FOLDER, FORMAT, THUMBS, Pack, load, thumb_name
from forget_me_not.models.packs.measure import measure
from forget_me_not.models.packs.recipes import RECIPES, Recipe
from forget_me_not.models.problem import Problem

if TYPE_CHECKING:
    from forget_me_not.models.backbone import FrozenViT

SEEDS = range(20)
Progress = Callable[[str, int, int], None]
"""Hears (stage, done, in all); stages "draw", "encode", "measure"."""


def silent(stage: str, done: int, total: int) -> None:
    """Hears nothing."""


@dataclass(frozen=True)
class Picture:
    """A picture as the encoder knows photos. sha: sha256 of its pixels."""

    label: str
    image: Image.Image

    @property
    def sha(self) -> str:
        return hashlib.sha256(self.image.tobytes()).hexdigest()

    def open(self) -> Image.Image:
        """The RGB picture."""
        return self.image


@dataclass(frozen=True)
class Pictures:
    """The part of an ImageSet that the encoder asks for."""

    photos: tuple[Picture, ...]


def build(name: str, out: Path = FOLDER, vit: FrozenViT | None = None, seeds: Sequence[int] = SEEDS,
          progress: Progress = silent) -> Pack:  # fmt: skip
    """The pack called `name`, written to out/name: drawn, encoded by `vit` (default: the starter), measured over `seeds`.

    Problems: pack_unknown, starter_…, disk_full, run_unwritable. An older pack there stays whole until the new one is.
    """
    recipe = _recipe(name)
    if vit is None:
        from forget_me_not.models.backbone import create

        vit = create("starter", device="cpu")
    pictures = draw(name, progress)
    rows = features(pictures, vit, progress)
    about = _about(name, recipe, pictures, vit)
    folder = Path(out) / name
    pack = Pack(folder, about)
    for part in measure(pack, FeatureTable(rows, vit.fingerprint, vit.name), seeds) if seeds else ():
        if isinstance(part, tuple):
            progress("measure", *part)
        else:
            about["levels"] = {**part, "torch": torch.__version__.split("+")[0]}
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / FEATURES, *packed({"rows": rows}, {"fingerprint": vit.fingerprint}))
        write_whole(folder / THUMBS, _thumbs(pictures, recipe))
        write_json(folder / ABOUT, about)
    return load(name, Path(out))


def draw(name: str, progress: Progress = silent) -> tuple[Picture, ...]:
    """The pictures of a pack, class after class: the same ones every time. Problem pack_unknown."""
    made, recipe = [], _recipe(name)
    total = len(recipe.captions) * (recipe.train_per_class + recipe.test_per_class)
    for label, image in recipe.pictures():
        made.append(Picture(label, image))
        progress("draw", len(made), total)
    return tuple(made)


def features(pictures: Sequence[Picture], vit: FrozenViT, progress: Progress = silent) -> Tensor:
    """(N, D) float32 z of the pictures, through the very encoder that photos go through."""
    source, index = Encoder(vit, Pictures(tuple(pictures))), torch.arange(len(pictures))
    for done in source.encode(index, FEATURE):
        if done % (8 * CHUNK) == 0 or done == len(pictures):
            progress("encode", done, len(pictures))
    return source.get(index, FEATURE).cpu()


def _recipe(name: str) -> Recipe:
    if name not in RECIPES:
        raise Problem("pack_unknown", name=name, known=", ".join(RECIPES))
    return RECIPES[name]


def _about(name: str, recipe: Recipe, pictures: Sequence[Picture], vit: FrozenViT) -> dict[str, Any]:
    photos: dict[str, int] = {}
    for picture in pictures:
        photos[picture.label] = photos.get(picture.label, 0) + 1
    return {
        "format": FORMAT,
        "name": name,
        "title": recipe.title,
        "line": recipe.line,
        "license": recipe.license,
        "origin": recipe.origin,
        "backbone": {"name": vit.name, "size": vit.size, "width": vit.width, "fingerprint": vit.fingerprint},
        "seed": recipe.seed,
        "train_per_class": recipe.train_per_class,
        "test_per_class": recipe.test_per_class,
        "tasks": [{"name": task, "title": title, "classes": list(classes)} for task, title, classes in recipe.tasks],
        "captions": recipe.captions,
        "photos": photos,
        "thumb": recipe.thumb,
        "memory": "The first test photos of each class of task 1, four in all, for the seed of the run.",
        "levels": {},
    }


def _thumbs(pictures: Sequence[Picture], recipe: Recipe) -> bytes:
    """A zip of WebP files with no date in it, so that the same pictures make the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        for i, picture in enumerate(pictures):
            small, one = io.BytesIO(), zipfile.ZipInfo(thumb_name(i))
            picture.image.resize((recipe.thumb, recipe.thumb), Image.Resampling.LANCZOS).save(
                small, "WEBP", quality=recipe.quality, method=6
            )
            file.writestr(one, small.getvalue())
    return buffer.getvalue()
