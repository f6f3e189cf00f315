"""Where the worker's runs live: jobs and their turns, and the commands the page may give."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from forget_me_not.demo import ask, cards, inside, lambda_panel, plasticjobs, turns
from forget_me_not.demo.arrival import Arrival
from forget_me_not.demo.disk import write_json
from forget_me_not.demo.jobs import Job
from forget_me_not.demo.request import Request
from forget_me_not.models.cache import Cache
from forget_me_not.models.core import Source
from forget_me_not.models.folders import cache_folder
from forget_me_not.models.problem import Problem

AT_ONCE = 8
"""Runs that take turns; the runs of one training start together, later trainings wait for room."""
ENCODERS = 3
"""Data sets whose activations stay in memory."""
UNFINISHED = ("queued", "running", "paused")
ASK_AGAIN = 1.0
"""Seconds until a run another worker holds is asked for again."""


class Hall:
    """All runs of this worker. home: data folder; say: sends a line to the page; backbone: name, or "random" for a tiny one."""

    def __init__(self, home: Path, say: Callable[[Mapping[str, Any]], None], backbone: str, size: int, plugins: Sequence[str]):
        torch.set_num_threads(1)
        self.home, self.say, self.plugins = home, say, plugins
        self.backbone = Arrival(backbone, size, say)
        self.cache = Cache(cache_folder() / "activations")
        self.jobs: dict[str, Job] = {}
        self.asked = ask.Desk()
        self.studies: dict[str, inside.Study] = {}
        self._encoders: dict[str, Source] = {}
        self._unsaid: dict[str, Any] = {}
        self._elsewhere: list[Path] = []
        self._asked_for = 0.0
        self._queue: dict[str, int] = {}
        self._waits: dict[str, int] = {}
        self._lefts: dict[str, int] = {}
        self._counted = 0.0

    def open(self) -> None:
        """Writes the cards, takes up runs that were left unfinished, and sends for the backbone."""
        found = cards.known(self.plugins)
        self.say({"status": {"unsaid": {}}})  # what a worker before this one said no longer counts
        with contextlib.suppress(Problem, OSError):  # on a full disk the cards written last time have to do
            write_json(self.home / "cards.json", found)
        self._elsewhere = sorted((self.home / "runs").glob("*/"))
        self._take_up()
        self.backbone.fetch()

    def _take_up(self) -> None:
        """Takes runs that were left unfinished; what a worker that is about to end still holds is asked for again later."""
        self._asked_for = time.monotonic()
        held, self._elsewhere = self._elsewhere, []
        for folder in held:
            job = Job.open(folder)
            if job is None or job.id in self.jobs or job.status not in UNFINISHED:
                continue
            job.restarted = job.restarted or job.status == "running"
            if job.take():
                self.jobs[job.id] = job
            else:
                self._elsewhere.append(folder)

    @property
    def busy(self) -> bool:
        """Whether some run or picture wants its next step."""
        running = self._running()
        return (any(job.active for job in self.jobs.values()) or any(s.working for s in self.studies.values())
                or any(self._may_begin(job) and not turns.held_up(job, running) for job in self._waiting()))  # fmt: skip

    @property
    def idle(self) -> bool:
        """Whether only a command can bring new work."""
        waiting = any(job.unsaid for job in self.jobs.values())
        waiting = waiting or bool(self._elsewhere)
        return self.backbone.vit is not None and not waiting and not any(study.pending for study in self.studies.values())

    def step(self) -> None:
        """One step of the run, or picture, that has had the least time."""
        if self._elsewhere and time.monotonic() - self._asked_for > ASK_AGAIN:
            self._take_up()
        self._admit()
        working = [job for job in self.jobs.values() if job.active] + [s for s in self.studies.values() if s.working]
        if working:
            turn = min(working, key=lambda t: t.used)
            began = time.thread_time()  # on busy cores the wall clock would charge a turn for what others take
            turn.advance()
            took = time.thread_time() - began
            turn.used += took
            if isinstance(turn, Job):
                turn.spent += took
        for study in list(self.studies.values()):
            if study.finished:
                del self.studies[study.id]
        for job in [j for j in self.jobs.values() if j.over]:
            if job.unsaid:
                job.set(job.status, job.problem)
            if job.unsaid:
                continue
            job.release()
            del self.jobs[job.id]
        self._tell_unsaid()

    def _tell_unsaid(self) -> None:
        """What a full disk does not take, the page hears over the wire."""
        stuck = [job for job in self.jobs.values() if job.unsaid]
        unsaid = {j.id: {"status": j.status, "problem": j.problem, "restarted": j.restarted} for j in stuck}
        if unsaid != self._unsaid:
            self._unsaid = unsaid
            self.say({"status": {"unsaid": unsaid}})

    def close(self) -> None:
        """Lets go of every run as it is; the next worker takes them up."""
        for job in self.jobs.values():
            job.leave()

    # Commands

    def do(self, command: Mapping[str, Any]) -> dict[str, Any] | None:
        """Does what the page asks; Problem where it cannot."""
        action = {"ping": self._ping, "start": self._start, "run": self._run, "ask": self._ask, "inside": self._inside,
                  "retry": lambda asked: self.backbone.retry(), "lambda": lambda asked: lambda_panel.command(self, asked),
                  "arms": plasticjobs.command}.get(command.get("do"))  # fmt: skip
        if action is None:
            raise Problem("command_unknown", do=command.get("do"))
        return action(command)

    def _ping(self, command: Mapping[str, Any]) -> dict[str, Any]:
        return {"runs": {job.id: job.status for job in self.jobs.values()}}

    def _start(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Takes the named new runs, all or none; Problem where settings or photos do not do."""
        made = [self._folder_job(rid) for rid in command["runs"]]
        for job in made:
            job.request.check()
        for job in made:
            if job.take():
                job.set("queued")
                self.jobs[job.id] = job
        self._tell_queue()
        return {"runs": [job.id for job in made]}

    def _run(self, command: Mapping[str, Any]) -> dict[str, Any]:
        if command["what"] == "withdraw":
            return self._withdraw(command["run"])
        job = self.jobs.get(command["run"])
        if job is None:
            job = self._folder_job(command["run"])
            if command["what"] not in ("resume", "step"):
                return {"status": job.status}
            if job.status == "finished":
                raise Problem("run_finished")
            job.request.check()
            if not job.take():
                raise Problem("run_elsewhere")
            self.jobs[job.id] = job
        job.control(command["what"])
        self._tell_queue()
        return {"status": job.status}

    def _withdraw(self, rid: str) -> dict[str, Any]:
        """Forgets a run whose turn has not come; Problem("run_begun") where it has."""
        job = self.jobs.get(rid)
        if job is None or job.begun or job.status not in ("queued", "paused"):
            raise Problem("run_begun")
        job.release()
        del self.jobs[rid]
        self._tell_queue()
        return {"status": "gone"}

    def _ask(self, command: Mapping[str, Any]) -> dict[str, Any]:
        request = self._request(command["run"])
        ready = self.backbone.vit is not None or request.needs_backbone or "path" in command
        return self.asked.ask(self.backbone.ready() if ready else self.encoder(request).vit, request, command)

    def _inside(self, command: Mapping[str, Any]) -> dict[str, Any]:
        rid = command["run"]
        if rid not in self.studies:
            request = self._request(rid)
            encoder = self.encoder(request)
            self.studies[rid] = inside.Study(request, encoder.vit, encoder, self._least())
        return {"state": "computing"}

    # Inside

    def encoder(self, request: Request) -> Source:
        """The encoder over the request's photos, or its ready features; a few data sets share the memory."""
        key = request.photos_key
        encoder = self._encoders.pop(key, None) or request.source(self.backbone.ready, self.cache)
        self._encoders[key] = encoder
        while len(self._encoders) > ENCODERS:
            del self._encoders[next(iter(self._encoders))]
        return encoder

    def _request(self, rid: str) -> Request:
        return self.jobs[rid].request if rid in self.jobs else Request.read(self.home / "runs" / rid)

    def _folder_job(self, rid: str) -> Job:
        job = Job.open(self.home / "runs" / rid)
        if job is None:
            raise Problem("run_unknown")
        return job

    def _waiting(self) -> list[Job]:
        return [job for job in self.jobs.values() if job.status == "queued"]

    def _may_begin(self, job: Job) -> bool:
        return self.backbone.vit is not None or not job.request.needs_backbone

    def _least(self) -> float:
        return min((job.used for job in self.jobs.values() if job.active), default=0.0)

    def _running(self) -> list[Job]:
        return [job for job in self.jobs.values() if job.status == "running"]

    def _admit(self) -> None:
        """Starts waiting trainings in their order, as far as there is room; the runs of one start together."""
        for training in turns.order(self._waiting(), self._running()):
            for job in [j for j in self._waiting() if j.request.training == training]:
                active = self._running()
                mates = any(j.request.training == training for j in active)
                if self._may_begin(job) and not turns.held_up(job, active) and (len(active) < AT_ONCE or mates):
                    job.used = self._least()
                    job.begin(self)
        self._tell_queue()

    def _tell_queue(self) -> None:
        """Tells the page every waiting run's place when it changes; about once a second how long it waits, what is left."""
        waiting, running = self._waiting(), self._running()
        trainings = turns.order(waiting, running)
        place = {t: i + 1 for i, t in enumerate(trainings)}
        queue = {j.id: place[j.request.training] for j in waiting}
        if queue != self._queue:
            self._queue, self._counted = queue, 0.0
            self.say({"status": {"queue": queue}})
        if time.monotonic() - self._counted < 1.0:
            return
        self._counted = time.monotonic()
        seconds = turns.waits(trainings, waiting, running)
        waits = {j.id: round(seconds[j.request.training]) for j in waiting if j.request.training in seconds}
        if waits != self._waits:
            self._waits = waits
            self.say({"status": {"waits": waits}})
        seconds = turns.lefts(running)
        lefts = {j.id: round(seconds[j.request.training]) for j in running if j.request.training in seconds}
        if lefts != self._lefts:
            self._lefts = lefts
            self.say({"status": {"lefts": lefts}})
