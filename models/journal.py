"""The events of a run as lines of JSON: appended one by one, read up to the first line that is torn. No torch here."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from forget_me_not.models.disk import sync_folder, writing
from forget_me_not.models.events import KINDS, Event, Failed, Finished, Stopped, TaskFinished, from_json, to_json
from forget_me_not.models.problem import Problem

LASTING = (TaskFinished, Stopped, Finished, Failed)
"""Events after which the file is fsynced: losing the last Steps in a power cut costs nothing."""


class Journal:
    """events.jsonl: lines {"n": 0, "t": unix seconds, "event": {…}}; n counts up, t is for people only.

    Args: file; it need not exist. Made for one writing process at a time; another one is noticed, not waited for.
    """

    def __init__(self, file: Path):
        self.file = file
        self._next: int | None = None  # number of the next line, once the end of the file is known to be whole
        self._end = 0

    def append(self, event: Event) -> int:
        """The number of the line `event` became. Problems: disk_full, run_unwritable; run_in_use: someone else writes too."""
        with writing(self.file), open(self.file, "ab", buffering=0) as lines:
            if self._next is None:
                self._next, self._end = self._whole_end()
                lines.truncate(self._end)
            elif os.fstat(lines.fileno()).st_size != self._end:
                raise Problem("run_in_use", path=str(self.file.parent))
            line = {"n": self._next, "t": round(time.time(), 3), "event": to_json(event)}
            content = json.dumps(_finite(line), ensure_ascii=False, allow_nan=False).encode() + b"\n"
            try:
                if lines.write(content) != len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                if isinstance(event, LASTING):
                    os.fsync(lines.fileno())
                    sync_folder(self.file.parent)
            except OSError:
                with contextlib.suppress(OSError):
                    lines.truncate(self._end)
                raise
        self._end += len(content)
        self._next += 1
        return line["n"]

    def lines(self, since: int = 0) -> Iterator[dict[str, Any]]:
        """The lines {"n", "t", "event"} with n >= since, up to the first that is torn or out of order."""
        return (line for line, _ in self._lines() if line["n"] >= since)

    def events(self) -> list[Event]:
        """Every event so far, taken back or not; kinds this version does not know are passed over."""
        return [from_json(line["event"]) for line in self.lines() if line["event"].get("event") in KINDS]

    def _lines(self) -> Iterator[tuple[dict[str, Any], int]]:
        """(line, bytes up to its end) of each whole line in order."""
        try:
            content = self.file.read_bytes()
        except OSError:
            return
        end = 0
        for number, raw in enumerate(content.split(b"\n")[:-1]):
            try:
                line = json.loads(raw)
                if line["n"] != number or not isinstance(line["event"], dict):
                    return
            except (ValueError, KeyError, TypeError):
                return
            end += len(raw) + 1
            yield line, end

    def _whole_end(self) -> tuple[int, int]:
        number = end = 0
        for line, end in self._lines():  # noqa: B007 - the last one is wanted
            number = line["n"] + 1
        return number, end


def _finite(data: Any) -> Any:
    """The same with None for what JSON cannot say: a diverging loss must not end the run's record."""
    if isinstance(data, dict):
        return {k: _finite(v) for k, v in data.items()}
    if isinstance(data, list):
        return [_finite(v) for v in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
