"""APER with adapters: adapts to the first task alone, then prototypes of the frozen and the adapted feature side by side.

Zhou, Cai, Ye, Zhan, Liu, "Revisiting Class-Incremental Learning with Pre-Trained Models: Generalizability and Adaptivity
Are All You Need", IJCV 2024, arXiv:2303.07338 (there also ADAM). Rank and epochs, in preset paper also rate and
batch: PILOT's CIFAR-100 configuration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

import torch
from torch import Tensor

from forget_me_not.models.adapters import Adapters, below, first_block, tensors
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Reads, Samples, Task
from forget_me_not.models.descent import photos_a_pass
from forget_me_not.models.first_session import adapted
from forget_me_not.models.head import Head
from forget_me_not.models.layers import class_means
from forget_me_not.models.registry import Slider, register


@register(
    "aper",
    title="APER",
    family="Prototypes",
    line="Adapts to the first task, then only collects average photos.",
    paper="arXiv:2303.07338",
    stores="One adapter a block, learnt once, and one mean of two features a class and task",
    parameters="2 d r + r + d a block once, 2 d a class",
    deviations=(
        "One view of every training photo instead of random crops; no weight decay; the rate falls by step, not by epoch.",
        "The head of the first task starts at sharpness 10, not 1, with which a few photos hardly move an adapter.",
        "Default: the last three blocks, batch 16 and rate 0.1; preset paper: all blocks, batch 48 and the published 0.01, at "
        "which the few photos of a first task move the feature by 2 % and every answer stays SimpleCIL's.",
        "A class that comes back (a new domain) has a mean a task, and the best of them counts.",
        "Where the first task has one class there is nothing to tell apart: it stays at the frozen feature (SimpleCIL).",
    ),
    identity=True,
    presets={"demo": {}, "paper": {"blocks": 24, "batch": 48, "lr": 0.01}},
)
class Aper:
    """Args:
    blocks: How many of the last blocks get an adapter (more than there are = all).
    rank: Width of an adapter's bottleneck.
    epochs: Passes over the photos of the first task.
    lr: Learning rate of SGD with momentum 0.9, cosine per step.
    batch: Photos in a training step.
    """

    def __init__(
        self,
        vit: FrozenViT,
        *,
        blocks: Annotated[int, Slider(1, 24, 1, expert=False)] = 3,
        rank: Annotated[int, Slider(1, 256, 1)] = 64,
        epochs: Annotated[int, Slider(1, 100, 1, expert=False)] = 20,
        lr: Annotated[float, Slider(1e-5, 1, log=True, expert=False)] = 0.1,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
    ):
        first = first_block(vit, blocks)
        self.reads, self.blocks, self.rank = Reads(cut=first, query=True), range(first, vit.depth), rank
        self.width, self.device = vit.width, vit.device
        self.descent = {"epochs": epochs, "batch": batch, "lr": lr, "micro": photos_a_pass(vit.depth - first)}
        self.edit: Adapters | None = None
        self.head = Head()

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        edit = self.edit
        if edit is None:
            values = yield from adapted(task, Adapters, self.blocks, self.width, self.rank, rng, **self.descent)
            edit = Adapters.frozen(values, self.blocks[0])
        for _ in task.train.encode(edit):
            yield None
        means = class_means(both(task.train, edit), task.train.labels, task.classes)
        self.edit, self.head = edit, self.head.grown(means.to(self.device), task.classes)
        yield Log()

    def predict(self, batch: Batch) -> Prediction:
        u = torch.cat([batch.cls, batch.cls_through(self.edit)], -1)
        return Prediction(self.head.logits(u, 1.0), feature=u)

    def state_dict(self) -> dict[str, Tensor]:
        return self.head.state() if self.edit is None else {**tensors("adapter", self.edit.values), **self.head.state()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        values = below("adapter", state, self.device)
        self.edit = Adapters.frozen(values, self.blocks[0]) if values else None
        self.head = Head.from_state(state, self.device)


def both(samples: Samples, edit: Adapters) -> Tensor:
    """(N, 2 D) the frozen feature and the adapted one, side by side; one norm for both, as published."""
    return torch.cat([samples.cls(), samples.cls(edit)], -1)
