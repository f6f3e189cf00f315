"""Fine-tuning of the ViT's own last blocks and a head, task after task: what "just train it on" does to a real network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor

from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Reads, Task
from forget_me_not.models.descent import descend, photos_a_pass
from forget_me_not.models.edit import Edit
from forget_me_not.models.head import CROSS_ENTROPY, Head, drawn_rows
from forget_me_not.models.registry import Slider, register


class Own(Edit):
    """Uses `values` ("<block>.<parameter>") instead of the frozen parameters."""

    def __init__(self, values: Mapping[str, Tensor], first: int):
        self.values, self.first = values, first

    def weight(self, block: int, name: str, w: Tensor) -> Tensor:
        return self.values.get(f"{block:03d}.{name}", w)


@register(
    "finetune_blocks",
    title="Fine-tune last blocks",
    family="Baselines",
    line="Trains the last blocks of the network itself, on and on.",
    stores="A copy of the trained blocks and one head, overwritten by every task",
    parameters="all parameters of the trained blocks (12 d^2 + 13 d a block without layer scale), d a class, 1 scale",
    deviations=(
        "One view of every training photo instead of random crops.",
        "A cosine head and cross-entropy over all classes seen; PILOT's fine-tuning has a linear head and masks the old classes.",
        "Tokens, position embedding and final norm stay frozen, also when every block is trained.",
    ),
    identity=True,
)
class FinetuneBlocks:
    """Args:
    blocks: How many of the last blocks learn (more than there are = all).
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
        blocks: Annotated[int, Slider(1, 24, 1, expert=False)] = 1,
        epochs: Annotated[int, Slider(1, 100, 1, expert=False)] = 10,
        lr: Annotated[float, Slider(1e-5, 0.1, log=True, expert=False)] = 0.005,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
        scale: Annotated[float, Slider(0.1, 100, log=True)] = 10.0,
        loss: Literal["full", "masked"] = "full",
    ):
        first = max(0, vit.depth - blocks)
        self.reads, self.width, self.device = Reads(cut=first), vit.width, vit.device
        self.loss, micro = CROSS_ENTROPY[loss], photos_a_pass(vit.depth - first)
        self.descent = {"epochs": epochs, "batch": batch, "lr": lr, "micro": micro}
        self.frozen = {
            f"{i:03d}.{name}": p for i in range(first, vit.depth) for name, p in vit.network.blocks[i].named_parameters()
        }
        self.own: Mapping[str, Tensor] = self.frozen
        self.head, self.scale = Head(), torch.tensor(scale, device=self.device)

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        own = {k: v.detach().clone() for k, v in self.own.items()}
        edit = Own(own, self.reads.cut)
        head = self.head.grown(drawn_rows(len(task.classes), self.width, rng).to(self.device), task.classes)
        head, scale = head.with_rows([r.clone() for r in head.rows]), self.scale.clone()

        def loss(b: Batch) -> Tensor:
            return self.loss(head.logits(b.cls_through(edit), scale), b.y, task.classes)

        yield from descend(task.train, [*own.values(), *head.rows, scale], loss, rng=rng, **self.descent)
        self.own, self.head, self.scale = own, head, scale

    def predict(self, batch: Batch) -> Prediction:
        u = batch.cls_through(Own(self.own, self.reads.cut))
        return Prediction(self.head.logits(u, self.scale), feature=u)

    def state_dict(self) -> dict[str, Tensor]:
        own = {} if self.own is self.frozen else {f"block.{k}": v for k, v in self.own.items()}
        return {**own, **self.head.state(), "scale": self.scale}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        own = {k.removeprefix("block."): v.to(self.device) for k, v in state.items() if k.startswith("block.")}
        self.own = own or self.frozen
        self.head, self.scale = Head.from_state(state, self.device), state["scale"].to(self.device)
