"""A run on disk: facts, events, states by reference, and many runs."""

import json
import subprocess
import sys
import time

import pytest
import torch
from runs_made import FACTS, STARTED, answers, learn

from forget_me_not.models.events import (
    Encoded,
    Resumed,
    Step,
    Stopped,
    TaskStarted,
)
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder, list_runs


@pytest.fixture
def run(tmp_path):
    return RunFolder.create(tmp_path / "run", FACTS)


def test_facts_come_back_and_a_run_is_never_overwritten(run):
    opened = RunFolder.open(run.path)
    assert opened.facts["settings"] == {"lr": 0.025, "sizes": [1, 2]}
    with pytest.raises(Problem, match="run_exists"):
        RunFolder.create(run.path, FACTS)


def test_same_names_the_first_difference(run):
    assert run.same(FACTS) is None
    assert run.same({**FACTS, "versions": {"torch": "3"}}) is None
    assert run.same({**FACTS, "seed": 1, "method": "joint"}) == "method"
    assert run.same({**FACTS, "settings": {"lr": 0.01, "sizes": (1, 2)}}) == "settings.lr"
    assert run.same({**FACTS, "settings": {"lr": 0.025, "sizes": (1, 2), "new": 1}}) == "settings.new"
    assert run.same({k: v for k, v in FACTS.items() if k != "seed"}) == "seed"
    with pytest.raises(Problem, match="fingerprint_mismatch"):
        run.same({**FACTS, "fingerprint": "f2"})
    assert run.same({**FACTS, "fingerprint": "f2", "seed": 3}) == "seed"
    with pytest.raises(Problem, match="fingerprint_mismatch"):
        run.expect("f2")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"method": "x"}', '{"format": "one"}'])
def test_a_folder_that_is_no_run_is_refused_in_words(tmp_path, content):
    with pytest.raises(Problem, match="run_missing"):
        RunFolder.open(tmp_path)
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(Problem, match="run_broken"):
        RunFolder.open(tmp_path)
    (tmp_path / "run.json").write_text('{"format": 99}')
    with pytest.raises(Problem, match="run_newer"):
        RunFolder.open(tmp_path)


def test_delete_takes_the_run_and_nothing_else(run):
    learn(run, 0, {"w": torch.ones(2)})
    (run.path / "state" / "notes.txt").write_text("mine")
    run.delete()
    assert [p.relative_to(run.path).as_posix() for p in run.path.rglob("*") if p.is_file()] == ["state/notes.txt"]
    again = RunFolder.create(run.path, FACTS)
    assert (again.events(), again.finished()) == ([], 0)


# Events


def test_events_come_back_in_order_with_numbers(run):
    told = [STARTED, TaskStarted(0, "猫と犬", 2), Encoded(0, "train", 1, 2), Step(0, 1, 2, None)]
    assert [run.append(event) for event in told] == [0, 1, 2, 3]
    assert RunFolder.open(run.path).events() == told
    assert [line["n"] for line in run.lines(since=2)] == [2, 3]
    assert RunFolder.open(run.path).append(Stopped(0)) == 4


@pytest.mark.parametrize(
    "torn", [b'{"n": 2, "t": 1', b"\x00\x00\x00\x00", b'{"n": 2, "t": 1}\n', b'{"n": 7, "event": {}}\n', b"\xff\xfe\n[]\n"]
)
def test_a_torn_last_line_is_ignored_and_written_over(run, torn):
    told = [STARTED, TaskStarted(0, "a", 2)]
    for event in told:
        run.append(event)
    with open(run.path / "events.jsonl", "ab") as file:
        file.write(torn)
    opened = RunFolder.open(run.path)
    assert opened.events() == told
    assert opened.append(Resumed(0)) == 2
    assert RunFolder.open(run.path).events() == [*told, Resumed(0)]
    assert [json.loads(line)["n"] for line in (run.path / "events.jsonl").read_text().splitlines()] == [0, 1, 2]


def test_a_second_writer_is_noticed(run):
    run.append(STARTED)
    RunFolder.open(run.path).append(Resumed(0))
    with pytest.raises(Problem, match="run_in_use"):
        run.append(TaskStarted(0, "a", 2))


