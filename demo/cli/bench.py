"""`bench speed|quality|plasticity`: measures what the project promises, and says whether it is kept."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from forget_me_not.demo.cli import data, suites
from forget_me_not.demo.cli.tables import aligned

if TYPE_CHECKING:
    from forget_me_not.models.bench import Row


def main(options: argparse.Namespace) -> int:
    """Prints a line a figure as it is known; 0 where every bar is met, 1 where one is not. Problems: see suites."""
    import torch

    from forget_me_not.models.disk import write_json
    from forget_me_not.models.experiment import versions

    torch.set_num_threads(1)
    missed, kept = 0, []
    for row in _rows(options):
        kept.append({"name": row.name, "value": row.value, "bar": row.bar, "detail": dict(row.detail)})
        missed += row.passed is False
        verdict = {True: "ok", False: "!!", None: "  "}[row.passed]
        more = ", ".join(f"{name} {value:.3f}" for name, value in row.detail.items())
        line = [verdict, f"{row.name:<44}", f"{row.value:>8.3f}", f"{row.bar:<9}", more]
        print(*aligned([line], left=2), sep="\n", flush=True)
    if getattr(options, "json", None):
        write_json(Path(options.json), {"versions": versions(), "rows": kept})
    return int(missed > 0)


def _rows(options: argparse.Namespace) -> Iterator[Row]:
    if options.what == "plasticity":
        from forget_me_not.models.plasticity import bench as plasticity

        return plasticity.rows()
    folder = suites.images_of(options)
    if options.what == "quality":
        return _quality(folder, data.seeds_of(options.seeds))
    from forget_me_not.models import bench
    from forget_me_not.models.backbone import create

    folder = folder / "caltech24" if (folder / "caltech24").is_dir() else folder
    vit = create("starter", device="cpu")
    print(", ".join(f"{name} {value}" for name, value in bench.about(vit, data.photos([str(folder)])).items()))
    return bench.speed(vit, folder)


def _quality(folder: Path, seeds: Sequence[int]) -> Iterator[Row]:
    from forget_me_not.models.suites import quality, runner, tables

    with TemporaryDirectory() as kept:
        jobs = list(quality.suite(folder).jobs(seeds))
        found = [one for _, one in runner.run(jobs, folder, Path(kept), cache=suites.cache())]
    print(tables.about(found[0]))
    yield from quality.rows(found)
