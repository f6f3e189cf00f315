"""What a process knows of one key's folder in the cache: which shards there are and where each photo's row is."""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from forget_me_not.models.disk import Damaged, Header, read_header
from forget_me_not.models.packed import map_rows


@dataclass(eq=False)
class Shard:
    """One file of rows; `rows` is mapped and verified at the first read."""

    path: Path
    header: Header
    photos: tuple[str, ...]
    _rows: Tensor | None = None

    @property
    def rows(self) -> Tensor:
        """(n, …) the rows, paged in when touched. Errors: Damaged; OSError."""
        if self._rows is None:
            self._rows = map_rows(self.path, self.header)
        return self._rows


@dataclass
class Shelf:
    """What this process knows of one key's folder: where each photo's row is."""

    folder: Path
    places: dict[str, tuple[Shard, int]] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    bad: set[str] = field(default_factory=set)
    touched: float = float("-inf")

    def look(self) -> list[Path]:
        """Learns of shards that appeared since the last look; gives back damaged ones."""
        damaged = []
        for path in sorted(self.folder.glob("*.safetensors")):
            if path.name in self.known or path.name in self.bad:
                continue
            try:
                header = read_header(path)
                photos = tuple(json.loads(header.metadata["photos"]))
                if header.tensors["rows"][1][0] != len(photos):
                    raise Damaged("photos and rows differ in number")
            except OSError:  # evicted meanwhile
                continue
            except (Damaged, ValueError, KeyError, IndexError, TypeError):
                damaged.append(path)
                self.bad.add(path.name)
                continue
            self.known.add(path.name)
            shard = Shard(path, header, photos)
            for row, photo in enumerate(photos):
                self.places.setdefault(photo, (shard, row))
        return damaged

    def drop(self, shard: Shard) -> None:
        """Never asks this file again; another one may hold its photos."""
        self.bad.add(shard.path.name)
        self.known.clear()
        self.places.clear()

    def touch(self) -> None:
        """Says that the key is in use; at most once a minute, and never an error."""
        if time.monotonic() - self.touched > 60:
            self.touched = time.monotonic()
            with contextlib.suppress(OSError):
                os.utime(self.folder / "about.json")
