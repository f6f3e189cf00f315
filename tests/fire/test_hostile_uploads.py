"""Files that mean harm through the real upload route of a real page process: each gets its sentence or is taken safely.

None crashes it, none writes outside the project, and the memory and the seconds of each have a bound.
"""

import contextlib
import importlib.util
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import psutil
import pytest

from forget_me_not.demo.words import fill, words


def beside(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = sys.modules.setdefault(name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


pytestmark = pytest.mark.slow
ZIPS, IMAGES = beside("hostile_zips").ZIPS, beside("hostile_images").IMAGES
MEMORY, SECONDS = 1200 * 2**20, 10
"""Bytes and seconds of its processor the page may take for one upload. A photo may have 80 megapixels, four bytes each, and is
held upright, over white, and as it was."""
SERVER = """
import sys, uvicorn
from pathlib import Path
from forget_me_not.demo.client import Client
from forget_me_not.demo.server import application, listen
from forget_me_not.demo.session import Session
home, listener = Path(sys.argv[1]), listen("127.0.0.1", 0)
app = application(Session(home, Client(home)), page=False)
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
"""


class Page:
    """The page process without its worker: uploads need none."""

    def __init__(self, home):
        self.home = home
        with open(home.parent / "log", "wb") as log:
            self.process = subprocess.Popen([sys.executable, "-c", SERVER, str(home)], stdout=subprocess.PIPE, stderr=log)
        self.address = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def post(self, path, data):
        try:
            answer = urllib.request.urlopen(urllib.request.Request(self.address + path, data, method="POST"), timeout=120)
            return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def get(self, path):
        return json.load(urllib.request.urlopen(self.address + path, timeout=60))

    def upload(self, pid, name, data):
        return self.post(f"/projects/{pid}/photos?{urllib.parse.urlencode({'name': name})}", data)

    def forget_peak(self):
        """Starts to measure memory anew, where the system can."""
        with contextlib.suppress(OSError):
            Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def seconds(self):
        """Seconds of the processor it has had."""
        return sum(psutil.Process(self.process.pid).cpu_times()[:2])

    def peak(self):
        """The most bytes it has held since."""
        try:
            lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
        except OSError:
            return psutil.Process(self.process.pid).memory_info().rss


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    home = tmp_path_factory.mktemp("hostile") / "data"
    home.mkdir()
    page = Page(home)
    yield page
    page.process.terminate()
    page.process.wait(20)
    page.process.stdout.close()
    assert b"Traceback" not in (home.parent / "log").read_bytes()


def judged(page, name, data, allowed):
    """Uploads into a project of its own and looks at everything it may have done; the project."""
    pid = page.post("/projects", b"")[1]["id"]
    outside = sorted(page.home.parent.rglob("*"))
    page.forget_peak()
    before = page.seconds()
    status, said = page.upload(pid, name, data)
    assert page.seconds() - before < SECONDS
    assert page.peak() < MEMORY
    assert status == 200, said
    codes = {one["code"] for one in said["skipped"]} | ({"added"} if said["added"] else set())
    assert codes & allowed, codes
    assert codes <= allowed | {"added"}, codes
    for one in said["skipped"]:
        for language in ("en", "ja"):
            text = words(language).get(f"problem.{one['code']}")
            assert text, one["code"]
            assert "{" not in fill(text, {"name": "x", **one["values"]}), text
    folder = page.home / "projects" / pid
    new = [path for path in page.home.parent.rglob("*") if path not in outside and path.is_file()]
    for path in new:
        assert path.is_relative_to(folder), path
        assert path.parent.name in ("photos", "thumbs"), path
        assert len(path.stem) == 64, path
    assert not list((page.home / "incoming").iterdir())
    project = page.get(f"/projects/{pid}")
    assert project["counts"]["photos"] == said["added"]
    for shown in [c["name"] for c in project["classes"]]:
        assert 0 < len(shown) <= 60
        assert not any(ord(c) < 32 or c in "\u202e\u200b\0" for c in shown)
    kept = json.loads((folder / "project.json").read_bytes())
    assert all(len(photo["name"]) <= 400 for photo in kept["photos"])  # or no .fmn of it could be read
    assert all(len(one["name"]) <= 400 for one in said["skipped"])
    return project


@pytest.mark.parametrize("name", ZIPS)
def test_zips(page, name):
    build, allowed = ZIPS[name]
    judged(page, "upload.zip", build(), allowed)


@pytest.mark.parametrize("name", IMAGES)
def test_single_files(page, name):
    build, called, allowed = IMAGES[name]
    project = judged(page, "cat/" + called, build(), allowed)
    for sha in (sha for c in project["classes"] for sha in c["photos"]):  # what we serve is ours, whatever came in
        answer = urllib.request.urlopen(f"{page.address}/projects/{project['id']}/photos/{sha}", timeout=60)
        assert answer.headers["content-type"] == "image/webp"
        assert answer.read(4) == b"RIFF"


def test_there_are_sixty_and_more():
    assert len(ZIPS) + len(IMAGES) >= 60


@pytest.mark.parametrize(("head", "body"), [
    ("Content-Length: 10", b"x" * 5), ("Content-Length: -5", b"x"), ("Content-Length: 99999999999999999999", b"x" * 100),
    ("Transfer-Encoding: chunked", b"zz\r\nhello\r\n"), ("Content-Length: 5\r\nContent-Length: 6", b"hello!"),
])  # fmt: skip
def test_requests_that_lie_about_their_length_leave_nothing(page, head, body):
    pid = page.post("/projects", b"")[1]["id"]
    with socket.create_connection(("127.0.0.1", int(page.address.rsplit(":", 1)[1])), timeout=5) as line:
        line.sendall(f"POST /projects/{pid}/photos?name=a/1.png HTTP/1.1\r\nHost: x\r\n{head}\r\n\r\n".encode() + body)
        line.shutdown(socket.SHUT_WR)
        with contextlib.suppress(TimeoutError):
            answer = line.recv(200)
            assert b" 500 " not in answer.split(b"\r\n")[0]
    end = time.monotonic() + 20
    while list((page.home / "incoming").iterdir()):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert page.get(f"/projects/{pid}")["counts"]["photos"] == 0
