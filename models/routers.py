"""Routers that know more than the modules' answers: class posteriors of the frozen feature, and their product with a module's.

Everything is per photo and keeps statistics only, no photos. A row is a (class, task): where classes recur, a class has a
row a task. q is what the frozen feature says of the K rows, the view is what each row's own module says of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from forget_me_not.models.layers import by_class, cosine

SHRINKAGE = 0.1
"""Share of the mean variance added to the pooled covariance of a Mahalanobis head (as in the starter's neck)."""


def row_tasks(classes: Sequence[Tensor]) -> Tensor:
    """(K,) the task of every row, of the class ids (K_t,) of each task."""
    return torch.cat([torch.full_like(c, t) for t, c in enumerate(classes)])


def full_view(answers: Tensor, row_class: Tensor, row_task: Tensor) -> Tensor:
    """log p of each row's class among all C classes, said by the row's module: answers (B, T, C) -> (B, K)."""
    return answers.log_softmax(-1)[:, row_task, row_class]


def own_view(answers: Tensor, row_class: Tensor, row_task: Tensor) -> Tensor:
    """log p of each row's class among the classes of its task, said by the row's module: answers (B, T, C) -> (B, K)."""
    rows = answers[:, row_task, row_class]  # (B, K)
    same = row_task[:, None] == row_task  # (K, K)
    return rows - rows[:, None].expand(-1, len(row_task), -1).masked_fill(~same, float("-inf")).logsumexp(-1)


VIEW: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {"full": full_view, "own": own_view}
"""What a row's module says of it, among all classes or those of its task."""


def answer(scores: Tensor, row_class: Tensor, row_task: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """Logits (B, C), each class its best row, and the module (B,) of the best row, of scores (B, K)."""
    return by_class(scores, row_class, classes), row_task[scores.argmax(-1)]


def prototype_scores(z: Tensor, prototypes: Tensor) -> Tensor:
    """Cosines (B, K) of the frozen feature z (B, D) with the mean of every row (K, D)."""
    return cosine(z, prototypes)


def mahalanobis_scores(z: Tensor, means: Tensor, covariance: Tensor, shrinkage: float = SHRINKAGE) -> Tensor:
    """-1/2 squared Mahalanobis distance (B, K) to the rows' means (K, D) under one covariance (D, D), shrunk; float64 inside.

    Lee et al., NeurIPS 2018, arXiv:1807.03888; shrinkage adds that share of the mean variance, so 20 photos a class will do.
    """
    covariance = covariance.cpu().double()
    spread = covariance + shrinkage * covariance.diagonal().mean() * torch.eye(len(covariance), dtype=torch.float64)
    root = torch.linalg.cholesky(spread)
    white = torch.linalg.solve_triangular(root, torch.cat([z, means]).cpu().double().T, upper=False).T
    return (-0.5 * torch.cdist(white[: len(z)], white[len(z) :]).square()).to(z)


def task_scores(scores: Tensor, row_task: Tensor) -> Tensor:
    """logsumexp of the rows of each task: scores (B, K) -> (B, T)."""
    tasks = int(row_task.max()) + 1
    return torch.stack([scores[:, row_task == t].logsumexp(-1) for t in range(tasks)], -1)


def own_entropy(answers: Tensor, row_class: Tensor, row_task: Tensor) -> Tensor:
    """(B,) the module surest among the classes of its own task. A task of one class is always sure."""
    view = own_view(answers, row_class, row_task)
    return (-_per_task(-view.exp() * view, row_task)).argmax(1)


def own_logit(answers: Tensor, row_class: Tensor, row_task: Tensor) -> Tensor:
    """(B,) the module with the largest logit among the classes of its own task."""
    return row_task[answers[:, row_task, row_class].argmax(1)]


def own_energy(answers: Tensor, row_class: Tensor, row_task: Tensor) -> Tensor:
    """(B,) the module with the largest logsumexp over the classes of its own task (arXiv:2010.03759)."""
    return task_scores(answers[:, row_task, row_class], row_task).argmax(1)


def _per_task(rows: Tensor, row_task: Tensor) -> Tensor:
    out = rows.new_zeros(len(rows), int(row_task.max()) + 1)
    return out.index_add(1, row_task, rows)
