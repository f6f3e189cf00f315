"""Prompts: learnt keys and values that the tokens of a block attend to beside each other (prefix tuning), and their layouts.

Length P means P keys and P values (the JH-LEE-KR line of public code); papers that split one prompt in two halves would
call that 2 P. Prompts join after the projections; they are not multiplied by W_K and W_V.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import torch
from torch import Tensor

from forget_me_not.models.edit import Edit

Prompts = Mapping[str, Tensor]
"""Keys and values by "<block>.keys" and "<block>.values": (P, D), or (B, P, D) where every photo has its own."""


def drawn(blocks: Sequence[int], length: int, width: int, rng: torch.Generator, spread: float = 1.0) -> dict[str, Tensor]:
    """Fresh prompts (P, D) for `blocks`, uniform in +-spread (public code: 1), drawn on the CPU; {} at length 0."""
    if not length:
        return {}
    return {
        f"{block:03d}.{part}": (torch.rand(length, width, generator=rng) * 2 - 1) * spread
        for block in blocks
        for part in ("keys", "values")
    }


def of_photos(sets: Sequence[Prompts], chosen: Tensor) -> dict[str, Tensor]:
    """Every photo's own prompts (B, P, D) from T sets, by the set it chose (B,)."""
    return {name: torch.stack([s[name] for s in sets])[chosen] for name in sets[0]}


def mixed_up(pair: Tensor) -> Tensor:
    """(2, B, P, D) as published code hands it on: reshaped to (B, 2, P, D) where a transpose was meant.

    Photo b gets entries 2b and 2b + 1 of the list K_0 … K_{B-1}, V_0 … V_{B-1}: keys as keys and values for half of the
    batch, values as both for the other half, and other photos' prompts for all. See JH-LEE-KR/dualprompt-pytorch #8.
    """
    return pair.reshape(pair.shape[1], 2, *pair.shape[2:]).transpose(0, 1)


LAYOUT: dict[str, Callable[[Tensor], Tensor]] = {"per photo": lambda pair: pair, "published": mixed_up}
"""How gathered keys and values (2, B, P, D) reach their photos. "published" makes answers depend on the batch."""


class Prefix(Edit):
    """Keys and values of `prompts` before those of the tokens; several sets in one block stand one after the other.

    gates: block -> (a1, a2) of NoRGa, a1 inside and a2 before the sigmoid; layout: a name of LAYOUT; straight: blocks whose
    prompts reach their own photo whatever the layout (public code never mixes up the prompts all tasks share).
    """

    def __init__(self, *prompts: Prompts, heads: int, first: int = 0, layout: str = "per photo",
                 straight: Collection[int] = (), gates: Mapping[int, Tensor] | None = None):  # fmt: skip
        self.prompts, self.heads, self.first, self.gates = prompts, heads, first, gates or {}
        self.layout, self.straight = LAYOUT[layout], straight

    def attend(self, block: int, q: Tensor) -> tuple[Tensor, Tensor, Tensor | None] | None:
        sets = [p for p in self.prompts if f"{block:03d}.keys" in p]
        if not sets:
            return None
        layout = LAYOUT["per photo"] if block in self.straight else self.layout
        pair = torch.cat([layout(self._pair(p, block, len(q))) for p in sets], 2)  # (2, B, P, D)
        keys, values = pair.unflatten(-1, (self.heads, -1)).transpose(2, 3)  # (B, H, P, d) each
        return keys, values, gate(q, keys, self.gates[block]) if block in self.gates else None

    def _pair(self, prompts: Prompts, block: int, photos: int) -> Tensor:
        pair = torch.stack([prompts[f"{block:03d}.keys"], prompts[f"{block:03d}.values"]])
        return pair if pair.ndim == 4 else pair[:, None].expand(-1, photos, -1, -1)


def gate(q: Tensor, keys: Tensor, strength: Tensor) -> Tensor:
    """a2 sigmoid(a1 S) (B, H, Lq, P), what NoRGa adds to the scores S = q k'/sqrt(d) of prompts; strength (2,) = (a1, a2)."""
    inner, outer = strength
    return outer * torch.sigmoid(inner * (q @ keys.mT) * q.shape[-1] ** -0.5)


def copied(prompts: Prompts, device: torch.device) -> dict[str, Tensor]:
    """The same numbers in new tensors on `device`, for an optimiser to write into."""
    return {name: value.detach().clone().to(device) for name, value in prompts.items()}


def parts(kind: str, *sets: Prompts) -> dict[str, Tensor]:
    """State of the sets of T tasks: "<kind>.003.<block>.keys"."""
    return {f"{kind}.{t:03d}.{name}": value for t, prompts in enumerate(sets) for name, value in prompts.items()}


def named(state: Mapping[str, Tensor], prefix: str, device: torch.device) -> dict[str, Tensor]:
    """What of a state begins with `prefix`, by the rest of its name."""
    return {name.removeprefix(prefix): value.to(device) for name, value in state.items() if name.startswith(prefix)}


def _last(depth: int, blocks: int) -> range:
    return range(max(0, depth - blocks), depth)


PLACES: dict[str, Callable[[int], range]] = {
    "last four": lambda depth: _last(depth, 4),
    "first five": lambda depth: range(min(5, depth)),
}
"""Blocks that get prompts in a network of `depth` blocks; CODA-Prompt, HiDe-Prompt and NoRGa use the first five."""

DUAL_PLACES: dict[str, Callable[[int], tuple[range, range]]] = {
    "last four": lambda depth: (_last(depth, 4)[:1], _last(depth, 4)[1:]),
    "first blocks": lambda depth: (range(min(2, depth - 1)), range(min(2, depth - 1), min(5, depth))),
}
"""(shared blocks, blocks of a task's own prompts) of DualPrompt; the paper's are (0, 1) and (2, 3, 4)."""
