"""The small trainable parts methods are made of, as plain functions over dicts of tensors: LuCA, cosine head, counts.

Every function broadcasts over leading axes, so T stacked modules run as one batched product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

Params = dict[str, Tensor]

LUCA_WEIGHTS = ("down", "up", "squeeze", "excite")
"""The four weight matrices of a LuCA module: 4 d r numbers."""
NORM_EPS = 1e-5


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x (…, B, D) times weight (…, r, D), leading axes broadcast: (…, B, r)."""
    y = x @ weight.mT
    return y if bias is None else y + bias.unsqueeze(-2)


def _norm(x: Tensor, p: Mapping[str, Tensor]) -> Tensor:
    """Layer norm of x (…, B, D) with gain and shift (…, D)."""
    return F.layer_norm(x, x.shape[-1:], eps=NORM_EPS) * p["gain"].unsqueeze(-2) + p["shift"].unsqueeze(-2)


PLACEMENT: dict[str, Callable[[Tensor, Tensor, Mapping[str, Tensor]], Tensor]] = {
    "code": lambda z, a, p: _norm(z + a, p),
    "readme": lambda z, a, p: z + _norm(a, p),
    "paper": lambda z, a, p: z + a,
}
"""Where residual and norm stand around the adapter: LN(z + a) in the public code, z + LN(a) in its README, z + a in the paper."""


def luca(z: Tensor, p: Mapping[str, Tensor], placement: str = "code") -> Tensor:
    """L(z) (…, B, D) of z (B, D): h = LN(z + up GELU(down z)), L = h * sigmoid(excite ReLU(squeeze h)).

    p holds one module, or T stacked along a new first axis (then the result is (T, B, D)). arXiv:2502.14762, section 3.
    """
    h = PLACEMENT[placement](z, _adapter(z, p), p)
    return h * _gate(h, p)


def _adapter(z: Tensor, p: Mapping[str, Tensor]) -> Tensor:
    return linear(F.gelu(linear(z, p["down"], p["down_bias"])), p["up"], p["up_bias"])


def _gate(h: Tensor, p: Mapping[str, Tensor]) -> Tensor:
    return torch.sigmoid(linear(F.relu(linear(h, p["squeeze"])), p["excite"]))


LUCA_PARTS: dict[str, Callable[[Tensor, Mapping[str, Tensor], str], Tensor]] = {
    "both": luca,
    "adapter": lambda z, p, placement: _norm(_adapter(z, p), p),
    "calibrator": lambda z, p, placement: z * _gate(z, p),
    "parallel": lambda z, p, placement: z * _gate(z, p) + _norm(_adapter(z, p), p),
}
"""LuCA and its ablations as the public code has them: LN(a) with no residual, z * gate(z), and the two side by side."""

_ADAPTER, _CALIBRATOR = ("down", "down_bias", "up", "up_bias", "gain", "shift"), ("squeeze", "excite")
PART_NAMES: dict[str, tuple[str, ...]] = {
    "both": _ADAPTER + _CALIBRATOR,
    "adapter": _ADAPTER,
    "calibrator": _CALIBRATOR,
    "parallel": _ADAPTER + _CALIBRATOR,
}
"""The tensors of a module that each of LUCA_PARTS uses."""


def _uniform(shape: Sequence[int], bound: float, rng: torch.Generator) -> Tensor:
    return (torch.rand(*shape, generator=rng) * 2 - 1) * bound


def _linear_default(rows: int, columns: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    bound = columns**-0.5  # what nn.Linear draws: Kaiming-uniform with a = sqrt 5, bias alike
    return _uniform((rows, columns), bound, rng), _uniform((rows,), bound, rng)


def _xavier(rows: int, columns: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    return _uniform((rows, columns), math.sqrt(6 / (rows + columns)), rng), torch.zeros(rows)


INIT: dict[str, Callable[[int, int, torch.Generator], tuple[Tensor, Tensor]]] = {"linear": _linear_default, "xavier": _xavier}
"""Weight (rows, columns) and bias (rows,) at the start, drawn on the CPU."""


def new_luca(width: int, rank: int, rng: torch.Generator, init: str = "linear") -> Params:
    """One LuCA module: 4 d r weights, r + d biases, 2 d of the norm: 4dr + r + 3d numbers."""
    draw = INIT[init]
    (down, down_bias), (up, up_bias) = draw(rank, width, rng), draw(width, rank, rng)
    (squeeze, _), (excite, _) = draw(rank, width, rng), draw(width, rank, rng)
    return {"down": down, "down_bias": down_bias, "up": up, "up_bias": up_bias, "squeeze": squeeze, "excite": excite,
            "gain": torch.ones(width), "shift": torch.zeros(width)}  # fmt: skip


def stack(modules: Sequence[Mapping[str, Tensor]]) -> Params:
    """T modules of equal shapes as one dict of tensors with a first axis T."""
    return {name: torch.stack([m[name] for m in modules]) for name in modules[0]}


def cosine(u: Tensor, rows: Tensor) -> Tensor:
    """Cosines of u (…, B, D) with rows (K, D): (…, B, K)."""
    return F.normalize(u, dim=-1) @ F.normalize(rows, dim=-1).mT


def by_class(rows_say: Tensor, row_class: Tensor, classes: int) -> Tensor:
    """Scores of K rows (…, K) as scores of C classes (…, C): a class takes the best of its rows; one without has -inf."""
    if len(row_class) == classes and torch.equal(row_class, torch.arange(classes, device=row_class.device)):
        return rows_say
    out = rows_say.new_full((*rows_say.shape[:-1], classes), float("-inf"))
    return out.scatter_reduce(-1, row_class.expand_as(rows_say), rows_say, "amax")


def class_means(features: Tensor, labels: Tensor, classes: Sequence[int]) -> Tensor:
    """(K, D) mean of features (N, D) over each of the K classes."""
    return torch.stack([features[labels == c].mean(0) for c in classes])
