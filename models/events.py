"""What happens in a run, as frozen dataclasses of plain data: the page, the command line, tests and replays read these.

JSON form: {"event": "Step", ...fields}. Tuples become lists and come back as tuples; numbers are finite or None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True)
class RunStarted:
    """The first event. tasks: class ids of each task; tested: number of test photos of each task."""

    method: str
    seed: int
    classes: tuple[str, ...]
    names: tuple[str, ...]
    tasks: tuple[tuple[int, ...], ...]
    trained: tuple[int, ...]
    tested: tuple[int, ...]
    kind: str = "class"
    evaluate: str = "seen"


@dataclass(frozen=True)
class TaskStarted:
    """Task `task` (0-based) begins with `photos` training photos."""

    task: int
    name: str
    photos: int


@dataclass(frozen=True)
class Encoded:
    """`done` of `total` photos of task `task` have gone through the frozen backbone. stage: "train" or "test"."""

    task: int
    stage: str
    done: int
    total: int


@dataclass(frozen=True)
class Step:
    """Training step `step` of `steps` in task `task`; at most 60 a task, at fixed steps."""

    task: int
    step: int
    steps: int
    loss: float | None


@dataclass(frozen=True)
class Evaluated:
    """What is known right after task `task`, over the test photos of all tasks judged (mixed, per photo).

    correct[j] of total[j] photos of task j are right. batch_vote: photos right when one module answers for a whole
    class-sorted batch (as published). routes: how each router does, "answer" first (the method's own); {} without modules.
    entropy[j][i]: mean normalised entropy of module i on photos of task j; chosen[j][i]: photos of task j module i answered.
    """

    task: int
    correct: tuple[int, ...]
    total: tuple[int, ...]
    routes: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    oracle: float | None = None
    batch_vote: float | None = None
    entropy: tuple[tuple[float, ...], ...] = ()
    chosen: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Diagnosed:
    """Named measures of the task just learnt, e.g. zeros and displacement of its module."""

    task: int
    measures: Mapping[str, float]


@dataclass(frozen=True)
class TaskFinished:
    """Task `task` is whole and saved. seconds by stage (encode, train, evaluate); parameters and bytes kept so far."""

    task: int
    seconds: Mapping[str, float]
    parameters: int
    bytes: int


@dataclass(frozen=True)
class Resumed:
    """The run goes on at task `task`; whatever was said of tasks >= task no longer counts."""

    task: int


@dataclass(frozen=True)
class Stopped:
    """The person stopped the run inside (or before) task `task`; it can be resumed there."""

    task: int


@dataclass(frozen=True)
class Failed:
    """The run could not go on: a Problem's code and values."""

    task: int
    code: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finished:
    """The whole stream is learnt. metrics: see metrics.summary."""

    metrics: Mapping[str, float | None]


Event = (
    RunStarted | TaskStarted | Encoded | Step | Evaluated | Diagnosed | TaskFinished | Resumed | Stopped | Failed | Finished
)
KINDS: dict[str, type] = {kind.__name__: kind for kind in Event.__args__}


def to_json(event: Event) -> dict[str, Any]:
    """The event as plain JSON data."""
    return {"event": type(event).__name__, **{f.name: _plain(getattr(event, f.name)) for f in fields(event)}}


def from_json(data: Mapping[str, Any]) -> Event:
    """The event `to_json` wrote; unknown fields are ignored, an unknown event is a ValueError."""
    kind = KINDS.get(data.get("event", ""))
    if kind is None:
        raise ValueError(f"unknown event {data.get('event')!r}")
    known = {f.name for f in fields(kind)}
    return kind(**{k: _tuples(v) for k, v in data.items() if k in known})


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _tuples(v) for k, v in value.items()}
    if isinstance(value, list):
        return tuple(_tuples(v) for v in value)
    return value
