"""What can be read from a trainable ViT between two tasks: ranks, activity, weights, gradients, by block and by module.

Names are "<measure>.<part>.<block>". Parts with weights: q, k, v, proj, fc1, fc2; parts with representations: the outputs of
q, k, v, proj (attention, before the residual), fc1 (after its activation, 4 D wide), fc2, and "block" (the residual stream).

    effective_rank   of patch-token outputs on probe images (Roy and Vetterli 2007)
    reference_rank   the same of "block" on the first task's view of the probe images
    stable_rank      of a weight matrix: |W|_F^2 / |W|_2^2
    magnitude, drift mean |W|, and |W - W_0|_F / |W_0|_F
    gradient         |dL/dW|_F, mean over sampled steps of the task, before clipping
    active           share of fc1's (image, token, unit) above 0: for GELU, whose sign is its input's, the ReLU definition
    active_on_average, dormant, dormant_strict    shares of fc1's units, see the functions

Patch tokens only: in block 0 the [CLS] row of q, k, v does not depend on the image, so its rank would be 1 for ever. Ranks use
the Gram matrix in float64 on the CPU, which loses singular values below 1e-8 of the largest: nothing to an effective rank.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache

import torch
from torch import Tensor

from forget_me_not.models.plasticity.vit import VisionTransformer, matrices

ROWS = 4
"""Rows a representation's rank is taken of, in multiples of its width: fewer make a rank look smaller than it is."""
DORMANT, STRICT = 0.1, 0.025
"""Thresholds of ReDo (Sokar et al. 2023, arXiv:2302.12902), which reports both."""
SAMPLED = 10
"""Every so-manyth step's gradients are measured."""


@lru_cache(None)
def name(measure: str, part: str, block: int | str) -> str:
    """The name of a measure; one string for all tasks of all runs."""
    return f"{measure}.{part}.{block}"


def singular_values(Z: Tensor) -> Tensor:
    """(min(N, D),) singular values of Z (N, D), rising, float64, through the smaller Gram matrix."""
    Z = Z.detach().cpu().double()
    gram = Z.T @ Z if Z.shape[0] >= Z.shape[1] else Z @ Z.T
    return torch.linalg.eigvalsh(gram).clamp(min=0).sqrt()


def effective_rank(Z: Tensor) -> float:
    """exp of the entropy of p = s / sum s, s the singular values of Z (N, D): from 1 to min(N, D); 0 of a zero matrix.

    Neither centred nor squared. Roy and Vetterli, "The effective rank", EUSIPCO 2007, definition 1.
    """
    s = singular_values(Z)
    if float(s.sum()) == 0:
        return 0.0
    p = s / s.sum()
    p = p[p > 1e-12]
    return math.exp(-float((p * p.log()).sum()))


def stable_rank(W: Tensor) -> float:
    """|W|_F^2 / |W|_2^2, from 1 to min(N, D); 0 of a zero matrix (Rudelson and Vershynin 2007, arXiv:math/0503442)."""
    squares = singular_values(W).square()
    return float(squares.sum() / squares[-1]) if float(squares[-1]) > 0 else 0.0


def rank99(Z: Tensor) -> int:
    """How many singular values, the largest first, reach 99 % of their sum.

    The loss-of-plasticity code of Dohare et al. calls this "stable" or "approximate" rank: not the stable rank above.
    """
    s = singular_values(Z).flip(0)
    return int((s.cumsum(0) < 0.99 * s.sum()).sum()) + 1 if float(s.sum()) > 0 else 0


def active(h: Tensor) -> float:
    """Share of activations h (..., units) above 0."""
    return float((h > 0).float().mean())


def active_on_average(h: Tensor) -> float:
    """Share of units of h (..., units) whose mean is above 0."""
    return float((h.flatten(0, -2).mean(0) > 0).float().mean())


def dormant(h: Tensor, threshold: float) -> float:
    """Share of units of h (..., units) whose mean |h| is at most `threshold` times that of all units: ReDo's score."""
    size = h.flatten(0, -2).abs().mean(0)
    return float((size <= threshold * size.mean()).float().mean())


def magnitude(W: Tensor) -> float:
    """Mean |W|."""
    return float(W.detach().abs().mean())


