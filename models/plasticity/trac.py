"""TRAC: the base optimiser's way from the first weights, scaled by a parameter-free tuner.

Muppidi, Zhang, Yang, "Fast TRAC: a parameter-free optimizer for lifelong reinforcement learning", NeurIPS 2024,
arXiv:2405.16642, algorithms 1 and 2. Deviation: the base's way is kept itself instead of being recovered from the scaled
weights, which in float32 loses it while the scale is near 1e-8, and wholly where the scale is below 0 and counts as 0 (public
code then stays at the first weights for long); erfi is exact (scipy), not approximated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from scipy.special import erfi
from torch import Tensor

from forget_me_not.models.plasticity.remedies import Training

SMALL = 1e-8
"""Keeps divisions defined; sigma begins there too, so that the first bet is not 0."""


class Trac:
    """theta = theta_ref + S way, S = sum over `betas` of start / erfi(1/sqrt 2) erfi(sigma / sqrt(2 V)), at least 0.

    sigma and V are sums of -h and h^2 discounted by beta and beta^2, h = <gradient, way>; theta_ref are the first weights.
    """

    def __init__(self, betas: tuple[float, ...] = (0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999), start: float = 1e-8):
        self.betas, self.start = torch.tensor(betas, dtype=torch.float64), start
        self.sigma = torch.full((len(betas),), SMALL, dtype=torch.float64)
        self.variance = torch.zeros(len(betas), dtype=torch.float64)
        self.scale = torch.zeros((), dtype=torch.float64)
        self.reference: dict[str, Tensor] = {}
        self.way: dict[str, Tensor] = {}
        self._before: list[Tensor] = []

    @torch.no_grad()
    def before_step(self, training: Training) -> None:
        """Updates the scale from the gradients where the network stands."""
        named = dict(training.network.named_parameters())
        if not self.reference:
            self.reference = {n: p.detach().clone() for n, p in named.items()}
            self.way = {n: torch.zeros_like(p) for n, p in named.items()}
        scale = float(self.scale)
        recovered = scale / (scale + SMALL) if scale > 0 else 1.0  # the paper divides by S + eps what was multiplied by S
        self.way = {n: way * recovered for n, way in self.way.items()}
        h = sum(float(p.grad.flatten() @ self.way[n].flatten()) for n, p in named.items() if p.grad is not None)
        self.variance = self.betas.square() * self.variance + h * h
        self.sigma = self.betas * self.sigma - h
        bet = self.sigma / ((2 * self.variance).sqrt() + SMALL)
        self.scale = torch.from_numpy(erfi(bet.numpy())).sum() * (self.start / erfi(1 / math.sqrt(2)))
        self._before = [p.detach().clone() for p in named.values()]

    @torch.no_grad()
    def after_step(self, training: Training) -> None:
        """Takes the base's step into its way, and puts the network at the scaled way."""
        scale = max(float(self.scale), 0.0)
        for (n, p), before in zip(training.network.named_parameters(), self._before, strict=True):
            self.way[n] = self.way[n] + (p - before)
            p.copy_(self.reference[n] + scale * self.way[n])

    def state_dict(self) -> dict[str, Tensor]:
        """Tuner, first weights and way, by name."""
        kept = {"sigma": self.sigma, "variance": self.variance, "scale": self.scale}
        kept |= {f"reference.{n}": t for n, t in self.reference.items()}
        return kept | {f"way.{n}": t for n, t in self.way.items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Takes back what `state_dict` gave."""
        self.sigma, self.variance, self.scale = state["sigma"], state["variance"], state["scale"]
        self.reference = {n.removeprefix("reference."): t for n, t in state.items() if n.startswith("reference.")}
        self.way = {n.removeprefix("way."): t for n, t in state.items() if n.startswith("way.")}
