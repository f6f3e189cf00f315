"""What a run of a pack said of task 1 while it learnt: marks -> what both lanes of "See it forget" show. Pure, torch-free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mark:
    """One look at a learner: in task `task` after training step `step` of `steps`; at the end of a task step == steps.

    right of total: test photos of task 1 answered right. says: the class each memory photo is taken for.
    truth: its true class.
    """

    task: int
    step: int
    steps: int
    right: int
    total: int
    says: tuple[str, ...]
    truth: tuple[str, ...]

    @property
    def at(self) -> float:
        """Place on the time axis: one unit a task."""
        return self.task + self.step / max(1, self.steps)


def lane(marks: Sequence[Mark], tasks: Sequence[Sequence[str]]) -> dict[str, Any]:
    """{"marks": [{"at", "right", "total", "photos": […]}], "best", "last", "kept", "of"}; tasks: class names by task.

    A photo is {"says", "state", "by"}. state: "right"; "new" (wrong, never right so far); "lost" (wrong, was right before).
    by, of a lost photo: the later task whose class it is taken for, else the task that was being learnt when it was lost.
    best: the highest share right at any mark; last: the latest one; kept of `of`: memory photos right at the latest mark.
    """
    owner = {name: at for at, names in enumerate(tasks) for name in names}
    known: list[bool] = []
    lost_in: list[int | None] = []
    shown = []
    for mark in ordered(marks):
        known = known or [False] * len(mark.says)
        lost_in = lost_in or [None] * len(mark.says)
        photos = []
        for i, (says, truth) in enumerate(zip(mark.says, mark.truth, strict=True)):
            if says == truth:
                known[i], lost_in[i] = True, None
                photos.append({"says": says, "state": "right", "by": None})
            elif not known[i]:
                photos.append({"says": says, "state": "new", "by": None})
            else:
                lost_in[i] = mark.task if lost_in[i] is None else lost_in[i]
                photos.append({"says": says, "state": "lost", "by": owner.get(says) or lost_in[i]})
        shown.append({"at": round(mark.at, 4), "right": mark.right, "total": mark.total, "photos": photos})
    shares = [one["right"] / one["total"] for one in shown if one["total"]]
    latest = shown[-1]["photos"] if shown else []
    return {"marks": shown, "best": max(shares, default=None), "last": shares[-1] if shares else None,
            "kept": sum(photo["state"] == "right" for photo in latest), "of": len(latest)}  # fmt: skip


def ordered(marks: Sequence[Mark]) -> list[Mark]:
    """The marks that count, in the order of time: after a kill a task is learnt, and looked at, anew."""
    kept: list[Mark] = []
    for mark in marks:
        while kept and kept[-1].at >= mark.at:
            kept.pop()
        kept.append(mark)
    return kept
