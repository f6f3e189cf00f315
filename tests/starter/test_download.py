"""The download: it goes on where it stopped, takes only the pinned file, and waits for nobody."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
import time

import pytest
from starter_made import CONTENT

from forget_me_not.models.download import download


@pytest.fixture
def wanted(shelf, tmp_path):
    shelf.files["/f"] = CONTENT
    return f"{shelf.url}/f", tmp_path / "f", hashlib.sha256(CONTENT).hexdigest()


def test_download_tells_its_progress(wanted):
    told = []
    url, target, sha256 = wanted
    assert download(url, target, sha256, lambda *p: told.append(p)).read_bytes() == CONTENT
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [t[0] for t in told] == sorted({t[0] for t in told})
    assert not target.with_name("f.part").exists()


def test_download_survives_a_connection_that_keeps_ending(shelf, wanted):
    shelf.cut = 400_000
    assert download(*wanted).read_bytes() == CONTENT
    assert [r for _, _, r in shelf.asked] == [None] + [f"bytes={n}-" for n in range(400_000, len(CONTENT), 400_000)]


def test_download_starts_over_where_a_server_knows_no_ranges(shelf, wanted):
    url, target, sha256 = wanted
    target.with_name("f.part").write_bytes(CONTENT[:100_000])
    shelf.ranges = False
    assert download(url, target, sha256).read_bytes() == CONTENT


def test_a_server_without_ranges_that_keeps_ending_is_given_up(shelf, wanted):
    shelf.ranges, shelf.cut = False, 400_000
    with pytest.raises(OSError, match="ended early"):
        download(*wanted)
    assert len(shelf.asked) == 3  # one that brought bytes, two that brought none new


@pytest.mark.parametrize("start", [CONTENT, CONTENT + b"more", b"wrong" * 1000], ids=["complete", "longer", "damaged"])
def test_a_part_of_any_kind_ends_as_the_right_file(wanted, start):
    url, target, sha256 = wanted
    target.with_name("f.part").write_bytes(start)
    assert download(url, target, sha256).read_bytes() == CONTENT


def test_another_file_than_the_pinned_one_is_refused(wanted):
    url, target, _ = wanted
    with pytest.raises(OSError, match="another file"):
        download(url, target, "0" * 64)
    assert not target.exists()
    assert not target.with_name("f.part").exists()


def test_a_missing_file_is_asked_for_once(shelf, wanted):
    with pytest.raises(OSError, match="404"):
        download(f"{shelf.url}/nowhere", *wanted[1:])
    assert len(shelf.asked) == 1


def test_a_silent_server_costs_seconds(silent, tmp_path):
    began = time.monotonic()
    with pytest.raises(OSError, match=r"timed out|no answer"):
        download(f"{silent}/f", tmp_path / "f", None, patience=0.4)
    assert time.monotonic() - began < 2


def test_a_server_that_falls_silent_midway_costs_seconds_and_keeps_what_came(shelf, wanted):
    url, target, sha256 = wanted
    shelf.pause = 1.5
    began = time.monotonic()
    with pytest.raises(OSError, match=r"timed out|no answer"):
        download(url, target, sha256, patience=0.3, tries=1)
    assert time.monotonic() - began < 3
    assert CONTENT.startswith(target.with_name("f.part").read_bytes())


def test_a_kill_in_the_middle_continues(shelf, wanted):
    url, target, sha256 = wanted
    part, shelf.pause = target.with_name("f.part"), 0.05
    code = "import sys, pathlib\nfrom forget_me_not.models.download import download\n"
    code += "download(sys.argv[1], pathlib.Path(sys.argv[2]), None)"
    child = subprocess.Popen([sys.executable, "-c", code, url, str(target)])
    deadline = time.monotonic() + 60
    while not (part.exists() and part.stat().st_size > 300_000):
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    child.wait()
    had, shelf.pause = part.stat().st_size, 0.0
    assert 300_000 < had < len(CONTENT)
    assert download(url, target, sha256).read_bytes() == CONTENT
    assert shelf.asked[-1][2] == f"bytes={had}-"
