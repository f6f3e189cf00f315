"""The neck: one fixed affine map after the backbone that gives its [CLS] space even spread (shrunk ZCA whitening).

The starter's fine-tuning bent its [CLS] space; whitening with statistics of unlabelled photos repairs it.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import torch
from safetensors.torch import load, save_file
from torch import Tensor

SHRINK = 0.1
"""Added to every eigenvalue, as a share of their mean; clamping instead costs 1-2 points of prototype accuracy."""


def fit(features: Tensor, shrink: float = SHRINK) -> tuple[Tensor, Tensor]:
    """(weight (D, D), bias (D,)) with weight = V diag((w + shrink mean(w))^-1/2) V^T, bias = -weight mean.

    w, V: eigenvalues and vectors of the covariance of features (N, D), unlabelled photos; in float64, given as float32.
    """
    x = features.cpu().double()
    mean = x.mean(0)
    w, v = torch.linalg.eigh((x - mean).T @ (x - mean) / len(x))
    w = w.clamp(min=0)
    weight = (v * (w + shrink * w.mean()).rsqrt()) @ v.T
    return weight.float(), -(weight @ mean).float()


def save(path: Path, neck: tuple[Tensor, Tensor], about: dict[str, str]) -> None:
    """Writes a neck as safetensors; `about` says what it was made from."""
    save_file({"weight": neck[0].contiguous(), "bias": neck[1].contiguous()}, path, metadata=about)


def shipped(backbone: str) -> tuple[Tensor, Tensor] | None:
    """The neck in assets/ for this backbone, or None."""
    asset = resources.files("forget_me_not.assets") / f"neck_{backbone}.safetensors"
    if not asset.is_file():
        return None
    tensors = load(asset.read_bytes())
    return tensors["weight"], tensors["bias"]
