"""Linear probe: a cosine head on the frozen feature, trained task after task; only the new task's rows learn by default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor

from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Reads, Task
from forget_me_not.models.descent import descend
from forget_me_not.models.head import CROSS_ENTROPY, Head, drawn_rows
from forget_me_not.models.registry import Slider, register


@register(
    "linear_probe",
    title="Linear probe",
    family="Baselines",
    line="Only the last layer learns, on features that never change.",
    stores="One head row a class and task",
    parameters="d a class, 1 scale",
    deviations=(
        "Default loss masked to the task's classes; with the full loss old rows are pushed away and forgotten.",
        "One view of every training photo instead of random crops.",
        "A task of one class has no masked cross-entropy to learn from: its row stays as drawn, and the class goes unseen.",
    ),
)
class LinearProbe:
    """Args:
    epochs: Passes over the photos of a task.
    lr: Learning rate of SGD with momentum 0.9, cosine per step.
    batch: Photos in a training step.
    scale: Starting sharpness of the cosine head (learnt).
    loss: Cross-entropy over the task's own classes or all classes seen.
    """

    def __init__(
        self,
        vit: FrozenViT,
        *,
        epochs: Annotated[int, Slider(1, 100, 1, expert=False)] = 20,
        lr: Annotated[float, Slider(1e-4, 1, log=True, expert=False)] = 0.025,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
        scale: Annotated[float, Slider(0.1, 100, log=True)] = 10.0,
        loss: Literal["masked", "full"] = "masked",
    ):
        self.reads, self.width, self.device = Reads(), vit.width, vit.device
        self.loss, self.descent = CROSS_ENTROPY[loss], {"epochs": epochs, "batch": batch, "lr": lr}
        self.head, self.scale = Head(), torch.tensor(scale, device=self.device)

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        head = self.head.grown(drawn_rows(len(task.classes), self.width, rng).to(self.device), task.classes)
        head, scale = head.with_rows([r.clone() for r in head.rows]), self.scale.clone()

        def loss(b: Batch) -> Tensor:
            return self.loss(head.logits(b.cls, scale), b.y, task.classes)

        yield from descend(task.train, [*head.rows, scale], loss, rng=rng, **self.descent)
        self.head, self.scale = head.settled(self.head), scale

    def predict(self, batch: Batch) -> Prediction:
        return Prediction(self.head.logits(batch.cls, self.scale), feature=batch.cls)

    def state_dict(self) -> dict[str, Tensor]:
        return {**self.head.state(), "scale": self.scale}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.head, self.scale = Head.from_state(state, self.device), state["scale"].to(self.device)
