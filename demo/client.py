"""The page's handle on the worker process: starts it, asks it, hears its status, and restarts it when it dies."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, TimeoutError as Late
from pathlib import Path
from typing import IO, Any

from forget_me_not.models.problem import Problem

COMMAND = (sys.executable, "-m", "forget_me_not.demo.worker")
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")}
"""Threads of several libraries wait for each other on busy cores; one each is faster, and repeats bit for bit."""

FIRST_WAIT, LONGEST_WAIT, TRIES = 0.5, 30.0, 6
STEADY = 60.0
"""A worker that lived this many seconds has earned a fresh count of tries."""

LOG_LIMIT = 5 * 2**20


class Client:
    """The one worker of this page. home: data folder (for its log); command: how to start it.

    `status` is {"worker": "starting" | "ready" | "restarting" | "failed", "backbone": {…}, "queue": [run ids]}.
    """

    def __init__(self, home: Path, command: Sequence[str] = COMMAND, env: Mapping[str, str] | None = None):
        self.home, self.command, self.env = home, tuple(command), dict(env or {})
        self._lock = threading.Lock()  # over everything below
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future] = {}
        self._process: subprocess.Popen | None = None
        self._stopping = threading.Event()
        self._failures = 0
        self._status: dict[str, Any] = {"worker": "starting", "backbone": {"state": "loading", "done": 0, "total": 0,
                                                                           "problem": None}, "queue": []}

    @property
    def status(self) -> dict[str, Any]:
        """What the worker last said of itself."""
        with self._lock:
            return dict(self._status)

    @property
    def pid(self) -> int | None:
        """The worker's process id while there is one."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def start(self) -> None:
        """Starts the worker and the thread that watches over it; returns at once."""
        threading.Thread(target=self._watch, name="worker-watch", daemon=True).start()

    def stop(self, patience: float = 5.0) -> None:
        """Ends the worker: by closing its input, then by force. Runs go on from their last task at the next start."""
        self._stopping.set()
        process = self._process
        if process is None:
            return
        for step in (process.stdin.close, process.terminate, process.kill):
            try:
                step()
                process.wait(patience)
                return
            except (subprocess.TimeoutExpired, OSError):
                continue

    def call(self, do: str, patience: float = 30.0, **values: Any) -> dict[str, Any]:
        """The worker's answer to one command. Problem: its own, or "worker_away" where none came in time."""
        deadline, number, answer = time.monotonic() + patience, next(self._numbers), Future()
        line = (json.dumps({"id": number, "do": do, **values}) + "\n").encode()
        while not self._send(number, answer, line):
            if self._stopping.is_set() or self.status["worker"] == "failed" or time.monotonic() > deadline:
                raise Problem("worker_away")
            time.sleep(0.05)
        try:
            said = answer.result(max(0.1, deadline - time.monotonic()))
        except Late:
            raise Problem("worker_away") from None
        finally:
            with self._lock:
                self._waiting.pop(number, None)
        if "problem" in said:
            raise Problem(said["problem"]["code"], **said["problem"].get("values", {}))
        return said

    def cards(self) -> list[dict[str, Any]]:
        """Problem worker_away: the worker writes them as it starts."""
        raise Problem("worker_away")

    def retry(self) -> None:
        """Starts again a worker that was given up."""
        if self.status["worker"] == "failed":
            self._failures = 0
            self._say(worker="restarting")
            self.start()

    def _send(self, number: int, answer: Future, line: bytes) -> bool:
        with self._lock:
            process = self._process
            if process is None or process.poll() is not None:
                return False
            self._waiting[number] = answer
            try:
                process.stdin.write(line)
                process.stdin.flush()
            except (OSError, ValueError):
                del self._waiting[number]
                return False
            return True

    def _watch(self) -> None:
        while not self._stopping.is_set():
            began = time.monotonic()
            with contextlib.suppress(OSError):  # no memory, no such program: counted like a death
                self._serve()
            if self._stopping.is_set():
                return
            self._failures = 0 if time.monotonic() - began > STEADY else self._failures + 1
            if self._failures >= TRIES:
                self._say(worker="failed")
                return
            self._say(worker="restarting")
            self._stopping.wait(min(FIRST_WAIT * 2 ** max(0, self._failures - 1), LONGEST_WAIT))

    def _serve(self) -> None:
        """Runs one worker to its end and hands out what it says."""
        with self._log() as log:
            env = {**os.environ, **ONE_THREAD, **self.env, "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
            process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=env)
        with self._lock:
            self._process = process
        if self._stopping.is_set():
            process.kill()
        try:
            for line in process.stdout:
                self._hear(line)
        finally:
            process.stdout.close()
            process.wait()
            with self._lock:
                self._process = None
                left, self._waiting = self._waiting, {}
            for answer in left.values():
                answer.set_result({"problem": {"code": "worker_away"}})

    def _hear(self, line: bytes) -> None:
        try:
            said = json.loads(line)
        except ValueError:
            return
        if "re" in said:
            with self._lock:
                answer = self._waiting.pop(said["re"], None)
            if answer is not None:
                answer.set_result(said)
        elif isinstance(said.get("status"), dict):
            self._say(**said["status"])

    def _say(self, **news: Any) -> None:
        with self._lock:
            self._status = {**self._status, **news}

    def _log(self) -> IO[bytes]:
        folder = self.home / "logs"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "worker.log"
        if path.is_file() and path.stat().st_size > LOG_LIMIT:
            os.replace(path, path.with_suffix(".old.log"))
        return open(path, "ab")
