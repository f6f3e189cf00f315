"""Ctrl-C and a kill in a real process: the same command goes on and ends with the same numbers."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from cli_made import FIELDS, TOY, events_of, finish, start, wait_for

from forget_me_not import app
from forget_me_not.demo.cli.numbers import record
from forget_me_not.models.store import RunFolder

LONG = ("--set", "tosca.epochs=15", "--set", "tosca.batch=1", "--threads", "1")
"""Steps that take long enough to be hit by a signal."""


def call_of(photos: Path, out: Path) -> list[str]:
    """The command that is stopped, killed and repeated below."""
    return ["run", "--images", str(photos), "--per-task", "2", "--method", "tosca", *LONG, *TOY, "--json", "--out", str(out)]


def assert_same_run(mine: Path, theirs: Path) -> None:
    """Numbers and tensors of two runs are equal to the last bit; clocks may differ."""
    a, b = (record(RunFolder.open(path / "tosca-seed0")) for path in (mine, theirs))
    assert a["matrix"] == b["matrix"]
    assert {key: a[key] for key in FIELDS if key != "seconds"} == {key: b[key] for key in FIELDS if key != "seconds"}
    a, b = (RunFolder.open(path / "tosca-seed0").state() for path in (mine, theirs))
    assert a.keys() == b.keys()
    assert all(a[name].equal(b[name]) for name in a)


def test_ctrl_c_finishes_the_step_and_the_same_command_goes_on(photos, here, lab_home, tmp_path):
    assert app.main(call_of(photos, tmp_path / "whole")) == 0
    run = tmp_path / "stopped" / "tosca-seed0"
    process = start(lab_home, *call_of(photos, tmp_path / "stopped"))
    wait_for(process, lambda: any(e["event"] == "Step" and e["task"] == 1 for e in events_of(run)))
    process.send_signal(signal.SIGINT)
    code, out, err = finish(process)
    assert code == 130, err
    assert "goes on at task 2 of 3" in err.splitlines()[-1]
    assert out == ""
    assert events_of(run)[-1] == {"event": "Stopped", "task": 1}
    assert app.main(call_of(photos, tmp_path / "stopped")) == 0
    assert_same_run(tmp_path / "stopped", tmp_path / "whole")


@pytest.mark.slow
def test_killed_at_any_moment_the_same_command_ends_with_the_same_numbers(photos, here, tmp_path):
    assert app.main(call_of(photos, tmp_path / "whole")) == 0
    run = tmp_path / "killed" / "tosca-seed0"
    home, begun = tmp_path / "home", 0  # its own activations: kills hit the encoding too

    def since():  # what is said after the last start
        events = events_of(run)
        starts = [n for n, e in enumerate(events) if e["event"] in ("RunStarted", "Resumed")]
        return events[starts[-1] :] if len(starts) > begun else []

    def first_step(task):
        return any(e["event"] == "Step" and e["task"] == task for e in since())

    def last_step(task):
        return any(e["event"] == "Step" and e["task"] == task and e["step"] == e["steps"] for e in since())

    def saving(task):
        return (run / "answers" / f"{task:03d}.safetensors").exists() or any((run / "answers").glob(".*"))

    for moment, task in ((first_step, 0), (saving, 0), (first_step, 1), (last_step, 1), (saving, 1), (last_step, 2)):
        begun = sum(e["event"] in ("RunStarted", "Resumed") for e in events_of(run))
        process = start(home, *call_of(photos, tmp_path / "killed"))
        wait_for(process, lambda moment=moment, task=task: moment(task))
        process.kill()
        _, err = process.communicate()
        # After the very last step the kill may come too late: then there is nothing left to continue.
        assert process.returncode in (-signal.SIGKILL, 0 if (moment, task) == (last_step, 2) else -signal.SIGKILL), err
    assert app.main(call_of(photos, tmp_path / "killed")) == 0
    assert_same_run(tmp_path / "killed", tmp_path / "whole")
