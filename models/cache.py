"""Activations on disk under a byte budget: one folder a key, shards of at most 256 photos, shared by processes without a lock.

    <folder>/<key>/about.json             what the key means; its modification time is when the key was last used
    <folder>/<key>/<photos>.safetensors   "rows" (n, …) and in the metadata the photos' content hashes and a checksum
    <folder>/pins/<name>.json             {"pid", "started", "keys"}: keys a living process uses

Two processes may write the same photos: equal lists get equal file names, otherwise a row is there twice and the first found
counts. Pins of a process that is gone count no more. A cache can only save time: whatever the disk refuses becomes one
entry of `notes` and the run goes on without.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch
from torch import Tensor

from forget_me_not.models.disk import TEMPORARY, Damaged, free_bytes, remove, write_json, write_whole
from forget_me_not.models.packed import pack
from forget_me_not.models.problem import Problem
from forget_me_not.models.shelf import Shard, Shelf

SHARD = 256
"""Photos in a shard, at most."""

BUDGET = 20 * 2**30
RESERVE = 256 * 2**20  # bytes of disk left to others: a run must be able to save
ABANDONED = 3600  # seconds after which a temporary file has no writer any more
RECOUNT = 10  # seconds for which what other processes write may go uncounted: adding up takes as long as there are files
_KEY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Kept:
    """One key on disk, as `cache show` lists it: what it means, its photos, bytes, and when it was last used."""

    key: str
    about: Mapping[str, Any]
    photos: int
    bytes: int
    used: float
    pinned: bool


class Cache:
    """Rows of activations by key and photo, kept on disk.

    Args: folder (made when first written), budget in bytes; least recently used keys go first, pinned ones never.
    """

    def __init__(self, folder: Path | str, budget: int = BUDGET):
        self.folder, self.budget = Path(folder), budget
        self.notes: list[Problem] = []
        self._shelves: dict[str, Shelf] = {}
        self._pins: dict[str, set[str]] = {}
        self._held = (-math.inf, 0)  # when all keys were last added up, and bytes then and written since

    # Rows

    def read(self, key: str, photos: Sequence[str]) -> tuple[list[int], Tensor | None]:
        """(positions in `photos` of those found, their rows in that order); ([], None) when none is there."""
        shelf = self._shelf(key)
        if any(photo not in shelf.places for photo in photos):
            self._repair(shelf.look())
        wanted: dict[Shard, list[tuple[int, int]]] = {}
        for position, photo in enumerate(photos):
            if photo in shelf.places:
                shard, row = shelf.places[photo]
                wanted.setdefault(shard, []).append((position, row))
        positions, parts = [], []
        for shard, pairs in wanted.items():
            try:
                rows = shard.rows
            except (Damaged, OSError, KeyError, ValueError) as error:
                shelf.drop(shard)
                if not isinstance(error, OSError):
                    self._repair([shard.path])
                return self.read(key, photos)
            positions += [position for position, _ in pairs]
            parts.append(rows.index_select(0, torch.tensor([row for _, row in pairs])))
        if not parts:
            return [], None
        shelf.touch()
        return positions, parts[0] if len(parts) == 1 else torch.cat(parts)

    def write(self, key: str, photos: Sequence[str], rows: Tensor, about: Mapping[str, Any]) -> bool:
        """Whether the rows (n, …), float16 or float32, are on disk now; if not, `notes` says why, once."""
        unique = {photo: row for row, photo in reversed(list(enumerate(photos)))}
        order = sorted(unique.values())
        try:
            for start in range(0, len(order), SHARD):
                part = order[start : start + SHARD]
                if not self._write_shard(key, [photos[row] for row in part], rows[torch.tensor(part)], about):
                    return False
        except OSError as error:
            self._note("cache_unwritable", folder=str(self.folder), reason=error.strerror or str(error))
            return False
        return True

    def _write_shard(self, key: str, photos: list[str], rows: Tensor, about: Mapping[str, Any]) -> bool:
        shelf = self._shelf(key)
        folder = shelf.folder
        names = json.dumps(photos)
        path = folder / f"{hashlib.sha256(names.encode()).hexdigest()[:32]}.safetensors"
        header, data = pack({"rows": rows}, {"photos": names})
        if not self._make_room(len(header) + len(data), key):
            if free_bytes(folder) < RESERVE + len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._note("cache_over_budget", folder=str(self.folder), budget=self.budget // 2**20)
            return False
        for attempt in (1, 2):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                if not (folder / "about.json").exists():
                    write_json(folder / "about.json", about)
                if path.name in shelf.bad or not path.exists():  # else another process was first
                    write_whole(path, header, data)
                    shelf.bad.discard(path.name)
                return True
            except FileNotFoundError:  # evicted by another process between two lines; once is chance
                if attempt == 2:
                    raise
        return False

    # Budget and pins

    def pin(self, name: str, keys: Iterable[str]) -> None:
        """Keeps `keys` from eviction under `name`, until `unpin(name)` or the end of this process."""
        mine = self._pins.setdefault(name, set())
        if mine.issuperset(keys := set(keys)):
            return
        mine |= keys
        process = psutil.Process()
        pin = {"pid": process.pid, "started": process.create_time(), "keys": sorted(mine)}
        with contextlib.suppress(OSError):  # where we cannot write there is little to evict
            (self.folder / "pins").mkdir(parents=True, exist_ok=True)
            write_json(self.folder / "pins" / f"{name}.json", pin)

    def unpin(self, name: str) -> None:
        """Lets the keys of `name` go when room is needed."""
        if self._pins.pop(name, None) is not None:
            remove([self.folder / "pins" / f"{name}.json"])

    def pinned(self) -> set[str]:
        """Keys that living processes have pinned; forgets pins of processes that are gone."""
        keys = set().union(*self._pins.values())
        for path in self.folder.glob("pins/*.json"):
            try:
                pin = json.loads(path.read_bytes())
                if abs(psutil.Process(pin["pid"]).create_time() - pin["started"]) < 2:
                    keys |= set(pin["keys"])
                else:  # the number was given to another process
                    remove([path])
            except psutil.NoSuchProcess:
                remove([path])
            except (OSError, ValueError, KeyError, TypeError, psutil.Error):
                continue
        return keys

    def kept(self) -> list[Kept]:
        """Every key on disk, the most recently used first."""
        pinned, found = self.pinned(), []
        for folder in self._folders():
            shelf = Shelf(folder)
            shelf.look()
            try:
                about = json.loads((folder / "about.json").read_bytes())
            except (OSError, ValueError):
                about = {}
            found.append(Kept(folder.name, about, len(shelf.places), _size(folder), _used(folder), folder.name in pinned))
        return sorted(found, key=lambda k: k.used, reverse=True)

    def clear(self, pinned: bool = False) -> int:
        """Bytes given back by removing every key; those that living processes have pinned only with `pinned`."""
        spared = set() if pinned else self.pinned()
        return sum(self._evict(folder) for folder in list(self._folders()) if folder.name not in spared)

    @property
    def bytes(self) -> int:
        """Bytes of all keys on disk."""
        return sum(_size(folder) for folder in self._folders())

    def _make_room(self, need: int, key: str) -> bool:
        counted, held = self._held
        if time.monotonic() - counted < RECOUNT and held + need <= self.budget and free_bytes(self.folder) >= RESERVE + need:
            self._held = counted, held + need
            return True
        sizes = {folder: _size(folder) for folder in self._folders()}
        self._held = time.monotonic(), sum(sizes.values()) + need
        excess = need + max(sum(sizes.values()) - self.budget, RESERVE - free_bytes(self.folder))
        if excess <= 0:
            return True
        spared = {key, *self.pinned()}
        for folder in sorted(sizes, key=_used):
            if folder.name not in spared:
                excess -= self._evict(folder)
            if excess <= 0:
                return True
        return False

    def _evict(self, folder: Path) -> int:
        before = _size(folder)
        self._shelves.pop(folder.name, None)
        remove([p for pattern in ("*.safetensors", f".*{TEMPORARY}", "about.json") for p in folder.glob(pattern)])
        with contextlib.suppress(OSError):  # another process has just put something in
            folder.rmdir()
        return before - _size(folder)

    # Small things

    def _shelf(self, key: str) -> Shelf:
        if key not in self._shelves:
            if not _KEY.fullmatch(key):
                raise ValueError(f"a key is 64 hexadecimal digits, not {key!r}")
            shelf = self._shelves[key] = Shelf(self.folder / key)
            limit = time.time() - ABANDONED
            remove([path for path in shelf.folder.glob(f".*{TEMPORARY}") if _modified(path) < limit])
        return self._shelves[key]

    def _folders(self) -> Iterator[Path]:
        with contextlib.suppress(OSError):
            for path in self.folder.iterdir():
                if _KEY.fullmatch(path.name) and path.is_dir():
                    yield path

    def _repair(self, damaged: list[Path]) -> None:
        if damaged:
            remove(damaged)
            self._note("cache_repaired", folder=str(self.folder))

    def _note(self, code: str, **values: Any) -> None:
        if all(note.code != code for note in self.notes):
            self.notes.append(Problem(code, **values))


def _size(folder: Path) -> int:
    total = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                total += entry.stat().st_size
    return total


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return float("inf")


def _used(folder: Path) -> float:
    about = folder / "about.json"
    return _modified(about) if about.exists() else 0.0
