"""A lab as a person has it: a server process of its own, its worker, and headless Chromium in front of it.

Every page collects what the browser reports as an error and every request to another host; both must stay empty.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import photos_made
import psutil
import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("FMN_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), "")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = float(os.environ.get("FMN_PATIENCE", "180"))
"""Seconds a shared machine may take for what a quiet one does in one or two."""


def until(true: Callable[[], Any], what: str, seconds: float = PATIENCE, every: float = 0.1) -> Any:
    """The value of `true()` once it is true; the test fails with `what` where that never happens."""
    end = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
        time.sleep(every)
    return value


class Lab:
    """One server process at a port of its own. home: its FORGET_ME_NOT_HOME; options: more of its command line."""

    def __init__(self, home: Path, backbone: str, port: int | None = None, options: Sequence[str] = ()):
        self.home, self.backbone, self.port, self.options = home, backbone, port or free_port(), options
        self.address = f"http://127.0.0.1:{self.port}/"
        self.process: subprocess.Popen | None = None

    until = staticmethod(until)

    def start(self) -> None:
        """Opens the lab and waits until its backbone is there."""
        command = [sys.executable, str(ROOT / "app.py"), "--no-browser", "--port", str(self.port), "--backbone", self.backbone,
                   *self.options]  # fmt: skip
        environment = {**os.environ, "FORGET_ME_NOT_HOME": str(self.home)}
        self.process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        said = self.process.stdout.readline()
        assert self.address.removeprefix("http://127.0.0.1").rstrip("/") in said, said
        until(lambda: self.get("status")["backbone"]["state"] == "ready", "the backbone is ready")

    def stop(self) -> None:
        """Closes the lab as Ctrl-C does, its worker with it."""
        if self.process is not None and self.process.poll() is None:
            worker = self.worker
            self.process.terminate()
            self.process.wait(60)
            if worker is not None:
                worker.wait(60)

    @property
    def worker(self) -> psutil.Process | None:
        """The process that trains."""
        children = psutil.Process(self.process.pid).children()
        return next((child for child in children if "forget_me_not.demo.worker" in child.cmdline()), None)

    def get(self, path: str) -> Any:
        """What a route answers, as the page sees it."""
        with urllib.request.urlopen(self.address + path, timeout=60) as answer:
            return json.load(answer)


    def finished(self, rid: str) -> int:
        """How many tasks a run has finished."""
        events: list[dict[str, Any]] = []
        while part := self.get(f"runs/{rid}/events?since={len(events)}")["events"]:
            events += part
        return len({line["event"]["task"] for line in events if line["event"]["event"] == "TaskFinished"})


class Tab:
    """A browser tab on a lab, with the words and numbers a person would look for."""

    def __init__(self, lab: Lab, page: Any):
        self.lab, self.page = lab, page
        self.errors: list[str] = []
        self.outside: list[str] = []
        self.forgiven = re.compile(r"(?!)")
        page.set_default_timeout(PATIENCE * 1000)
        page.on("console", lambda said: said.type == "error" and self.errors.append(f"{said.text} ({said.location.get('url')})"))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._asked)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.lab.address, "data:", "blob:")):
            self.outside.append(request.url)

    def open(self, query: str = "", tab: str = "") -> Tab:
        """The page, when its views have been drawn."""
        self.page.goto(f"{self.lab.address}{query}{'#' + tab if tab else ''}")
        self.page.wait_for_selector("#view-header .bar")
        return self

    def go(self, tab: str) -> None:
        """Brings a tab of the page to the front."""
        self.page.locator(f"#story [role=tab][data-tab-id={tab}]:visible").first.click()
        self.page.locator(f"#view-{tab} .view > :visible").first.wait_for()

    def upload(self, *files: Path, button: str = "#view-data [data-do=files]") -> None:
        """Gives files to a button, and waits until all have arrived."""
        with self.page.expect_file_chooser() as chooser:
            self.page.locator(f"{button}:visible").first.click()
        chooser.value.set_files([str(file) for file in files])
        self.page.wait_for_selector("#view-data .uploading", state="hidden")
        self.page.wait_for_selector("#view-data article.class")

    def project(self) -> dict[str, Any]:
        """The project this browser is in, as the server holds it."""
        return self.lab.get("projects/" + self.page.evaluate("localStorage.getItem('fmn.project')"))

    def text(self, selector: str) -> str:
        """What is to be read at a place."""
        return " ".join(self.page.locator(selector).first.inner_text().split())

    def reads(self, selector: str, words: str, seconds: float = PATIENCE) -> None:
        """Waits until `words` can be read at a place."""
        place = self.page.locator(selector)
        said = lambda: [" ".join(one.split()) for one in place.all_inner_texts()]  # noqa: E731
        until(lambda: any(words in one for one in said()), f"{selector} says {words!r}", seconds)

    def sees(self, what: str, seconds: float = PATIENCE) -> None:
        """Waits until an expression is true in the page."""
        self.page.wait_for_function(what, timeout=seconds * 1000)

    def barriers(self, theme: str = "") -> list[str]:
        """What axe-core finds serious or critical in the page as it stands, but for Gradio's own (tests/axe_known.json)."""
        axe = pytest.importorskip("axe_playwright_python.base")
        if theme:
            self.page.evaluate("dark => document.body.classList.toggle('dark', dark)", theme == "dark")
            self.page.wait_for_timeout(300)  # colours glide
        self.page.evaluate(axe.AXE_SCRIPT)
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(said => said.violations)")
        known = json.loads((ROOT / "tests" / "axe_known.json").read_text())
        told = []
        for rule, node in ((one["id"], node) for one in found for node in one["nodes"]):
            place = " ".join(map(str, node["target"]))
            gradios = any(one["rule"] == rule and one["selector"] in place for one in known)
            if node["impact"] in ("serious", "critical") and not gradios:
                told.append(f"{rule}: {place} {' '.join(node['failureSummary'].split())[:240]}")
        return told

    def clean(self) -> None:
        """Nothing went wrong in the browser, and nobody else was asked for anything."""
        assert [error for error in self.errors if not self.forgiven.search(error)] == []
        assert self.outside == []


