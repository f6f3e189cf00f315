"""The linear layers of the frozen network, which take nearly all of its time, through the faster of torch's two libraries.

F.linear multiplies float32 by MKL, which on CPUs that are not Intel's leaves half of their speed unused; oneDNN, which torch
also brings, does not (2.0 to 2.3 times on an AMD EPYC, one thread, forward and backward; equal on Intel's). Always one of
them on a machine, never the winner of a race: the same run gives the same numbers. They differ in the order of a sum.
"""

from __future__ import annotations

import platform

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.nn import functional as F

SMALL = 2**18
"""Multiplications below which a call costs more than it saves."""
KERNEL = getattr(torch.ops.mkldnn, "_linear_pointwise", None)  # not public: where a release has none, nothing is lost but time
THERE = KERNEL is not None and torch.backends.mkldnn.is_available() and platform.machine() in ("x86_64", "AMD64")


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """(…, M) of x (…, N), weight (M, N) and bias (M,): F.linear, differentiable as often as that."""
    parts = (x, weight) if bias is None else (x, weight, bias)
    fits = THERE and x.dim() > 1 and weight.dim() == 2 and (bias is None or bias.shape == weight.shape[:1])
    fits = fits and all(part.device.type == "cpu" and part.dtype == torch.float32 for part in parts)
    if not fits or x.numel() * len(weight) < SMALL:
        return F.linear(x, weight, bias)
    return _Linear.apply(_dense(x), _dense(weight), None if bias is None else bias.contiguous())  # it reads a bias as if dense


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return KERNEL(x, weight, bias, "none", [], "")

    @staticmethod
    def backward(ctx: FunctionCtx, slope: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        for_x, for_weight, for_bias = ctx.needs_input_grad
        rows = slope.flatten(0, -2)
        return (linear(slope, weight.mT) if for_x else None,
                linear(rows.mT, x.flatten(0, -2).mT) if for_weight else None, rows.sum(0) if for_bias else None)  # fmt: skip


def _dense(value: Tensor) -> Tensor:
    """`value` without gaps between its rows or its columns: oneDNN would be a thousand times slower with gaps."""
    transposed = value.dim() == 2 and value.mT.is_contiguous()
    return value if transposed else value.contiguous()
