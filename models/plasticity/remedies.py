"""Remedies against loss of plasticity: what is done to a network beside its optimiser's steps.

A remedy has some of these hooks; those it lacks are not called:

    prepare(network)           changes its shape, before weights are drawn and the optimiser is made
    before_task(training)      before each task, the first included (training.task counts from 0)
    before_step(training)      gradients are there
    after_step(training)       the optimiser has stepped
    state_dict(), load_state_dict(state)    what must outlive a task

TRAC and continual backprop have files of their own.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from forget_me_not.models.plasticity.vit import NORMS, VisionTransformer, initialise


@dataclass
class Training:
    """What remedies work on. initial: the first weights by name; rng: the remedy's own generator of this task."""

    network: VisionTransformer
    optimiser: torch.optim.Optimizer
    initial: dict[str, Tensor]
    rng: torch.Generator
    task: int


class Nothing:
    """The base optimiser alone."""


class Fresh:
    """A new network and a new optimiser for every task: it cannot lose plasticity, and so is what the others are held to."""

    def before_task(self, training: Training) -> None:
        """Draws all weights afresh and empties the optimiser, before every task but the first."""
        if training.task:
            initialise(training.network, training.rng)
            training.optimiser.state.clear()
            training.initial = {n: p.detach().clone() for n, p in training.network.named_parameters()}


class Clip:
    """All gradients together are no longer than `norm` (Pascanu et al. 2013, arXiv:1211.5063)."""

    def __init__(self, norm: float = 1.0):
        self.norm = norm

    def before_step(self, training: Training) -> None:
        """Shortens the gradients in place."""
        nn.utils.clip_grad_norm_(training.network.parameters(), self.norm)


class ShrinkPerturb:
    """theta <- (1 - share) theta + share theta_fresh before each task but the first (Ash and Adams 2020, arXiv:1910.08475)."""

    def __init__(self, share: float = 0.3):
        self.share = share

    @torch.no_grad()
    def before_task(self, training: Training) -> None:
        """Mixes new weights in; the optimiser keeps its state."""
        if training.task:
            fresh = copy.deepcopy(training.network)
            initialise(fresh, training.rng)
            for p, new in zip(training.network.parameters(), fresh.parameters(), strict=True):
                p.lerp_(new, self.share)


class L2Init:
    """Adds strength * |theta - theta_0|^2 to the loss, by its gradient (Kumar, Marklund, Van Roy 2023, arXiv:2308.11958)."""

    def __init__(self, strength: float = 1e-3):
        self.strength = strength

    @torch.no_grad()
    def before_step(self, training: Training) -> None:
        """grad += 2 strength (theta - theta_0)."""
        for n, p in training.network.named_parameters():
            if p.grad is not None:
                p.grad.add_(p - training.initial[n], alpha=2 * self.strength)


class NormalizeAndProject:
    """After every step each weight matrix but the head's has its first length again (Lyle et al. 2024, arXiv:2407.01800).

    Scale and offset of a norm are projected together to the length they began with; biases and the tokens move freely.
    """

    @torch.no_grad()
    def after_step(self, training: Training) -> None:
        """W <- W |W_0|_F / |W|_F."""
        for named in _layers(training.network):
            now = torch.stack([p.norm() for p in named.values()]).norm()
            first = torch.stack([training.initial[n].norm() for n in named]).norm()
            if float(now) > 0:
                for p in named.values():
                    p.mul_(first / now)


def _layers(network: VisionTransformer) -> Iterator[dict[str, nn.Parameter]]:
    for start, module in network.named_modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)) and module is not network.head:
            yield {f"{start}.weight": module.weight}
        elif isinstance(module, NORMS):
            yield {f"{start}.weight": module.weight, f"{start}.bias": module.bias}


class ConcatenatedReLU(nn.Module):
    """[relu(z), relu(-z)] on the last axis: (…, M) -> (…, 2 M)."""

    def forward(self, z: Tensor) -> Tensor:
        """Both halves of z."""
        return torch.cat([z.relu(), (-z).relu()], -1)


class CReLU:
    """fc1 gives 2 D numbers and both their signs go on, so that no unit can die (Abbas et al. 2023, arXiv:2303.07507)."""

    def prepare(self, network: VisionTransformer) -> None:
        """Halves fc1, so that fc2 is as wide as before; the network has fewer numbers than the others'."""
        for block in network.blocks:
            wide, narrow = block.mlp.fc1, block.mlp.fc2.in_features // 2
            block.mlp.fc1 = nn.utils.skip_init(nn.Linear, wide.in_features, narrow)
            block.mlp.act = ConcatenatedReLU()


def zero_slots(optimiser: torch.optim.Optimizer, parameter: nn.Parameter, index: Tensor, axis: int) -> None:
    """What the optimiser remembers of rows (axis 0) or columns (axis 1) `index` of a parameter becomes 0."""
    for value in optimiser.state.get(parameter, {}).values():
        if isinstance(value, Tensor) and value.shape == parameter.shape:
            value.index_fill_(axis, index, 0.0)


def corrected(average: Tensor, decay: float, age: Tensor) -> Tensor:
    """An exponential average that began at 0 as if it had begun at its mean: average / (1 - decay^age)."""
    return average / (1 - torch.exp(age * math.log(decay)))
