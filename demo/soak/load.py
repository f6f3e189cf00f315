"""Many clients and several trainings at once: errors, waiting times, who gets turns, and what page and worker hold in memory."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import socket
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import psutil

from forget_me_not.demo.soak.lab import Lab, until

CLIENTS, TRAININGS, SLOW = 30, 6, 5
SETTINGS = {"tosca": {"epochs": 40, "batch": 2}}
POLL = 0.5
"""Seconds between two questions of one client, about what an open page asks."""


@dataclass
class Seen:
    """What the clients saw. seconds: of every request; memory: (second, page bytes, worker bytes)."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    memory: list[tuple[float, int, int]] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    fairness: list[float] = field(default_factory=list)

    def quantile(self, share: float) -> float:
        """The request time that `share` of the requests stayed below."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def slope(self, which: int) -> float:
        """Bytes a minute by which the page (1) or the worker (2) grew, least squares over the second half."""
        late = self.memory[len(self.memory) // 2 :]
        times, sizes = [row[0] / 60 for row in late], [row[which] for row in late]
        return statistics.linear_regression(times, sizes).slope if len(set(times)) > 1 else 0.0


def load(lab: Lab, minutes: float, slow: int = SLOW, clients: int = CLIENTS, trainings: int = TRAININGS) -> Seen:
    """`clients` watch `trainings` runs that train at once, `slow` more read a byte a second; again until the minutes are over."""
    seen, end = Seen(), time.monotonic() + 60 * minutes
    projects = [lab.project(each=6, seed=n) for n in range(trainings)]  # each of a person of their own
    lab.wait(lab.train(projects[0])[0], "finished")  # the worker has imported all it needs
    began, over = time.monotonic(), threading.Event()
    runs: list[str] = []
    watching = [threading.Thread(target=_client, args=(lab, runs, seen, over, n), daemon=True) for n in range(clients)]
    watching += [threading.Thread(target=_slow, args=(lab, over, n % 2), daemon=True) for n in range(slow)]
    watching.append(threading.Thread(target=_weigh, args=(lab, seen, over, began), daemon=True))
    try:
        while not runs or time.monotonic() < end:
            new = [(lab.train(pid, settings=SETTINGS)[0], time.monotonic()) for pid in projects]
            runs[:] = [rid for rid, _ in new]
            if not watching[0].is_alive():
                for thread in watching:
                    thread.start()
            for rid, asked in new:
                until("the first event", lambda rid=rid: lab.get(f"runs/{rid}/events?since=0")["events"], every=0.01)
                seen.first.append(time.monotonic() - asked)
            seen.fairness.append(_fairness(lab, runs))
            for rid in runs:
                if lab.wait(rid, "finished", "failed", seconds=600)["status"] != "finished":
                    seen.errors.append(f"run {rid[:8]} failed")
    finally:
        over.set()
        for thread in watching:
            if thread.ident:
                thread.join(10)
    return seen


def _fairness(lab: Lab, runs: Sequence[str]) -> float:
    """How far the run that is furthest behind has come, as a share of the furthest, when the first one ends."""
    until("the first run ended", lambda: any(lab.get(f"runs/{rid}")["status"] == "finished" for rid in runs), 600, 0.05)
    steps = [sum(kind == "Step" for kind in lab.kinds(rid)) for rid in runs]
    return min(steps) / max(steps)


def _client(lab: Lab, runs: Sequence[str], seen: Seen, over: threading.Event, number: int) -> None:
    """What an open page asks, again and again, over one connection."""
    rng, since = random.Random(number), 0
    web = http.client.HTTPConnection("127.0.0.1", lab.port, timeout=60)
    while not over.wait(POLL * rng.uniform(0.5, 1.5)):
        rid = runs[number % len(runs)]
        for what in (f"/events?since={since}", "", "/figures")[: 3 if number % 3 == 0 else 2]:
            said = _asked(web, f"/runs/{rid}{what}", seen)
            if "events" in (said or {}):
                since = since + len(said["events"]) if said["events"] else 0
    web.close()


def _asked(web: http.client.HTTPConnection, path: str, seen: Seen) -> Any:
    began = time.monotonic()
    try:
        web.request("GET", path, headers={"Accept-Encoding": "identity"})
        answer = web.getresponse()
        body = answer.read()
        seen.seconds.append(time.monotonic() - began)
        if answer.status >= 400:
            seen.errors.append(f"{answer.status} {path} {body[:100]!r}")
            return None
        return json.loads(body)
    except (OSError, http.client.HTTPException, ValueError) as error:
        web.close()
        seen.errors.append(f"{path}: {type(error).__name__} {error}")
        return None


def _slow(lab: Lab, over: threading.Event, sends: int) -> None:
    """A client at the end of a very bad line: reads the largest file, or sends a photo, a byte a second."""
    with contextlib.suppress(OSError), socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        line.connect(("127.0.0.1", lab.port))
        pid = lab.post("projects", {})["id"]
        sending = f"POST /projects/{pid}/photos?name=a/1.png HTTP/1.1\r\nContent-Length: 100000"
        line.sendall(f"{sending if sends else 'GET /plotly.js HTTP/1.1'}\r\nHost: lab\r\n\r\n".encode())
        step: Callable[[], Any] = (lambda: line.sendall(b"x")) if sends else (lambda: line.recv(1))
        while not over.wait(1.0):
            step()


def _weigh(lab: Lab, seen: Seen, over: threading.Event, began: float) -> None:
    while not over.wait(0.5):
        with contextlib.suppress(psutil.Error, ValueError):
            page, worker = (process.memory_info().rss for process in lab.processes())
            seen.memory.append((time.monotonic() - began, page, worker))
