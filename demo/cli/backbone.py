"""`backbone list|fetch|neck`: what sees the photos, brought to this machine and given a neck."""

from __future__ import annotations

import argparse

from forget_me_not.demo.cli import data
from forget_me_not.demo.cli.progress import bar
from forget_me_not.demo.cli.tables import aligned
from forget_me_not.models.problem import Problem


def main(options: argparse.Namespace) -> int:
    """Does what was asked; Problems of fetching and of the photos."""
    return {"list": _list, "fetch": _fetch, "neck": _neck}[options.what](options)


def _list(options: argparse.Namespace) -> int:
    from forget_me_not.models.backbone import BACKBONES

    rows = [[o.name, "here" if _is_here(o) else "to fetch", o.about] for o in BACKBONES.values()]
    print("\n".join(aligned(rows, left=3)))
    return 0


def _is_here(origin) -> bool:
    from huggingface_hub import try_to_load_from_cache

    from forget_me_not.models.folders import cache_folder

    name = origin.name if origin.hub is None else f"{origin.architecture}.{origin.hub}"
    if (cache_folder() / "backbones" / f"{name}.safetensors").exists():
        return True
    return origin.hub is not None and isinstance(try_to_load_from_cache(f"timm/{name}", "model.safetensors"), str)


def _fetch(options: argparse.Namespace) -> int:
    from forget_me_not.models.backbone import BACKBONES, create

    if options.name not in BACKBONES:
        raise Problem("backbone_unknown", name=options.name, known=", ".join(BACKBONES))
    with bar(f"fetching {options.name}") as heard:
        if options.name == "starter":
            from forget_me_not.models import starter

            starter.load(heard, options.file, options.road)
        elif options.file is not None or options.road is not None:
            raise Problem("backbone_from_file", name=options.name)
        # Made once, so that a backbone whose blocks we do not know is refused here and not in front of a class.
        vit = create(options.name, size=224, device="cpu", progress=heard)
    print(f"{vit.name} is here: {vit.depth} blocks of width {vit.width}, fingerprint {vit.fingerprint}")
    return 0


def _neck(options: argparse.Namespace) -> int:
    import torch

    from forget_me_not.models import neck
    from forget_me_not.models.cache import Cache
    from forget_me_not.models.core import FEATURE
    from forget_me_not.models.encoder import Encoder
    from forget_me_not.models.folders import cache_folder

    images = data.photos(options.images)
    vit = data.backbone(options, neck="none")
    encoder, index = Encoder(vit, images, Cache(cache_folder() / "activations")), torch.arange(len(images))
    with bar("encoding photos") as heard:
        for done in encoder.encode(index, FEATURE):
            heard(done, len(index))
    data.note_problems(encoder.notes)
    out = options.out or f"neck_{options.backbone}.safetensors"
    about = {"backbone": vit.name, "size": str(vit.size), "photos": str(len(images))}
    neck.save(out, neck.fit(encoder.get(index, FEATURE)), about)
    print(f"{out}: made from {len(images)} photos")
    return 0
