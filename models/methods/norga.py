"""NoRGa: task prompts whose attention scores pass a learnt nonlinear gate; a task head in closed form chooses per photo.

Le et al., "Mixture of Experts Meets Prompt-Based Continual Learning", NeurIPS 2024, arXiv:2405.14124.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Reads, Task
from forget_me_not.models.descent import descend, photos_a_pass, photos_a_test
from forget_me_not.models.head import CROSS_ENTROPY, NEW_ROWS, Head
from forget_me_not.models.memory import Memory
from forget_me_not.models.prompts import PLACES, Prefix, Prompts, copied, drawn, named, parts
from forget_me_not.models.registry import Slider, register
from forget_me_not.models.routing import least_entropy, pick

RIDGE = 0.3
"""Penalty of the task head, as a share of the mean eigenvalue of the features' second moment."""


@register(
    "norga",
    title="NoRGa",
    family="Prompts",
    line="Hints for each task, turned up or down for every photo by a learnt gate.",
    paper="arXiv:2405.14124",
    stores="Prompts, one key, prototypes, feature sums and head rows for every task; two gate numbers a block; second moments of "
    "features",
    parameters="2 P d a block of a task's prompts (four or five blocks), d a key, d a class; 2 numbers a block once",
    deviations=(
        "The rest of the HiDe pipeline is left out: no contrastive loss, no mixing with older prompts, no classifier alignment.",
        "The task head is ridge regression on frozen features in closed form; the paper trains a small network and aligns it.",
        "Default: prompts in the last four blocks, so that everything below is encoded once; preset paper: in the first five.",
        "Every photo gets its own keys and values; public code mixes them up between photos.",
        "The two numbers of a block's gate learn in the first task and are then frozen, as in public code; one class teaches "
        "them nothing.",
        "A cosine head of fixed sharpness, its rows at class means at first (preset paper: drawn), instead of a linear one.",
        "Prompts and head learn at one constant rate, in batches of 16; in public code it falls in steps, the head's is a tenth "
        "of it, and batches are of 128 (preset paper, with the numbers for CIFAR-100: its rate scaled to batches of 16).",
        "One view of every training photo instead of random crops.",
        "A class that comes back gets a second head row and the better of both counts; public code trains the one row on.",
        "A task of one class has no masked cross-entropy to learn from: its prompts stay as they began and its row at the class "
        "mean (preset paper: as drawn).",
    ),
    presets={"demo": {}, "paper": {"place": "first five", "lr": 0.0019, "epochs": 50, "clip": 1.0, "rows": "drawn"}},
)
class NoRGa:
    """Args:
    place: Blocks that get prompts.
    length: Length of each task's prompts.
    epochs: Passes over the photos of a task.
    lr: Learning rate of Adam.
    batch: Photos in a training step.
    schedule: How the learning rate falls.
    clip: Largest norm of the gradient (0 = as it is).
    scale: Sharpness of the cosine head.
    spread: Prompts start between minus this and this.
    loss: Cross-entropy over the task's own classes or over all classes seen.
    rows: Where the head rows of new classes start.
    """

    chooses_by_key = True

    def __init__(
        self,
        vit: FrozenViT,
        *,
        place: Literal["last four", "first five"] = "last four",
        length: Annotated[int, Slider(1, 40, 1)] = 5,
        epochs: Annotated[int, Slider(1, 150, 1, expert=False)] = 20,
        lr: Annotated[float, Slider(1e-5, 0.1, log=True, expert=False)] = 0.003,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
        schedule: Literal["cosine per step", "cosine per epoch", "constant"] = "constant",
        clip: Annotated[float, Slider(0, 10, 0.1)] = 0.0,
        scale: Annotated[float, Slider(0.1, 100, log=True)] = 10.0,
        spread: Annotated[float, Slider(0.001, 2, log=True)] = 1.0,
        loss: Literal["masked", "full"] = "masked",
        rows: Literal["means", "drawn", "zeros"] = "means",
    ):
        self.vit, self.device, self.scale, self.spread = vit, vit.device, scale, spread
        self.blocks, self.length = PLACES[place](vit.depth), length
        self.new_rows, self.loss = NEW_ROWS[rows], CROSS_ENTROPY[loss]
        self.reads = Reads(cut=self.blocks[0], query=True)
        self.descent = {"epochs": epochs, "batch": batch, "lr": lr, "optimiser": "adam", "schedule": schedule,
                        "clip": clip or None, "micro": photos_a_pass(vit.depth - self.reads.cut)}  # fmt: skip
        self.prompts: tuple[Prompts, ...] = ()
        self.gates: dict[int, Tensor] = {}
        self.head, self.memory = Head(), Memory()
        self.moments: dict[str, Tensor] = {}

    @property
    def portion(self) -> int:
        """Photos tested at once: fewer the more blocks all modules together run through."""
        return photos_a_test(max(1, len(self.prompts)) * (self.vit.depth - self.reads.cut))

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        z, y = task.train.cls().to(self.device), task.train.labels.to(self.device)
        fresh = self.prompts[-1] if self.prompts else drawn(self.blocks, self.length, self.vit.width, rng, self.spread)
        own = copied(fresh, self.device)
        gates = self.gates or {block: torch.ones(2, device=self.device) for block in self.blocks}
        row = self.new_rows(z, y, task.classes, rng).clone()
        head = self.head.grown(row, task.classes)
        edit = self._edit(own, gates)

        def loss(b: Batch) -> Tensor:
            return self.loss(head.logits(b.cls_through(edit), self.scale), b.y, task.classes)

        learning = [*own.values(), row, *(() if self.gates else gates.values())]
        yield from descend(task.train, learning, loss, rng=rng, **self.descent)
        self.prompts, self.gates, self.head = (*self.prompts, own), gates, head
        self.memory, self.moments = self.memory.grown(z, y, task.classes), self._with(z, y, task)

    def _edit(self, own: Prompts, gates: Mapping[int, Tensor]) -> Prefix:
        return Prefix(own, heads=self.vit.heads, first=self.reads.cut, gates=gates)

    def _with(self, z: Tensor, y: Tensor, task: Task) -> dict[str, Tensor]:
        """The moments with one more task's: z'z (D, D), and sums of z a class and task (K, D)."""
        z = F.normalize(z, dim=-1)
        sums = torch.stack([z[y == c].sum(0) for c in task.classes])
        second = self.moments.get("statistic.second", 0) + z.T @ z
        return {**self.moments, "statistic.second": second, f"statistic.{task.index:03d}.sums": sums}

    def by_task_head(self, z: Tensor) -> Tensor:
        """The task (B,) of the best (class, task) row of ridge regression on one-hot rows: z (B, D)."""
        second = self.moments["statistic.second"].cpu().double()
        sums = torch.cat([self.moments[f"statistic.{t:03d}.sums"] for t in range(len(self.prompts))]).cpu().double()
        weight = second + RIDGE * second.diagonal().mean() * torch.eye(len(second), dtype=torch.float64)
        rows = torch.linalg.solve(weight, sums.T).to(z)  # (D, K)
        return self.memory.row_task[(F.normalize(z, dim=-1) @ rows).argmax(-1)]

    def predict(self, batch: Batch) -> Prediction:
        h, cut = batch.h, self.reads.cut
        u = torch.stack([self.vit.features(h, cut, self._edit(own, self.gates)) for own in self.prompts], 1)  # (B, T, D)
        answers = self.head.logits(u, self.scale)  # (B, T, C)
        module = self.by_task_head(batch.cls)
        routes = {"task key": self.memory.by_key(batch.cls), "prototype": self.memory.by_prototype(batch.cls),
                  "entropy": least_entropy(answers), "product": self.memory.product(batch.cls, answers)[1]}  # fmt: skip
        return Prediction(pick(answers, module), module, answers, routes, pick(u, module))

    def state_dict(self) -> dict[str, Tensor]:
        gates = {f"gate.000.{block:03d}": value for block, value in self.gates.items()}
        return {**parts("prompt", *self.prompts), **gates, **self.head.state(), **self.memory.state(), **self.moments}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.memory, self.head = Memory.from_state(state, self.device), Head.from_state(state, self.device)
        tasks = range(len(self.memory.keys))
        self.prompts = tuple(named(state, f"prompt.{t:03d}.", self.device) for t in tasks)
        self.gates = {int(block): value for block, value in named(state, "gate.000.", self.device).items()}
        names = ("statistic.second", *(f"statistic.{t:03d}.sums" for t in tasks))
        self.moments = {name: state[name].to(self.device) for name in names if name in state}