def test_a_loss_that_diverges_is_recorded_as_unknown(run):
    run.append(Step(0, 1, 2, float("nan")))
    run.append(Step(0, 2, 2, float("inf")))
    assert [event.loss for event in run.events()] == [None, None]


def test_a_clock_that_goes_backwards_is_harmless(run, monkeypatch):
    moments = iter([100.0, 50.0, 7.0])
    monkeypatch.setattr(time, "time", lambda: next(moments))
    for event in (STARTED, TaskStarted(0, "a", 2), Stopped(0)):
        run.append(event)
    assert [(line["n"], line["t"]) for line in run.lines()] == [(0, 100.0), (1, 50.0), (2, 7.0)]


# State by reference


def test_a_state_file_holds_only_what_is_new_or_replaced(run):
    run.append(STARTED)
    a, b, shared = torch.ones(2), torch.arange(3), torch.zeros(1000)
    learn(run, 0, {"a": a, "shared": shared})
    learn(run, 1, {"a": a, "b": b, "shared": shared})
    learn(run, 2, {"b": b + 1, "shared": shared})
    sizes = [(run.path / "state" / f"00{t}.safetensors").stat().st_size for t in range(3)]
    assert sizes[0] > 4000 > 1000 > max(sizes[1:])
    opened = RunFolder.open(run.path)
    assert {k: v.tolist() for k, v in opened.state(1).items()} == {"a": [1, 1], "b": [0, 1, 2], "shared": [0] * 1000}
    assert {k: v.tolist() for k, v in opened.state().items()} == {"b": [1, 2, 3], "shared": [0] * 1000}
    assert opened.answers(2)["photo"].tolist() == [0, 1, 2]


def test_a_resumed_run_goes_on_by_reference(run):
    learn(run, 0, {"shared": torch.zeros(1000)})
    resumed = RunFolder.open(run.path)
    learn(resumed, 1, {**resumed.state(), "new": torch.ones(1)})
    assert (run.path / "state" / "001.safetensors").stat().st_size < 1000
    assert set(RunFolder.open(run.path).state()) == {"shared", "new"}


def test_a_task_learnt_again_in_the_same_process_is_whole_again(run):
    kept, new = torch.zeros(3), torch.ones(3)
    learn(run, 0, {"kept": kept})
    run.save(1, {"kept": kept, "new": new}, answers(1))
    run.append(Resumed(1))
    learn(run, 1, {"kept": kept, "new": new})
    assert {k: v.tolist() for k, v in RunFolder.open(run.path).state().items()} == {"kept": [0, 0, 0], "new": [1, 1, 1]}


def test_tensors_of_any_kind_survive(run):
    base = torch.arange(6.0).view(2, 3)
    state = {
        "view": base[0],
        "other view": base[:, 1],
        "turned": base.t(),
        "scalar": torch.tensor(3),
        "empty": torch.empty(0, 4),
        "half": base.half(),
        "brain": base.bfloat16(),
        "yes": torch.tensor([True, False]),
        "grad": torch.ones(2, requires_grad=True),
    }
    learn(run, 0, state)
    back = RunFolder.open(run.path).state()
    assert all(torch.equal(back[k], v) and back[k].dtype == v.dtype for k, v in state.items())


# Many runs


def test_runs_are_listed_newest_first_and_broken_ones_passed_over(tmp_path, monkeypatch):
    for moment, name in ((20.0, "second"), (10.0, "first"), (30.0, "deep/third")):
        monkeypatch.setattr(time, "time", lambda moment=moment: moment)
        RunFolder.create(tmp_path / name, FACTS)
    for name, content in (("broken", "{"), ("old", '{"format": 1}'), ("odd", '{"format": 1, "created": "x"}')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(content)
    (tmp_path / "folder" / "run.json").mkdir(parents=True)
    assert [run.path.name for run in list_runs(tmp_path)] == ["third", "second", "first", "old", "odd"]
    assert list_runs(tmp_path / "nowhere") == []


def test_facts_and_events_need_no_torch(run):
    run.append(STARTED)
    code = """
import sys
from forget_me_not.models.store import RunFolder
run = RunFolder.open(sys.argv[1])
print(len(run.events()), run.finished(), "torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code, str(run.path)], capture_output=True, text=True)
    assert done.stdout.split() == ["1", "0", "False"], done.stderr
