"""A small disk of one's own, to be filled up or to be read-only: a tmpfs, where the system lets us mount one."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


def allowed() -> bool:
    """Whether it is worth trying: only root on Linux may mount, and not in every container."""
    return sys.platform == "linux" and os.geteuid() == 0 and shutil.which("mount") is not None


@contextlib.contextmanager
def small_disk(at: Path, mib: int = 260, read_only: bool = False) -> Iterator[bool]:
    """Whether `at` is a disk of `mib` MiB now; it is gone with everything on it afterwards."""
    at.mkdir(parents=True, exist_ok=True)
    how = ["-o", f"size={mib}m{',ro' if read_only else ''}"]
    done = allowed() and not subprocess.run(["mount", "-t", "tmpfs", *how, "tmpfs", str(at)], capture_output=True).returncode
    try:
        yield done
    finally:
        if done:
            subprocess.run(["umount", "-l", str(at)], capture_output=True, check=True)


@contextlib.contextmanager
def full(disk: Path) -> Iterator[None]:
    """The disk without a byte left; the room is given back afterwards."""
    filler = disk / "filler"
    with open(filler, "wb", buffering=0) as file:
        for portion in (2**20, 4096, 1):
            block = b"\0" * portion
            try:
                while file.write(block) == portion:
                    pass
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
    try:
        yield
    finally:
        filler.unlink()
