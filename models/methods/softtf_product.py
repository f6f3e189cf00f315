"""Soft-TF whose modules vote with the frozen feature: posterior of class prototypes times posterior of the class's module.

Ours. The masks are those of Kang, Hwang and others, "Soft-TransFormers for Continual Learning", arXiv:2411.16073.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor

from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Task
from forget_me_not.models.methods.softtf import SoftTF
from forget_me_not.models.registry import Slider, register
from forget_me_not.models.routing import pick


@register(
    "softtf_product",
    title="Soft-TF x prototypes",
    family="Masks",
    line="Soft masks a task, weighed against the average photo of every class instead of choosing one mask.",
    paper="masks: arXiv:2411.16073; the product is ours",
    stores="One mask the shape of the masked weights, one key, one prototype and one head row a class for every task",
    parameters="4 d^2 a masked block (3 d^2 for qkv alone, 12 d^2 with the MLP), 4 bytes each; d a key, d a class",
    deviations=(
        "A class scores the product of its posterior among frozen prototypes (cosine x 20) and in its own task's module; "
        "no module is chosen before both are heard. The module shown is that of the best class.",
        "No prompts; masks on the last three blocks (the paper's best place). Masks, head and training are otherwise those of "
        "Soft-TF's default: from exactly 1, a cosine head of fixed sharpness, rows at class means, batch 16 without clipping "
        "(preset paper, with the numbers for CIFAR-100: batch 24, clipped at norm 1).",
        "One view of every training photo instead of random crops.",
        "A class that comes back gets a second head row and the better of both counts; public code trains the one row on.",
        "A task of one class has no masked cross-entropy to learn from: its masks stay at 1 and its row at the class mean.",
    ),
    identity=True,
    presets={"demo": {}, "one block": {"layers": "last"}, "paper": {"lr": 0.0028, "batch": 24, "clip": 1.0}},
)
class SoftTFProduct:
    """Args:
    layers: Blocks whose weights get masks.
    matrices: Weight matrices of a block that get masks.
    epochs: Passes over the photos of a task.
    lr: Learning rate of Adam.
    batch: Photos in a training step.
    schedule: How the learning rate falls.
    clip: Largest norm of the gradient (0 = as it is).
    scale: Sharpness of the cosine head.
    gradient: Also ask what gradient id would choose; slower to test.
    """

    def __init__(
        self,
        vit: FrozenViT,
        *,
        layers: Literal["last", "last two", "last three", "last four", "first three", "third to fifth", "all"] = "last three",
        matrices: Literal["qkv", "qkv+proj", "qkv+proj+mlp"] = "qkv+proj",
        epochs: Annotated[int, Slider(1, 100, 1, expert=False)] = 20,
        lr: Annotated[float, Slider(1e-5, 0.1, log=True, expert=False)] = 0.003,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
        schedule: Literal["cosine per step", "cosine per epoch", "constant"] = "constant",
        clip: Annotated[float, Slider(0, 10, 0.1)] = 0.0,
        scale: Annotated[float, Slider(0.1, 100, log=True)] = 10.0,
        gradient: bool = False,
    ):
        self.masked = SoftTF(vit, layers=layers, matrices=matrices, epochs=epochs, lr=lr, batch=batch, schedule=schedule,
                             clip=clip, scale=scale, gradient=gradient)  # fmt: skip
        self.reads = self.masked.reads

    @property
    def portion(self) -> int:
        """Photos tested at once, as for the masks alone."""
        return self.masked.portion

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        yield from self.masked.fit_task(task, rng)

    def predict(self, batch: Batch) -> Prediction:
        u, answers, routes = self.masked.heard(batch)
        logits, module = self.masked.memory.product(batch.cls, answers)
        del routes["product"]  # it is the answer
        return Prediction(logits, module, answers, routes, pick(u, module))

    def state_dict(self) -> dict[str, Tensor]:
        return self.masked.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.masked.load_state_dict(state)
