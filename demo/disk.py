"""Files written whole or not at all, and JSON read with a default."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from pathlib import Path
from typing import Any

from forget_me_not.models.problem import Problem

SPARE = 200 * 2**20
"""Bytes left free on the disk for the rest of the machine."""


def write_bytes(path: Path, data: bytes, durable: bool = True) -> None:
    """`path` holding `data`, whole: a temporary name, fsync if durable, rename. A full disk is Problem("disk_full")."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(draft, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise explained(error, path) from error


def write_json(path: Path, data: Any) -> None:
    """`path` holding `data` as JSON, whole."""
    write_bytes(path, json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())


def read_json(path: Path, default: Any = None) -> Any:
    """What the JSON file holds; `default` where it is missing or torn."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return default


def room_for(folder: Path, size: int) -> None:
    """Nothing, or Problem("disk_full") where `size` more bytes would leave too little free."""
    free = shutil.disk_usage(folder).free
    if free - size < SPARE:
        raise Problem("disk_full", free=free // 2**20, path=str(folder))


def explained(error: OSError, path: Path) -> Exception:
    """A full disk as the Problem a person can repair; any other error as it is."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Problem("disk_full", free=0, path=str(path.parent))
    return error
