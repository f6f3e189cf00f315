"""The plasticity track for the page: arms asked for, and what their runs say side by side. No HTTP here, and no torch."""

from __future__ import annotations

import contextlib
import json
import math
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forget_me_not.demo import choices, plastic_photos
from forget_me_not.demo.disk import read_json, room_for, write_json
from forget_me_not.demo.session import ID, UNFINISHED, Session
from forget_me_not.demo.view import RunView, accuracy
from forget_me_not.models.plasticity import summary
from forget_me_not.models.problem import Problem

PROJECT = "plasticity:"
"""What stands where a run of photos has its project."""
STUDIES = ("permuted_digits", "random_labels", plastic_photos.STUDY)
TASKS, PASSES, ARMS_AT_ONCE = (2, 60), (5, 80), 12
"""Least and most tasks, and passes over a task's digits; arms of one start."""
KEPT = 12
"""Starts that stay on disk; older ones make room."""
WAITING = 24
"""Arms that may be unfinished at a time."""
TASK_BYTES = 4_000_000
"""What a task of an arm may take on disk until the arm has ended."""
LAST = 4
"""Tasks that are called the last ones, or a fifth of all where that is more, and never more than half."""


class Plasticity:
    """Arms and their runs. session: who holds the runs' folders and the worker."""

    def __init__(self, session: Session):
        self.session = session
        self._index, self._lock = session.home / "plasticity.json", threading.Lock()
        self._known: dict[str, Any] | None = None

    def offered(self) -> dict[str, Any]:
        """{"arms": cards, "blocks", "studies": {name: digits of its first tasks}}; Problem("worker_away") while it starts."""
        if self._known is None:
            if self.session.client.status["worker"] != "ready":
                raise Problem("worker_away")
            self._known = {k: v for k, v in self.session.client.call("arms", patience=30).items() if k != "re"}
        return self._known

    def start(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """A start of arms: {"id", "study", "tasks", "epochs", "seed", "runs": {arm: run id}}; Problem where it cannot be made.

        One of photos also has "per_task" and "project". Its runs keep the photos they need until they end, deleted or not.
        """
        made = self._made(asked)
        room_for(self.session.home, TASK_BYTES * made["tasks"] * len(made["runs"]))
        project = self.session.project(made["project"]) if "project" in made else None
        with project.lock if project else contextlib.nullcontext():  # no photo goes between the look at them and their pins
            photos = plastic_photos.asked_for(project, made) if project else {}
            self._remember(made)
            try:
                if project:
                    project.pin(made["runs"].values())
                for place, (arm, rid) in enumerate(made["runs"].items()):
                    write_json(self.session.home / "runs" / rid / "request.json", request(made, arm, place) | photos)
            except BaseException:
                self._forget(made)
                raise
        try:
            self.session.client.call("start", runs=list(made["runs"].values()), patience=90)
        except BaseException:
            self._forget(made)
            raise
        return made

    def _remember(self, made: Mapping[str, Any]) -> None:
        """Notes a start; the oldest makes room. Problem("arms_busy")."""
        with self._lock:
            known = self._starts()
            there = [rid for one in known for rid in one["runs"].values() if self._is(rid)]
            if len(made["runs"]) + sum(self.session.status(rid)["status"] in UNFINISHED for rid in there) > WAITING:
                raise Problem("arms_busy", limit=WAITING)
            for old in known[: max(0, len(known) + 1 - KEPT)]:
                self._drop(old)
            write_json(self._index, [*known[-(KEPT - 1) :], made])

    def _forget(self, made: Mapping[str, Any]) -> None:
        """Takes back a start that could not be made."""
        self._drop(made)
        with self._lock:
            write_json(self._index, [one for one in self._starts() if one["id"] != made["id"]])

    def find(self, tid: str) -> dict[str, Any]:
        """A start by its id, which is the permission to read it; Problem("run_unknown")."""
        found = next((one for one in self._starts() if one["id"] == tid), None) if ID.fullmatch(tid) else None
        if found is None or not all(map(self._is, found["runs"].values())):
            raise Problem("run_unknown")
        return found

    def stop(self, tid: str) -> None:
        """Ends all its arms that still learn; what they have learnt stays."""
        for rid in self.find(tid)["runs"].values():
            if self.session.status(rid)["status"] in UNFINISHED:
                self.session.control(rid, "stop")

    def arms(self, tid: str, view_of: Callable[[str], RunView]) -> list[ArmRun]:
        """Every arm of a start as far as it is known, in the order they were asked for."""
        cards = {card["name"]: card for card in self.offered()["arms"]}
        made = []
        for name, rid in self.find(tid)["runs"].items():
            said, cost = self.session.status(rid), costs(self.session.home / "runs" / rid)
            made.append(ArmRun(cards[name], rid, said["status"], said["problem"], view_of(rid), cost))
        return made

    def _made(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        names = choices.method_names(asked.get("arms"))
        if not names:
            raise Problem("arms_none")
        if len(names) > ARMS_AT_ONCE:
            raise Problem("arms_many", limit=ARMS_AT_ONCE)
        if asked.get("study") not in STUDIES:
            raise Problem("choice_bad", what="study")
        more = {}
        if asked["study"] == plastic_photos.STUDY:
            per_task = between(asked.get("per_task"), plastic_photos.PER_TASK, "classes")
            if not asked.get("project"):
                raise Problem("groups_none", needs=per_task + 1)
            more = {"project": str(asked["project"]), "per_task": per_task}
        ids = sorted(secrets.token_hex(16) for _ in names)  # the worker begins runs of one start in the order of their ids
        return {"id": secrets.token_hex(16), "study": asked["study"], "tasks": between(asked.get("tasks"), TASKS, "tasks"),
                "epochs": between(asked.get("epochs"), PASSES, "epochs"), "seed": choices.seed(asked.get("seed", 0)),
                "created": time.time(), "runs": dict(zip(names, ids, strict=True)), **more}  # fmt: skip

    def _starts(self) -> list[dict[str, Any]]:
        return [one for one in read_json(self._index, []) if isinstance(one, dict)]

    def _is(self, rid: str) -> bool:
        return (self.session.home / "runs" / rid / "request.json").is_file()

    def _drop(self, made: Mapping[str, Any]) -> None:
        for rid in made["runs"].values():
            shutil.rmtree(self.session.home / "runs" / rid, ignore_errors=True)


@dataclass(frozen=True)
class ArmRun:
    """One arm of a start: its card, run id, status, problem, the view of its events, and CPU seconds a step (None: not yet)."""

    card: Mapping[str, Any]
    rid: str
    status: str
    problem: Mapping[str, Any] | None
    view: RunView
    step: float | None

    @property
    def name(self) -> str:
        """The arm's."""
        return self.card["name"]

    @property
    def accuracy(self) -> list[float]:
        """Accuracy on each new task right after it was learnt."""
        found = [accuracy(self.view, t, t) for t in range(len(self.view.rows))]
        return [value for value in found if value is not None]


def request(made: Mapping[str, Any], arm: str, place: int) -> dict[str, Any]:
    """What a run of an arm is asked for with (see plasticjobs.PlasticRequest)."""
    digits = [str(d) for d in range(10)]
    return {
        "format": 1, "project": PROJECT + made["id"], "training": made["id"], "created": made["created"], "method": arm,
        "settings": {}, "seed": made["seed"], "kind": "domain", "study": made["study"], "count": made["tasks"],
        "epochs": made["epochs"], "place": place, "classes": [{"key": d, "name": d} for d in digits],
        "tasks": [{"name": f"Task {t + 1}", "classes": digits} for t in range(made["tasks"])], "photos": [],
    }  # fmt: skip


def between(given: Any, limits: tuple[int, int], what: str) -> int:
    """A whole number within `limits`; Problem("choice_bad")."""
    if isinstance(given, bool) or not isinstance(given, int) or not limits[0] <= given <= limits[1]:
        raise Problem("choice_bad", what=what)
    return given


def costs(folder: Path) -> float | None:
    """CPU seconds a training step of a run took, over all its tasks; None before the first."""
    try:
        lines = (folder / "cost.jsonl").read_text("utf-8").splitlines()
    except OSError:
        return None
    steps, cpu = 0, 0.0
    for line in lines:
        try:
            one = json.loads(line)
            steps, cpu = steps + one["steps"], cpu + one["cpu"]
        except (ValueError, KeyError, TypeError):
            break
    return cpu / steps if steps else None


def last_tasks(tasks: int) -> int:
    """How many of `tasks` tasks are called the last ones."""
    return max(1, min(max(LAST, round(summary.LATE * tasks)), tasks // 2))


def mean_of_last(values: Sequence[float], count: int) -> float:
    """Mean of the last `count` values."""
    kept = values[-count:]
    return math.fsum(kept) / len(kept)


@dataclass(frozen=True)
class Finding:
    """What the arms came to over the last `count` of `tasks` tasks that all of them have learnt.

    judged: test images behind each mean. least: the smallest gap told from none. late: mean accuracy by arm. gaps: (plain, fresh,
    gap) of each plain arm with a fresh network to hold it to. closed: (arm, plain, points above its plain, share of the plain's
    gap or None where it is below least).
    """

    tasks: int
    count: int
    judged: int
    least: float
    late: Mapping[str, float]
    gaps: tuple[tuple[str, str, float], ...]
    closed: tuple[tuple[str, str, float, float | None], ...]


LEAST, JUDGED = 0.03, 1600
"""A smaller gap is not told from none: four tasks of 400 images have a standard error of about 1 point. Fewer images ask for
more, by the square root."""


def finding(arms: Sequence[ArmRun]) -> Finding | None:
    """What a start says so far, from its own numbers alone; None before all arms have learnt two tasks."""
    tasks = min((len(arm.accuracy) for arm in arms), default=0)
    if tasks < 2:
        return None
    count = last_tasks(tasks)
    judged = sum(arms[0].view.rows[t][t][1] for t in range(tasks - count, tasks))
    least = LEAST * max(1.0, math.sqrt(JUDGED / max(1, judged)))
    late = {arm.name: mean_of_last(arm.accuracy[:tasks], count) for arm in arms}
    fresh = {arm.card["base"]: arm.name for arm in arms if arm.card["group"] == "fresh"}
    plain = {arm.card["base"]: arm.name for arm in arms if arm.card["plain"]}
    any_fresh = next(iter(fresh.values()), None)
    gaps = {base: (name, fresh.get(base, any_fresh)) for base, name in plain.items()}
    told = [(name, held, late[held] - late[name]) for name, held in gaps.values() if held]
    gap_of = {name: gap for name, _, gap in told}
    closed = []
    for arm in arms:
        own = plain.get(arm.card["base"])
        if arm.card["group"] == "fresh" or own in (None, arm.name):
            continue
        gain, gap = late[arm.name] - late[own], gap_of.get(own)
        closed.append((arm.name, own, gain, gain / gap if gap is not None and gap >= least else None))
    return Finding(tasks, count, judged, least, late, tuple(told), tuple(closed))
