"""CODA-Prompt: every photo mixes its own prompt from components, by attention to its frozen feature; no task is ever chosen.

Smith et al., CVPR 2023, arXiv:2211.13218. Public code: GT-RIPL/CODA-Prompt.
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
from forget_me_not.models.prompts import PLACES, Prefix, named
from forget_me_not.models.registry import Slider, register

Components = dict[str, Tensor]
"""One task's components by "<block>.prompt" (K, P, D), "<block>.key" (K, D) and "<block>.attention" (K, D)."""


def orthonormal(count: int, width: int, old: Tensor | None, rng: torch.Generator) -> Tensor:
    """(count, width) rows of length 1, drawn and made orthogonal to each other and to rows `old` while there is room for it."""
    made = torch.randn(count, width, generator=rng)
    before = 0 if old is None else len(old)
    if before + count > width:
        return F.normalize(made, dim=-1)
    if before:
        made = torch.cat([old.cpu(), made])
    return torch.linalg.qr(made.double().T).Q.T[before:].float()


def mixed(q: Tensor, components: Mapping[str, Tensor], block: int) -> Tensor:
    """(B, P, D) each photo's prompt: sum_k cos(q A_k, K_k) P_k for frozen features q (B, D), eq. 4 and 5."""
    prompt, key, attention = (components[f"{block:03d}.{part}"] for part in ("prompt", "key", "attention"))
    attended = F.normalize(q[:, None] * attention, dim=-1)  # (B, K, D)
    share = (attended * F.normalize(key, dim=-1)).sum(-1)  # (B, K)
    return torch.einsum("bk,kpd->bpd", share, prompt)


def overlap(rows: Tensor) -> Tensor:
    """Mean square of Z Z' - 1 for rows Z (K, …): 0 where the components are orthonormal."""
    z = rows.flatten(1)
    return (z @ z.T - torch.eye(len(z), device=z.device)).square().mean()


