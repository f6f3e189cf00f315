"""`bench speed|quality`: measures what the project promises, and says whether it is kept."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from forget_me_not.demo.cli import data
from forget_me_not.demo.cli.tables import aligned
from forget_me_not.models.problem import Problem

PHOTOS = "FMN_PHOTOS"


def main(options: argparse.Namespace) -> int:
    """Prints a line a figure as it is known; 0 where every bar is met, 1 where one is not. Problem bench_photos."""
    folder = options.images or (os.environ.get(PHOTOS) and str(Path(os.environ[PHOTOS]) / "caltech24"))
    if not folder:
        raise Problem("bench_photos")
    seeds = data.seeds_of(options.seeds)
    import torch

    from forget_me_not.models import bench
    from forget_me_not.models.backbone import create
    from forget_me_not.models.cache import Cache
    from forget_me_not.models.folders import cache_folder

    torch.set_num_threads(1)
    images, vit = data.photos([folder]), create("starter", device="cpu")
    print(", ".join(f"{name} {value}" for name, value in bench.about(vit, images).items()))
    cache = Cache(cache_folder() / "activations")
    rows = bench.speed(vit, Path(folder)) if options.what == "speed" else bench.quality(vit, images, seeds, cache)
    missed = 0
    for row in rows:
        missed += row.passed is False
        verdict = {True: "ok", False: "!!", None: "  "}[row.passed]
        more = ", ".join(f"{name} {value:.3f}" for name, value in row.detail.items())
        line = [verdict, f"{row.name:<44}", f"{row.value:>8.3f}", f"{row.bar:<9}", more]
        print(*aligned([line], left=2), sep="\n", flush=True)
    return int(missed > 0)
