"""MOS: adapters that stay close to their predecessors by merging, a head aligned on Gaussians, and a module that corrects itself.

Sun, Zhou, Zhao, Gan, Zhan, Ye, "MOS: Model Surgery for Pre-Trained Model-Based Class-Incremental Learning", AAAI 2025,
arXiv:2412.09441. Merging is a step of its own after each step of the optimiser; the public code merges inside every
forward pass, also when it is tested, so that its answers depend on how often it was asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import torch
from torch import Tensor
from torch.nn import functional as F

from forget_me_not.models.adapters import Adapters, below, first_block, tensors, through
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Reads, Task
from forget_me_not.models.descent import descend, photos_a_pass
from forget_me_not.models.gaussians import ALIGNMENT, Cloud, aligned, cloud_of, clouds_from, clouds_state
from forget_me_not.models.head import Head, drawn_rows
from forget_me_not.models.layers import Params, by_class, class_means, cosine
from forget_me_not.models.registry import Slider, register
from forget_me_not.models.routers import row_tasks

HEAD_SHARE = 0.1
"""The head's learning rate as a share of the adapters' (public code)."""
APART = 0.1
"""Weight of the loss that pushes features apart (public code)."""
TEMPERATURE = 0.8
"""Divides the products of features in that loss (public code)."""
CORRECTIONS = 3
"""Times a photo may move on to the module its answer points to (public code looks through four modules at most)."""


def merge(module: Params, older: Sequence[Mapping[str, Tensor]], momentum: float) -> None:
    """theta <- (1 - m) theta + m mean of the older modules' theta, in place (equation 5); nothing without older ones."""
    if older:
        for name, value in module.items():
            value.lerp_(torch.stack([o[name] for o in older]).mean(0), momentum)


def apart(u: Tensor, means: Tensor) -> Tensor:
    """Cross-entropy that tells every row of [means; u] (K + B, D) from all others by its products with them."""
    rows = torch.cat([means, u])
    return F.cross_entropy(rows @ rows.mT / TEMPERATURE, torch.arange(len(rows), device=u.device))


def corrected(module: Tensor, points_to: Tensor) -> Tensor:
    """The module (B,) reached by following where module t's answer points, points_to (B, T), a few times or until it stays."""
    for _ in range(CORRECTIONS):
        module = points_to.gather(1, module[:, None])[:, 0]
    return module