@register(
    "coda",
    title="CODA-Prompt",
    family="Prompts",
    line="Each photo blends its own hint out of many; new tasks bring new ingredients.",
    paper="arXiv:2211.13218",
    stores="New components of every task, frozen afterwards, and one head row a class and task",
    parameters="K (P + 2) d a block (four or five blocks) for K components of length P, d a class",
    deviations=(
        "Default: prompts in the last four blocks, so that everything below is encoded once; preset paper, with "
        "the numbers for CIFAR-100: in the first five.",
        "A fixed number of components a task, as many tasks as come; public code divides 100 by a number of tasks known before.",
        "New components change every photo's mixture, so later tasks change the answers about earlier ones, as in the paper.",
        "Components start orthogonal to older ones while the feature has room for it (public code: always); no penalty keeps "
        "them so, as in the released scripts (the paper has one: setting orthogonality).",
        "A cosine head of fixed sharpness, its rows at class means at first (preset paper: drawn), instead of a linear one.",
        "Batch 16 instead of 128; the rate falls along half a cosine step by step (public code: a quarter, epoch by epoch).",
        "One view of every training photo instead of random crops.",
        "A class that comes back gets a second head row and the better of both counts; public code trains the one row on.",
        "A task of one class has no masked cross-entropy to learn from: its prompts stay as they began and its row at the class "
        "mean (preset paper: as drawn).",
    ),
    presets={"demo": {}, "paper": {"place": "first five", "lr": 0.001, "rows": "drawn"}},
)
class Coda:
    """Args:
    place: Blocks that get prompts.
    components: Prompt components a task and block.
    length: Length of a component; half of it are keys, half values.
    epochs: Passes over the photos of a task.
    lr: Learning rate of Adam.
    batch: Photos in a training step.
    schedule: How the learning rate falls.
    orthogonality: Strength of the penalty that keeps components orthogonal (paper 0.1, public code 0).
    scale: Sharpness of the cosine head.
    loss: Cross-entropy over the task's own classes or over all classes seen.
    rows: Where the head rows of new classes start.
    """

    def __init__(
        self,
        vit: FrozenViT,
        *,
        place: Literal["last four", "first five"] = "last four",
        components: Annotated[int, Slider(1, 100, 1)] = 10,
        length: Annotated[int, Slider(2, 40, 2)] = 8,
        epochs: Annotated[int, Slider(1, 100, 1, expert=False)] = 20,
        lr: Annotated[float, Slider(1e-5, 0.1, log=True, expert=False)] = 0.001,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
        schedule: Literal["cosine per step", "cosine per epoch", "constant"] = "cosine per step",
        orthogonality: Annotated[float, Slider(0, 1, 0.01)] = 0.0,
        scale: Annotated[float, Slider(0.1, 100, log=True)] = 10.0,
        loss: Literal["masked", "full"] = "masked",
        rows: Literal["means", "drawn", "zeros"] = "means",
    ):
        self.vit, self.device, self.scale = vit, vit.device, scale
        self.blocks, self.count, self.half = PLACES[place](vit.depth), components, max(1, length // 2)
        self.new_rows, self.loss, self.orthogonality = NEW_ROWS[rows], CROSS_ENTROPY[loss], orthogonality
        self.reads = Reads(cut=self.blocks[0], query=True)
        self.descent = {"epochs": epochs, "batch": batch, "lr": lr, "optimiser": "adam", "schedule": schedule,
                        "micro": photos_a_pass(vit.depth - self.reads.cut)}  # fmt: skip
        self.portion = photos_a_test(vit.depth - self.reads.cut)
        self.components: tuple[Components, ...] = ()
        self.head = Head()

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        z, y = task.train.cls().to(self.device), task.train.labels.to(self.device)
        new = self._new(rng)
        row = self.new_rows(z, y, task.classes, rng).clone()
        head = self.head.grown(row, task.classes)

        def loss(b: Batch) -> Tensor:
            every = self._every((*self.components, new))
            value = self.loss(head.logits(b.cls_through(self._edit(b.cls, every)), self.scale), b.y, task.classes)
            return value + self.orthogonality * sum(overlap(rows) for rows in every.values())

        yield from descend(task.train, [*new.values(), row], loss, rng=rng, **self.descent)
        self.components, self.head = (*self.components, new), head

    def _new(self, rng: torch.Generator) -> Components:
        old, made, width = self._every(self.components), {}, self.vit.width
        for block in self.blocks:
            for part, size in (("prompt", 2 * self.half * width), ("key", width), ("attention", width)):
                name = f"{block:03d}.{part}"
                made[name] = orthonormal(self.count, size, old[name].flatten(1) if old else None, rng).to(self.device)
            made[f"{block:03d}.prompt"] = made[f"{block:03d}.prompt"].unflatten(1, (2 * self.half, width))
        return made

    def _every(self, sets: tuple[Components, ...]) -> Components:
        return {name: torch.cat([s[name] for s in sets]) for name in (sets[0] if sets else ())}

    def _edit(self, q: Tensor, every: Components) -> Prefix:
        prompts = {}
        for block in self.blocks:
            halves = mixed(q, every, block).split(self.half, 1)
            prompts |= {f"{block:03d}.{part}": half for part, half in zip(("keys", "values"), halves, strict=True)}
        return Prefix(prompts, heads=self.vit.heads, first=self.reads.cut)

    def predict(self, batch: Batch) -> Prediction:
        u = batch.cls_through(self._edit(batch.cls, self._every(self.components)))
        return Prediction(self.head.logits(u, self.scale), feature=u)

    def state_dict(self) -> dict[str, Tensor]:
        made = {f"component.{t:03d}.{name}": v for t, c in enumerate(self.components) for name, v in c.items()}
        return {**made, **self.head.state()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.head = Head.from_state(state, self.device)
        tasks = range(len(self.head.rows))
        self.components = tuple(named(state, f"component.{t:03d}.", self.device) for t in tasks)
