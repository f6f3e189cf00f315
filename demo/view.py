"""What a page knows of a run: `reduce` folds event after event into a RunView; live, resumed and recorded look the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce as fold
from typing import Any

from forget_me_not.models.events import (
    Diagnosed,
    Encoded,
    Evaluated,
    Event,
    Failed,
    Finished,
    Resumed,
    RunStarted,
    Step,
    Stopped,
    TaskFinished,
    TaskStarted,
)

ENCODE_SHARE = 0.25
"""Part of a task's bar its photos' way through the backbone fills; training fills up to TRAIN_SHARE, judging the rest."""
TRAIN_SHARE = 0.92


@dataclass(frozen=True)
class RunView:
    """A run as far as it is known. stage: "waiting", "encode", "train", "judge", "finished", "stopped" or "failed".

    task: the task at work (0-based, T when all are learnt); part: how much of it is done, 0 to 1; rows[t]: (correct, total)
    of each task after task t; losses[t]: ((fraction of the task, loss), …); judged[t]: the Evaluated event; seconds[t]: by stage.
    """

    method: str = ""
    seed: int = 0
    kind: str = "class"
    classes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    tasks: tuple[tuple[int, ...], ...] = ()
    trained: tuple[int, ...] = ()
    tested: tuple[int, ...] = ()
    stage: str = "waiting"
    task: int = 0
    part: float = 0.0
    done: int = 0
    encoded: tuple[int, int] | None = None
    rows: tuple[tuple[tuple[int, int], ...], ...] = ()
    losses: tuple[tuple[tuple[float, float], ...], ...] = ()
    judged: tuple[Evaluated | None, ...] = ()
    measures: tuple[Mapping[str, float], ...] = ()
    seconds: tuple[Mapping[str, float], ...] = ()
    parameters: int | None = None
    bytes: int | None = None
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    problem: tuple[str, Mapping[str, Any]] | None = None
    resumed: bool = False


def reduce(view: RunView, event: Event) -> RunView:
    """The view after one more event."""
    handler = _HANDLERS.get(type(event))
    return handler(view, event) if handler else view


def replay(events: Iterable[Event]) -> RunView:
    """The view after all `events` of a run."""
    return fold(reduce, events, RunView())


def accuracy(view: RunView, after: int, task: int) -> float | None:
    """R[after][task] in [0, 1]; None where it was not judged or has no photos."""
    if after >= len(view.rows) or task >= len(view.rows[after]):
        return None
    right, total = view.rows[after][task]
    return right / total if total else None


def overall(view: RunView, after: int) -> float | None:
    """Share of all test photos judged after task `after` that were right."""
    if not 0 <= after < len(view.rows):
        return None
    total = sum(n for _, n in view.rows[after])
    return sum(right for right, _ in view.rows[after]) / total if total else None


def seconds_left(view: RunView) -> float | None:
    """Seconds of computing still to come, from the mean of the tasks learnt so far; None before the first is learnt."""
    spent = [sum(stage.values()) for stage in view.seconds]
    if not spent or view.stage in ("finished", "stopped", "failed"):
        return None
    return sum(spent) / len(spent) * max(0.0, len(view.tasks) - view.done - view.part)


def summary(view: RunView) -> dict[str, Any]:
    """What the page's status strip needs, as plain JSON data."""
    return {
        "method": view.method,
        "seed": view.seed,
        "kind": view.kind,
        "stage": view.stage,
        "task": view.task,
        "part": round(view.part, 4),
        "tasks": len(view.tasks),
        "tasks_done": view.done,
        "names": list(view.names),
        "encoded": view.encoded,
        "seconds": sum(sum(stage.values()) for stage in view.seconds),
        "accuracy": overall(view, len(view.rows) - 1),
        "rows": [[list(cell) for cell in row] for row in view.rows],
        "metrics": dict(view.metrics),
        "parameters": view.parameters,
        "bytes": view.bytes,
        "resumed": view.resumed,
        "problem": {"code": view.problem[0], "values": dict(view.problem[1])} if view.problem else None,
    }


