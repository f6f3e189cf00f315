"""What methods with small parts inside the blocks have in common: one set of parts for all tasks, or one a task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor

from forget_me_not.models.adapters import Parts, below, first_block, tensors, through
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Reads, Task
from forget_me_not.models.descent import descend, photos_a_pass
from forget_me_not.models.head import NEW_ROWS, Head
from forget_me_not.models.layers import Params
from forget_me_not.models.memory import Memory
from forget_me_not.models.routing import ROUTERS

Loss = Callable[[Tensor, Tensor, Sequence[int]], Tensor]

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
    """One set of parts and one head for all tasks, trained on and on. kind: the edit; scale: of the cosine head (learnt)."""

    def __init__(self, vit: FrozenViT, kind: type[Parts], *, blocks: int, rank: int, scale: float, loss: Loss, **descent):
        first = first_block(vit, blocks)
        self.kind, self.blocks, self.rank, self.loss = kind, range(first, vit.depth), rank, loss
        self.width, self.device, self.reads = vit.width, vit.device, Reads(cut=first, query=True)
        self.descent = {"micro": photos_a_pass(vit.depth - first), **descent}
        self.values: Params = {}
        self.head, self.scale = Head(), torch.tensor(scale, device=vit.device)

    def learn(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
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
    """One set of parts and head rows a task, frozen after it. scale: of the cosine head, the same for all and not learnt."""

    portion = PORTION

    def __init__(self, vit: FrozenViT, kind: type[Parts], *, blocks: int, rank: int, scale: float, loss: Loss, **descent):
        first = first_block(vit, blocks)
        self.kind, self.blocks, self.rank, self.loss, self.scale = kind, range(first, vit.depth), rank, loss, scale
        self.width, self.device, self.reads = vit.width, vit.device, Reads(cut=first, query=True)
        self.descent = {"micro": photos_a_pass(vit.depth - first), **descent}
        self.edits: tuple[Parts, ...] = ()
        self.head, self.memory = Head(), Memory()

    def learn(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
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

    def hear(self, batch: Batch) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Features (B, T, D) and logits (B, T, C) of all modules, and the module (B,) that each router would choose."""
        u = through(batch, self.edits)
        answers = self.head.logits(u, self.scale).transpose(0, 1)
        return u.transpose(0, 1), answers, {name: route(batch.cls, answers, self.memory) for name, route in ROUTE.items()}

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
