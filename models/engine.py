"""The only loop that trains and tests: a stream and a method in, events out. It never prints, sleeps or touches disk."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor

from forget_me_not.models import metrics, routing
from forget_me_not.models.core import Log, Method, Prediction, Problem, Samples, Stream, Task, parameter_count, rng_for
from forget_me_not.models.events import (
    Diagnosed,
    Encoded,
    Event,
    Failed,
    Finished,
    RunStarted,
    Step,
    Stopped,
    TaskFinished,
    TaskStarted,
)

STEPS_SHOWN = 60
"""Step events a task at most: enough to draw a curve, few enough to keep and replay."""

Save = Callable[[int, Mapping[str, Tensor], Mapping[str, Tensor]], None]


def never() -> bool:
    """Does not stop."""
    return False


def nothing(task: int, state: Mapping[str, Tensor], answers: Mapping[str, Tensor]) -> None:
    """Saves nothing."""


def run(stream: Stream, method: Method, *, seed: int = 0, name: str = "", done: Sequence[Event] = (), evaluate: str = "seen",
        stop: Callable[[], bool] = never, save: Save = nothing) -> Iterator[Event | None]:  # fmt: skip
    """Events of learning `stream` with `method`, or None where nothing happened but others may have a turn.

    done: the events of tasks already finished, whose state the caller has loaded into `method`; the run goes on behind
    them. evaluate: "seen" tests all tasks so far, mixed and per photo; "new" only the latest. stop is asked between any
    two steps. save(task, state, answers) is called once a task, before its TaskFinished. A task is learnt whole or not at
    all: stopping or closing the iterator leaves the method as it was before the task.
    """
    told = list(done)
    first = sum(isinstance(e, TaskFinished) for e in told)

    def tell(event: Event) -> Event:
        told.append(event)
        return event

    if first == 0:
        yield tell(_started(stream, seed, name, evaluate))
    for t in range(first, len(stream.tasks)):
        before, whole, clock = dict(method.state_dict()), False, _Clock()
        try:
            for event in _one_task(stream, t, method, seed, evaluate, save, clock):
                whole = isinstance(event, TaskFinished)
                with clock.stopped():
                    yield event if event is None else tell(event)
                if not whole and stop():
                    yield tell(Stopped(t))
                    return
        except Problem as problem:
            yield tell(Failed(t, problem.code, problem.values))
            return
        finally:
            if not whole:
                method.load_state_dict(before)
        if t + 1 < len(stream.tasks) and stop():
            yield tell(Stopped(t + 1))
            return
    summary = metrics.summary(told)
    yield tell(Finished(summary | {"matrix": tuple(map(tuple, summary["matrix"]))}))


def _started(stream: Stream, seed: int, name: str, evaluate: str) -> RunStarted:
    tasks = [tested.task for tested in stream.tasks]
    return RunStarted(
        method=name, seed=seed, classes=stream.classes, names=tuple(t.name for t in tasks), tasks=tuple(t.classes for t in tasks),
        trained=tuple(len(t.train) for t in tasks), tested=tuple(len(t.test) for t in stream.tasks), kind=stream.kind,
        evaluate=evaluate,
    )  # fmt: skip


def _one_task(stream: Stream, t: int, method: Method, seed: int, evaluate: str, save: Save,
              clock: _Clock) -> Iterator[Event | None]:  # fmt: skip
    task, test = _for_method(stream, t, method), stream.tasks[t].test.reading(method.reads)
    yield TaskStarted(t, task.name, len(task.train))
    yield from _encode(t, "train", task.train)
    yield from _encode(t, "test", test)
    clock.split("encode")

    measures: dict[str, float] = {}
    for log in method.fit_task(task, rng_for(seed, t)):
        if isinstance(log, Log):
            measures.update(log.measures)
            if log.steps and _shown(log.step, log.steps):
                yield Step(t, log.step, log.steps, log.loss)
                continue
        yield None
    clock.split("train")

    judged = range(t + 1) if evaluate == "seen" else range(t, t + 1)
    answers: dict[str, Tensor] = {}
    for part in _answers(stream, judged, method, t, seed):
        if part is None:
            yield None
        else:
            answers = part
    clock.split("evaluate")

    state = dict(method.state_dict())
    save(t, state, answers)
    yield routing.evaluated(t, answers, majority=getattr(method, "chooses_by_key", None))
    if measures:
        yield Diagnosed(t, measures)
    size = sum(v.numel() * v.element_size() for v in state.values())
    yield TaskFinished(t, clock.seconds, parameter_count(state), size)


def _for_method(stream: Stream, t: int, method: Method) -> Task:
    """The task as the method may see it; only a method that declares sees = "all so far" (a bound) gets the union."""
    task = stream.tasks[t].task
    if getattr(method, "sees", "task") == "all so far":
        past = [tested.task for tested in stream.tasks[: t + 1]]
        classes = tuple(dict.fromkeys(c for p in past for c in p.classes))
        return Task(t, task.name, classes, Samples.union([p.train for p in past]).reading(method.reads))
    return Task(t, task.name, task.classes, task.train.reading(method.reads))


def _encode(t: int, stage: str, samples: Samples) -> Iterator[Event | None]:
    total, shown = len(samples), 0
    for ready in samples.encode():
        if ready - shown >= total / 20 or ready == total:
            shown = ready
            yield Encoded(t, stage, ready, total)
        else:
            yield None


def _shown(step: int, steps: int) -> bool:
    """Whether a Step event is due: first, last, and evenly between, by number and never by clock."""
    return steps <= STEPS_SHOWN or step in (1, steps) or step * STEPS_SHOWN // steps != (step - 1) * STEPS_SHOWN // steps


def _answers(stream: Stream, judged: range, method: Method, t: int, seed: int) -> Iterator[dict[str, Tensor] | None]:
    """None after every batch, then the record of all judged photos in stream order (see store.py for its names)."""
    tests = [stream.tasks[j].test.reading(method.reads) for j in judged]
    photos, own = Samples.union(tests), torch.cat([torch.full((len(s),), j) for s, j in zip(tests, judged, strict=True)])
    # Batches mix all tasks, so a method that looks at its neighbours gains nothing from them.
    order = torch.randperm(len(photos), generator=rng_for(seed, 1_000_000 + t))
    size = getattr(method, "portion", 8 if method.reads.cut >= 0 else 64)  # tokens go through the frozen ViT: that takes long
    parts = []
    for batch, at in zip(photos.pick(order).batches(size), order.split(size), strict=True):
        with torch.no_grad():  # never around a yield: whoever takes the next turn would find gradients switched off
            prediction = method.predict(batch.unlabelled())
            parts.append(_reduce(prediction, own[at], stream if stream.kind == "task" else None))
        yield None
    back = order.argsort()
    record = {k: torch.cat([p[k] for p in parts])[back] for k in parts[0]} if parts else {}
    yield {"photo": photos.index, "label": photos.labels, "task": own, **record}


def _reduce(prediction: Prediction, own: Tensor, told: Stream | None) -> dict[str, Tensor]:
    """What is kept of B answers: class, confidence, and of each module its entropy and its vote.

    told: the stream, where every photo comes with its task (the task-incremental view): only that task's classes count,
    in votes too, and its own module answers. Entropies are of all classes, as routers see them.
    """
    logits, answers = prediction.logits.cpu(), None if prediction.answers is None else prediction.answers.cpu()
    votes = answers
    if told is not None:
        foreign = torch.ones_like(logits, dtype=torch.bool)
        for i, j in enumerate(own.tolist()):
            foreign[i, list(told.tasks[j].task.classes)] = False
        if answers is not None:
            logits, votes = routing.pick(answers, own), answers.masked_fill(foreign[:, None], float("-inf"))
        logits = logits.masked_fill(foreign, float("-inf"))
    record = {"class": logits.argmax(-1), "confidence": logits.softmax(-1).amax(-1)}
    if prediction.module is not None:
        record["module"] = own if told is not None else prediction.module.cpu()
    if answers is not None:
        record |= {"entropy": routing.normalised_entropy(answers), "vote": votes.argmax(-1)}
    return record | {f"route.{name}": chosen.cpu() for name, chosen in prediction.routes.items()}


class _Clock:
    """Seconds by stage of one task, those apart in which others have their turn."""

    def __init__(self):
        self.seconds: dict[str, float] = {}
        self._since = time.perf_counter()

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """While this lasts no time passes."""
        left = time.perf_counter()
        yield
        self._since += time.perf_counter() - left

    def split(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage], self._since = now - self._since, now
