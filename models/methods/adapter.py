"""Adapter in the last blocks, shared by all tasks and trained on and on: what a small part forgets when nothing protects it.

The adapter is AdaptFormer's (Chen et al., NeurIPS 2022, arXiv:2205.13535); rank and rate, in preset paper
also batch and epochs, are those of PILOT's EASE on CIFAR-100 (r = 64, lr .025, batch 48, 20 epochs).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor

from forget_me_not.models.adapters import Adapters
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Task
from forget_me_not.models.head import CROSS_ENTROPY
from forget_me_not.models.parts import SharedParts
from forget_me_not.models.registry import Slider, register


@register(
    "adapter",
    title="Adapter, shared",
    family="Adapters",
    line="A narrow side path in the last blocks, overwritten by every task.",
    paper="arXiv:2205.13535",
    stores="One adapter a block and one head, overwritten by every task",
    parameters="2 d r + r + d a block once, d a class, 1 scale",
    deviations=(
        "One view of every training photo instead of random crops; no weight decay.",
        "Default: the last three blocks; paper: all of them, 20 epochs.",
    ),
    identity=True,
    presets={"demo": {}, "paper": {"blocks": 24, "epochs": 20, "batch": 48, "lr": 0.025}},
)
class SharedAdapter:
    """Args:
    blocks: How many of the last blocks get an adapter (more than there are = all).
    rank: Width of an adapter's bottleneck.
    epochs: Passes over the photos of a task.
    lr: Learning rate of SGD with momentum 0.9, cosine per step.
    batch: Photos in a training step.
    scale: Starting sharpness of the cosine head (learnt).
    loss: Cross-entropy over all classes seen or only the task's own.
    """

    def __init__(
        self,
        vit: FrozenViT,
        *,
        blocks: Annotated[int, Slider(1, 24, 1, expert=False)] = 3,
        rank: Annotated[int, Slider(1, 256, 1)] = 64,
        epochs: Annotated[int, Slider(1, 100, 1, expert=False)] = 10,
        lr: Annotated[float, Slider(1e-5, 1, log=True, expert=False)] = 0.025,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
        scale: Annotated[float, Slider(0.1, 100, log=True)] = 10.0,
        loss: Literal["full", "masked"] = "full",
    ):
        self.shared = SharedParts(vit, Adapters, blocks=blocks, rank=rank, scale=scale, loss=CROSS_ENTROPY[loss],
                                  epochs=epochs, lr=lr, batch=batch)  # fmt: skip
        self.reads = self.shared.reads

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        yield from self.shared.learn(task, rng)

    def predict(self, batch: Batch) -> Prediction:
        return self.shared.predict(batch)

    def state_dict(self) -> dict[str, Tensor]:
        return self.shared.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.shared.load_state_dict(state)
