"""A Gaussian a class instead of its photos, and a head aligned on photos' features drawn from all of them."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from forget_me_not.models.descent import OPTIMISER
from forget_me_not.models.layers import by_class

FLOOR = 1e-4
"""Added to the diagonal of every covariance (public code of MOS and HiDe-Prompt)."""
ALIGNMENT = 30
"""Epochs of alignment (SLCA, arXiv:2303.05118, and MOS)."""
ALIGNMENT_LR = 0.005
"""Learning rate of alignment, SGD with momentum 0.9, cosine per epoch (public code of MOS)."""


class Cloud(NamedTuple):
    """mean (D,) and a root (k, D), k <= min(n, D), of the covariance: root^T root + FLOOR I."""

    mean: Tensor
    root: Tensor


def cloud_of(features: Tensor) -> Cloud:
    """The Gaussian of features (n, D); one photo has no spread but FLOOR's. No row of the root is a photo's."""
    mean = features.mean(0)
    centred = (features - mean).cpu().double() / math.sqrt(max(1, len(features) - 1))
    return Cloud(mean, torch.linalg.qr(centred, mode="r").R.to(features))


def draw(cloud: Cloud, number: int, rng: torch.Generator) -> Tensor:
    """(number, D) drawn from the Gaussian, on its device."""
    along = torch.randn(number, len(cloud.root), generator=rng).to(cloud.mean)
    noise = torch.randn(number, len(cloud.mean), generator=rng).to(cloud.mean)
    return cloud.mean + along @ cloud.root + FLOOR**0.5 * noise


def aligned(rows: Tensor, bias: Tensor, row_class: Tensor, clouds: Sequence[Cloud], rng: torch.Generator, *, epochs: int,
            batch: int, lr: float = ALIGNMENT_LR) -> Generator[None, None, tuple[Tensor, Tensor]]:  # fmt: skip
    """Affine head rows (K, D), bias (K,) trained on `batch` draws of every row's Gaussian an epoch; yields None a step."""
    rows, bias, seen = rows.clone().requires_grad_(), bias.clone().requires_grad_(), 1 + int(row_class.max())
    stepper = OPTIMISER["sgd"]([rows, bias], lr)
    for epoch in range(epochs):
        for group in stepper.param_groups:
            group["lr"] = lr * 0.5 * (1 + math.cos(math.pi * epoch / epochs))
        features = torch.cat([draw(cloud, batch, rng) for cloud in clouds])
        labels = row_class.repeat_interleave(batch)
        for part in torch.randperm(len(features), generator=rng).to(rows.device).split(batch):
            stepper.zero_grad()
            F.cross_entropy(by_class(F.linear(features[part], rows, bias), row_class, seen), labels[part]).backward()
            stepper.step()
            yield None
    return rows.detach(), bias.detach()


def clouds_state(clouds: Sequence[Sequence[Cloud]]) -> dict[str, Tensor]:
    """Tensors by name, of the Gaussians of each task's classes: "statistic.003.cloud.001.mean", "….root"."""
    return {
        f"statistic.{t:03d}.cloud.{i:03d}.{part}": value
        for t, some in enumerate(clouds)
        for i, cloud in enumerate(some)
        for part, value in zip(Cloud._fields, cloud, strict=True)
    }


def clouds_from(state: Mapping[str, Tensor], tasks: int, device: torch.device) -> tuple[tuple[Cloud, ...], ...]:
    """The Gaussians of `tasks` tasks that `clouds_state` wrote."""
    found = []
    for t in range(tasks):
        start = f"statistic.{t:03d}.cloud."
        numbers = sorted({k.removeprefix(start).split(".")[0] for k in state if k.startswith(start)})
        found.append(tuple(Cloud(*(state[f"{start}{i}.{part}"].to(device) for part in Cloud._fields)) for i in numbers))
    return tuple(found)
