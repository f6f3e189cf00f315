"""Naive fine-tuning: one LuCA module and one head, trained on task after task. The reference that forgets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor

from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Reads, Task
from forget_me_not.models.head import CROSS_ENTROPY, drawn_rows
from forget_me_not.models.registry import Slider, register
from forget_me_not.models.shared import SharedModule


@register(
    "finetune",
    title="Naive fine-tuning",
    family="Baselines",
    line="One small network, trained on and on. It forgets.",
    paper="McCloskey and Cohen 1989 (catastrophic interference)",
    stores="One LuCA module and one head, overwritten by every task",
    parameters="4 d r + r + 3 d + 1 once, d a class",
    deviations=(
        "TOSCA's module and starter recipe, but one module for all tasks and no l1; head rows are drawn and stay as they were "
        "learnt, where TOSCA's start and end at class means.",
        "One view of every training photo instead of random crops.",
    ),
)
class Finetune:
    """Args:
    epochs: Passes over the photos of a task.
    lr: Learning rate of SGD with momentum 0.9, cosine per step.
    batch: Photos in a training step.
    reduction: Width of the feature divided by the width of the module's bottleneck.
    scale: Starting sharpness of the cosine head (learnt).
    loss: Cross-entropy over all classes seen or only the task's own.
    """

    def __init__(
        self,
        vit: FrozenViT,
        *,
        epochs: Annotated[int, Slider(1, 100, 1, expert=False)] = 20,
        lr: Annotated[float, Slider(1e-4, 1, log=True, expert=False)] = 0.025,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
        reduction: Annotated[int, Slider(1, 64, 1)] = 16,
        scale: Annotated[float, Slider(0.1, 100, log=True)] = 10.0,
        loss: Literal["full", "masked"] = "full",
    ):
        self.reads = Reads()
        self.shared = SharedModule(vit, max(1, vit.width // reduction), scale)
        self.loss, self.descent = CROSS_ENTROPY[loss], {"epochs": epochs, "batch": batch, "lr": lr}

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        s = self.shared
        module = s.module or s.fresh_module(rng)
        head = s.head.grown(drawn_rows(len(task.classes), s.width, rng).to(s.device), task.classes)
        yield from s.learn(task, module, head, s.scale, self.loss, rng, **self.descent)

    def predict(self, batch: Batch) -> Prediction:
        return self.shared.predict(batch)

    def state_dict(self) -> dict[str, Tensor]:
        return self.shared.state_dict()

    def so_far(self) -> dict[str, Tensor]:
        """`state_dict` in the middle of a task (see SharedModule.so_far)."""
        return self.shared.so_far()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.shared.load_state_dict(state)
