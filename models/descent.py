"""One loop of gradient descent for every method that has one: batches, optimiser, schedule, and a yield a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from forget_me_not.models.core import Batch, Log, Samples

SCHEDULE: dict[str, Callable[[int, int, int, int], float]] = {
    "cosine per step": lambda step, steps, epoch, epochs: 0.5 * (1 + math.cos(math.pi * step / steps)),
    "cosine per epoch": lambda step, steps, epoch, epochs: 0.5 * (1 + math.cos(math.pi * epoch / epochs)),
    "constant": lambda step, steps, epoch, epochs: 1.0,
}
"""Share of the learning rate in step `step` (0-based) of `steps`, in epoch `epoch` of `epochs`."""

OPTIMISER: dict[str, Callable[[Sequence[Tensor], float], torch.optim.Optimizer]] = {
    "sgd": lambda parameters, lr: torch.optim.SGD(parameters, lr=lr, momentum=0.9),
    "adam": lambda parameters, lr: torch.optim.Adam(parameters, lr=lr),
}

PASS = 48
"""Photos times trained blocks in one backward pass, at most: keeps every turn below 0.3 s on one core."""


def photos_a_pass(blocks: int) -> int:
    """Photos that one backward pass through `blocks` blocks takes."""
    return max(1, PASS // max(1, blocks))


def photos_a_test(blocks: float) -> int:
    """Photos tested at once through `blocks` blocks, over all modules: no gradient is kept, so twice as many; 16 at most."""
    return max(1, min(16, int(2 * PASS / max(1, blocks))))


def descend(
    samples: Samples,
    parameters: Sequence[Tensor],
    loss: Callable[[Batch], Tensor],
    *,
    rng: torch.Generator,
    epochs: int,
    batch: int,
    lr: float,
    optimiser: str = "sgd",
    schedule: str = "cosine per step",
    after_step: Callable[[float], None] | None = None,
    micro: int | None = None,
    clip: float | None = None,
) -> Iterator[Log | None]:
    """Trains leaf tensors `parameters` in place on `loss(batch)`, a mean over the batch; yields a Log a step.

    micro: photos a backward pass, gradients accumulate over a batch (None = whole batch); None is yielded between them.
    after_step(lr) runs after each step with the step's learning rate (proximal steps). clip: largest norm of the whole
    gradient (None = as it is).
    """
    for p in parameters:
        p.requires_grad_(True)
    stepper = OPTIMISER[optimiser](parameters, lr)
    steps, step = epochs * math.ceil(len(samples) / batch), 0
    for epoch in range(epochs):
        for whole in samples.batches(batch, rng):
            now = lr * SCHEDULE[schedule](step, steps, epoch, epochs)
            for group in stepper.param_groups:
                group["lr"] = now
            stepper.zero_grad()
            total = 0.0
            for i, part in enumerate(whole.split(micro)):
                if i:
                    yield None
                value = loss(part)
                (value * (len(part) / len(whole))).backward()
                total += float(value.detach()) * len(part) / len(whole)
            if clip:
                torch.nn.utils.clip_grad_norm_(parameters, clip)
            stepper.step()
            step += 1
            if after_step:
                with torch.no_grad():
                    after_step(now)
            yield Log(step, steps, total)
    for p in parameters:
        p.requires_grad_(False)
