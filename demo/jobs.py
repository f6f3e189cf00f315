"""Runs as the worker drives them: what was asked for, one step at a time, and where it stands, on disk."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from forget_me_not.demo.disk import explained, read_json, write_json
from forget_me_not.models import registry
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.cache import Cache
from forget_me_not.models.core import Method, Stream
from forget_me_not.models.encoder import Encoder
from forget_me_not.models.events import Event, Failed, Finished, Stopped, TaskFinished
from forget_me_not.models.experiment import conduct, facts
from forget_me_not.models.images import ImageSet, OnDisk, Photo
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder
from forget_me_not.models.stream import Plan, build, plan

if TYPE_CHECKING:
    from forget_me_not.demo.hall import Hall

RUN_ID = re.compile(r"[0-9a-f]{32}")
TRIES = 3
"""Times a run is taken up again without finishing one task in between, before it counts as the cause."""


@dataclass(frozen=True)
class Request:
    """What the page asked for, as it lies in the run's folder: the photos, classes and tasks of that moment, method and seed.

    classes: {"key", "name"}; the key is what the split is drawn from, the name is shown. tasks: {"name", "classes": keys} or, for
    domains, {"name", "domain"}. photos: {"sha", "ext", "name", "class": key, "domain", "phash"} in the order they are read.
    """

    folder: Path
    project: str
    training: str
    created: float
    method: str
    settings: Mapping[str, Any]
    seed: int
    kind: str
    classes: tuple[Mapping[str, str], ...]
    tasks: tuple[Mapping[str, Any], ...]
    photos: tuple[Mapping[str, Any], ...]

    @classmethod
    def read(cls, folder: Path) -> Request:
        """The request in a run's folder; Problem("run_unknown") where there is none."""
        data = read_json(folder / "request.json")
        if not isinstance(data, dict) or not RUN_ID.fullmatch(folder.name):
            raise Problem("run_unknown")
        names = {f.name for f in dataclasses.fields(cls)} - {"folder"}
        return cls(folder, **{k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in names})

    @property
    def shelf(self) -> Path:
        """The folder the project's photos lie in."""
        return self.folder.parent.parent / "projects" / self.project / "photos"

    @cached_property
    def photos_key(self) -> str:
        """The same for two requests over the same photos."""
        return hashlib.sha256(json.dumps([self.project, self.photos], sort_keys=True).encode()).hexdigest()

    @cached_property
    def images(self) -> ImageSet:
        """The photos as `images.read` of the same files would give them."""
        return ImageSet.of(Photo(p["name"], p["class"], p["domain"], p["sha"], int(p["phash"], 16),
                                 OnDisk(self.shelf / f"{p['sha']}.{p['ext']}")) for p in self.photos)  # fmt: skip

    @cached_property
    def shown(self) -> Mapping[str, str]:
        """Class key -> name."""
        return {c["key"]: c["name"] for c in self.classes}

    @cached_property
    def plan(self) -> Plan:
        """The stream of tasks; Problem where these photos do not make one."""
        photos = self.images.photos
        labels, groups = [p.label for p in photos], [p.group for p in photos]
        names = [t["name"] for t in self.tasks]
        if self.kind == "domain":
            return plan(labels, groups, domains=[p.domain for p in photos], tasks=[[t["domain"]] for t in self.tasks],
                        names=names, by_domain=True, seed=self.seed)  # fmt: skip
        return plan(labels, groups, tasks=[t["classes"] for t in self.tasks], names=names, kind=self.kind, seed=self.seed)

    def stream(self, encoder: Encoder) -> Stream:
        """The tasks over encoded photos, classes by the names people see."""
        stream = build(self.plan, encoder)
        return dataclasses.replace(stream, classes=tuple(self.shown.get(key, key) for key in stream.classes))

    @cached_property
    def complete(self) -> dict[str, Any]:
        """All settings, those asked for over the defaults; Problem where one is wrong."""
        return registry.card(self.method).read(self.settings)

    def learner(self, vit: FrozenViT) -> Method:
        """A new learner with these settings."""
        return registry.card(self.method).learner(vit, **self.complete)

    def check(self) -> None:
        """Nothing, or the Problem that starting would run into."""
        _ = self.complete
        try:
            _ = self.plan
        except Problem as problem:  # a key in a sentence would puzzle who has renamed the class
            key = problem.values.get("name")
            named = {"name": self.shown[key]} if key in self.shown else {}
            raise Problem(problem.code, **{**problem.values, **named}) from None


def encoder_for(request: Request, vit: FrozenViT, cache: Cache) -> Encoder:
    """The encoder over a request's photos."""
    return Encoder(vit, request.images, cache)


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
        self.used = 0.0  # seconds it has had, for fair turns
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
        except (Problem, OSError):  # nothing more can be said on a full disk
            traceback.print_exc()

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
        self.set("running")

    def advance(self) -> None:
        """One step; whatever goes wrong becomes the run's problem and nobody else's."""
        try:
            event = next(self._steps, None)
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
        yield from conduct(stream, self.request.method, self.request.complete, self.request.seed, folder, lambda: self._stop)

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
        asked, photos = self.request, [p.sha for p in self.request.images.photos]
        return RunFolder.create(self.folder, facts(asked.method, asked.complete, asked.seed, asked.plan, photos, vit.fingerprint,
                                                   backbone=vit.name, size=vit.size, project=asked.project))  # fmt: skip
