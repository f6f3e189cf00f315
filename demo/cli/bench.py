"""`bench speed|quality|plasticity`: measures what the project promises, and says whether it is kept."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from forget_me_not.demo.cli import data
from forget_me_not.demo.cli.tables import aligned
from forget_me_not.models.problem import Problem

if TYPE_CHECKING:
    from forget_me_not.models.bench import Row

PHOTOS = "FMN_PHOTOS"


def main(options: argparse.Namespace) -> int:
    """Prints a line a figure as it is known; 0 where every bar is met, 1 where one is not. Problem bench_photos."""
    import torch

    torch.set_num_threads(1)
    missed = 0
    for row in _rows(options):
        missed += row.passed is False
        verdict = {True: "ok", False: "!!", None: "  "}[row.passed]
        more = ", ".join(f"{name} {value:.3f}" for name, value in row.detail.items())
        line = [verdict, f"{row.name:<44}", f"{row.value:>8.3f}", f"{row.bar:<9}", more]
        print(*aligned([line], left=2), sep="\n", flush=True)
    return int(missed > 0)


def _rows(options: argparse.Namespace) -> Iterator[Row]:
    if options.what == "plasticity":
        from forget_me_not.models.plasticity import bench as plasticity

        return plasticity.rows()
    folder = options.images or (os.environ.get(PHOTOS) and str(Path(os.environ[PHOTOS]) / "caltech24"))
    if not folder:
        raise Problem("bench_photos")
    from forget_me_not.models import bench
    from forget_me_not.models.backbone import create
    from forget_me_not.models.cache import Cache
    from forget_me_not.models.folders import cache_folder

    images, vit = data.photos([folder]), create("starter", device="cpu")
    print(", ".join(f"{name} {value}" for name, value in bench.about(vit, images).items()))
    if options.what == "speed":
        return bench.speed(vit, Path(folder))
    return bench.quality(vit, images, data.seeds_of(options.seeds), Cache(cache_folder() / "activations"))
