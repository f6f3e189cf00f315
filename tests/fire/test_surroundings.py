"""Clocks that are set back, caches that cannot be written or are shared, and another lab in the same folder."""

import contextlib
import os
import stat

import pytest

from forget_me_not.demo.soak import fuse
from forget_me_not.demo.soak.lab import Lab, until
from forget_me_not.demo.soak.mount import small_disk

pytestmark = [pytest.mark.slow, pytest.mark.alone]
LONG = {"tosca": {"epochs": 15, "batch": 2}}


def finished(lab, pid, **more):
    (rid,) = lab.train(pid, **more)
    lab.wait(rid, "finished")
    return rid


def test_the_clock_goes_back_a_day_while_it_trains(tmp_path):
    with Lab(tmp_path, {fuse.CLOCK: "86400"}) as lab:
        pid = lab.project()
        ahead = finished(lab, pid)
        (rid,) = lab.train(pid, settings=LONG)
        until("it trains", lambda: "Step" in lab.kinds(rid))
        (tmp_path / "back").touch()
        lab.wait(rid, "finished")
        assert lab.get(f"runs/{rid}/events?since=0")["events"][0]["t"] > os.stat(tmp_path / "back").st_mtime + 80_000
        assert finished_late(lab, rid) < os.stat(tmp_path / "back").st_mtime + 80_000
        assert lab.matrix(finished(lab, pid)) == lab.matrix(ahead)
        assert lab.matrix(finished(lab, pid, settings=LONG)) == lab.matrix(rid)
        for run in (ahead, rid):  # whose last status is of tomorrow, and of today
            made = until("its pictures were there", lambda run=run: pictures(lab, run))
            assert made["points"]
        assert lab.get(f"projects/{pid}")["runs"].index(rid) == 1


def finished_late(lab, rid):
    """The time of the last event."""
    told = []
    while part := lab.get(f"runs/{rid}/events?since={len(told)}")["events"]:
        told += part
    return told[-1]["t"]


def pictures(lab, rid):
    made = lab.get(f"runs/{rid}/inside")
    return made if "points" in made else None


@contextlib.contextmanager
def read_only(folder):
    """The folder as a disk that cannot be written, or else without the right to write."""
    with small_disk(folder, 8, read_only=True) as mounted:
        if not mounted:
            folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
        try:
            if os.access(folder, os.W_OK) and not mounted:
                pytest.skip("this user may write everywhere and may not mount")
            yield
        finally:
            if not mounted:
                folder.chmod(stat.S_IRWXU)


def test_a_cache_that_cannot_be_written(tmp_path):
    with read_only(tmp_path / "cache"), Lab(tmp_path) as lab:
        pid = lab.project()
        first = finished(lab, pid)
        assert list((tmp_path / "cache").iterdir()) == []
        lab.kill("worker")
        lab.mend()
        second = finished(lab, pid)
        assert lab.matrix(first) == lab.matrix(second)


def test_two_labs_on_one_cache_and_one_dies(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "cache").mkdir(parents=True)
    (tmp_path / "b" / "cache").symlink_to(tmp_path / "a" / "cache", target_is_directory=True)
    with Lab(tmp_path / "a") as a, Lab(tmp_path / "b") as b:
        pids = [lab.project() for lab in (a, b)]  # the same photos: they write the same rows at the same time
        runs = [lab.train(pid, settings=LONG)[0] for lab, pid in zip((a, b), pids, strict=True)]
        until("b trains", lambda: "Step" in b.kinds(runs[1]))
        b.kill("worker")
        for lab, rid in zip((a, b), runs, strict=True):
            lab.wait(rid, "finished")
        assert a.matrix(runs[0]) == b.matrix(runs[1])


def test_another_worker_takes_over_what_the_first_let_go_of(tmp_path):
    """The second lab opens in the same folder while the first still holds the run, as after a page's death."""
    with Lab(tmp_path) as first:
        pid = first.project()
        quiet = finished(first, pid, settings=LONG)
        (rid,) = first.train(pid, settings=LONG)
        until("it trains", lambda: "Step" in first.kinds(rid))
        first.post(f"runs/{rid}/do", {"do": "pause"})  # it stays the first one's while the second opens
        with Lab(tmp_path) as second:
            first.post(f"runs/{rid}/do", {"do": "resume"})
            first.kill("page", "worker")
            second.wait(rid, "finished")
            assert "Resumed" in second.kinds(rid)
            assert second.matrix(rid) == second.matrix(quiet)
