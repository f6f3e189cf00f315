"""LoRA for every task in the last blocks, chosen per photo; nothing old is ever written to again.

LoRA is Hu et al., ICLR 2022, arXiv:2106.09685; as a continual learner see the baseline of Soft-TF (arXiv:2411.16073).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor

from forget_me_not.models.adapters import Lora
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Task
from forget_me_not.models.head import CROSS_ENTROPY
from forget_me_not.models.parts import TaskParts
from forget_me_not.models.registry import Slider, register
from forget_me_not.models.routing import pick


@register(
    "lora_tasks",
    title="LoRA a task",
    family="Adapters",
    line="A low-rank change of the attention weights for every task; the nearest class prototype chooses.",
    paper="arXiv:2106.09685",
    stores="LoRA pairs, one key, one head row and one prototype a class for every task",
    parameters="8 d r a block and task, d a class, d a task key",
    deviations=(
        "One view of every training photo instead of random crops; no weight decay.",
        "SGD with momentum and a cosine, as for adapters; public Soft-TF trains its LoRA with Adam at a constant rate.",
        "Query, key, value and output matrices get a pair (public Soft-TF leaves the key out); no dropout on the pair's input.",
        "Default: the last three blocks, as in Soft-TF's comparison; preset paper: all blocks, as in LoRA's paper.",
        "With the masked loss a task of one class has nothing to learn from: its part stays the identity.",
    ),
    identity=True,
    presets={"demo": {}, "paper": {"blocks": 24, "epochs": 20, "batch": 24}},
)
class TaskLoras:
    """Args:
    blocks: How many of the last blocks get LoRA pairs (more than there are = all).
    rank: Rank of a pair.
    epochs: Passes over the photos of a task.
    lr: Learning rate of SGD with momentum 0.9, cosine per step.
    batch: Photos in a training step.
    scale: Sharpness of the cosine head.
    loss: Cross-entropy over all classes seen (older rows stay as they are) or only the task's own.
    router: What chooses the module of a photo; product = class prototypes times each module's posterior.
    """

    def __init__(
        self,
        vit: FrozenViT,
        *,
        blocks: Annotated[int, Slider(1, 24, 1, expert=False)] = 3,
        rank: Annotated[int, Slider(1, 256, 1)] = 4,
        epochs: Annotated[int, Slider(1, 100, 1, expert=False)] = 20,
        lr: Annotated[float, Slider(1e-5, 1, log=True, expert=False)] = 0.0005,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
        scale: Annotated[float, Slider(0.1, 100, log=True)] = 10.0,
        loss: Literal["full", "masked"] = "full",
        router: Literal["prototype", "entropy", "energy", "logit", "product"] = "prototype",
    ):
        self.parts = TaskParts(vit, Lora, blocks=blocks, rank=rank, scale=scale, loss=CROSS_ENTROPY[loss],
                               epochs=epochs, lr=lr, batch=batch)  # fmt: skip
        self.reads, self.portion, self.router = self.parts.reads, self.parts.portion, router

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        yield from self.parts.learn(task, rng)

    def predict(self, batch: Batch) -> Prediction:
        u, answers, routes = self.parts.hear(batch)
        module = routes.pop(self.router)
        return Prediction(pick(answers, module), module, answers, routes, pick(u, module))

    def state_dict(self) -> dict[str, Tensor]:
        return self.parts.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.parts.load_state_dict(state)
