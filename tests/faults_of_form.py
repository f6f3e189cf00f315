"""One planted fault in what a method hands out: answers, events, state, settings, an error; `fails` names the checks."""

import math
from typing import Annotated, Literal

import torch
from plain_method import Plain
from torch.nn import functional as F

from forget_me_not.models.core import Log, Prediction, Problem
from forget_me_not.models.registry import Slider


class SaysNaN(Plain):
    fails = ("answers are well formed",)

    def predict(self, batch):
        logits = self.head.logits(batch.cls, 10.0)
        lost = (logits.argmax(1, keepdim=True) == 0) & (logits.shape[1] > 5)  # the first task's photos, once all tasks are known
        return Prediction(torch.cat([logits[:, :-1], logits[:, -1:] + torch.where(lost, math.nan, 0.0)], 1))


class SaysOneClassTooMany(Plain):
    fails = ("answers are well formed",)

    def predict(self, batch):
        logits = self.head.logits(batch.cls, 10.0)
        return Prediction(F.pad(logits, (0, 1), value=-20.0))


class NamesAModuleThatIsNotThere(Plain):
    fails = ("answers are well formed",)

    def predict(self, batch):
        return Prediction(self.head.logits(batch.cls, 10.0), routes={"key": torch.full((len(batch),), len(self.head.rows))})


class MeasuresNaN(Plain):
    fails = ("events survive JSON",)

    def fit_task(self, task, rng):
        yield from super().fit_task(task, rng)
        yield Log(measures={"spread": math.inf})


class LogsATensor(Plain):
    fails = ("events survive JSON",)

    def fit_task(self, task, rng):
        for log in super().fit_task(task, rng):
            yield Log(log.step, log.steps, torch.tensor(1.0))


class NamesWithoutTheTask(Plain):
    fails = ("state is plain and named by task",)

    def state_dict(self):
        return {k.replace("drawn.00", "drawn"): v for k, v in super().state_dict().items()}

    def load_state_dict(self, state):
        super().load_state_dict({k.replace("drawn", "drawn.00") if "." not in k else k: v for k, v in state.items()})


class HandsOutGradients(Plain):
    fails = ("state is plain and named by task",)

    def state_dict(self):
        return {k: v.detach().requires_grad_() if k.endswith("rows") else v for k, v in super().state_dict().items()}

    def load_state_dict(self, state):
        super().load_state_dict({k: v.detach() for k, v in state.items()})


class DefaultsOutOfRange(Plain):
    """Args:
    scale: Sharpness.
    """

    fails = ("settings are sound",)

    def __init__(self, vit, *, scale: Annotated[float, Slider(1.0, 5.0)] = 10.0):
        super().__init__(vit)


class HasNoHelp(Plain):
    fails = ("settings are sound",)

    def __init__(self, vit, *, scale: Annotated[float, Slider(1.0, 50.0)] = 10.0):
        super().__init__(vit)


class CannotBeMadeWithOneChoice(Plain):
    """Args:
    kind: Which of the two.
    """

    fails = ("settings are sound",)

    def __init__(self, vit, *, kind: Literal["round", "square"] = "round"):
        super().__init__(vit)
        {"round": 1}[kind]


class HasAPresetThatDoesNotFit(Plain):
    """Args:
    scale: Sharpness.
    """

    fails = ("settings are sound",)
    facts = (("presets", {"paper": {"scale": 100.0}}),)

    def __init__(self, vit, *, scale: Annotated[float, Slider(1.0, 50.0)] = 10.0):
        super().__init__(vit)


class BreaksInTheSecondTask(Plain):
    fails = ("runs from the first task to the last",)

    def fit_task(self, task, rng):
        yield from super().fit_task(task, rng)
        if task.index:
            raise KeyError("rows")


class GivesUp(Plain):
    fails = ("runs from the first task to the last",)

    def fit_task(self, task, rng):
        yield from super().fit_task(task, rng)
        raise Problem("no_tokens", name="drawn")


class NeverYields(Plain):
    fails = ("runs from the first task to the last",)

    def fit_task(self, task, rng):
        list(super().fit_task(task, rng))