@register(
    "mos",
    title="MOS",
    family="Adapters",
    line="Adapters merged while they learn; a wrong choice of adapter corrects itself.",
    paper="arXiv:2412.09441",
    stores="One adapter a block for every task, one affine head row, one prototype and one Gaussian a class and task",
    parameters="2 d r + r + d a block and task, d + 1 a class",
    deviations=(
        "Merges once a step; the public code merges twice a step and again whenever it is asked, even in its tests.",
        "One view of every training photo instead of random crops; no weight decay; the rate falls by step, not by epoch.",
        "Dropout is off for statistics (public code leaves it on for the prototypes of later tasks).",
        "Features are pushed apart within one backward pass: the default batch at three blocks, a part of it where more learn.",
        "Gaussians keep a square root of the covariance: the same numbers, fewer bytes while photos are fewer than features.",
        "Default: the last three blocks and batch 16; preset paper: all blocks, batch 48.",
        "Tasks may differ in size, and a class that comes back has a row and a Gaussian a task; one of one class learns nothing "
        "and is left out of merging.",
    ),
    identity=True,
    presets={"demo": {}, "paper": {"blocks": 24, "batch": 48}},
)
class Mos:
    """Args:
    blocks: How many of the last blocks get an adapter (more than there are = all).
    rank: Width of an adapter's bottleneck.
    epochs: Passes over the photos of a task.
    lr: Learning rate of SGD with momentum 0.9, cosine per step; a tenth of it for the head.
    batch: Photos in a training step.
    merging: How far each step pulls an adapter towards the mean of its predecessors.
    alignment: Passes over photos drawn from the Gaussians that align the head after a task.
    """

    portion = 4

    def __init__(
        self,
        vit: FrozenViT,
        *,
        blocks: Annotated[int, Slider(1, 24, 1, expert=False)] = 3,
        rank: Annotated[int, Slider(1, 256, 1)] = 16,
        epochs: Annotated[int, Slider(1, 100, 1, expert=False)] = 20,
        lr: Annotated[float, Slider(1e-5, 1, log=True, expert=False)] = 0.03,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
        merging: Annotated[float, Slider(0, 1, 0.01, expert=False)] = 0.1,
        alignment: Annotated[int, Slider(0, 100, 1)] = ALIGNMENT,
    ):
        first = first_block(vit, blocks)
        self.reads, self.blocks, self.rank = Reads(cut=first), range(first, vit.depth), rank
        self.width, self.device, self.merging = vit.width, vit.device, merging
        self.alignment = {"epochs": alignment, "batch": 5 * batch}  # five times the batch, as in the public code
        self.descent = {"epochs": epochs, "batch": batch, "lr": lr, "micro": photos_a_pass(vit.depth - first)}
        self.edits: tuple[Adapters, ...] = ()
        self.head, self.bias = Head(), ()
        self.prototypes: tuple[Tensor, ...] = ()
        self.clouds: tuple[tuple[Cloud, ...], ...] = ()

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        older = [edit.values for edit in self.edits]
        values = older[-1] if older else Adapters.new(self.blocks, self.width, self.rank, rng)
        values = {k: v.clone().to(self.device) for k, v in values.items()}
        # SGD on w / sqrt(s) moves w by s times the learning rate: the head's own rate.
        slow = HEAD_SHARE**0.5
        rows = drawn_rows(len(task.classes), self.width, rng).to(self.device) / slow
        bias = torch.zeros(len(task.classes), device=self.device)
        # A task of one class has left its adapter untrained: a mean with it would pull every later one back to the identity.
        trained = [o for o, classes in zip(older, self.head.classes, strict=True) if len(classes) > 1]
        yield from self._train(task, values, rows, bias, slow, trained, rng)

        edit = Adapters.frozen(values, self.blocks[0])
        first = self.edits[0] if self.edits else edit
        for known in {id(e): e for e in (edit, first)}.values():
            for _ in task.train.encode(known):
                yield None
        y, u = task.train.labels.to(self.device), task.train.cls(edit).to(self.device)
        clouds = (*self.clouds, tuple(cloud_of(u[y == c]) for c in task.classes))
        head, biases = self.head.grown(rows * slow, task.classes), (*self.bias, bias * slow)
        if older:
            flat = [cloud for some in clouds for cloud in some]
            found = yield from aligned(torch.cat(head.rows), torch.cat(biases), head.row_class, flat, rng, **self.alignment)
            sizes = [len(c) for c in head.classes]
            head, biases = head.with_rows(found[0].split(sizes)), tuple(found[1].split(sizes))
        z = task.train.cls(first).to(self.device)
        self.edits, self.head, self.bias, self.clouds = (*self.edits, edit), head, biases, clouds
        self.prototypes = (*self.prototypes, class_means(z, y, task.classes))
        yield Log()

    def _train(self, task: Task, values: Params, rows: Tensor, bias: Tensor, slow: float, trained: Sequence[Params],
               rng: torch.Generator) -> Iterator[Log | None]:  # fmt: skip
        if len(task.classes) == 1:
            return
        edit, place = Adapters(values, self.blocks[0], rng), {c: i for i, c in enumerate(task.classes)}
        means = torch.stack([c.mean for some in self.clouds for c in some]) if self.clouds else rows.new_zeros(0, self.width)

        def loss(b: Batch) -> Tensor:
            u, y = b.cls_through(edit), torch.tensor([place[c] for c in b.y.tolist()], device=self.device)
            return F.cross_entropy(F.linear(u, rows, bias) * slow, y) + APART * apart(u, means)

        yield from descend(task.train, [*values.values(), rows, bias], loss, rng=rng, **self.descent,
                           after_step=lambda lr: merge(values, trained, self.merging))  # fmt: skip

    def predict(self, batch: Batch) -> Prediction:
        u, row_class, row_task = through(batch, self.edits), self.head.row_class, row_tasks(self.head.classes)
        said = F.linear(u, torch.cat(self.head.rows), torch.cat(self.bias)).transpose(0, 1)  # (B, T, K)
        cosines = cosine(u[0], torch.cat(self.prototypes))  # (B, K)
        near, guess = by_class(cosines, row_class, self.head.seen), row_task[cosines.argmax(-1)]
        module = corrected(guess, row_task[said.argmax(-1)])
        answers, at = by_class(said, row_class, self.head.seen), torch.arange(len(batch), device=u.device)
        both = answers[at, module].softmax(-1) + (len(self.edits) * near).softmax(-1)
        return Prediction((both / 2).log(), module, answers, {"first guess": guess}, u[module, at])

    def state_dict(self) -> dict[str, Tensor]:
        parts = self.head.state()
        for t, (edit, bias, prototypes) in enumerate(zip(self.edits, self.bias, self.prototypes, strict=True)):
            parts |= tensors(f"adapter.{t:03d}", edit.values)
            parts |= {f"bias.{t:03d}": bias, f"statistic.{t:03d}.prototypes": prototypes}
        return {**parts, **clouds_state(self.clouds)}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.head = Head.from_state(state, self.device)
        tasks = [f"{t:03d}" for t in range(len(self.head.rows))]
        self.edits = tuple(Adapters.frozen(below(f"adapter.{t}", state, self.device), self.blocks[0]) for t in tasks)
        self.bias = tuple(state[f"bias.{t}"].to(self.device) for t in tasks)
        self.prototypes = tuple(state[f"statistic.{t}.prototypes"].to(self.device) for t in tasks)
        self.clouds = clouds_from(state, len(tasks), self.device)
