"""`bench offline|paper`: runs what a suite lacks and writes its tables; `bench table|claims`: what results on disk say."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forget_me_not.demo.cli.data import seeds_of
from forget_me_not.demo.cli.suite_page import page
from forget_me_not.demo.cli.words import sentence, tell
from forget_me_not.models.problem import Problem

PHOTOS = "FMN_PHOTOS"


def main(options: argparse.Namespace) -> int:
    """Prints a line a run as it ends, then the tables; they lie below --out as table.md and table.html. 1 where a run failed.

    Problems: bench_photos, bench_absent, bench_papers_absent, bench_manifest, bench_backend, bench_empty.
    """
    from forget_me_not.models.suites import paper, readme, runner, suite, tables

    if options.what == "claims":
        return _claims()
    if options.what == "table":
        found = runner.results(Path(options.out))
        if not found:
            raise Problem("bench_empty", path=options.out)
        _keep(options, found, tables.markdown(found))
        if options.readme:
            file = Path(options.readme)
            file.write_text(readme.filled(file.read_text("utf-8"), readme.blocks(found)), "utf-8")
        return 0
    about = paper.facts(Path(options.manifest)) if options.manifest else paper.facts()
    images, out = images_of(options), Path(options.out)
    what = paper.suite(about, images) if options.what == "paper" else suite.offline(images)
    wanted = seeds_of(options.seeds) if options.seeds else None
    jobs = list(what.jobs(wanted, options.only or (), options.protocol or ()))
    left = len(runner.pending(jobs, out))
    tell(f"{len(jobs)} runs, {len(jobs) - left} of them known from before; results in {out}")
    kept = cache() if options.what == "offline" else None
    failed = 0
    how = {"workers": options.workers, "backend": options.backend, "address": options.address, "cache": kept}
    for done, (job, found) in enumerate(runner.run(jobs, images, out, **how), 1):
        failed += bool(found["failed"])
        tell(f"{done}/{left} {job.protocol.name}, {job.title}, seed {job.seed}: {_said(found)}")
    found = runner.results(out)
    _keep(options, found, paper.beside(found, about) if options.what == "paper" else tables.markdown(found), out)
    return int(failed > 0)


def _claims() -> int:
    """Judges every claim by what lies in assets/results, keeps verdicts and means there and prints the README's table."""
    from forget_me_not.demo import claims as table, measured
    from forget_me_not.models.disk import write_json
    from forget_me_not.models.suites import claims, runner

    results = table.KEPT.with_name("offline.jsonl")
    figures = table.KEPT.with_name("plasticity.json")
    packs = {path.parent.name: json.loads(path.read_text("utf-8")) for path in results.parents[1].glob("packs/*/lambda.json")}
    rows = json.loads(figures.read_text("utf-8"))["rows"] if figures.exists() else []
    found = runner.results(results)
    write_json(table.KEPT, claims.judge(found, packs, rows))
    write_json(measured.KEPT, claims.measured(found))
    print(table.markdown(), end="")
    return 0


def _said(found: Mapping[str, Any]) -> str:
    if found["failed"]:
        return sentence(found["failed"]["code"], found["failed"]["values"])
    return f"{found['metrics']['last_accuracy']:.3f} in {found['wall_seconds']:.0f} s"


def _keep(options: argparse.Namespace, found: Sequence[Mapping[str, Any]], text: str, out: Path | None = None) -> None:
    """Prints the tables; below `out` they are kept as Markdown and as one HTML file with plots, and --pack joins all runs."""
    from forget_me_not.models.disk import write_whole
    from forget_me_not.models.suites import runner

    print(text)
    if out:
        write_whole(out / "table.md", text.encode())
        write_whole(out / "table.html", page(found, text).encode())
    if options.pack:
        tell(f"{runner.pack(out or Path(options.out), Path(options.pack))} runs in {options.pack}")


def images_of(options: argparse.Namespace) -> Path:
    """The folder a bench measures with. Problems: bench_photos, images_path_missing."""
    folder = options.images or os.environ.get(PHOTOS)
    if not folder:
        raise Problem("bench_photos")
    if not Path(folder).is_dir():
        raise Problem("images_path_missing", path=folder)
    return Path(folder)


def cache() -> str:
    """Where activations are shared between runs."""
    from forget_me_not.models.folders import cache_folder

    return str(cache_folder() / "activations")
