"""One run of a method under observation: every state it hands out, every answer, and every yield, written down."""

from __future__ import annotations

import inspect
import random
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor
from torch.optim.optimizer import register_optimizer_step_post_hook

from forget_me_not.models import engine
from forget_me_not.models.check_streams import EASY, RETURNING, Ground, ground, line_in
from forget_me_not.models.core import Batch, Log, Method, Prediction, Problem, Task
from forget_me_not.models.events import Encoded, Event, Failed, TaskFinished
from forget_me_not.models.registry import Card


@dataclass(frozen=True)
class Turn:
    """What happened between two yields of `fit_task`: looks at photos, steps of optimisers, and what was yielded."""

    task: int
    looks: int
    steps: int
    log: Log | None


class Observed:
    """A core.Method that passes everything on to `method` and writes down what happens.

    Attributes: turns; labelled: whether predict ever saw labels; asked: (task, prediction, photos) of every predict.
    """

    def __init__(self, method: Method, ground: Ground):
        self.method, self.ground = method, ground
        self.turns: list[Turn] = []
        self.asked: list[tuple[int, Prediction, int]] = []
        self.tasks = 0

    @property
    def reads(self):
        """As the method's."""
        return self.method.reads

    @property
    def sees(self) -> str:
        """As the method's."""
        return getattr(self.method, "sees", "task")

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        """As the method's; it may look at the photos of `task` alone."""
        learning = self.method.fit_task(task, rng)
        if not hasattr(learning, "__next__"):
            raise TypeError("fit_task has to be a generator: yield a Log after every training step")
        steps, source = [0], self.ground.source

        def count(*_) -> None:
            steps[0] += 1

        hook = register_optimizer_step_post_hook(count)
        try:
            while True:
                steps[0] = source.looks = 0
                with source.only(task.train.index, "fit_task"):
                    try:
                        log = next(learning)
                    except StopIteration:
                        break
                    finally:
                        looks, stepped = source.looks, steps[0]
                self.turns.append(Turn(task.index, looks, stepped, log))
                yield log
            self.turns.append(Turn(task.index, looks, stepped, None))
        finally:
            hook.remove()
            learning.close()
        self.tasks = task.index + 1

    def predict(self, batch: Batch) -> Prediction:
        """As the method's; it may look at the photos of `batch` alone."""
        with self.ground.source.only(batch.index, "predict"), torch.no_grad():
            prediction = self.method.predict(batch)
        self.asked.append((self.tasks, prediction, len(batch)))
        return prediction

    def ask(self, photos: Tensor) -> Prediction:
        """The answer to `photos` (N,) in one batch."""
        return self.predict(Batch(self.ground.source, photos, self.reads))

    def state_dict(self) -> dict[str, Tensor]:
        """As the method's."""
        return self.method.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """As the method's."""
        self.method.load_state_dict(state)
        self.tasks = 0


@dataclass
class Kept:
    """What there was after a task: the very tensors of the state, a copy of them, the engine's record, and raw answers."""

    state: dict[str, Tensor]
    copy: dict[str, Tensor]
    answers: dict[str, Tensor]
    prediction: dict[str, Tensor]


@dataclass
class Run:
    """A run's events and what was kept after each of its tasks."""

    events: list[Event] = field(default_factory=list)
    kept: dict[int, Kept] = field(default_factory=dict)

    def before(self, task: int) -> list[Event]:
        """The events of the run up to the end of the task before `task`."""
        ends = [i for i, e in enumerate(self.events) if isinstance(e, TaskFinished) and e.task < task]
        return self.events[: ends[-1] + 1] if ends else []

    def of(self, task: int) -> list[Event]:
        """The events of one task but Encoded (that depends on what was ready), seconds left out."""
        return [timeless(e) for e in self.events if getattr(e, "task", None) == task and not isinstance(e, Encoded)]

    @property
    def failed(self) -> Failed | None:
        """Why the run could not go on."""
        return next((e for e in self.events if isinstance(e, Failed)), None)


def timeless(event: Event) -> Event:
    """The event without the seconds it took."""
    return TaskFinished(event.task, {}, event.parameters, event.bytes) if isinstance(event, TaskFinished) else event


