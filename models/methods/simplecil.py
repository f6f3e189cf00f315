"""SimpleCIL: the mean feature of every class as its prototype, cosine similarity, no training at all.

Zhou et al., "Revisiting Class-Incremental Learning with Pre-Trained Models", IJCV 2024, arXiv:2303.07338.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Reads, Task
from forget_me_not.models.head import Head
from forget_me_not.models.layers import class_means
from forget_me_not.models.registry import register


@register(
    "simplecil",
    title="Prototypes (SimpleCIL)",
    family="Prototypes",
    line="One average photo per class. Nothing to overwrite.",
    paper="arXiv:2303.07338",
    stores="One mean feature a class and task",
    parameters="d a class",
    deviations=("A class that comes back in a later task (a new domain) gets a second prototype; the better one counts.",),
)
class SimpleCIL:
    """Class means. While no class comes back, neither the order of the classes nor their split into tasks matters."""

    def __init__(self, vit: FrozenViT):
        self.reads, self.device, self.head = Reads(), vit.device, Head()

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        means = class_means(task.train.cls(), task.train.labels, task.classes)
        yield Log(1, 1)
        self.head = self.head.grown(means.to(self.device), task.classes)

    def predict(self, batch: Batch) -> Prediction:
        return Prediction(self.head.logits(batch.cls, 1.0), feature=batch.cls)

    def state_dict(self) -> dict[str, Tensor]:
        return self.head.state()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.head = Head.from_state(state, self.device)
