"""A real lab to be shot at: its page process and worker, spoken to over HTTP only, killed and opened again in the same folder."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import psutil

from forget_me_not.demo.client import ONE_THREAD
from forget_me_not.demo.soak import fuse, photos
from forget_me_not.models.folders import HOME
from forget_me_not.models.problem import Problem

Found = TypeVar("Found")
PATIENCE = 150.0
"""Seconds until what should happen counts as not happening."""
OVER = ("finished", "failed", "stopped")
SETTINGS = {"tosca": {"epochs": 6, "batch": 2}}
DEATHS = 5
"""Deaths of the worker after which the page is opened anew: it gives a worker up that keeps dying, as it should."""


def until(what: str, true: Callable[[], Found], seconds: float = PATIENCE, every: float = 0.03) -> Found:
    """The first true value; Problem("soak_late") where there is none in time."""
    end = time.monotonic() + seconds
    while not (value := true()):
        if time.monotonic() > end:
            raise Problem("soak_late", what=what, seconds=round(seconds))
        time.sleep(every)
    return value


class Lab:
    """The lab in `home`. env: more of its environment. Use it in a `with`; its processes end with it."""

    def __init__(self, home: Path, env: Mapping[str, str] | None = None):
        self.home, self.plan, self.deaths = home.resolve(), home.resolve() / "plan", 0
        self.env = {**os.environ, **ONE_THREAD, HOME: str(self.home), fuse.PLAN: str(self.plan), **(env or {})}
        self.page: subprocess.Popen | None = None
        self.port = 0

    def __enter__(self) -> Lab:
        self.home.mkdir(parents=True, exist_ok=True)
        fuse.lay(self.plan, [])
        self.open()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def open(self) -> None:
        """Starts the page and waits until its worker can train."""
        command = [sys.executable, "-m", "forget_me_not.demo.soak.page", str(self.home)]
        with open(self.home / "page.log", "ab") as log:
            self.page = subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, stderr=log, text=True)
        address = next((word for line in self.page.stdout for word in line.split() if word.startswith("http://")), None)
        if address is None:
            raise Problem("soak_died", log=str(self.home / "page.log"))
        self.port, self.deaths = urlsplit(address).port, 0
        self.ready()

    def ready(self) -> None:
        """Waits until the worker can train."""
        until("the worker came up", lambda: self._told(), PATIENCE, 0.05)

    def close(self) -> None:
        """Ends page and worker in good order, or by force."""
        if self.page is None:
            return
        left = self.processes()
        self.page.terminate()
        _, alive = psutil.wait_procs(left, 15)
        for process in alive:
            with contextlib.suppress(psutil.Error):
                process.kill()
        self.page.wait()
        self.page.stdout.close()
        self.page = None

    def processes(self) -> list[psutil.Process]:
        """The page, then its worker, as far as they live."""
        with contextlib.suppress(psutil.Error):
            page = psutil.Process(self.page.pid)
            return [page, *(p for p in page.children() if "forget_me_not.demo.worker" in p.cmdline())]
        return []

    def kill(self, *who: str) -> None:
        """SIGKILL for "page", "worker" or both."""
        doomed = dict(zip(("page", "worker"), self.processes(), strict=False))
        for name in who:
            with contextlib.suppress(psutil.Error, KeyError):
                doomed[name].kill()
        self.deaths += "worker" in who

    def mend(self) -> None:
        """Opens the lab again where its page has died or its worker has died often; waits for the worker where only that has."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.page.wait(0.3)
        if self.page.poll() is not None or self.deaths >= DEATHS:
            self.close()
            self.open()
        else:
            self.ready()

    def again(self) -> None:
        """Closes and opens it."""
        self.close()
        self.open()

    def _told(self) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException, Problem):
            said = self.get("status")
            return said["worker"] == "ready" and said["backbone"]["state"] == "ready"
        return False

    # What a browser does

    def ask(self, method: str, path: str, body: bytes | None = None, seconds: float = PATIENCE) -> tuple[int, bytes]:
        """(status, body) of one request; OSError or HTTPException where the page is gone."""
        web = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            web.request(method, "/" + path, body, {"Accept-Encoding": "identity"})
            answer = web.getresponse()
            return answer.status, answer.read()
        finally:
            web.close()

    def get(self, path: str) -> Any:
        """The JSON of a route; its Problem where it answers with one."""
        return _json(*self.ask("GET", path))

    def post(self, path: str, asked: Mapping[str, Any] | bytes) -> Any:
        """The JSON a route answers with; its Problem."""
        return _json(*self.ask("POST", path, asked if isinstance(asked, bytes) else json.dumps(asked).encode()))

    def project(self, each: int = 8, seed: int = 0) -> str:
        """Id of a new project with drawn photos in three tasks of two classes."""
        pid = self.post("projects", {})["id"]
        self.post(f"projects/{pid}/photos?name=photos.zip", photos.zipped(each, seed))
        self.post(f"projects/{pid}/edit", {"do": "preset", "how": "2"})
        return pid

    def train(self, pid: str, methods: Sequence[str] = ("tosca",), seed: int = 0, settings: Any = None) -> list[str]:
        """Ids of new runs."""
        asked = {"methods": list(methods), "settings": settings or SETTINGS, "seed": seed}
        return self.post(f"projects/{pid}/train", asked)["runs"]

    def events(self, rid: str) -> list[dict[str, Any]]:
        """Every event of a run."""
        told: list[dict[str, Any]] = []
        while part := self.get(f"runs/{rid}/events?since={len(told)}")["events"]:
            told += [line["event"] for line in part]
        return told

    def kinds(self, rid: str) -> list[str]:
        """What kinds of events a run has had."""
        return [event["event"] for event in self.events(rid)]

    def wait(self, rid: str, *wanted: str, seconds: float = PATIENCE) -> dict[str, Any]:
        """The run once it stands at one of `wanted`."""

        def there() -> dict[str, Any] | None:
            said = self.get(f"runs/{rid}")
            return said if said["status"] in wanted else None

        return until(f"run is {' or '.join(wanted)}", there, seconds)

    def matrix(self, rid: str) -> list[list[int | float]]:
        """The final matrix of a finished run."""
        return self.events(rid)[-1]["metrics"]["matrix"]

    def folder(self, rid: str) -> Path:
        """Where a run lies."""
        return self.home / "data" / "runs" / rid


def _json(status: int, body: bytes) -> Any:
    said = json.loads(body)
    if status >= 400:
        raise Problem(said["problem"]["code"], **said["problem"]["values"])
    return said
