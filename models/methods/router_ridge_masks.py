"""Soft-TF's masks, weighed against a ridge classifier of the frozen feature: the router of TOSCA x ridge, nothing chosen anew.

Ours. Masks, head and training are those of Kang, Hwang and others, "Soft-TransFormers for Continual Learning",
arXiv:2411.16073, as in Soft-TF x prototypes; penalty, sharpness and product are TOSCA x ridge's, chosen on other modules and
other seeds (`bench routers`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor

from forget_me_not.models import routers
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Task
from forget_me_not.models.methods.softtf import SoftTF
from forget_me_not.models.registry import Slider, register
from forget_me_not.models.ridge_head import RidgeHead
from forget_me_not.models.routing import pick


@register(
    "router_ridge_masks",
    title="Soft-TF x ridge",
    family="Masks",
    line="Soft masks a task, and one exact classifier of the frozen feature; their opinions are multiplied.",
    paper="masks: arXiv:2411.16073; the router is ours",
    stores="Soft-TF's masks, keys, prototypes and head rows; the ridge's sums as their square root, min(n, d) (d + C) numbers a "
    "task",
    parameters="4 d^2 a masked block (3 d^2 for qkv alone, 12 d^2 with the MLP), 4 bytes each; d a key, 2 d a class",
    deviations=(
        "A class scores its ridge posterior (sharpness 10) times its posterior in its own task's module; no module is chosen "
        "before both are heard. The module shown is that of the best class.",
        "No prompts; masks on the last three blocks (the paper's best place). Masks, head and training are otherwise those of "
        "Soft-TF's default: from exactly 1, a cosine head of fixed sharpness, rows at class means, batch 16 without clipping "
        "(preset paper, with the numbers for CIFAR-100: batch 24, clipped at norm 1).",
        "One view of every training photo instead of random crops.",
        "A task of one class has no masked cross-entropy to learn from: its masks stay at 1 and its row at the class mean.",
        "A class that comes back (a new domain) has a row a task in the module's head and in the ridge.",
    ),
    identity=True,
    presets={"demo": {}, "paper": {"lr": 0.0028, "batch": 24, "clip": 1.0}},
)
class RouterRidgeMasks:
    """Args:
    strength: Ridge penalty on features of mean square 1.
    sharpness: What the ridge scores are multiplied by before they become a posterior.
    weight: Power of the module's posterior in the product; 0 = the ridge alone, 1 = an equal voice.
    layers: Blocks whose weights get masks.
    matrices: Weight matrices of a block that get masks.
    epochs: Passes over the photos of a task.
    lr: Learning rate of Adam.
    batch: Photos in a training step.
    clip: Largest norm of the gradient (0 = as it is).
    """

    def __init__(
        self,
        vit: FrozenViT,
        *,
        strength: Annotated[float, Slider(1e-2, 1e6, log=True)] = 300.0,
        sharpness: Annotated[float, Slider(1, 100, log=True)] = 10.0,
        weight: Annotated[float, Slider(0, 2, 0.1, expert=False)] = 1.0,
        layers: Literal["last", "last two", "last three", "last four", "first three", "third to fifth", "all"] = "last three",
        matrices: Literal["qkv", "qkv+proj", "qkv+proj+mlp"] = "qkv+proj",
        epochs: Annotated[int, Slider(1, 100, 1, expert=False)] = 20,
        lr: Annotated[float, Slider(1e-5, 0.1, log=True, expert=False)] = 0.003,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
        clip: Annotated[float, Slider(0, 10, 0.1)] = 0.0,
    ):
        self.masked = SoftTF(vit, layers=layers, matrices=matrices, epochs=epochs, lr=lr, batch=batch, clip=clip, gradient=False)
        self.reads, self.device = self.masked.reads, vit.device
        self.strength, self.sharpness, self.weight = strength, sharpness, weight
        self.ridge = RidgeHead.empty(vit.width, self.device)

    @property
    def portion(self) -> int:
        """Photos tested at once, as for the masks alone."""
        return self.masked.portion

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        yield from self.masked.fit_task(task, rng)
        self.ridge = yield from self.ridge.grown(task, self.strength)

    def predict(self, batch: Batch) -> Prediction:
        u, answers, routes = self.masked.heard(batch)
        rows, tasks = torch.cat(self.masked.memory.classes), self.masked.memory.row_task
        opinions = self.weight * routers.full_view(answers, rows, tasks)
        logits, module, own = self.ridge.weighed(batch.cls, self.sharpness, opinions, rows, tasks, answers.shape[-1])
        return Prediction(logits, module, answers, {**routes, "ridge": own}, pick(u, module))

    def state_dict(self) -> dict[str, Tensor]:
        return {**self.masked.state_dict(), **self.ridge.state()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.masked.load_state_dict(state)
        self.ridge = RidgeHead.from_state(state, len(self.ridge.weight), self.device)
