"""`plasticity` as a person uses it: a table and JSON, going on after Ctrl-C, every stream, and mistakes in one sentence."""

from __future__ import annotations

import json
import signal

import pytest
from cli_made import events_of, finish, start, wait_for

from forget_me_not import app
from forget_me_not.demo.plasticity import costs
from forget_me_not.models.store import RunFolder

ASKED = ("plasticity", "--arm", "fresh", "--arm", "sgd", "--arm", "adam", "--tasks", "3", "--epochs", "4")


def test_a_table_of_the_arms_and_one_json_object_each(here, tmp_path, capsys):
    assert app.main([*ASKED, "--out", str(tmp_path), "--json"]) == 0
    said = capsys.readouterr()
    fresh, sgd, adam = (json.loads(line) for line in said.out.splitlines())
    assert [one["arm"] for one in (fresh, sgd, adam)] == ["fresh", "sgd", "adam"]
    assert all(len(one["accuracy"]) == 3 and one["last_tasks"] == 1 and one["step_ms"] > 0 for one in (fresh, sgd, adam))
    assert sgd["average"] == pytest.approx(sum(sgd["accuracy"]) / 3)
    assert sgd["last"] == sgd["accuracy"][-1]
    assert sgd["fresh_minus"] == pytest.approx(fresh["accuracy"][-1] - sgd["accuracy"][-1])
    assert (fresh["fresh_minus"], adam["fresh"]) == (0.0, "fresh")
    assert "sgd: task 3 of 3" in said.err
    line = next(line for line in said.err.splitlines() if line.startswith("sgd  "))
    assert line.split()[1:4] == [f"{100 * sgd[key]:.1f}" for key in ("average", "last", "fresh_minus")]

    assert app.main([*ASKED, "--out", str(tmp_path), "--json"]) == 0
    again = capsys.readouterr()
    assert again.out == said.out, "finished runs are read back, step times and all"
    assert "sgd is finished already" in again.err
    assert app.main([*ASKED, "--out", str(tmp_path), "--seed", "0", "--tasks", "4"]) == 2
    assert "made with another --tasks (3 there, 4 now)" in capsys.readouterr().err
    assert app.main([*ASKED, "--out", str(tmp_path), "--arm", "sgd", "--tasks", "2", "--fresh"]) == 0
    assert "in %" in capsys.readouterr().out
    assert sum(event["event"] == "TaskFinished" for event in events_of(tmp_path / "sgd-seed0")) == 2


def test_stopped_by_ctrl_c_the_same_command_goes_on_to_the_same_numbers(here, lab_home, tmp_path, capsys):
    asked = ["plasticity", "--arm", "sgd", "--tasks", "4", "--epochs", "40", "--out"]
    process = start(lab_home, *asked, tmp_path / "cut")
    folder = tmp_path / "cut" / "sgd-seed0"
    wait_for(process, lambda: any(event["event"] == "TaskFinished" for event in events_of(folder)))
    process.send_signal(signal.SIGINT)
    code, _, err = finish(process)
    assert (code, "The same command goes on at task" in err) == (130, True)
    done = RunFolder.open(folder).finished()
    assert 1 <= done < 4
    outs = []
    for name in ("cut", "whole"):
        assert app.main([*asked, str(tmp_path / name), "--json"]) == 0
        outs.append(json.loads(capsys.readouterr().out)["accuracy"])
    assert outs[0] == outs[1]
    assert costs(folder) > 0


def test_random_labels_and_groups_of_a_folder(photos, here, tmp_path, capsys):
    labels = ["--stream", "random_labels"]
    groups = ["--stream", "class_groups", "--images", str(photos), "--per-task", "3", "--train-per-class", "4"]
    for more in (labels, groups):
        asked = ["plasticity", "--arm", "sgd", "--tasks", "2", "--epochs", "3", *more, "--json"]
        assert app.main([*asked, "--out", str(tmp_path / more[1])]) == 0
        assert json.loads(capsys.readouterr().out)["stream"] == more[1]
    run = RunFolder.open(tmp_path / "class_groups" / "sgd-seed0")
    assert [len(task["classes"]) for task in run.facts["tasks"]] == [3, 3]
    assert run.facts["study"]["photos"]
    assert len(run.facts["classes"]) == 6


@pytest.mark.parametrize(("arguments", "said"), [
    (["--arm", "arow"], "There is no way of training called 'arow'"),
    (["--stream", "cifar100", "--images", "nowhere"], "CIFAR-100 is not in nowhere; it needs train.bin"),
    (["--stream", "cifar100"], "The stream cifar100 needs its photos: --images PATH."),
    (["--stream", "class_groups", "--images", "nowhere"], "There is no file or folder nowhere."),
    (["--stream", "class_groups", "--images", "PHOTOS", "--per-task", "7"], "A task of 7 classes cannot be made of 6"),
    (["--images", "PHOTOS"], "--images says nothing about the stream permuted_digits"),
    (["--per-task", "2"], "--per-task says nothing about the stream permuted_digits"),
    (["--tasks", "0"], "tasks is 0; it must be 1 or more."), (["--epochs", "0"], "--epochs is 0; it must be 1 or more."),
    (["--stream", "faces"], "--stream"),
])  # fmt: skip
def test_a_mistake_is_one_sentence_and_exit_2(photos, here, tmp_path, capsys, arguments, said):
    arguments = [str(photos) if part == "PHOTOS" else part for part in arguments]
    try:
        code = app.main(["plasticity", "--out", str(tmp_path / "out"), *arguments])
    except SystemExit as ended:  # how argparse ends
        code = ended.code
    err = capsys.readouterr().err
    assert code == 2
    assert said in err.splitlines()[-1], err
    assert not (tmp_path / "out").exists(), "nothing was begun"
