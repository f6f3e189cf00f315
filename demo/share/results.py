"""Finished runs of a project, read from disk once each: what the leaderboard, the plane and everything one can take away show."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forget_me_not.demo.cli.numbers import is_finished
from forget_me_not.demo.disk import read_json
from forget_me_not.demo.session import ID, Session
from forget_me_not.models.events import Evaluated
from forget_me_not.models.metrics import summary
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder

KEPT = 400
"""Results of runs that stay in memory."""


@dataclass(frozen=True)
class Result:
    """What a finished run came to.

    stream: the same for runs over the same photos, in the same tasks, on the same backbone, whatever their seed. rows[t]:
    ((right, total) of each task) after task t. numbers: metrics.summary. tasks: {"name", "classes": names people see}.
    """

    id: str
    method: str
    seed: int
    kind: str
    created: float
    stream: str
    backbone: str
    settings: Mapping[str, Any]
    tasks: tuple[Mapping[str, Any], ...]
    photos: int
    rows: tuple[tuple[tuple[int, int], ...], ...]
    numbers: Mapping[str, Any]
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def last(self) -> tuple[int, int]:
        """(right, total) over all test photos at the end."""
        return sum(right for right, _ in self.rows[-1]), sum(total for _, total in self.rows[-1])


class Shelf:
    """Results by run id over one session. A finished run never changes, so each is read once."""

    def __init__(self, session: Session):
        self.session = session
        self._kept: OrderedDict[str, Result] = OrderedDict()

    def of(self, runs: list[str]) -> list[Result]:
        """The results of those of `runs` that are finished, the oldest first."""
        found = [self._result(rid) for rid in runs if isinstance(rid, str) and ID.fullmatch(rid)]
        return [result for result in found if result is not None]

    def one(self, project_runs: list[str], rid: str) -> Result:
        """The result of a run of this project; Problem("run_unknown"), Problem("share_unfinished")."""
        if rid not in project_runs:
            raise Problem("run_unknown")
        found = self.of([rid])
        if not found:
            raise Problem("share_unfinished")
        return found[0]

    def _result(self, rid: str) -> Result | None:
        if rid not in self._kept:
            found = read(self.session.home / "runs" / rid)
            if found is None:
                return None
            self._kept[rid] = found
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return self._kept[rid]


def read(folder: Path) -> Result | None:
    """The result in a run's folder; None where the run is not finished or cannot be read."""
    asked = read_json(folder / "request.json")
    try:
        run = RunFolder.open(folder)
        if not isinstance(asked, dict) or not is_finished(run):
            return None
        return result(folder.name, run, asked)
    except (Problem, KeyError, TypeError, ValueError, IndexError, AttributeError):
        return None


def result(rid: str, run: RunFolder, asked: Mapping[str, Any]) -> Result | None:
    """A finished run and what it was asked for as a Result; None where nothing was judged."""
    facts, told = run.facts, run.told()
    rows = {e.task: tuple(zip(e.correct, e.total, strict=True)) for e in told if isinstance(e, Evaluated)}
    if not rows or set(rows) != set(range(len(facts["tasks"]))):
        return None
    shown = {c["key"]: c["name"] for c in asked["classes"]}
    used = sorted({facts["photos"][i] for t in facts["tasks"] for i in (*t["train"], *t["test"])})
    classes = [[facts["classes"][c] for c in t["classes"]] for t in facts["tasks"]]
    same = json.dumps([facts["kind"], classes, used, facts["fingerprint"]], ensure_ascii=True)
    return Result(
        id=rid,
        method=facts["method"],
        seed=facts["seed"],
        kind=facts["kind"],
        created=float(asked.get("created") or 0.0),
        stream=hashlib.sha256(same.encode()).hexdigest()[:16],
        backbone=str(facts.get("backbone", "")),
        settings=facts["settings"],
        tasks=tuple({"name": t["name"], "classes": [shown.get(c, c) for c in names]}
                    for t, names in zip(facts["tasks"], classes, strict=True)),
        photos=len(used),
        rows=tuple(rows[t] for t in sorted(rows)),
        numbers=summary(told),
        versions=facts.get("versions", {}),
    )  # fmt: skip