def drift(W: Tensor, start: Tensor) -> float:
    """|W - W_0|_F / |W_0|_F; 0 where W_0 is 0."""
    whole = float(start.norm())
    return float((W.detach() - start).norm()) / whole if whole else 0.0


def representations(network: VisionTransformer, pixels: Tensor) -> dict[str, Tensor]:
    """Outputs of every part on patch tokens, "q.0" (N, L - 1, D), …, "fc1.0" (N, L - 1, 4 D), …, of pixels (N, c, S, S)."""
    found: dict[str, Tensor] = {}
    with torch.no_grad(), _watched(network, found):
        network.forward_features(pixels)
    for i in range(len(network.blocks)):
        q, k, v = found.pop(f"qkv.{i}").chunk(3, -1)
        found |= {f"q.{i}": q, f"k.{i}": k, f"v.{i}": v}
    return {key: h[:, network.num_prefix_tokens :] for key, h in found.items()}


@contextmanager
def _watched(network: VisionTransformer, found: dict[str, Tensor]) -> Iterator[None]:
    hooks = []
    for i, block in enumerate(network.blocks):
        parts = {"qkv": block.attn.qkv, "proj": block.attn.proj, "fc1": block.mlp.act, "fc2": block.mlp.fc2, "block": block}
        for part, module in parts.items():
            hooks.append(module.register_forward_hook(lambda m, x, y, key=f"{part}.{i}": found.__setitem__(key, y.detach())))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def rows(h: Tensor) -> Tensor:
    """At most ROWS * D rows of h (N, L, D), always the same ones: (N', D)."""
    flat = h.flatten(0, 1)
    wanted = ROWS * flat.shape[1]
    if len(flat) <= wanted:
        return flat
    return flat[torch.randperm(len(flat), generator=torch.Generator().manual_seed(0))[:wanted]]


def of_weights(weights: Mapping[str, Tensor], initial: Mapping[str, Tensor]) -> dict[str, float]:
    """stable_rank, magnitude and drift of all matrices of a network: its parameters now and at the start, by name."""
    start, found = matrices(initial), {}
    for part, W in matrices(weights).items():
        found[name("stable_rank", *part.split("."))] = stable_rank(W)
        found[name("magnitude", *part.split("."))] = magnitude(W)
        found[name("drift", *part.split("."))] = drift(W, start[part])
    return found


def of_representations(network: VisionTransformer, pixels: Tensor) -> dict[str, float]:
    """effective_rank of all parts, and the activity of fc1's units, on probe images (N, c, S, S)."""
    found = {}
    for part, h in representations(network, pixels).items():
        found[name("effective_rank", *part.split("."))] = effective_rank(rows(h))
        if part.startswith("fc1."):
            block = part.removeprefix("fc1.")
            found[name("active", "fc1", block)] = active(h)
            found[name("active_on_average", "fc1", block)] = active_on_average(h)
            found[name("dormant", "fc1", block)] = dormant(h, DORMANT)
            found[name("dormant_strict", "fc1", block)] = dormant(h, STRICT)
    return found


def of_reference(network: VisionTransformer, pixels: Tensor) -> dict[str, float]:
    """reference_rank of every block's output on the first task's probe images (N, c, S, S)."""
    parts = representations(network, pixels)
    return {name("reference_rank", *p.split(".")): effective_rank(rows(h)) for p, h in parts.items() if p.startswith("block.")}


class Gradients:
    """Mean gradient norm of every matrix over the steps it was shown."""

    def __init__(self):
        self.steps, self.total = 0, None

    def see(self, network: VisionTransformer) -> None:
        """Takes this step's gradients into the mean."""
        parts = matrices({n: p.grad for n, p in network.named_parameters() if p.grad is not None})
        norms = torch.stack(torch._foreach_norm(list(parts.values())))
        self.total = norms if self.total is None else self.total + norms
        self.names, self.steps = list(parts), self.steps + 1

    def mean(self) -> dict[str, float]:
        """gradient of every matrix; {} where nothing was seen."""
        if not self.steps:
            return {}
        return {name("gradient", *p.split(".")): v for p, v in zip(self.names, (self.total / self.steps).tolist(), strict=True)}