def _started(view: RunView, event: RunStarted) -> RunView:
    return RunView(event.method, event.seed, event.kind, event.classes, event.names, event.tasks, event.trained, event.tested)


def _task_started(view: RunView, event: TaskStarted) -> RunView:
    return replace(_forget(view, event.task), task=event.task, stage="encode", part=0.0, encoded=None, problem=None)


def _encoded(view: RunView, event: Encoded) -> RunView:
    counted = (event.done, event.total)
    if event.stage != "train" or event.task != view.task:
        return replace(view, encoded=counted)
    share = ENCODE_SHARE * event.done / max(1, event.total)
    return replace(view, stage="encode", encoded=counted, part=max(view.part, share))


def _step(view: RunView, event: Step) -> RunView:
    fraction = event.step / max(1, event.steps)
    losses = view.losses
    if event.loss is not None:
        known = losses[event.task] if event.task < len(losses) else ()
        losses = _placed(losses, event.task, (*known, (fraction, event.loss)), ())
    part = ENCODE_SHARE + (TRAIN_SHARE - ENCODE_SHARE) * fraction
    return replace(view, stage="train", task=event.task, losses=losses, part=max(view.part, part), encoded=None)


def _evaluated(view: RunView, event: Evaluated) -> RunView:
    row = tuple(zip(event.correct, event.total, strict=True))
    return replace(
        view,
        stage="judge",
        part=max(view.part, TRAIN_SHARE),
        rows=_placed(view.rows, event.task, row, ()),
        judged=_placed(view.judged, event.task, event, None),
    )


def _diagnosed(view: RunView, event: Diagnosed) -> RunView:
    known = view.measures[event.task] if event.task < len(view.measures) else {}
    return replace(view, measures=_placed(view.measures, event.task, {**known, **event.measures}, {}))


def _task_finished(view: RunView, event: TaskFinished) -> RunView:
    return replace(
        view,
        stage="waiting",
        done=event.task + 1,
        task=event.task + 1,
        part=0.0,
        encoded=None,
        parameters=event.parameters,
        bytes=event.bytes,
        seconds=_placed(view.seconds, event.task, event.seconds, {}),
    )


def _resumed(view: RunView, event: Resumed) -> RunView:
    return replace(
        _forget(view, event.task),
        task=event.task,
        done=event.task,
        part=0.0,
        stage="encode",
        problem=None,
        metrics={},
        resumed=True,
    )


def _stopped(view: RunView, event: Stopped) -> RunView:
    return replace(_forget(view, event.task), stage="stopped", task=event.task, done=event.task, part=0.0)


def _failed(view: RunView, event: Failed) -> RunView:
    return replace(view, stage="failed", problem=(event.code, dict(event.values)))


def _finished(view: RunView, event: Finished) -> RunView:
    return replace(view, stage="finished", task=len(view.tasks), part=0.0, metrics=dict(event.metrics))


def _forget(view: RunView, task: int) -> RunView:
    """The view without what was said of tasks >= `task`: after a kill they are learnt anew."""
    return replace(
        view,
        rows=view.rows[:task],
        losses=view.losses[:task],
        judged=view.judged[:task],
        measures=view.measures[:task],
        seconds=view.seconds[:task],
    )


def _placed(items: tuple, index: int, value: Any, empty: Any) -> tuple:
    """`items` with `value` at `index`, filled up with `empty` before it (a method without losses skips tasks)."""
    items = (*items, *[empty] * (index + 1 - len(items)))
    return (*items[:index], value, *items[index + 1 :])


_HANDLERS = {
    RunStarted: _started,
    TaskStarted: _task_started,
    Encoded: _encoded,
    Step: _step,
    Evaluated: _evaluated,
    Diagnosed: _diagnosed,
    TaskFinished: _task_finished,
    Resumed: _resumed,
    Stopped: _stopped,
    Failed: _failed,
    Finished: _finished,
}
