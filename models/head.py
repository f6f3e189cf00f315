"""The cosine head: rows that belong to (class, task), so that classes may recur; a class scores the best of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from forget_me_not.models.layers import by_class, class_means, cosine

NARROW = 0.02
"""Spread of freshly drawn rows, as usual for heads of vision transformers."""


@dataclass(frozen=True)
class Head:
    """rows[t] (K, D) and classes[t] (K,) of task t. Immutable: growing or retraining gives a new head."""

    rows: tuple[Tensor, ...] = ()
    classes: tuple[Tensor, ...] = ()

    @property
    def seen(self) -> int:
        """C: classes seen so far (ids are dense, in order of first appearance)."""
        return 1 + max((int(c.max()) for c in self.classes), default=-1)

    @property
    def row_class(self) -> Tensor:
        """(K,) class of every row."""
        return torch.cat(self.classes)

    def grown(self, rows: Tensor, classes: Sequence[int]) -> Head:
        """With rows (K, D) of the next task's classes."""
        ids = torch.tensor(classes, device=rows.device)
        return Head((*self.rows, rows), (*self.classes, ids))

    def with_rows(self, rows: Sequence[Tensor]) -> Head:
        """The same classes with other rows, one tensor a task."""
        return Head(tuple(rows), self.classes)

    def settled(self, before: Head) -> Head:
        """The same head; rows that did not change since `before` are the very same tensors, so they are not stored again."""
        old = (*before.rows, *[None] * (len(self.rows) - len(before.rows)))
        return self.with_rows([o if o is not None and torch.equal(o, r) else r for o, r in zip(old, self.rows, strict=True)])

    def logits(self, u: Tensor, scale: Tensor | float) -> Tensor:
        """scale * cos(u, rows), the best row of each class: u (…, B, D) -> (…, B, C)."""
        return by_class(scale * cosine(u, torch.cat(self.rows)), self.row_class, self.seen)

    def state(self) -> dict[str, Tensor]:
        """The head's tensors by name: "head.003.rows", "head.003.classes"."""
        parts = {}
        for t, (rows, classes) in enumerate(zip(self.rows, self.classes, strict=True)):
            parts |= {f"head.{t:03d}.rows": rows, f"head.{t:03d}.classes": classes}
        return parts

    @staticmethod
    def from_state(state: Mapping[str, Tensor], device: torch.device | str) -> Head:
        """The head whose `state` this holds."""
        tasks = sorted({k.split(".")[1] for k in state if k.startswith("head.")})
        return Head(*(tuple(state[f"head.{t}.{part}"].to(device) for t in tasks) for part in ("rows", "classes")))


def drawn_rows(classes: int, width: int, rng: torch.Generator) -> Tensor:
    """(classes, width) rows from N(0, NARROW^2), on the CPU."""
    return torch.randn(classes, width, generator=rng) * NARROW


NEW_ROWS: dict[str, Callable[[Tensor, Tensor, Sequence[int], torch.Generator], Tensor]] = {
    "means": lambda z, y, classes, rng: F.normalize(class_means(z, y, classes), dim=-1),
    "drawn": lambda z, y, classes, rng: drawn_rows(len(classes), z.shape[1], rng).to(z),
    "zeros": lambda z, y, classes, rng: z.new_zeros(len(classes), z.shape[1]),
}
"""Rows of a task's classes before it is learnt: l2-normalised class means of its features, drawn, or zeros (public code)."""


def only(logits: Tensor, classes: Sequence[int]) -> Tensor:
    """logits (B, C) with every class but `classes` ruled out."""
    closed = torch.ones(logits.shape[-1], dtype=torch.bool, device=logits.device)
    closed[list(classes)] = False
    return logits.masked_fill(closed, float("-inf"))


CROSS_ENTROPY: dict[str, Callable[[Tensor, Tensor, Sequence[int]], Tensor]] = {
    "full": lambda logits, y, classes: F.cross_entropy(logits, y),
    "masked": lambda logits, y, classes: F.cross_entropy(only(logits, classes), y),
}
"""Mean loss of logits (B, C) for labels y (B,): over all classes seen, or over the task's own."""
