"""A disk that fills up while a run trains: the page says so, and with room again the run ends as if nothing had been."""

import pytest

from forget_me_not.demo.soak.lab import Lab, until
from forget_me_not.demo.soak.mount import full, small_disk
from forget_me_not.demo.words import say

LONG = {"tosca": {"epochs": 60, "batch": 2}}
"""Lasts seconds: long enough for the disk to be full before its end."""


@pytest.mark.slow
def test_the_disk_is_full_while_training_and_the_run_is_resumed(tmp_path):
    with small_disk(tmp_path / "disk") as mounted:
        if not mounted:
            pytest.skip("needs root on Linux to mount a small disk")
        with Lab(tmp_path / "disk") as lab:
            pid = lab.project()
            (undisturbed,) = lab.train(pid, settings=LONG)
            lab.wait(undisturbed, "finished")
            (rid,) = lab.train(pid, settings=LONG)
            until("it trains", lambda: "Step" in lab.kinds(rid))
            with full(lab.home):
                said = lab.wait(rid, "failed", "finished")
                assert (said["status"], said["problem"]["code"]) == ("failed", "disk_full")
                assert "disk is full" in say("en", "problem.disk_full", **said["problem"]["values"]).lower()
                status, body = lab.ask("POST", f"projects/{pid}/photos?name=egg/1.png&class=egg", b"\x89PNG\r\n\x1a\n")
                assert (status, b"disk_full" in body) == (507, True)
                assert lab.get(f"projects/{pid}")["ready"]["ok"]  # what is there can still be read
                assert lab.get("status")["worker"] == "ready"
            assert lab.post(f"runs/{rid}/do", {"do": "resume"})["status"] in ("queued", "running")
            lab.wait(rid, "finished")
            assert lab.matrix(rid) == lab.matrix(undisturbed)
