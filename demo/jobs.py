"""Runs as the worker drives them: one step at a time, and where each stands, on disk."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from forget_me_not.demo import turns
from forget_me_not.demo.disk import explained, read_json, write_json
from forget_me_not.demo.request import Request
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.events import Event, Failed, Finished, Resumed, Stopped, TaskFinished
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder

if TYPE_CHECKING:
    from forget_me_not.demo.hall import Hall

TRIES = 3
"""Times a run is taken up again without finishing one task in between, before it counts as the cause."""


class Job:
    """One run in the worker. status: "queued", "running", "paused", "stopped", "failed" or "finished".

    Every change of status is written to status.json; events and states go into the run's folder as they come.
    """

    def __init__(self, request: Request, said: Mapping[str, Any]):
        self.request, self.folder, self.id = request, request.folder, request.folder.name
        self.status: str = said.get("status", "queued")
        self.problem = said.get("problem")
        self.restarted = bool(said.get("restarted"))
        self.tries = int(said.get("tries", 0))
        self.used = 0.0  # seconds it has had, and those it counts as having had, for fair turns
        self.spent, self.done, self.had = 0.0, 0.0, 0.0  # seconds it has had here, the share of it done, and done before
        self.unsaid = False  # whether its status could not be written
        self._stop = False
        self._pause_after_task = False
        self._steps: Iterator[Event | None] | None = None
        self._lock = FileLock(self.folder / "lock")

    @classmethod
    def open(cls, folder: Path) -> Job | None:
        """The job of a run's folder; None where there is no request in it."""
        try:
            return cls(Request.read(folder), read_json(folder / "status.json", {}))
        except (Problem, TypeError):
            return None

    @property
    def active(self) -> bool:
        """Whether it wants a turn."""
        return self.status == "running" and self._steps is not None

    @property
    def over(self) -> bool:
        """Whether this worker has nothing left to do for it."""
        return self.status in ("stopped", "failed", "finished")

    @property
    def begun(self) -> bool:
        """Whether it has had a turn, now or ever."""
        return self._steps is not None or (self.folder / "run.json").is_file()

    def take(self) -> bool:
        """Whether the run is ours now; another worker may own it. Taken up after a death it waits for its turn again."""
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            return False
        if self.status == "running":
            self.status = "queued"
        return True

    def release(self) -> None:
        """Lets others take the run."""
        if self._steps is not None:
            self._steps.close()
            self._steps = None
        self._lock.release()

    def leave(self) -> None:
        """Lets go of the run in good order: that this worker ends is no fault of the run."""
        if self.status == "running" and self.tries:
            self.tries = 0
            self.set("running")
        self.release()

    def set(self, status: str, problem: Mapping[str, Any] | None = None) -> None:
        """Says where the run stands."""
        self.status, self.problem = status, dict(problem) if problem else None
        said = {"status": status, "problem": self.problem, "restarted": self.restarted, "tries": self.tries, "t": time.time()}
        try:
            write_json(self.folder / "status.json", said)
            self.unsaid = False
        except (Problem, OSError):  # a full disk: the hall says it again once there is room
            self.unsaid = True

    def control(self, what: str) -> None:
        """Pause, resume, step (to the end of this task) or stop; what makes no sense now changes nothing."""
        if what == "stop" and not self.over:
            self._stop = True
            if self._steps is None:
                self._append(Stopped(self._done()))
                self.set("stopped")
            elif self.status == "paused":
                self.set("running")
        elif what == "pause" and self.status in ("running", "queued"):
            self.set("paused")
        elif what in ("resume", "step") and self.status != "finished" and not self.active:
            self._pause_after_task, self._stop, self.tries = what == "step", False, 0
            self.set("running" if self._steps is not None else "queued")
        elif what == "step" and self.active:
            self._pause_after_task = True

    def begin(self, hall: Hall) -> None:
        """Gets the first turn; a run that keeps dying without progress is given up."""
        self.tries += 1
        if self.tries > TRIES:
            self._fail("run_keeps_dying", {"tries": TRIES})
            return
        self._steps = self._work(hall)
        self.used += self.request.behind
        self.spent = 0.0
        self.set("running")

    def advance(self) -> None:
        """One step; whatever goes wrong becomes the run's problem and nobody else's."""
        try:
            event = next(self._steps)
        except StopIteration:  # all of it was written by a worker that died before it could say so
            self._steps = None
            self.set("finished")
        except Problem as problem:
            self._fail(problem.code, problem.values)
        except OSError as error:
            full = explained(error, self.folder)
            self._fail(full.code, full.values) if isinstance(full, Problem) else self._crash(error)
        except MemoryError as error:
            self._fail("memory_full", {"reason": str(error)})
        except Exception as error:
            self._crash(error)
        else:
            self._note(event)

    def _note(self, event: Event | None) -> None:
        if event is not None:
            self.done = turns.share(event, max(1, len(self.request.tasks)), self.done)
            self.had = self.done if isinstance(event, Resumed) else self.had
        if isinstance(event, TaskFinished):
            self.tries = 0
            self.set("paused" if self._pause_after_task else self.status)
            self._pause_after_task = False
        elif isinstance(event, Finished):
            self.set("finished")
        elif isinstance(event, Stopped):
            self.set("stopped")
        elif isinstance(event, Failed):
            self.set("failed", {"code": event.code, "values": dict(event.values)})
        if self.over:
            self._steps.close()
            self._steps = None

    def _work(self, hall: Hall) -> Iterator[Event | None]:
        """The run's events, each in the folder before anyone hears of it."""
        encoder = hall.encoder(self.request)
        yield None
        stream = self.request.stream(encoder)
        folder = self._folder(encoder.vit)
        yield from self.request.events(stream, folder, lambda: self._stop)

    def _fail(self, code: str, values: Mapping[str, Any]) -> None:
        plain = {k: v if isinstance(v, int | float | str | bool) else str(v) for k, v in values.items()}
        try:
            self._append(Failed(self._done(), code, plain))
        except (Problem, OSError):
            traceback.print_exc()
        self._steps = None
        self.set("failed", {"code": code, "values": plain})

    def _crash(self, error: Exception) -> None:
        traceback.print_exception(error)
        self._fail("run_crashed", {"reason": f"{type(error).__name__}: {error}"})

    def _append(self, event: Event) -> None:
        """Adds to the events of a run that has begun; one that has not has no events yet."""
        if (self.folder / "run.json").is_file():
            RunFolder.open(self.folder).append(event)

    def _done(self) -> int:
        return RunFolder.open(self.folder).finished() if (self.folder / "run.json").is_file() else 0

    def _folder(self, vit: FrozenViT) -> RunFolder:
        """The run on disk, made at its first turn; another backbone than before is refused."""
        if (self.folder / "run.json").is_file():
            folder = RunFolder.open(self.folder)
            folder.expect(vit.fingerprint)
            return folder
        return RunFolder.create(self.folder, self.request.record(vit))