def learn(ground: Ground, learner: Observed, *, upto: int | None = None, done: Sequence[Event] = (), seed: int = 3,
          stop: Callable[[], bool] = engine.never, close: Callable[[], bool] = engine.never) -> Run:  # fmt: skip
    """The run of `learner` over the first `upto` tasks; `close()` is asked after each yield and ends the iterator."""
    run, stream = Run(), ground.upto(upto or len(ground.stream.tasks))

    def keep(task: int, state: Mapping[str, Tensor], answers: Mapping[str, Tensor]) -> None:
        asked = tensors_of(learner.ask(ground.tested(task + 1)))
        run.kept[task] = Kept(dict(state), copied(state), dict(answers), asked)

    events = engine.run(stream, learner, seed=seed, done=done, stop=stop, save=keep)
    for event in events:
        if event is not None:
            run.events.append(event)
        if close():
            events.close()
    return run


def tensors_of(prediction: Prediction) -> dict[str, Tensor]:
    """Copies of a prediction's tensors by name."""
    parts = {name: getattr(prediction, name) for name in ("logits", "module", "answers", "feature")}
    parts |= {f"routes[{name}]": module for name, module in prediction.routes.items()}
    return copied({name: value for name, value in parts.items() if value is not None})


def copied(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same numbers in new tensors."""
    return {name: value.detach().clone() for name, value in state.items()}


def through_disk(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state as a file gives it back."""
    return load(save({name: value.cpu().contiguous() for name, value in copied(state).items()}))


def difference(a: Mapping[str, Tensor], b: Mapping[str, Tensor]) -> str | None:
    """Name of the first tensor whose bytes, shape or type differ between `a` and `b`, or that only one of them has."""
    for name in (*a, *b):
        if name not in a or name not in b or (a[name].shape, a[name].dtype) != (b[name].shape, b[name].dtype):
            return name
        if not np.array_equal(_bytes(a[name]), _bytes(b[name])):
            return name
    return None


def _bytes(value: Tensor) -> np.ndarray:
    return value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()


@contextmanager
def own_randomness() -> Iterator[list[str]]:
    """Puts the global random states back at the end, and then lists those that had been moved: torch, numpy, random."""
    moved: list[str] = []
    before = torch.get_rng_state(), np.random.get_state(), random.getstate()
    try:
        yield moved
    finally:
        _, keys, *rest = np.random.get_state()
        same = {
            "torch": torch.equal(torch.get_rng_state(), before[0]),
            "numpy": np.array_equal(keys, before[1][1]) and rest == list(before[1][2:]),
            "random": random.getstate() == before[2],
        }
        moved.extend(name for name, still in same.items() if not still)
        torch.set_rng_state(before[0])
        np.random.set_state(before[1])
        random.setstate(before[2])


class Bench:
    """A method with its settings on the easy stream, and what was observed there.

    moved: global random states that learning moved.
    """

    def __init__(self, card: Card, settings: Mapping[str, Any] | None, device: str):
        self.card, self.device, self.settings = card, device, card.read(settings or {})
        self.file = inspect.getsourcefile(card.learner) or ""
        self.easy = self.ground(EASY, patch=16, layer_scale=1.0)
        self.frozen = frozen_bytes(self.easy)
        self.moved: list[str] = []

    def ground(self, tasks: tuple[tuple[int, ...], ...], patch: int, layer_scale: float | None) -> Ground:
        """A fresh stream for this method."""
        return ground(tasks, patch=patch, layer_scale=layer_scale, device=self.device, file=self.file)

    def learner(self, on: Ground | None = None) -> Observed:
        """A new instance of the method."""
        on = on or self.easy
        return Observed(self.card.learner(on.vit, **self.settings), on)

    @cached_property
    def reference(self) -> tuple[Observed, Run]:
        """The learner and the run all others are compared with."""
        with own_randomness() as moved:
            learner = self.learner()
            run = learn(self.easy, learner)
        self.moved = moved
        return learner, run

    @cached_property
    def returning(self) -> tuple[Observed, Run]:
        """Learner and run on the stream whose classes come back, on another ViT."""
        on = self.ground(RETURNING, patch=14, layer_scale=None)
        learner = self.learner(on)
        return learner, learn(on, learner)


def frozen_bytes(on: Ground) -> dict[str, Tensor]:
    """Copies of everything frozen beneath a stream, by name."""
    neck = {} if on.vit.neck is None else {"neck.weight": on.vit.neck[0], "neck.bias": on.vit.neck[1]}
    return copied(on.vit.network.state_dict() | neck)


def told(error: Exception, bench: Bench) -> str:
    what = error.code if isinstance(error, Problem) else type(error).__name__
    return f"It stopped with {what}{line_in(bench.file, traceback.extract_tb(error.__traceback__))}: {error}."
