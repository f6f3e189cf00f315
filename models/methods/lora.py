"""LoRA in the last blocks, shared by all tasks and trained on and on: what a small part forgets when nothing protects it.

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
from forget_me_not.models.parts import SharedParts
from forget_me_not.models.registry import Slider, register


@register(
    "lora",
    title="LoRA, shared",
    family="Adapters",
    line="A low-rank change of the attention weights, overwritten by every task.",
    paper="arXiv:2106.09685",
    stores="One pair of thin matrices for each attention matrix and one head, overwritten by every task",
    parameters="8 d r a block once, d a class, 1 scale",
    deviations=(
        "One view of every training photo instead of random crops; no weight decay.",
        "SGD with momentum and a cosine, as for adapters; public Soft-TF trains its LoRA with Adam at a constant rate.",
        "Query, key, value and output matrices get a pair (public Soft-TF leaves the key out); no dropout on the pair's input.",
        "Default: the last three blocks, as in Soft-TF's comparison, and 10 passes; preset paper: all blocks, 20 passes.",
    ),
    identity=True,
    presets={"demo": {}, "paper": {"blocks": 24, "epochs": 20, "batch": 24}},
)
class SharedLora:
    """Args:
    blocks: How many of the last blocks get LoRA pairs (more than there are = all).
    rank: Rank of a pair.
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
        rank: Annotated[int, Slider(1, 256, 1)] = 4,
        epochs: Annotated[int, Slider(1, 100, 1, expert=False)] = 10,
        lr: Annotated[float, Slider(1e-5, 1, log=True, expert=False)] = 0.0005,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
        scale: Annotated[float, Slider(0.1, 100, log=True)] = 10.0,
        loss: Literal["full", "masked"] = "full",
    ):
        self.shared = SharedParts(vit, Lora, blocks=blocks, rank=rank, scale=scale, loss=CROSS_ENTROPY[loss],
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
