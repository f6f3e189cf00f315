"""One file over HTTP, resumable and verified: a kill in the middle continues, a silent server costs seconds."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

Progress = Callable[[int, int], None]
"""Called with (bytes done, bytes in all); the second is 0 where the server does not say."""

PATIENCE = 5.0
"""Seconds a server may stay silent, while connecting as well as between two pieces."""
PIECE = 1 << 18


def download(
    url: str,
    target: Path,
    sha256: str | None,
    progress: Progress | None = None,
    *,
    patience: float = PATIENCE,
    tries: int = 2,
) -> Path:
    """`target`, complete and with the given sha256; what is under way lies in `target`.part and is continued.

    A continued file that turns out wrong is fetched once more from its start. OSError: the server is silent for
    `patience` seconds `tries` times without a new byte, refuses, or sends another file.
    """
    part = target.with_name(target.name + ".part")
    continued = part.exists()
    stream(url, part, progress, patience=patience, tries=tries)
    if continued and sha256 not in (None, digest(part)):
        part.unlink()
        stream(url, part, progress, patience=patience, tries=tries)
    if sha256 not in (None, digest(part)):
        part.unlink()
        raise OSError("the server sent another file than the pinned one")
    os.replace(part, target)
    return target


def stream(url: str, part: Path, progress: Progress | None = None, *, patience: float = PATIENCE, tries: int = 2) -> None:
    """Grows `part` until it holds all of `url` (http, https or file), from where it ends, with Range requests."""
    longest, failures = _size(part), 0
    while True:
        try:
            if _continue(url, part, progress, patience):
                return
            failure: Exception = OSError("the connection ended early")
        except HTTPError as refused:
            if refused.code == 416 and _size(part):  # our part is longer than the file
                part.unlink()
                continue
            if refused.code < 500:
                raise OSError(f"the server answered {refused.code}") from refused
            failure = OSError(f"the server answered {refused.code}")
        except (OSError, HTTPException) as broken:
            failure = broken
        failures = 0 if _size(part) > longest else failures + 1
        longest = max(longest, _size(part))
        if failures >= tries:
            raise OSError(reason(failure)) from failure


def _continue(url: str, part: Path, progress: Progress | None, patience: float) -> bool:
    """One request from where `part` ends; whether the file is complete now."""
    have = _size(part)
    request = Request(url, headers={"User-Agent": "forget-me-not", "Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        answer = within(patience, lambda: urlopen(request, timeout=patience))
    except HTTPError as refused:
        if refused.code == 416 and refused.headers.get("Content-Range", "").endswith(f"/{have}"):
            return True  # killed between the last byte and the rename
        raise
    with answer, part.open("ab") as file:
        done, total = _span(answer)
        if done > have:
            raise OSError("the server skipped a piece")
        file.truncate(done)  # to nothing, where a server knows no ranges and starts over
        while piece := answer.read(PIECE):
            file.write(piece)
            done += len(piece)
            if progress:
                progress(done, total)
        file.flush()
        os.fsync(file.fileno())
    return done >= total


def _span(answer: Any) -> tuple[int, int]:
    """First byte of what this answer sends, and the length of the whole file (0 where unknown)."""
    span = re.match(r"bytes (\d+)-\d+/(\d+)", answer.headers.get("Content-Range") or "")
    if getattr(answer, "status", None) == 206 and span:
        return int(span[1]), int(span[2])
    return 0, int(answer.headers.get("Content-Length") or 0)


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """What `call` returns or raises, or TimeoutError after `seconds`: no socket timeout covers the look-up of a name."""
    outcome: list[tuple[bool, Any]] = []

    def work() -> None:
        try:
            outcome.append((True, call()))
        except Exception as broken:
            outcome.append((False, broken))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise TimeoutError(f"no answer within {seconds:g} s")
    good, value = outcome[0]
    if good:
        return value
    raise value


def digest(path: Path) -> str:
    """sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def reason(broken: BaseException) -> str:
    """A failure in a few words, without a trailing full stop."""
    inner = getattr(broken, "reason", None)  # urllib wraps the real one
    words = str(inner if inner is not None else broken) or type(broken).__name__
    return " ".join(words.split()).rstrip(".")[:160]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
