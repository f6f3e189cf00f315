"""L2P: a pool of prompts with keys; each photo takes the five nearest and the network reads its answer from them.

Wang et al., "Learning to Prompt for Continual Learning", CVPR 2022, arXiv:2112.08654. Public code: google-research/l2p,
in PyTorch JH-LEE-KR/l2p-pytorch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor

from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Reads, Task
from forget_me_not.models.descent import descend, photos_a_pass
from forget_me_not.models.edit import Edit
from forget_me_not.models.head import CROSS_ENTROPY, NEW_ROWS, Head
from forget_me_not.models.layers import cosine
from forget_me_not.models.prompts import named
from forget_me_not.models.registry import Slider, register

PLACE: dict[str, Callable[[int], int]] = {"input": lambda depth: 0, "last four": lambda depth: max(0, depth - 4)}
"""Block before which prompts join the tokens."""


class Taken(Edit):
    """Prompt tokens (B, P, D) behind [CLS] from block `first` on; read is their mean after the last norm."""

    def __init__(self, prompts: Tensor, first: int):
        self.prompts, self.first = prompts, first

    def tokens(self, block: int, h: Tensor) -> Tensor:
        return torch.cat([h[:, :1], self.prompts, h[:, 1:]], 1) if block == self.first else h

    def read(self, h: Tensor) -> Tensor:
        return h[:, 1 : 1 + self.prompts.shape[1]].mean(1)


class TakenCls(Edit):
    """Prompt tokens (B, P, D) behind [CLS] from block `first` on; read is [CLS]."""

    def __init__(self, prompts: Tensor, first: int):
        self.prompts, self.first = prompts, first

    tokens = Taken.tokens


READ: dict[str, Callable[[Tensor, int], Edit]] = {"prompts": Taken, "cls": TakenCls}
"""What the head sees: the mean of the prompts' outputs (the paper) or [CLS]."""


