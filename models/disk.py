"""Files that are whole or not there: write to a temporary name, fsync, rename; and safetensors headers. No torch here."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import uuid
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forget_me_not.models.problem import Problem

TEMPORARY = ".tmp"
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
NO_SUM = b'"crc32":"00000000"'
_SUM = re.compile(rb'"crc32":"[0-9a-f]{8}"')


class Damaged(ValueError):  # noqa: N818 - what the file is
    """A file that is not what was written: torn, truncated or with flipped bits."""


def write_whole(path: Path, *parts: bytes | memoryview) -> None:
    """Nothing comes back; `path` holds `parts` or is what it was before, whatever happens in between.

    Errors: OSError, with the temporary file removed.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}{TEMPORARY}")
    try:
        with open(temporary, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes a rename in `folder` survive a power cut, where the system can."""
    if os.name == "nt":  # a folder cannot be opened there; NTFS journals the rename itself
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, data: Any) -> None:
    """Nothing comes back; `path` holds `data` as readable JSON, or is what it was before."""
    write_whole(path, json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False).encode() + b"\n")


def remove(paths: Iterable[Path]) -> None:
    """Removes the files it may; one that is gone already or held open by someone is no error."""
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()


def is_full(error: OSError) -> bool:
    """Whether the disk (or a quota, or a file size limit) has no room."""
    return error.errno in _FULL


def disk_full(path: Path) -> Problem:
    """The Problem of a full disk: free (MB) and the path that could not be written."""
    return Problem("disk_full", free=free_bytes(path) // 2**20, path=str(path))


def free_bytes(path: Path) -> int:
    """Bytes free where `path` is or would be; 0 when nobody knows."""
    try:
        return shutil.disk_usage(next(p for p in (path, *path.absolute().parents) if p.exists())).free
    except (OSError, StopIteration):
        return 0


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns what the disk refuses into a Problem with the way out: disk_full or run_unwritable."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise disk_full(path) from error
        raise Problem("run_unwritable", path=str(path), reason=error.strerror or str(error)) from error


@dataclass(frozen=True)
class Header:
    """The first bytes of a packed file (see packed.py): raw, the metadata, and per tensor (dtype, shape, begin, end)."""

    raw: bytes
    metadata: dict[str, str]
    tensors: dict[str, tuple[str, tuple[int, ...], int, int]]

    @property
    def size(self) -> int:
        """Bytes of the whole file as promised."""
        return len(self.raw) + max((end for *_, end in self.tensors.values()), default=0)

    def verify(self, data: Any) -> None:
        """Raises Damaged unless `data` (a buffer) is what `pack` saw."""
        blank = _SUM.sub(NO_SUM, self.raw, count=1)
        if f"{zlib.crc32(data, zlib.crc32(blank)):08x}" != self.metadata.get("crc32"):
            raise Damaged("checksum differs")


def read_header(path: Path) -> Header:
    """The header of a packed file of the promised length. Errors: Damaged; OSError when it cannot be read."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        size = os.fstat(file.fileno()).st_size
        if not 2 <= length <= size - 8:
            raise Damaged("header is cut short")
        raw = file.read(length)
    try:
        parsed = json.loads(raw)
        metadata = parsed.pop("__metadata__")
        tensors = {
            name: (entry["dtype"], tuple(entry["shape"]), *map(int, entry["data_offsets"])) for name, entry in parsed.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged("header is not readable") from error
    header = Header(length.to_bytes(8, "little") + raw, metadata, tensors)
    if header.size != size:
        raise Damaged(f"{size} bytes, not {header.size}")
    return header


def read_whole(path: Path) -> tuple[Header, bytes]:
    """(header, the whole file) of a packed file whose checksum is right. Errors: Damaged; OSError."""
    header = read_header(path)
    content = path.read_bytes()
    header.verify(memoryview(content)[len(header.raw) :])
    return header, content
