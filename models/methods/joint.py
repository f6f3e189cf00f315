"""Joint training: one LuCA module and head trained afresh on the photos of all tasks so far. A bound, not a learner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

import torch
from torch import Tensor

from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Reads, Task
from forget_me_not.models.head import CROSS_ENTROPY, NEW_ROWS, Head
from forget_me_not.models.registry import Slider, register
from forget_me_not.models.shared import SharedModule


@register(
    "joint",
    title="Joint training",
    family="Baselines",
    line="Sees the photos of all tasks at once. The upper bound for this feature.",
    stores="Nothing it could keep: it asks for all photos again after every task",
    parameters="4 d r + r + 3 d + 1, d a class",
    deviations=(
        "TOSCA's module and starter recipe without l1, its head rows left as learnt, on a backbone that stays frozen; papers "
        "often fine-tune all of it. It "
        "bounds this feature alone: what moves the feature may end above it.",
        "One view of every training photo instead of random crops.",
    ),
    bound=True,
)
class Joint:
    """Args:
    epochs: Passes over all photos so far.
    lr: Learning rate of SGD with momentum 0.9, cosine per step.
    batch: Photos in a training step.
    reduction: Width of the feature divided by the width of the module's bottleneck.
    scale: Starting sharpness of the cosine head (learnt).
    """

    sees = "all so far"

    def __init__(
        self,
        vit: FrozenViT,
        *,
        epochs: Annotated[int, Slider(1, 100, 1, expert=False)] = 20,
        lr: Annotated[float, Slider(1e-4, 1, log=True, expert=False)] = 0.025,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
        reduction: Annotated[int, Slider(1, 64, 1)] = 16,
        scale: Annotated[float, Slider(0.1, 100, log=True)] = 10.0,
    ):
        self.reads, self.start_scale = Reads(), scale
        self.shared = SharedModule(vit, max(1, vit.width // reduction), scale)
        self.descent = {"epochs": epochs, "batch": batch, "lr": lr}

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        s = self.shared
        z, y = task.train.cls().to(s.device), task.train.labels.to(s.device)
        head = Head().grown(NEW_ROWS["means"](z, y, task.classes, rng), task.classes)
        scale = torch.tensor(self.start_scale, device=s.device)
        yield from s.learn(task, s.fresh_module(rng), head, scale, CROSS_ENTROPY["full"], rng, **self.descent)

    def predict(self, batch: Batch) -> Prediction:
        return self.shared.predict(batch)

    def state_dict(self) -> dict[str, Tensor]:
        return self.shared.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.shared.load_state_dict(state)
