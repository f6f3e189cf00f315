"""Activations of one key in memory: photo -> slot -> row."""

from __future__ import annotations

import torch
from torch import Tensor


class Rows:
    """The rows of one key that are in memory; grows by doubling, so that a row is an index away.

    Args: photos N of the source, shape and dtype of a row.
    """

    def __init__(self, key: str | None, photos: int, shape: tuple[int, ...], dtype: torch.dtype):
        self.key, self.shape, self.dtype = key, shape, dtype
        self.slot = torch.full((photos,), -1)  # (N,)
        self.rows = torch.empty(0, *shape, dtype=dtype)
        self.count = 0
        self.unsaved = 0  # rows that could not be read again

    @property
    def bytes(self) -> int:
        """Bytes of the rows held."""
        return self.rows.nbytes

    def take(self, index: Tensor) -> Tensor | None:
        """(n, …) rows of photos `index`, or None when one is missing. Called once a training step: some microseconds."""
        slots = self.slot.index_select(0, index)
        if len(slots) == 0 or slots.min().item() < 0:
            return None
        return self.rows.index_select(0, slots)

    def growth(self, more: int) -> int:
        """Bytes that adding `more` rows would allocate."""
        size = self.rows[:1].nbytes or torch.empty(self.shape, dtype=self.dtype).nbytes
        return (self._capacity(more) - len(self.rows)) * size

    def add(self, photos: Tensor, values: Tensor) -> None:
        """Keeps rows `values` (n, …) of `photos` (n,), all of them new and different."""
        if (capacity := self._capacity(len(photos))) > len(self.rows):
            grown = torch.empty(capacity, *self.shape, dtype=self.dtype)
            grown[: self.count] = self.rows[: self.count]
            self.rows = grown
        end = self.count + len(photos)
        self.rows[self.count : end] = values
        self.slot[photos] = torch.arange(self.count, end)
        self.count = end

    def clear(self) -> None:
        """Lets go of every row."""
        self.slot.fill_(-1)
        self.rows, self.count = self.rows.new_empty(0, *self.shape), 0

    def _capacity(self, more: int) -> int:
        need = self.count + more
        return len(self.rows) if need <= len(self.rows) else min(max(need, 2 * len(self.rows), 64), max(need, len(self.slot)))