def free_port() -> int:
    """A port of the loopback nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="session")
def made() -> Any:
    """The photos tests make (tests/photos_made.py)."""
    return photos_made


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium; tests are skipped where there is none."""
    api = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM:
        pytest.skip("no Chromium on this machine")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def lab(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab with a random backbone, one for all tests of a file: every browser context has a project of its own."""
    lab = Lab(tmp_path_factory.mktemp("lab"), "random")
    try:
        lab.start()
        yield lab
    finally:
        lab.stop()


@pytest.fixture(scope="module")
def class_lab(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab with a random backbone that a class may follow, on the loopback."""
    lab = Lab(tmp_path_factory.mktemp("class"), "random", options=("--classroom", "--host", "127.0.0.1"))
    try:
        lab.start()
        yield lab
    finally:
        lab.stop()


@pytest.fixture(scope="module")
def starter_lab(browser: Any, lab_home: Path) -> Iterator[Lab]:
    """A lab with the starter backbone."""
    lab = Lab(lab_home, "starter")
    try:
        lab.start()
        yield lab
    finally:
        lab.stop()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Tab]]:
    """opened(lab, …) gives a new person's tab; opened(lab, beside=tab) a second tab of the same person."""
    contexts, tabs = [], []

    def new(lab: Lab, beside: Tab | None = None, **context: Any) -> Tab:
        if beside is None:
            contexts.append(browser.new_context(**{"viewport": {"width": 1440, "height": 900}, "locale": "en-GB", **context}))
        tabs.append(Tab(lab, (beside.page.context if beside else contexts[-1]).new_page()))
        return tabs[-1]

    yield new
    if os.environ.get("FMN_SHOTS"):  # what a person would have seen at the end, for eyes
        for number, tab in enumerate(tabs):
            name = re.sub(r"\W+", "_", os.environ.get("PYTEST_CURRENT_TEST", "test").split("::")[-1].split(" ")[0])
            tab.page.screenshot(path=Path(os.environ["FMN_SHOTS"]) / f"{name}_{number}.png")
    for context in contexts:
        context.close()
    for tab in tabs:
        tab.clean()
