"""EASE: an adapter a task spans a subspace; old classes get their prototypes in new subspaces by analogy, and all vote.

Zhou, Sun, Ye, Zhan, "Expandable Subspace Ensemble for Pre-Trained Model-Based Class-Incremental Learning", CVPR 2024,
arXiv:2403.12030. Any increments, recurring classes; the public code's index arithmetic needs equal ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

import torch
from torch import Tensor
from torch.nn import functional as F

from forget_me_not.models.adapters import Adapters, below, first_block, tensors, through
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Reads, Task
from forget_me_not.models.descent import photos_a_pass
from forget_me_not.models.first_session import adapted
from forget_me_not.models.layers import by_class, class_means, cosine
from forget_me_not.models.registry import Slider, register
from forget_me_not.models.routers import row_tasks

SHARPNESS = 10.0
"""Factor on the sum of cosines, so that a softmax of it means something. No answer changes."""


def completed(real: Mapping[tuple[int, int], Tensor]) -> Tensor:
    """Prototypes (T, K, D): every row in every subspace. real[t, j] (K_t, D), j <= t: those computed from photos of task t.

    A row c of task i lacks subspaces j > i; there it is the mean of the prototypes of the tasks j to T-1, weighted by
    softmax of their cosines with c in subspace i (section 3.3, equations 7 and 8; the weights of a row add up to 1).
    """
    tasks = 1 + max(t for t, _ in real)
    spaces = []
    for j in range(tasks):
        there = torch.cat([real[t, j] for t in range(j, tasks)])  # (rows of tasks >= j, D)
        rows = []
        for i in range(j):
            alike = torch.cat([real[t, i] for t in range(j, tasks)])
            rows.append(cosine(real[i, i], alike).softmax(-1) @ there)
        spaces.append(torch.cat([*rows, there]))
    return torch.stack(spaces)


def votes(u: Tensor, prototypes: Tensor, row_task: Tensor, weight: float) -> Tensor:
    """(B, K): cosine in a row's own subspace plus `weight` times the mean of those in the others (equation 9).

    u (T, B, D) features in all subspaces, prototypes (T, K, D).
    """
    near = cosine(u, prototypes)  # (T, B, K)
    own = near.gather(0, row_task.expand(1, *near.shape[1:]))[0]
    others = (near.sum(0) - own) / max(1, len(u) - 1)
    return own + weight * others


@register(
    "ease",
    title="EASE",
    family="Adapters",
    line="An adapter a task; all of them vote, no one has to be chosen.",
    paper="arXiv:2403.12030",
    stores="One adapter a block for every task, and a prototype a class in the frozen and every adapted subspace it was seen in",
    parameters="2 d r + r + d a block and task, t d a class of task t",
    deviations=(
        "One view of every training photo instead of random crops; no weight decay; the rate falls by step, not by epoch.",
        "The throw-away head of a task starts at sharpness 10, not 1.",
        "Default: the last three blocks and batch 16; preset paper: all blocks, batch 48.",
        "Tasks may differ in size, and a class that comes back has a row a task and scores the best.",
        "A task of one class has nothing to tell apart: its adapter stays the identity.",
    ),
    identity=True,
    presets={"demo": {}, "paper": {"blocks": 24, "batch": 48}},
)
class Ease:
    """Args:
    blocks: How many of the last blocks get an adapter (more than there are = all).
    rank: Width of an adapter's bottleneck.
    epochs: Passes over the photos of a task.
    lr: Learning rate of SGD with momentum 0.9, cosine per step.
    batch: Photos in a training step.
    others: Weight of the other tasks' subspaces in the vote; 0 = only a class's own.
    frozen: Weight of the frozen feature in the vote.
    """

    portion = 4

    def __init__(
        self,
        vit: FrozenViT,
        *,
        blocks: Annotated[int, Slider(1, 24, 1, expert=False)] = 3,
        rank: Annotated[int, Slider(1, 256, 1)] = 64,
        epochs: Annotated[int, Slider(1, 100, 1, expert=False)] = 20,
        lr: Annotated[float, Slider(1e-5, 1, log=True, expert=False)] = 0.025,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
        others: Annotated[float, Slider(0, 2, 0.05)] = 0.1,
        frozen: Annotated[float, Slider(0, 2, 0.05)] = 0.0,
    ):
        first = first_block(vit, blocks)
        self.reads, self.blocks, self.rank = Reads(cut=first, query=True), range(first, vit.depth), rank
        self.width, self.device, self.others, self.frozen = vit.width, vit.device, others, frozen
        self.descent = {"epochs": epochs, "batch": batch, "lr": lr, "micro": photos_a_pass(vit.depth - first)}
        self._keep((), {}, {}, ())

    def _keep(self, edits: tuple[Adapters, ...], real: dict[tuple[int, int], Tensor], plain: dict[int, Tensor],
              classes: tuple[Tensor, ...]) -> None:  # fmt: skip
        self.edits, self.real, self.plain, self.classes = edits, real, plain, classes
        self.prototypes = completed(real) if real else None

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        values = yield from adapted(task, Adapters, self.blocks, self.width, self.rank, rng, **self.descent)
        edits, t, real = (*self.edits, Adapters.frozen(values, self.blocks[0])), len(self.edits), dict(self.real)
        for j, edit in enumerate(edits):
            for _ in task.train.encode(edit):
                yield None
            real[t, j] = class_means(task.train.cls(edit), task.train.labels, task.classes).to(self.device)
        plain = class_means(task.train.cls(), task.train.labels, task.classes).to(self.device)
        classes = (*self.classes, torch.tensor(task.classes, device=self.device))
        self._keep(edits, real, {**self.plain, t: plain}, classes)
        yield Log()

    def predict(self, batch: Batch) -> Prediction:
        u, row_class, row_task = through(batch, self.edits), torch.cat(self.classes), row_tasks(self.classes)
        seen = 1 + int(row_class.max())
        scores = votes(u, self.prototypes, row_task, self.others)
        if self.frozen:
            scores = scores + self.frozen * cosine(batch.cls, torch.cat(list(self.plain.values())))
        module = row_task[scores.argmax(-1)]
        answers = by_class(SHARPNESS * cosine(u, self.prototypes).transpose(0, 1), row_class, seen)  # (B, T, C)
        feature = F.normalize(u, dim=-1)[module, torch.arange(len(module), device=module.device)]
        return Prediction(by_class(SHARPNESS * scores, row_class, seen), module, answers, feature=feature)

    def state_dict(self) -> dict[str, Tensor]:
        parts: dict[str, Tensor] = {}
        for t, (edit, classes) in enumerate(zip(self.edits, self.classes, strict=True)):
            parts |= tensors(f"adapter.{t:03d}", edit.values)
            parts |= {f"head.{t:03d}.{j:03d}": self.real[t, j] for j in range(t + 1)}
            parts |= {f"statistic.{t:03d}.frozen": self.plain[t], f"head.{t:03d}.classes": classes}
        return parts

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        heads = {k: v.to(self.device) for k, v in state.items() if k.startswith("head.")}
        tasks = sum(k.endswith(".classes") for k in heads)
        adapters = [below(f"adapter.{t:03d}", state, self.device) for t in range(tasks)]
        self._keep(
            tuple(Adapters.frozen(values, self.blocks[0]) for values in adapters),
            {(t, j): heads[f"head.{t:03d}.{j:03d}"] for t in range(tasks) for j in range(t + 1)},
            {t: state[f"statistic.{t:03d}.frozen"].to(self.device) for t in range(tasks)},
            tuple(heads[f"head.{t:03d}.classes"] for t in range(tasks)),
        )
