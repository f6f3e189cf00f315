"""The one method of the plasticity track: a network, an optimiser and a remedy that go from task to task and never start over."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from forget_me_not.models.core import PIXELS, Batch, Log, Prediction, Reads, Task, rng_for
from forget_me_not.models.plasticity.arrow import Arrow
from forget_me_not.models.plasticity.measures import SAMPLED, Gradients, name, of_reference, of_representations, of_weights
from forget_me_not.models.plasticity.remedies import Nothing, Training
from forget_me_not.models.plasticity.vit import VisionTransformer, initialise

START = 2_000_000
"""The "task" whose generator draws the first weights; no stream is that long."""


class Learner:
    """A network that learns task after task; give it to engine.run with evaluate="new".

    Args: network, whose weights are drawn here from `seed`; optimiser(network) -> torch optimiser; remedy with hooks (see
    remedies.py); epochs, batch: passes over a task's images and images a step, no schedule; probe(task) -> held-out pixels
    (N, c, S, S) as that task shows them, or None for no measures of representations.

    One head for all classes, never reset. In a task that has only some of them, the loss sees those alone; give the stream
    the kind "task", so that answers are masked alike. Optimiser and remedy keep their state from task to task.

    Measures of a task: "online" (mean accuracy on each batch before its step), those of measures.py, and with ARROW
    "gain", "cos" (means over the task), "gain_after_switch", "cos_after_switch" (over its first W steps) and
    "concentration", each ".geometry.<number of the param group>": the block's, where groups are blocks.
    """

    reads = Reads(PIXELS)
    portion = 200

    def __init__(self, network: VisionTransformer, optimiser: Callable[[VisionTransformer], torch.optim.Optimizer],
                 remedy: Any = None, *, seed: int = 0, epochs: int = 40, batch: int = 40,
                 probe: Callable[[int], Tensor] | None = None):  # fmt: skip
        self.network, self.remedy = network, remedy or Nothing()
        self._call("prepare", network)
        initialise(network, rng_for(seed, START))
        self.initial = {n: p.detach().clone() for n, p in network.named_parameters()}
        self.optimiser = optimiser(network)
        self.epochs, self.batch, self.probe = epochs, batch, probe
        self._kept = self._snapshot()

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        """A Log a step, then one with the task's measures. Given up half-way, the learner is as it was before."""
        whole = False
        try:
            yield from self._learn(task, rng)
            self._kept, whole = self._snapshot(), True
        finally:
            if not whole:
                self.load_state_dict(self._kept)

    def predict(self, batch: Batch) -> Prediction:
        """Logits of all classes (B, C), unmasked."""
        with torch.no_grad():
            return Prediction(self.network(batch.h))

    def state_dict(self) -> dict[str, Tensor]:
        """Network, first weights, optimiser (moments, ARROW's window) and remedy, as of the last whole task."""
        return dict(self._kept)

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Takes back what `state_dict` gave."""
        self.network.load_state_dict(_under(state, "network."))
        self.initial = _under(state, "fixed.initial.")
        slots: dict[int, dict[str, Tensor]] = {}
        for key, value in _under(state, "statistic.optimiser.").items():
            number, slot = key.split(".", 1)
            slots.setdefault(int(number), {})[slot] = value.clone()  # the optimiser writes in place
        self.optimiser.load_state_dict({"state": slots, "param_groups": self.optimiser.state_dict()["param_groups"]})
        self._call("load_state_dict", _under(state, "statistic.remedy."))
        self._kept = dict(state)

    def _snapshot(self) -> dict[str, Tensor]:
        network = {f"network.{n}": t.detach().clone() for n, t in self.network.state_dict().items()}
        initial = {f"fixed.initial.{n}": t for n, t in self.initial.items()}
        optimiser = {
            f"statistic.optimiser.{number:03d}.{slot}": value.detach().clone()
            for number, slots in self.optimiser.state_dict()["state"].items()
            for slot, value in slots.items()
            if isinstance(value, Tensor)
        }
        remedy = {f"statistic.remedy.{n}": t for n, t in (self._call("state_dict") or {}).items()}
        return network | initial | optimiser | remedy

    def _call(self, hook: str, *arguments: Any) -> Any:
        there = getattr(self.remedy, hook, None)
        return there(*arguments) if there else None

    def _learn(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        # Drawn for every remedy alike, so that all of one seed see the same batches.
        own = torch.Generator().manual_seed(int(torch.randint(2**62, (1,), generator=rng)))
        training = Training(self.network, self.optimiser, self.initial, own, task.index)
        self._call("before_task", training)
        self.initial = training.initial
        mask = _mask(task.classes, self.network.num_classes)
        steps, step, right = self.epochs * math.ceil(len(task.train) / self.batch), 0, 0.0
        gradients, geometry = Gradients(), _Geometry(self.optimiser)
        for _ in range(self.epochs):
            for batch in task.train.batches(self.batch, rng):
                logits = self.network(batch.h)  # (B, C)
                if mask is not None:
                    logits = logits + mask
                loss = F.cross_entropy(logits, batch.y)
                right += float((logits.detach().argmax(-1) == batch.y).float().mean())
                self.optimiser.zero_grad()
                loss.backward()
                if step % SAMPLED == 0:
                    gradients.see(self.network)
                self._call("before_step", training)
                self.optimiser.step()
                self._call("after_step", training)
                geometry.see()
                step, value = step + 1, float(loss.detach())
                yield Log(step, steps, value if math.isfinite(value) else None)
        measures = {"online": right / max(steps, 1)} | gradients.mean() | geometry.mean()
        yield None
        measures |= of_weights(dict(self.network.named_parameters()), self.initial)
        yield None
        if self.probe is not None:
            measures |= of_representations(self.network, self.probe(task.index))
            yield None
            measures |= of_reference(self.network, self.probe(0))
        yield Log(measures={key: value for key, value in measures.items() if math.isfinite(value)})


class _Geometry:
    """Means of ARROW's readings over a task, by block; nothing of other optimisers."""

    def __init__(self, optimiser: torch.optim.Optimizer):
        self.arrow = optimiser if isinstance(optimiser, Arrow) else None
        self.gains: dict[int, list[float]] = {}
        self.cosines: dict[int, list[float]] = {}

    def see(self) -> None:
        """Takes the last step's readings."""
        if self.arrow is not None:
            for number, reading in self.arrow.readings.items():
                self.gains.setdefault(number, []).append(reading.gain)
                self.cosines.setdefault(number, []).append(reading.cos)

    def mean(self) -> dict[str, float]:
        """By name."""
        found = {}
        for number in self.gains:
            group = self.arrow.param_groups[number]
            for measure, values in (("gain", self.gains[number]), ("cos", self.cosines[number])):
                found[name(measure, "geometry", number)] = math.fsum(values) / len(values)
                first = values[: group["window"]]
                found[name(f"{measure}_after_switch", "geometry", number)] = math.fsum(first) / len(first)
            found[name("concentration", "geometry", number)] = self.arrow.concentration(number)
        return found


def _mask(classes: tuple[int, ...], count: int) -> Tensor | None:
    """(C,) 0 for the task's classes and -inf for the others; None where it has all."""
    if len(classes) == count:
        return None
    mask = torch.full((count,), float("-inf"))
    mask[list(classes)] = 0.0
    return mask


def _under(state: Mapping[str, Tensor], start: str) -> dict[str, Tensor]:
    return {key.removeprefix(start): value for key, value in state.items() if key.startswith(start)}
