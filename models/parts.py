"""What methods with small parts inside the blocks have in common: one set of parts for all tasks, or one a task.

A method is one of the two with a kind of part, and says what its settings start at; the ranges of those settings are here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor

from forget_me_not.models.adapters import Parts, below, first_block, tensors, through
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Reads, Task
from forget_me_not.models.descent import descend, photos_a_pass
from forget_me_not.models.head import CROSS_ENTROPY, NEW_ROWS, Head
from forget_me_not.models.layers import Params
from forget_me_not.models.memory import Memory
from forget_me_not.models.registry import Slider
from forget_me_not.models.routing import ROUTERS, pick

Blocks = Annotated[int, Slider(1, 24, 1, expert=False)]
Rank = Annotated[int, Slider(1, 2048, 1)]
Epochs = Annotated[int, Slider(1, 100, 1, expert=False)]
Rate = Annotated[float, Slider(1e-5, 1, log=True, expert=False)]
Photos = Annotated[int, Slider(1, 256, 1)]
Sharpness = Annotated[float, Slider(0.1, 100, log=True)]
Loss = Literal["full", "masked"]
Router = Literal["prototype", "entropy", "energy", "logit", "product"]

PORTION = 4
"""Photos tested at once: each new one goes through the blocks once a task learnt."""

ROUTE: dict[str, Callable[[Tensor, Tensor, Memory], Tensor]] = {
    "product": lambda z, answers, memory: memory.product(z, answers)[1],
    "prototype": lambda z, answers, memory: memory.by_prototype(z),
    "task key": lambda z, answers, memory: memory.by_key(z),
    **{name: lambda z, answers, memory, route=route: route(answers) for name, route in ROUTERS.items()},
}
"""The module (B,) that answers, of the frozen feature z (B, D), all answers (B, T, C) and what is kept of frozen features."""


class SharedParts:
    """One set of parts of a kind and one head for all tasks, trained on and on; descent: epochs, lr and batch.

    Args:
    epochs: Passes over the photos of a task.
    lr: Learning rate of SGD with momentum 0.9, cosine per step.
    batch: Photos in a training step.
    scale: Starting sharpness of the cosine head (learnt).
    loss: Cross-entropy over all classes seen or only the task's own.
    """

    def __init__(self, vit: FrozenViT, kind: type[Parts], *, blocks: int, rank: int, scale: float, loss: str, **descent):
        first = first_block(vit, blocks)
        self.kind, self.blocks, self.rank, self.loss = kind, range(first, vit.depth), rank, CROSS_ENTROPY[loss]
        self.width, self.device, self.reads = vit.width, vit.device, Reads(cut=first, query=True)
        self.descent = {"micro": photos_a_pass(vit.depth - first), **descent}
        self.values: Params = {}
        self.head, self.scale = Head(), torch.tensor(scale, device=vit.device)

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        """Trains copies of parts, head and scale on a task; new rows start at the class means of the frozen feature."""
        values = self.values or self.kind.new(self.blocks, self.width, self.rank, rng)
        values = {k: v.clone().to(self.device) for k, v in values.items()}
        z, y = task.train.cls().to(self.device), task.train.labels.to(self.device)
        head, scale = self.head.grown(NEW_ROWS["means"](z, y, task.classes, rng), task.classes), self.scale.clone()
        head = head.with_rows([r.clone() for r in head.rows])
        edit = self.kind(values, self.blocks[0], rng)

        def loss(b: Batch) -> Tensor:
            return self.loss(head.logits(b.cls_through(edit), scale), b.y, task.classes)

        yield from descend(task.train, [*values.values(), *head.rows, scale], loss, rng=rng, **self.descent)
        self.values, self.head, self.scale = values, head, scale

    def predict(self, batch: Batch) -> Prediction:
        """The head's answer to the feature through the parts as they are now."""
        u = batch.cls_through(self.kind(self.values, self.blocks[0]))
        return Prediction(self.head.logits(u, self.scale), feature=u)

    def state_dict(self) -> dict[str, Tensor]:
        """Everything, by name."""
        return {**tensors("parts", self.values), **self.head.state(), "scale": self.scale}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Takes back what `state_dict` gave."""
        self.values, self.head = below("parts", state, self.device), Head.from_state(state, self.device)
        self.scale = state["scale"].to(self.device)


class TaskParts:
    """One set of parts of a kind and head rows a task, frozen after it; descent: epochs, lr and batch.

    Args:
    epochs: Passes over the photos of a task.
    lr: Learning rate of SGD with momentum 0.9, cosine per step.
    batch: Photos in a training step.
    scale: Sharpness of the cosine head.
    loss: Cross-entropy over all classes seen (older rows stay as they are) or only the task's own.
    router: What chooses the module of a photo; product = class prototypes times each module's posterior.
    """

    portion = PORTION

    def __init__(self, vit: FrozenViT, kind: type[Parts], *, blocks: int, rank: int, scale: float, loss: str, router: str,
                 **descent):  # fmt: skip
        first = first_block(vit, blocks)
        self.kind, self.blocks, self.rank = kind, range(first, vit.depth), rank
        self.loss, self.scale, self.router = CROSS_ENTROPY[loss], scale, router
        self.width, self.device, self.reads = vit.width, vit.device, Reads(cut=first, query=True)
        self.descent = {"micro": photos_a_pass(vit.depth - first), **descent}
        self.edits: tuple[Parts, ...] = ()
        self.head, self.memory = Head(), Memory()

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        """Trains fresh parts and the task's own rows, which start at the class means of the frozen feature."""
        values = {k: v.to(self.device) for k, v in self.kind.new(self.blocks, self.width, self.rank, rng).items()}
        z, y = task.train.cls().to(self.device), task.train.labels.to(self.device)
        rows = NEW_ROWS["means"](z, y, task.classes, rng).clone()
        head, edit = self.head.grown(rows, task.classes), self.kind(values, self.blocks[0], rng)

        def loss(b: Batch) -> Tensor:
            return self.loss(head.logits(b.cls_through(edit), self.scale), b.y, task.classes)

        yield from descend(task.train, [*values.values(), rows], loss, rng=rng, **self.descent)
        self.edits = (*self.edits, self.kind.frozen(values, self.blocks[0]))
        self.head, self.memory = head, self.memory.grown(z, y, task.classes)

    def predict(self, batch: Batch) -> Prediction:
        """What the module that the router chooses answers; what every other router would choose stands beside it."""
        u = through(batch, self.edits)  # (T, B, D)
        answers = self.head.logits(u, self.scale).transpose(0, 1)  # (B, T, C)
        routes = {name: route(batch.cls, answers, self.memory) for name, route in ROUTE.items()}
        module = routes.pop(self.router)
        return Prediction(pick(answers, module), module, answers, routes, pick(u.transpose(0, 1), module))

    def state_dict(self) -> dict[str, Tensor]:
        """Everything, by name; the prototypes are statistics."""
        parts: dict[str, Tensor] = {}
        for t, edit in enumerate(self.edits):
            parts |= tensors(f"parts.{t:03d}", edit.values)
        return {**parts, **self.head.state(), **self.memory.state()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Takes back what `state_dict` gave."""
        tasks = sorted({k.split(".")[1] for k in state if k.startswith("parts.")})
        self.edits = tuple(self.kind.frozen(below(f"parts.{t}", state, self.device), self.blocks[0]) for t in tasks)
        self.head, self.memory = Head.from_state(state, self.device), Memory.from_state(state, self.device)
