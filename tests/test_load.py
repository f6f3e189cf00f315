"""Thirty people watch one run over HTTP while it is learnt: no error, the first event soon, and what it costs the server."""

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import photos_made as made
import psutil
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.alone]
ROOT = Path(__file__).resolve().parent.parent

VIEWERS, EVERY, WATCHED = 30, 0.3, 10.0
"""Viewers; seconds between two questions of one, as the page asks; seconds they watch at most."""
SOON = 2.0 * float(os.environ.get("FMN_SLOWNESS", "1"))
"""Seconds within which each sees its first event; FMN_SLOWNESS stretches them on a machine that does other work."""


class Viewer(threading.Thread):
    """One page that follows a run: it asks for what is new, as static/store.js does."""

    def __init__(self, address, rid, stop):
        super().__init__(daemon=True)
        self.address, self.rid, self.stop = address, rid, stop
        self.events, self.first, self.slowest, self.asked, self.error = [], None, 0.0, 0, None

    def run(self):
        began = time.monotonic()
        try:
            while not self.stop.is_set():
                asked = time.monotonic()
                path = f"{self.address}runs/{self.rid}/events?since={len(self.events)}"
                with urllib.request.urlopen(path, timeout=30) as answer:
                    said = json.load(answer)
                self.slowest, self.asked = max(self.slowest, time.monotonic() - asked), self.asked + 1
                self.events += said["events"]
                if self.events and self.first is None:
                    self.first = time.monotonic() - began
                if said["status"] == "finished" and not said["events"]:
                    return
                time.sleep(EVERY)
        except Exception as error:
            self.error = error


@pytest.fixture
def lab(tmp_path):
    """(address, process) of a lab with a tiny backbone."""
    command = [sys.executable, str(ROOT / "app.py"), "--no-browser", "--port", "0", "--backbone", "random"]
    environment = {**os.environ, "FORGET_ME_NOT_HOME": str(tmp_path / "home")}
    process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    address = "http://127.0.0.1:" + process.stdout.readline().split("localhost:")[1].split()[0] + "/"
    try:
        until(lambda: call(address, "status")["backbone"]["state"] == "ready", 180)
        yield address, process
    finally:
        process.terminate()
        process.wait(60)


def call(address, path, body=None, kind="application/json"):
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    asked = urllib.request.Request(address + path, data, {"content-type": kind})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)


def until(true, seconds):
    end = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return value


def test_thirty_viewers_of_one_run(lab, tmp_path, record_property):
    address, process = lab
    counts = dict.fromkeys(("apple", "brick", "cloud", "desk"), 12)
    photos = made.zipped(made.folder(tmp_path / "in", counts), tmp_path / "in.zip")
    pid = call(address, "projects", {})["id"]
    call(address, f"projects/{pid}/photos?name=in.zip", photos.read_bytes(), "application/octet-stream")
    call(address, f"projects/{pid}/edit", {"do": "preset", "how": "1"})
    asked = {"methods": ["tosca"], "settings": {"tosca": {"epochs": 100, "batch": 2}}}
    (rid,) = call(address, f"projects/{pid}/train", asked)["runs"]
    until(lambda: call(address, f"runs/{rid}/events")["events"], 60)

    stop, server = threading.Event(), psutil.Process(process.pid)
    viewers = [Viewer(address, rid, stop) for _ in range(VIEWERS)]
    before, began = server.cpu_times(), time.monotonic()
    for viewer in viewers:
        viewer.start()
    while any(viewer.is_alive() for viewer in viewers) and time.monotonic() - began < WATCHED:
        time.sleep(0.1)
    stop.set()
    for viewer in viewers:
        viewer.join(30)
    seconds, after = time.monotonic() - began, server.cpu_times()
    spent = after.user + after.system - before.user - before.system
    questions = sum(viewer.asked for viewer in viewers)
    facts = {"seconds": round(seconds, 1), "answers": questions, "server_cpu_seconds": round(spent, 2),
             "ms_an_answer": round(1000 * spent / questions, 2), "slowest_answer": round(max(v.slowest for v in viewers), 2),
             "first_event_of_the_last": round(max(v.first or 99 for v in viewers), 2)}  # fmt: skip
    for name, value in facts.items():
        record_property(name, value)
    sys.stdout.write(f"\n{VIEWERS} viewers: {facts}\n")

    assert [viewer.error for viewer in viewers if viewer.error is not None] == []
    assert max(viewer.first for viewer in viewers) <= SOON
    told = call_all(address, rid)
    for viewer in viewers:
        assert viewer.events == told[: len(viewer.events)]
        assert len(viewer.events) > 10
    assert spent < seconds  # the page's process leaves at least one core to the worker
    call(address, f"runs/{rid}/do", {"do": "stop"})


def call_all(address, rid):
    told = []
    while part := call(address, f"runs/{rid}/events?since={len(told)}")["events"]:
        told += part
    return told
