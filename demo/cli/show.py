"""`show DIR`: runs on disk as text or JSON, at once: torch is never imported."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from forget_me_not.demo.cli import tables
from forget_me_not.demo.cli.numbers import record
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder, list_runs

IN_FULL = 4
"""Runs shown with matrix and metrics; of more than these a line each."""


def main(options: argparse.Namespace) -> int:
    """Prints every run below the folder; Problem runs_none."""
    runs = sorted(list_runs(options.path), key=lambda run: (run.facts["method"], run.facts["seed"]))
    if not runs:
        raise Problem("runs_none", path=str(Path(options.path)))
    for line in as_json(runs) if options.json else as_text(runs):
        print(line)
    return 0


def as_json(runs: Sequence[RunFolder]) -> list[str]:
    """One object a run."""
    return [json.dumps(record(run), ensure_ascii=False) for run in runs]


def as_text(runs: Sequence[RunFolder]) -> list[str]:
    """A few runs in full, many in a line each; several also side by side."""
    lines: list[str] = []
    for run in runs:
        if len(runs) <= IN_FULL:
            lines += [*tables.whole(run), ""]
        elif run.matrix():
            numbers = record(run)
            lines.append(f"{tables.title(run)}: last accuracy {tables.share(numbers['last_accuracy'])} %, "
                         f"forgetting {tables.share(numbers['forgetting'])} %")  # fmt: skip
        else:
            lines.append(tables.title(run))
    judged = [record(run) for run in runs if run.matrix()]
    if len(judged) > 1:
        lines += ["", *tables.several(judged)] if len(runs) > IN_FULL else tables.several(judged)
    while lines and not lines[-1]:
        lines.pop()
    return lines
