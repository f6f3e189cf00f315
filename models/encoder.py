"""Where activations come from: photos through the frozen ViT with a cache in memory and on disk, or a ready table of features.

Everything passes through the stored type (tokens float16, [CLS] float32) even when nothing is kept, so that cached, uncached
and live answers are the same numbers. What a photo becomes never depends on what happened to be cached: [CLS] always comes
from pixels, and the ViT always sees exactly CHUNK photos (the last chunk is filled up with repeats), because matrix
products of other shapes round differently (measured: 2e-7). On one thread a photo's row is then the same to the last bit
whatever its neighbours; on several threads it may still differ by 1e-7 with its place in the chunk.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from forget_me_not.models.cache import SHARD, Cache
from forget_me_not.models.core import FEATURE
from forget_me_not.models.edit import Edit
from forget_me_not.models.problem import Problem
from forget_me_not.models.rows import Rows

if TYPE_CHECKING:
    from forget_me_not.models.backbone import FrozenViT
    from forget_me_not.models.images import ImageSet

CODE = "3"
"""Raised whenever what an activation is changes in its last bits, here or in what multiplies it; part of every key."""

CHUNK = 4
"""Photos in one pass: 94 ms for a ViT-S/14 at 112 px on one thread, no slower a photo than 32."""

MEMORY = 4 * 2**30
_LARGEST = torch.finfo(torch.float16).max


class Encoder:
    """A core.Source over a frozen ViT and its photos.

    Args: vit; images: images.photos[i] has .open() -> PIL RGB and .sha, its content hash; cache on disk or None;
    memory: bytes of rows held in memory, beyond which rows are read from the cache's shards each time.
    It pins the keys it uses in the cache until `close()`, its own end, or the end of the process. `notes` holds each
    thing that did not work out (a Problem, once), though the run went on.
    """

    def __init__(self, vit: FrozenViT, images: ImageSet, cache: Cache | None = None, memory: int = MEMORY):
        self.vit, self.photos, self.cache, self.memory = vit, images.photos, cache, memory
        self._notes: list[Problem] = []
        self._stores: dict[tuple[int, str | None], Rows] = {}  # least recently encoded first
        self._pin = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self.close = weakref.finalize(self, cache.unpin, self._pin) if cache is not None else (lambda: None)

    @property
    def notes(self) -> list[Problem]:
        """What did not work out so far, the cache's notes included."""
        return [*self._notes, *(self.cache.notes if self.cache is not None else [])]

    def get(self, index: Tensor, cut: int, edit: Edit | None = None) -> Tensor:
        """Activations of photos `index` (N,) on the ViT's device: (N, D) float32 for cut -1, else (N, L, D) float16.

        With an edit: the same through it. Encodes what is missing.
        """
        if edit is None or edit.key is not None:
            store = self._stores.get((cut, None if edit is None else edit.key))
            if store is not None and (rows := store.take(index)) is not None:
                return rows.to(self.vit.device)
        photos, back = torch.unique(index.cpu(), return_inverse=True)
        store = self._store(cut, edit)
        rows = torch.empty(len(photos), *store.shape, dtype=store.dtype)
        for _ in self._fill(store, photos, cut, edit, rows):
            pass
        return rows[back].to(self.vit.device)

    def encode(self, index: Tensor, cut: int, edit: Edit | None = None) -> Iterator[int]:
        """Makes activations ready; yields, after at most 4 photos of work, how many of `index` are ready."""
        if edit is not None and edit.key is None:  # nothing of it may be kept, but what lies below can
            yield from self.encode(index, edit.first)
            return
        photos, counts = torch.unique(index.cpu(), return_counts=True)
        if len(photos) == len(index):
            photos, counts = index.cpu(), torch.ones_like(photos)  # in the order asked for
        ready = counts.cumsum(0).tolist()
        for done in self._fill(self._store(cut, edit), photos, cut, edit):
            yield ready[done - 1] if done else 0

    # How rows come about

    def _fill(self, store: Rows, photos: Tensor, cut: int, edit: Edit | None, out: Tensor | None = None) -> Iterator[int]:
        """Yields how many of `photos` (different ones) are ready; writes their rows into `out` (n, …) where given."""
        done = 0
        slots = store.slot[photos]
        held = (slots >= 0).nonzero()[:, 0]
        if len(held):
            if out is not None:
                out[held] = store.rows[slots[held]]
            yield (done := len(held))
        missing = (slots < 0).nonzero()[:, 0]  # positions in `photos`
        left = []
        for part in missing.split(SHARD):
            found, rows = self._read(store, photos[part])
            if rows is not None:
                if out is not None:
                    out[part[found]] = rows
                if self._room(store, len(found)):
                    store.add(photos[part[found]], rows)
                yield (done := done + len(found))
            rest = torch.ones(len(part), dtype=torch.bool)
            rest[found] = False
            left.append(part[rest])
        if not left or not len(left := torch.cat(left)):
            return
        waiting = _Waiting(self, store)
        try:
            if edit is not None:
                for _ in self.encode(photos[left], edit.first):
                    yield done
            for part in left.split(CHUNK):
                values = self._compute(photos[part], cut, edit)
                if out is not None:
                    out[part] = values
                waiting.add(photos[part], values)
                yield (done := done + len(part))
        finally:  # also when the caller stops here: what is computed is kept
            waiting.flush()

    @torch.no_grad()
    def _compute(self, photos: Tensor, cut: int, edit: Edit | None) -> Tensor:
        """(n, …) rows of up to CHUNK photos, on the CPU, in the stored type."""
        filled = torch.cat([photos, photos[-1:].expand(CHUNK - len(photos))])
        if edit is not None:
            h = self.get(filled, edit.first).float()
            if cut == FEATURE:
                return self.vit.features(h, edit.first, edit)[: len(photos)].float().cpu()
            return _stored(self.vit.between(h, edit.first, cut, edit)[: len(photos)])
        pixels = [self._pixels(i) for i in photos.tolist()]
        batch = torch.stack(pixels + pixels[-1:] * (CHUNK - len(pixels))).to(self.vit.device)  # (CHUNK, 3, S, S)
        if cut == FEATURE:
            return self.vit.encode(batch)[: len(photos)].float().cpu()
        return _stored(self.vit.below(batch, cut)[: len(photos)])

    def _pixels(self, photo: int) -> Tensor:
        image = self.photos[photo]
        return self.vit.preprocess(image.open(), 0, image.sha)

    def _note(self, code: str, **values: Any) -> None:
        if all(note.code != code for note in self._notes):
            self._notes.append(Problem(code, **values))

    # Where rows are kept

    def _store(self, cut: int, edit: Edit | None) -> Rows:
        name = (cut, None if edit is None else edit.key)
        shape = self._shape(cut)
        dtype = torch.float32 if len(shape) == 1 else torch.float16
        if edit is not None and edit.key is None:
            return Rows(None, len(self.photos), shape, dtype)  # lives as long as one call
        store = self._stores.pop(name, None) or Rows(self._key(name[0], name[1], dtype), len(self.photos), shape, dtype)
        self._stores[name] = store
        if self.cache is not None:
            self.cache.pin(self._pin, [store.key])
        return store

    def _shape(self, cut: int) -> tuple[int, ...]:
        return (self.vit.width,) if cut == FEATURE else (self.vit.length, self.vit.width)

    def _key(self, cut: int, edit: str | None, dtype: torch.dtype) -> str:
        parts = [self.vit.fingerprint, CODE, edit or "", cut, 0, str(dtype)]  # 0: the view
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _read(self, store: Rows, photos: Tensor) -> tuple[list[int], Tensor | None]:
        if self.cache is None or store.key is None:
            return [], None
        found, rows = self.cache.read(store.key, [self.photos[i].sha for i in photos.tolist()])
        if rows is None or rows.shape[1:] != store.shape or rows.dtype != store.dtype:
            return [], None
        return found, rows

    def _write(self, store: Rows, photos: Tensor, rows: Tensor) -> bool:
        if self.cache is None or store.key is None:
            return False
        name = next(name for name, other in self._stores.items() if other is store)
        about = {
            "backbone": self.vit.name,
            "size": self.vit.size,
            "fingerprint": self.vit.fingerprint,
            "cut": name[0],
            "edit": name[1],
            "view": 0,
            "dtype": str(store.dtype).removeprefix("torch."),
            "shape": list(store.shape),
        }
        return self.cache.write(store.key, [self.photos[i].sha for i in photos.tolist()], rows, about)

    def _room(self, store: Rows, more: int) -> bool:
        """Whether `more` rows may join `store`; lets other stores that are on disk go first, the oldest first."""
        need = store.growth(more) - self.memory
        for other in list(self._stores.values()):
            if need + sum(s.bytes for s in self._stores.values()) <= 0:
                return True
            if other is not store and other.unsaved == 0:
                other.clear()
        return need + sum(s.bytes for s in self._stores.values()) <= 0


