"""Real-valued masks over a ViT's own weights (Soft-TransFormers): where they lie, how they start, and the edit they are.

A mask M multiplies a weight elementwise. It is kept as M - 1, so that what has not moved is exactly zero and the frozen
network exactly itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.edit import NO_EDIT, Edit

BLOCKS: dict[str, Callable[[int], range]] = {
    "last": lambda depth: range(depth - 1, depth),
    "last two": lambda depth: range(max(0, depth - 2), depth),
    "last three": lambda depth: range(max(0, depth - 3), depth),
    "last four": lambda depth: range(max(0, depth - 4), depth),
    "first three": lambda depth: range(min(3, depth)),
    "third to fifth": lambda depth: range(min(2, depth - 1), min(5, depth)),
    "all": lambda depth: range(depth),
}
"""Blocks (0-based) of a network of `depth` blocks. The paper's best is the last three, its weaker rows are L[3,4,5]."""

MATRICES: dict[str, tuple[str, ...]] = {
    "qkv": ("attn.qkv.weight",),
    "qkv+proj": ("attn.qkv.weight", "attn.proj.weight"),
    "qkv+proj+mlp": ("attn.qkv.weight", "attn.proj.weight", "mlp.fc1.weight", "mlp.fc2.weight"),
}
"""Matrices of a block that get a mask: 3 d^2, 4 d^2 (the paper) or 12 d^2 numbers (the public code) a block."""


def _uniform(shape: Sequence[int], low: float, high: float, rng: torch.Generator) -> Tensor:
    return torch.rand(*shape, generator=rng) * (high - low) + low


INIT: dict[str, Callable[[Sequence[int], torch.Generator], Tensor]] = {
    "one": lambda shape, rng: torch.zeros(*shape),
    "near one": lambda shape, rng: _uniform(shape, -0.01, 0, rng),  # public code: U(0.99, 1)
    "near zero": lambda shape, rng: torch.randn(*shape, generator=rng) * 0.01 - 1,
    "xavier": lambda shape, rng: _uniform(shape, -1, 1, rng) * (6 / sum(shape)) ** 0.5 - 1,
    "kaiming": lambda shape, rng: _uniform(shape, -1, 1, rng) * (6 / shape[1]) ** 0.5 - 1,
}
"""M - 1 at the start, drawn on the CPU. All but the first two nearly switch the masked layers off."""

Masks = Mapping[str, Tensor]
"""M - 1 by "<block>.<matrix>", as in "011.attn.qkv.weight"."""


def new_masks(vit: FrozenViT, blocks: Sequence[int], matrices: str, init: str, rng: torch.Generator) -> dict[str, Tensor]:
    """Fresh masks of one task, on the backbone's device."""
    made = {}
    for block in blocks:
        for matrix in MATRICES[matrices]:
            shape = vit.network.blocks[block].get_parameter(matrix).shape
            made[f"{block:03d}.{matrix}"] = INIT[init](shape, rng).to(vit.device)
    return made


class Masked(Edit):
    """Weights times their masks in blocks >= first, and the prompts of another edit beside them."""

    def __init__(self, masks: Masks, first: int, prompts: Edit = NO_EDIT):
        self.masks, self.first, self.prompts = masks, first, prompts

    def weight(self, block: int, name: str, w: Tensor) -> Tensor:
        moved = self.masks.get(f"{block:03d}.{name}")
        return w if moved is None else torch.addcmul(w, w, moved)  # exactly w where the mask is 1

    def attend(self, block: int, q: Tensor) -> tuple[Tensor, Tensor, Tensor | None] | None:
        return self.prompts.attend(block, q)


def superposed(masks: Sequence[Masks]) -> dict[str, Tensor]:
    """The mean of T tasks' masks."""
    return {name: sum(m[name] for m in masks) / len(masks) for name in masks[0]}


def moved(masks: Masks) -> dict[str, float]:
    """Mean |M - 1| over all masks ("moved") and by part: "moved q", "moved k", "moved v", "moved o", "moved mlp"."""
    parts: dict[str, list[Tensor]] = {}
    for name, value in masks.items():
        matrix = name.split(".", 1)[1]
        if matrix == "attn.qkv.weight":
            for part, rows in zip("qkv", value.chunk(3), strict=True):
                parts.setdefault(part, []).append(rows)
        else:
            parts.setdefault("o" if matrix == "attn.proj.weight" else "mlp", []).append(value)
    every = [v.abs().flatten() for v in masks.values()]
    means = {f"moved {part}": float(torch.cat([v.abs().flatten() for v in held]).mean()) for part, held in parts.items()}
    return {"moved": float(torch.cat(every).mean()), **means}


def moved_by_head(masks: Masks, heads: int) -> dict[str, Tensor]:
    """Mean |M - 1| of every head, block by block: "011" -> (4, H), rows Q, K, V, O (O only where it is masked)."""
    found: dict[str, Tensor] = {}
    for name, value in masks.items():
        block, matrix = name.split(".", 1)
        if matrix == "attn.qkv.weight":
            rows = value.abs().unflatten(0, (3, heads, -1)).mean((2, 3))  # (3, H)
        elif matrix == "attn.proj.weight":
            rows = value.abs().unflatten(1, (heads, -1)).mean((0, 2))[None]  # (1, H)
        else:
            continue
        found[block] = torch.cat([found[block], rows]) if block in found else rows
    return found
