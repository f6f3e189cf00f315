"""Whose training comes next: of one project's trainings one is learnt at a time, and projects take turns. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from forget_me_not.demo.view import ENCODE_SHARE, TRAIN_SHARE
from forget_me_not.models.events import Encoded, Evaluated, Event, Finished, Resumed, Step, TaskFinished

KNOWN = 0.02
"""Share of a run that must be done before its pace says anything."""


class Asked(Protocol):
    """What of a run's request decides its turn."""

    training: str
    created: float

    @property
    def owner(self) -> str:
        """Whose training it is: one of an owner's trainings is learnt at a time."""


class Turn(Protocol):
    """A run in the queue or at work. done: share of it, 0 to 1, of which `had` before `spent` seconds were counted."""

    request: Asked
    status: str
    done: float
    had: float
    spent: float


def order(waiting: Sequence[Turn], running: Sequence[Turn]) -> list[str]:
    """The waiting trainings as they will be served: everybody's first before anybody's second, then the oldest.

    An owner who is being served has had a turn already.
    """
    trainings = {(t.request.created, t.request.training): t.request.owner for t in waiting}
    had = Counter(dict.fromkeys((t.request.owner for t in running), 1))
    rounds = {}
    for (created, training), owner in sorted(trainings.items()):
        rounds[training] = (had[owner], created)
        had[owner] += 1
    return sorted(rounds, key=lambda training: (*rounds[training], training))


def held_up(turn: Turn, running: Sequence[Turn]) -> bool:
    """Whether another training of the same owner must end, or be paused, first."""
    return any(r.request.owner == turn.request.owner and r.request.training != turn.request.training for r in running)


def share(event: Event, tasks: int, before: float) -> float:
    """How much of a run of `tasks` tasks is done after `event`; as `before` where the event does not say."""
    match event:
        case Encoded(stage="train"):
            return max(before, (event.task + ENCODE_SHARE * event.done / max(1, event.total)) / tasks)
        case Step():
            return (event.task + ENCODE_SHARE + (TRAIN_SHARE - ENCODE_SHARE) * event.step / max(1, event.steps)) / tasks
        case Evaluated():
            return (event.task + TRAIN_SHARE) / tasks
        case TaskFinished():
            return (event.task + 1) / tasks
        case Resumed():
            return event.task / tasks
        case Finished():
            return 1.0
    return before


def lefts(running: Sequence[Turn]) -> Mapping[str, float]:
    """About how many seconds until each training at work has ended: its runs, and what others take of the turns meanwhile.

    Nothing is said of a training while one of its runs has not shown its pace.
    """
    left = [t.spent / (t.done - t.had) * (1 - t.done) if t.done - t.had >= KNOWN else math.inf for t in running]
    found = {}
    for training in {t.request.training for t in running}:
        own = [seconds for seconds, t in zip(left, running, strict=True) if t.request.training == training]
        others = [seconds for seconds, t in zip(left, running, strict=True) if t.request.training != training]
        if math.inf not in own:
            found[training] = sum(own) + sum(min(seconds, max(own)) for seconds in others)
    return found


def waits(trainings: Sequence[str], waiting: Sequence[Turn], running: Sequence[Turn]) -> Mapping[str, float]:
    """About how many seconds each of the ordered trainings waits: all that runs, and what is ahead at the same pace.

    Nothing is said while no run at work has shown its pace.
    """
    costs = [t.spent / (t.done - t.had) for t in running if t.done - t.had >= KNOWN]
    if not running or len(costs) < len(running):
        return {}
    ahead = sum(cost * (1 - t.done) for cost, t in zip(costs, running, strict=True))
    whole = sum(costs) / len(costs)
    runs = Counter(t.request.training for t in waiting)
    found = {}
    for training in trainings:
        found[training] = ahead
        ahead += whole * runs[training]
    return found
