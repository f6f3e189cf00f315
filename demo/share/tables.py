"""The numbers of runs as CSV and JSON, for spreadsheets and notebooks."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from forget_me_not.demo.share.results import Result

METRICS = ("last_accuracy", "last_accuracy_tasks", "average_accuracy", "forgetting", "bwt", "learning_accuracy",
           "routing_accuracy", "accuracy_right", "accuracy_wrong", "oracle_accuracy", "batch_vote_accuracy", "zeros",
           "displacement", "parameters", "parameters_per_task", "bytes_per_task")  # fmt: skip
STAGES = ("encode", "train", "evaluate")
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet would take for a formula."""


def as_json(results: Sequence[Result]) -> bytes:
    """{"runs": [one object a run: everything about it, its matrix of counts and every metric]}."""
    runs = [{"method": r.method, "seed": r.seed, "kind": r.kind, "tasks": [dict(t) for t in r.tasks], "data": r.stream,
             "backbone": r.backbone, "settings": dict(r.settings),
             "counts": [[{"right": right, "total": total} for right, total in row] for row in r.rows],
             **r.numbers, "versions": dict(r.versions)} for r in results]  # fmt: skip
    return json.dumps({"runs": runs}, ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n"


def as_csv(results: Sequence[Result]) -> bytes:
    """A line for each cell of each run's accuracy matrix, its metrics beside it; UTF-8 with a mark for spreadsheets."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["run", "data", "method", "seed", "settings", "after_task", "tested_task", "task_name", "right", "total",
                     "accuracy", *METRICS, *(f"seconds_{stage}" for stage in STAGES)])  # fmt: skip
    for number, one in enumerate(results, 1):
        run = [number, one.stream, one.method, one.seed, json.dumps(dict(one.settings), sort_keys=True)]
        metrics = [*(one.numbers.get(name) for name in METRICS), *(one.numbers["seconds"].get(stage) for stage in STAGES)]
        for after, row in enumerate(one.rows):
            for task, (right, total) in enumerate(row):
                cell = [after + 1, task + 1, one.tasks[task]["name"], right, total, right / total if total else None]
                writer.writerow([_safe(value) for value in (*run, *cell, *metrics)])
    return out.getvalue().encode("utf-8-sig", "replace")


def _safe(value: Any) -> Any:
    """Text that begins like a formula gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else "" if value is None else value
