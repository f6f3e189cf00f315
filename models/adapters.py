"""Small trainable parts inside the frozen blocks, as edits: AdaptFormer's adapter, LoRA pairs, and LuCA in every layer.

All of them change nothing before they have learnt. A part's numbers are a dict of tensors named "<block>.<part>".
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch
from forget_me_not.models.edit import Edit
from forget_me_not.models.layers import Params
from forget_me_not.models.linear import linear

ADAPTER_SCALE = 0.1
"""AdaptFormer's factor on what an adapter adds (Chen et al. 2022, arXiv:2205.13535)."""
ADAPTER_DROPOUT = 0.1
"""Dropout on an adapter's bottleneck while it learns (public code of APER, EASE and MOS)."""
LORA_SCALE = 8.0
"""alpha / r in the public code of Soft-TF (its LoRA baseline)."""


class Parts(Edit):
    """An edit made of tensors: "<block>.<part>" -> value, for blocks `first` and up. drop draws the dropout of training."""

    def __init__(self, values: Mapping[str, Tensor], first: int, drop: torch.Generator | None = None):
        self.values, self.first, self.drop = values, first, drop

    @classmethod
    def frozen(cls, values: Mapping[str, Tensor], first: int) -> Parts:
        """The edit once it no longer learns: named by its content, so that what it makes of a photo is kept."""
        edit = cls(values, first)
        digest = hashlib.blake2b(f"{cls.__name__} {first}".encode(), digest_size=16)
        for name, value in sorted(values.items()):
            digest.update(f"{name}{tuple(value.shape)}".encode())
            digest.update(value.detach().cpu().contiguous().numpy().data)
        edit.key = digest.hexdigest()
        return edit

    @staticmethod
    def new(blocks: Sequence[int], width: int, rank: int, rng: torch.Generator) -> Params:
        """Fresh numbers for `blocks`, drawn on the CPU; the edit made of them changes nothing."""
        raise NotImplementedError


class Adapters(Parts):
    """x + MLP(LN x) + 0.1 (up ReLU(down x) + b) in every block. 2 d r + r + d numbers a block."""

    def mlp(self, block: int, x: Tensor, y: Tensor) -> Tensor:
        down, down_bias, up, up_bias = (self.values[f"{block:03d}.{p}"] for p in ("down", "down_bias", "up", "up_bias"))
        a = F.relu(linear(x, down, down_bias))  # (B, L, r)
        if self.drop is not None:
            kept = torch.rand(a.shape, generator=self.drop) >= ADAPTER_DROPOUT
            a = a * kept.to(a) / (1 - ADAPTER_DROPOUT)
        return y + ADAPTER_SCALE * linear(a, up, up_bias)

    @staticmethod
    def new(blocks: Sequence[int], width: int, rank: int, rng: torch.Generator) -> Params:
        values = {}
        for block in blocks:
            values[f"{block:03d}.down"] = _kaiming((rank, width), rng)
            values[f"{block:03d}.down_bias"] = torch.zeros(rank)
            values[f"{block:03d}.up"] = torch.zeros(width, rank)
            values[f"{block:03d}.up_bias"] = torch.zeros(width)
        return values


class Lora(Parts):
    """W + 8 B A for query, key, value and output matrix of every block (Hu et al. 2022, arXiv:2106.09685). 8 d r a block."""

    def weight(self, block: int, name: str, w: Tensor) -> Tensor:
        if name == "attn.qkv.weight":
            return w + self._pairs(block, slice(0, 3)).flatten(0, 1)  # (3 D, D)
        return w + self._pairs(block, slice(3, 4))[0] if name == "attn.proj.weight" else w

    def _pairs(self, block: int, part: slice) -> Tensor:
        return LORA_SCALE * self.values[f"{block:03d}.b"][part] @ self.values[f"{block:03d}.a"][part]  # (n, D, D)

    @staticmethod
    def new(blocks: Sequence[int], width: int, rank: int, rng: torch.Generator) -> Params:
        values = {}
        for block in blocks:
            values[f"{block:03d}.a"] = _kaiming((4, rank, width), rng)
            values[f"{block:03d}.b"] = torch.zeros(4, width, rank)
        return values


class LucaLayers(Parts):
    """y <- v * 2 sigmoid(excite ReLU(squeeze v)), v = y + up GELU(down y), on every token's MLP output y. 4 d r a block.

    LuCA as the paper writes it (arXiv:2502.14762, no norm, no bias), with its gate doubled and up and excite zero at first.
    """

    def mlp(self, block: int, x: Tensor, y: Tensor) -> Tensor:
        down, up, squeeze, excite = (self.values[f"{block:03d}.{p}"] for p in ("down", "up", "squeeze", "excite"))
        v = y + linear(F.gelu(linear(y, down)), up)
        return v * 2 * torch.sigmoid(linear(F.relu(linear(v, squeeze)), excite))

    @staticmethod
    def new(blocks: Sequence[int], width: int, rank: int, rng: torch.Generator) -> Params:
        values = {}
        for block in blocks:
            for into, out in (("down", "up"), ("squeeze", "excite")):
                values[f"{block:03d}.{into}"] = _kaiming((rank, width), rng)
                values[f"{block:03d}.{out}"] = torch.zeros(width, rank)
        return values


def _kaiming(shape: tuple[int, ...], rng: torch.Generator) -> Tensor:
    bound = 1 / math.sqrt(shape[-1])  # Kaiming-uniform with a = sqrt 5, as nn.Linear draws
    return (torch.rand(*shape, generator=rng) * 2 - 1) * bound


def first_block(vit: FrozenViT, blocks: int) -> int:
    """The first of the last `blocks` blocks (0 where there are no more)."""
    return max(0, vit.depth - blocks)


def through(batch: Batch, edits: Sequence[Edit]) -> Tensor:
    """(T, B, D) features z of a batch through T frozen edits, each computed once a photo and kept under its key."""
    return torch.stack([batch.cls_through(edit) for edit in edits])


def tensors(prefix: str, values: Mapping[str, Tensor]) -> Params:
    """The same tensors with names below `prefix`, as a state holds them."""
    return {f"{prefix}.{name}": value for name, value in values.items()}


def below(prefix: str, state: Mapping[str, Tensor], device: torch.device) -> Params:
    """What `tensors` put into a state."""
    start = f"{prefix}."
    return {name.removeprefix(start): value.to(device) for name, value in state.items() if name.startswith(start)}
