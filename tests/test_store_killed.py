"""A run after a kill, damage or a full disk: a task counts whole or not at all."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from runs_made import FACTS, STARTED, answers, finished, learn

from forget_me_not.models.events import (
    Evaluated,
    Failed,
    Finished,
    Resumed,
    RunStarted,
    Step,
    Stopped,
    TaskFinished,
    TaskStarted,
)
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder


@pytest.fixture
def run(tmp_path):
    return RunFolder.create(tmp_path / "run", FACTS)


def test_a_task_counts_only_with_its_event_and_its_state(run):
    run.append(STARTED)
    learn(run, 0, {"a": torch.ones(1)})
    assert run.finished() == 1
    run.append(TaskStarted(1, "b", 2))
    run.save(1, {"a": torch.zeros(1)}, answers(1))  # killed between state and event
    opened = RunFolder.open(run.path)
    assert opened.finished() == 1
    assert opened.state()["a"].item() == 1
    opened.append(finished(1))
    assert RunFolder.open(run.path).finished() == 2
    (run.path / "state" / "001.safetensors").unlink()
    assert RunFolder.open(run.path).finished() == 1


@pytest.mark.parametrize(
    "harm", [lambda c: c[:-3], lambda c: c[:-1] + bytes([c[-1] ^ 1]), lambda c: b"", lambda c: bytes(len(c))]
)
def test_a_task_whose_state_is_damaged_does_not_count(run, harm):
    learn(run, 0, {"a": torch.ones(1)})
    learn(run, 1, {"a": torch.full((1,), 2.0)})
    file = run.path / "state" / "001.safetensors"
    file.write_bytes(harm(file.read_bytes()))
    opened = RunFolder.open(run.path)
    assert opened.finished() == 1
    assert opened.state()["a"].item() == 1
    with pytest.raises(Problem, match="run_broken"):
        opened.state(1)


def test_resumed_takes_back_what_was_said(run):
    run.append(STARTED)
    for task in range(3):
        learn(run, task, {"a": torch.full((1,), float(task))})
    run.append(Resumed(1))
    run.append(TaskStarted(1, "b", 2))
    opened = RunFolder.open(run.path)
    assert opened.finished() == 1
    assert [event.task for event in opened.matrix()] == [0]
    told = opened.told()
    assert told[0] == STARTED
    assert {event.task for event in told[1:]} == {0}
    opened.save(1, {"a": torch.full((1,), 9.0)}, answers(1))
    opened.append(Evaluated(1, (0, 2), (2, 2)))
    opened.append(finished(1))
    assert RunFolder.open(run.path).matrix() == [Evaluated(0, (1,), (2,)), Evaluated(1, (0, 2), (2, 2))]
    assert RunFolder.open(run.path).state()["a"].item() == 9
    run = RunFolder.open(run.path)
    run.append(Resumed(0))
    assert (run.told(), run.finished(), run.state()) == ([], 0, {})


def test_stops_failures_and_ends_are_not_part_of_what_goes_on(run):
    run.append(STARTED)
    learn(run, 0, {"a": torch.ones(1)})
    for event in (Stopped(1), Failed(1, "x"), Finished({})):
        run.append(event)
    assert [type(event) for event in run.told()] == [RunStarted, TaskStarted, Step, Evaluated, TaskFinished]


def test_a_kill_at_any_moment_leaves_a_run_that_goes_on(tmp_path):
    """A process saves tasks as fast as it can and is killed again and again; state and events agree after every kill."""
    code = """
import sys, torch
sys.path.insert(0, sys.argv[2])
from runs_made import FACTS, learn
from forget_me_not.models.events import Resumed
from forget_me_not.models.store import RunFolder
path = sys.argv[1]
try:
    run = RunFolder.open(path)
except Exception:
    run = RunFolder.create(path, FACTS)
task = run.finished()
state = run.state()
assert len(state) == task, (len(state), task)
run.append(Resumed(task))
print("ready", flush=True)
while True:
    state[f"m{task:03d}"] = torch.full((3000,), float(task))
    learn(run, task, state)
    task += 1
"""
    args = [sys.executable, "-c", code, str(tmp_path / "run"), str(Path(__file__).parent)]
    before = 0
    for pause in (0.02, 0.051, 0.083):
        process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        time.sleep(pause)
        process.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        process.communicate()
        run = RunFolder.open(tmp_path / "run")
        whole = run.finished()
        assert whole >= before
        assert {k: v[0].item() for k, v in run.state().items()} == {f"m{t:03d}": t for t in range(whole)}
        assert [event.task for event in run.matrix()] == list(range(whole))
        before = whole
    assert before > 0


def test_a_full_disk_is_said_and_costs_only_the_task(tmp_path):
    pytest.importorskip("resource")
    code = """
import resource, sys, torch
sys.path.insert(0, sys.argv[2])
from runs_made import FACTS, STARTED, answers, learn
from forget_me_not.models.events import Stopped
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder
run = RunFolder.create(sys.argv[1], FACTS)
learn(run, 0, {"a": torch.ones(1)})
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
for attempt in (lambda: run.save(1, {"a": torch.ones(10_000)}, answers(1)), lambda: [run.append(STARTED) for _ in range(99)]):
    try:
        attempt()
    except Problem as problem:
        print(problem.code, problem.values["free"] >= 0)
again = RunFolder.open(sys.argv[1])
print(again.finished(), again.state()["a"].tolist(), {p.name for p in again.path.glob("*/.*")})
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
run.append(Stopped(1))
print(RunFolder.open(sys.argv[1]).events()[-1] == Stopped(1))
"""
    args = [sys.executable, "-c", code, str(tmp_path / "run"), str(Path(__file__).parent)]
    done = subprocess.run(args, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["disk_full True", "disk_full True", "1 [1.0] set()", "True"], done.stderr


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Problem, match="run_unwritable"):
        RunFolder.create(tmp_path / "file" / "run", FACTS)