@register(
    "l2p",
    title="L2P",
    family="Prompts",
    line="A shared box of hints; each photo takes the ones that fit.",
    paper="arXiv:2112.08654",
    batch_vote=True,
    stores="One pool of prompts and keys, overwritten by every task, and one head row a class and task",
    parameters="N (P + 1) d for a pool of N prompts of length P, once; d a class",
    deviations=(
        "Default: prompts join before the last four blocks, so that everything below is encoded once; preset paper, with "
        "the numbers for CIFAR-100: at input.",
        "Prompts carry no position of their own (public code adds the frozen one of [CLS]; a learnt prompt can absorb it).",
        "Each photo takes its own prompts, in training and in test; public code lets a batch vote in both.",
        "All tasks share the pool and it goes on learning: later tasks change the answers about earlier ones, as in the paper.",
        "Old head rows do not learn; a cosine head of fixed sharpness instead of a linear one.",
        "One view of every training photo instead of random crops.",
        "A class that comes back gets a second head row and the better of both counts; public code trains the one row on.",
        "A task of one class has no masked cross-entropy to learn from: its row stays as drawn, and the class goes unseen.",
    ),
    presets={"demo": {}, "paper": {"place": "input", "read": "prompts", "epochs": 5, "lr": 0.0019, "clip": 1.0, "rows": "drawn"}},
)
class L2P:
    """Args:
    place: Where prompts join the tokens.
    pool: Prompts in the pool.
    top: Prompts a photo takes.
    length: Tokens of a prompt.
    pull: Strength of the loss that pulls taken keys to the photo's feature.
    read: What the head sees.
    epochs: Passes over the photos of a task.
    lr: Learning rate of Adam.
    batch: Photos in a training step.
    schedule: How the learning rate falls.
    clip: Largest norm of the gradient (0 = as it is).
    scale: Sharpness of the cosine head.
    spread: Prompts and keys start between minus this and this.
    loss: Cross-entropy over the task's own classes or over all classes seen.
    rows: Where the head rows of new classes start.
    """

    def __init__(
        self,
        vit: FrozenViT,
        *,
        place: Literal["last four", "input"] = "last four",
        pool: Annotated[int, Slider(1, 50, 1)] = 10,
        top: Annotated[int, Slider(1, 20, 1)] = 5,
        length: Annotated[int, Slider(1, 20, 1)] = 5,
        pull: Annotated[float, Slider(0, 2, 0.1)] = 0.1,
        read: Literal["prompts", "cls"] = "prompts",
        epochs: Annotated[int, Slider(1, 100, 1, expert=False)] = 10,
        lr: Annotated[float, Slider(1e-5, 0.1, log=True, expert=False)] = 0.003,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
        schedule: Literal["cosine per step", "cosine per epoch", "constant"] = "constant",
        clip: Annotated[float, Slider(0, 10, 0.1)] = 0.0,
        scale: Annotated[float, Slider(0.1, 100, log=True)] = 10.0,
        spread: Annotated[float, Slider(0.001, 2, log=True)] = 1.0,
        loss: Literal["masked", "full"] = "masked",
        rows: Literal["means", "drawn", "zeros"] = "drawn",
    ):
        self.vit, self.device, self.scale, self.spread = vit, vit.device, scale, spread
        self.size, self.top, self.length, self.pull, self.read = pool, min(top, pool), length, pull, READ[read]
        self.new_rows, self.loss = NEW_ROWS[rows], CROSS_ENTROPY[loss]
        self.reads = Reads(cut=PLACE[place](vit.depth), query=True)
        longer = 1 + self.top * length / vit.length  # prompts are tokens too, and every block pays for them
        at_once = photos_a_pass(math.ceil(longer * (vit.depth - self.reads.cut)))
        self.descent = {"epochs": epochs, "batch": batch, "lr": lr, "optimiser": "adam", "schedule": schedule,
                        "clip": clip or None, "micro": at_once}  # fmt: skip
        self.portion = at_once
        self.pool: dict[str, Tensor] = {}
        self.head = Head()

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        z, y = task.train.cls().to(self.device), task.train.labels.to(self.device)
        pool = {k: v.clone() for k, v in (self.pool or self._drawn(rng)).items()}
        row = self.new_rows(z, y, task.classes, rng).clone()
        head = self.head.grown(row, task.classes)

        def loss(b: Batch) -> Tensor:
            edit, near = self._edit(b.cls, pool)
            value = self.loss(head.logits(b.cls_through(edit), self.scale), b.y, task.classes)
            return value - self.pull * near.sum(-1).mean()

        yield from descend(task.train, [*pool.values(), row], loss, rng=rng, **self.descent)
        self.pool, self.head = pool, head

    def _drawn(self, rng: torch.Generator) -> dict[str, Tensor]:
        shapes = {"prompts": (self.size, self.length, self.vit.width), "keys": (self.size, self.vit.width)}
        return {k: ((torch.rand(*s, generator=rng) * 2 - 1) * self.spread).to(self.device) for k, s in shapes.items()}

    def _edit(self, q: Tensor, pool: Mapping[str, Tensor]) -> tuple[Edit, Tensor]:
        """The edit of photos with frozen features q (B, D), and the cosines (B, top) of the keys they took."""
        near, taken = cosine(q, pool["keys"]).topk(self.top, -1)
        return self.read(pool["prompts"][taken].flatten(1, 2), self.reads.cut), near

    def predict(self, batch: Batch) -> Prediction:
        u = batch.cls_through(self._edit(batch.cls, self.pool)[0])
        return Prediction(self.head.logits(u, self.scale), feature=u)

    def state_dict(self) -> dict[str, Tensor]:
        return {**{f"pool.{k}": v for k, v in self.pool.items()}, **self.head.state()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.pool, self.head = named(state, "pool.", self.device), Head.from_state(state, self.device)