def _stored(h: Tensor) -> Tensor:
    return h.clamp(-_LARGEST, _LARGEST).to(torch.float16).cpu()


@dataclass
class _Waiting:
    """Rows computed but not yet on disk: a shard's worth at most."""

    encoder: Encoder
    store: Rows

    def __post_init__(self) -> None:
        self.photos: list[Tensor] = []
        self.values: list[Tensor] = []

    def add(self, photos: Tensor, values: Tensor) -> None:
        self.photos.append(photos)
        self.values.append(values)
        if sum(map(len, self.photos)) >= SHARD:
            self.flush()

    def flush(self) -> None:
        """Writes them to disk and takes them into memory, as far as there is room or nowhere else to keep them."""
        if not self.photos:
            return
        photos, values = torch.cat(self.photos), torch.cat(self.values)
        self.photos, self.values = [], []
        kept = self.encoder._write(self.store, photos, values)
        room = self.encoder._room(self.store, len(photos))
        if room or not kept:
            self.store.add(photos, values)
            self.store.unsaved += 0 if kept else len(photos)
        if not room and not kept and self.store.key is not None:
            self.encoder._note("memory_over_budget", budget=self.encoder.memory // 2**20)


@dataclass(frozen=True)
class TableVit:
    """What is left of a backbone when only its features are here: no blocks, so no tokens."""

    width: int
    fingerprint: str
    name: str = "table"
    device: torch.device = torch.device("cpu")  # noqa: RUF009 - immutable
    depth: int = 0


class FeatureTable:
    """A core.Source over ready features (N, D): starter packs and tests. Tokens and edits: Problem("no_tokens")."""

    def __init__(self, features: Tensor, fingerprint: str = "table", name: str = "table"):
        self.features = features.float()
        self.vit = TableVit(features.shape[1], fingerprint, name)

    def encode(self, index: Tensor, cut: int, edit: Edit | None = None) -> Iterator[int]:
        """Yields len(index): everything is ready."""
        self._refuse(cut, edit)
        yield len(index)

    def get(self, index: Tensor, cut: int, edit: Edit | None = None) -> Tensor:
        """(N, D) the features of photos `index`."""
        self._refuse(cut, edit)
        return self.features.index_select(0, index)

    def _refuse(self, cut: int, edit: Edit | None) -> None:
        if cut != FEATURE or edit is not None:
            raise Problem("no_tokens", name=self.vit.name)
