"""The worker process: it owns the backbone, trains all runs in turn and answers questions between two steps.

It speaks JSON lines: {"id": 7, "do": "start", …} comes in on standard input and {"re": 7, …} goes out on standard output, where
{"status": {…}} also appears unasked. Nothing else is printed there: whatever a library prints goes to standard error, which
the page keeps in a log. When its input ends the worker ends; runs go on from their last finished task at the next start.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from forget_me_not.models.problem import Problem

GRACE = 8.0
"""Seconds the worker may finish its step in once its input has ended."""


class Wire:
    """Lines out, lines in. Takes standard output for itself and points everybody else's prints at standard error."""

    def __init__(self):
        self._out = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        sys.stderr = sys.stdout = _Log(sys.stderr)
        self._lock = threading.Lock()
        self.commands: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()  # None: the input has ended

    def listen(self) -> None:
        """Reads commands into `commands` from a thread of its own."""
        threading.Thread(target=self._read, name="commands", daemon=True).start()

    def say(self, said: Mapping[str, Any]) -> None:
        """One line out; a page that is gone is no error here, its end of input comes next."""
        line = json.dumps(said, separators=(",", ":")).encode() + b"\n"
        try:
            with self._lock:
                self._out.write(line)
                self._out.flush()
        except OSError:
            return

    def _read(self) -> None:
        for line in sys.stdin.buffer:
            try:
                self.commands.put(json.loads(line))
            except ValueError:
                continue
        self.commands.put(None)
        time.sleep(GRACE)
        os._exit(0)


class _Log:
    """Standard error for what is worth keeping; a log that cannot be written, on a full disk, must not end the worker."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._stream.write(text)
            self._stream.flush()
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def answer(do: Callable[[Mapping[str, Any]], Any], command: Mapping[str, Any]) -> dict[str, Any]:
    """The reply to one command: its result, or what went wrong as a problem."""
    try:
        return {"re": command.get("id"), **(do(command) or {})}
    except Problem as problem:
        return {"re": command.get("id"), "problem": {"code": problem.code, "values": _plain(problem.values)}}
    except Exception as error:  # one bad question must not end all runs
        traceback.print_exc()
        values = {"reason": f"{type(error).__name__}: {error}"}
        return {"re": command.get("id"), "problem": {"code": "worker_failed", "values": values}}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v if isinstance(v, str | int | float | bool | type(None)) else str(v) for k, v in values.items()}


def serve(wire: Wire, hall: Any) -> None:
    """Commands first, then one step of the run that has had the least time; sleeps while there is nothing to do."""
    while True:
        try:
            command = wire.commands.get(block=not hall.busy, timeout=None if hall.idle else 0.2)
        except queue.Empty:
            command = {}
        if command is None:
            hall.close()
            return
        if command:
            wire.say(answer(hall.do, command))
            continue  # every waiting command before the next step
        hall.step()


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs until the input ends; the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is the page's; it closes our input
    wire = Wire()
    wire.listen()
    wire.say({"status": {"worker": "starting"}})
    parser = argparse.ArgumentParser(prog="worker")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--backbone", default="starter")
    parser.add_argument("--size", type=int, default=112)
    parser.add_argument("--plugin", action="append", default=[])
    options = parser.parse_args(arguments)

    from forget_me_not.demo.hall import Hall  # torch and timm: seconds

    hall = Hall(options.home, wire.say, options.backbone, options.size, options.plugin)
    hall.open()
    wire.say({"status": {"worker": "ready"}})
    serve(wire, hall)
    return 0


if __name__ == "__main__":
    sys.exit(main())
