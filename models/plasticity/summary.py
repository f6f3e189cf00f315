"""What a run of the plasticity track says, from its events: numbers about learning the newest task, none about forgetting.

a_t is the test accuracy on task t right after it was learnt, None where task t was not judged. Needs no torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from forget_me_not.models.events import Evaluated, Event, Resumed

LATE = 0.2
"""The share of tasks that is called late."""


def new_task_accuracy(events: Iterable[Event]) -> list[float | None]:
    """a_t by task."""
    found: dict[int, float | None] = {}
    for event in events:
        if isinstance(event, Evaluated):
            correct, total = event.correct[event.task], event.total[event.task]
            found[event.task] = correct / total if total else None
        elif isinstance(event, Resumed):
            found = {t: a for t, a in found.items() if t < event.task}
    return [found.get(t) for t in range(max(found, default=-1) + 1)]


def average(accuracy: Sequence[float | None]) -> float | None:
    """AAT = 1/T sum_t a_t, the paper's headline; metrics.summary calls it learning_accuracy."""
    return None if not accuracy or None in accuracy else math.fsum(accuracy) / len(accuracy)


def late(accuracy: Sequence[float | None], share: float = LATE) -> float | None:
    """Mean a_t over the last `share` of tasks, at least one."""
    return average(accuracy[-max(1, round(share * len(accuracy))) :])


def slope(accuracy: Sequence[float | None]) -> float | None:
    """Change of a_t a task, by least squares; None below two tasks."""
    T = len(accuracy)
    if T < 2 or None in accuracy:
        return None
    centre, mean = (T - 1) / 2, math.fsum(accuracy) / T
    return math.fsum((t - centre) * (a - mean) for t, a in enumerate(accuracy)) / math.fsum((t - centre) ** 2 for t in range(T))


def gaps(accuracy: Sequence[float | None], fresh: Sequence[float | None]) -> list[float | None]:
    """a_t of a fresh network minus a_t, for the tasks both have: what not starting anew has cost."""
    return [None if a is None or f is None else f - a for a, f in zip(accuracy, fresh, strict=False)]
