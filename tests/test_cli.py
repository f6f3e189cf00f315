"""The command line as a person uses it: real processes, real files, real signals."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from forget_me_not import app
from forget_me_not.demo.cli.data import seeds_of
from forget_me_not.demo.cli.doctor import STARTER, are_a_pair
from forget_me_not.demo.cli.numbers import record
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder

ROOT = Path(__file__).resolve().parent.parent
COLOURS = {"ant": "firebrick", "bee": "gold", "cat": "seagreen", "dog": "royalblue", "eel": "purple", "fox": "orange"}
FIELDS = [
    "method", "seed", "classes", "matrix", "last_accuracy", "last_accuracy_tasks", "average_accuracy", "forgetting", "bwt",
    "learning_accuracy", "routing_accuracy", "accuracy_right", "accuracy_wrong", "oracle_accuracy", "batch_vote_accuracy",
    "zeros", "displacement", "parameters", "parameters_per_task", "bytes_per_task", "seconds", "settings", "versions",
]  # fmt: skip
TOY = ("--backbone", "random", "--size", "56")


def make_photos(folder: Path, classes: list[str], count: int) -> Path:
    """A folder of class folders; the photos of a class have its colour and no two the same shapes."""
    for number, name in enumerate(classes):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            image = Image.new("RGB", (64, 56), COLOURS[name])
            draw = ImageDraw.Draw(image)
            for k in range(7):
                x, y = (37 * i + 19 * k * (i + 1) + 7 * number) % 60, (53 * k + 29 * i * (k + 1)) % 50
                size = (6 + (11 * i + 5 * k) % 30, 6 + (7 * i + 13 * k) % 25)
                draw.ellipse((x, y, x + size[0], y + size[1]), fill=(40 * k % 256, 23 * i % 256, 90))
            image.save(folder / name / f"{i}.png")
    return folder


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("photos"), list(COLOURS), 8)


@pytest.fixture
def here(lab_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands called in this process keep their things in the session's own folder."""
    monkeypatch.setenv("FORGET_ME_NOT_HOME", str(lab_home))


def start(home: Path, *arguments: object) -> subprocess.Popen:
    """`python app.py …` as a process."""
    environment = {**os.environ, "FORGET_ME_NOT_HOME": str(home), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(ROOT / "app.py"), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", env=environment)


def finish(process: subprocess.Popen) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    out, err = process.communicate(timeout=240)
    return process.returncode, out, err


def events_of(folder: Path) -> list[dict]:
    """The whole lines of a run's events.jsonl so far."""
    file = folder / "events.jsonl"
    lines = file.read_text("utf-8").split("\n")[:-1] if file.exists() else []
    return [json.loads(line)["event"] for line in lines]


def wait_for(process: subprocess.Popen, seen) -> None:
    """Returns as soon as seen() is true; fails where the process ends before."""
    end = time.monotonic() + 120
    while not seen():
        assert process.poll() is None, f"ended before: {process.communicate()}"
        assert time.monotonic() < end
        time.sleep(0.001)


def test_run_prints_the_matrix_and_one_json_object_a_run(photos, lab_home, tmp_path):
    call = (
        "run",
        "--images",
        photos,
        "--per-task",
        2,
        "--method",
        "tosca",
        "--method",
        "simplecil",
        *TOY,
        "--out",
        tmp_path,
        "--json",
    )
    code, out, err = finish(start(lab_home, *call))
    assert code == 0, err
    tosca, simplecil = (json.loads(line) for line in out.splitlines()[-2:])
    assert list(tosca) == FIELDS
    assert list(simplecil) == FIELDS
    assert (tosca["method"], simplecil["method"], tosca["seed"]) == ("tosca", "simplecil", 0)
    assert sorted(name for task in tosca["classes"] for name in task) == sorted(COLOURS)
    assert [len(task) for task in tosca["classes"]] == [2, 2, 2]
    assert [[value is None for value in row] for row in tosca["matrix"]] == [
        [False, True, True],
        [False, False, True],
        [False] * 3,
    ]
    assert tosca["settings"]["sparsity"] == 0.02
    assert set(tosca["seconds"]) == {"encode", "train", "evaluate"}
    assert tosca["versions"]["torch"]
    assert tosca["routing_accuracy"] is not None
    assert all(simplecil[key] is None for key in ("routing_accuracy", "oracle_accuracy", "batch_vote_accuracy", "zeros"))
    assert "Accuracy in % after each task" in err
    assert re.search(r"tosca\s+1\s+[\d.]+", err)
    assert "Traceback" not in err

    code, again, err = finish(start(lab_home, *call))
    assert (code, again) == (0, out), "a finished run is read back, seconds and all"
    assert "finished already" in err


def test_show_needs_no_torch_and_shows_what_run_showed(photos, lab_home, here, tmp_path, capsys):
    assert app.main(["run", "--images", str(photos), "--task", "ant,bee", "--task", "cat", "--method", "simplecil", *TOY,
                     "--out", str(tmp_path / "runs")]) == 0  # fmt: skip
    printed = capsys.readouterr().out
    code = "import sys; from forget_me_not import app; app.main(['show', sys.argv[1]]); assert 'torch' not in sys.modules"
    shown = subprocess.run([sys.executable, "-c", code, str(tmp_path / "runs")], capture_output=True, text=True, check=True)
    assert shown.stdout == printed
    matrix = re.findall(r"^(\d) (ant, bee|cat) .*?([\d.]+)$", printed, re.M)
    assert [(number, name) for number, name, _ in matrix] == [("1", "ant, bee"), ("2", "cat")]


def test_other_settings_are_refused_by_name_and_fresh_starts_over(photos, here, tmp_path, capsys):
    call = [
        "run",
        "--images",
        str(photos),
        "--per-task",
        "3",
        "--method",
        "tosca",
        "--set",
        "tosca.epochs=2",
        *TOY,
        "--out",
        str(tmp_path),
    ]
    assert app.main(call) == 0
    first = (tmp_path / "tosca-seed0" / "events.jsonl").read_bytes()
    capsys.readouterr()
    for other, named in (
        (["--set", "tosca.lr=0.01"], "settings.lr (0.025 there, 0.01 now)"),
        (["--train-per-class", "3"], "--train-per-class (not given there, 3 now)"),
        (["--size", "42"], "--size (56 there, 42 now)"),
    ):
        assert app.main([*call, *other]) == 2
        assert named in capsys.readouterr().err.splitlines()[-1]
    assert (tmp_path / "tosca-seed0" / "events.jsonl").read_bytes() == first
    assert app.main([*call, "--set", "tosca.lr=0.01", "--fresh"]) == 0
    assert json.loads((tmp_path / "tosca-seed0" / "run.json").read_text())["settings"]["lr"] == 0.01
    assert app.main([*call, "--set", "tosca.lr=0.01"]) == 0


def test_other_photos_are_refused(photos, here, tmp_path, capsys):
    call = ["--method", "simplecil", "--task", "ant", "--task", "bee", *TOY, "--out", str(tmp_path / "runs")]
    mine = make_photos(tmp_path / "mine", ["ant", "bee"], 5)
    assert app.main(["run", "--images", str(mine), *call]) == 0
    Image.new("RGB", (64, 56), "white").save(mine / "bee" / "4.png")
    assert app.main(["run", "--images", str(mine), *call]) == 2
    assert "made with other photos" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--images", "nowhere", "--method", "tosca"], "There is no file or folder nowhere."),
        (["--images", "PHOTOS", "--method", "toska"], "There is no method 'toska'"),
        (["--images", "PHOTOS", "--method", "tosca", "--task", "ant,bea"], "There is no class 'bea'. Did you mean: bee"),
        (["--images", "PHOTOS", "--method", "tosca", "--task", "ant", "--per-task", "2"], "choose one of the two"),
        (["--images", "PHOTOS", "--method", "tosca", "--domains"], "DOMAIN"),
        (["--images", "PHOTOS", "--method", "tosca", "--set", "tosca.lr=fast"], "The setting lr is 'fast'"),
        (["--images", "PHOTOS", "--method", "tosca", "--set", "tosca.speed=1"], "tosca has no setting 'speed'"),
        (["--images", "PHOTOS", "--method", "tosca", "--set", "tosca.preset=best"], "tosca has no preset 'best'"),
        (["--images", "PHOTOS", "--method", "tosca", "--set", "joint.lr=1"], "'joint.lr=1' sets a method this run does not use"),
        (["--images", "PHOTOS", "--method", "tosca", "--set", "lr"], "'lr' is no setting"),
        (["--images", "PHOTOS", "--method", "tosca", "--method", "tosca"], "named twice"),
        (["--images", "PHOTOS", "--method", "tosca", "--seeds", "9-1"], "'9-1' names no seeds"),
        (["--images", "PHOTOS", "--method", "tosca", "--size", "50"], "Photos of 50 pixels do not fit"),
        (["--images", "PHOTOS", "--method", "tosca", "--plugin", "missing.py"], "There is no file"),
        (["--images", "PHOTOS", "--method", "tosca", "--backbone", "resnet"], "There is no backbone 'resnet'"),
        (["--images", "PHOTOS"], "--method"),
        (["--images", "PHOTOS", "--method", "tosca", "--seed", "x"], "--seed"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_2(photos, here, tmp_path, capsys, arguments, said):
    arguments = [str(photos) if part == "PHOTOS" else part for part in arguments]
    toy = () if "resnet" in arguments else TOY[:2] if "--size" in arguments else TOY
    try:
        code = app.main(["run", "--out", str(tmp_path / "out"), *toy, *arguments])
    except SystemExit as ended:  # how argparse ends
        code = ended.code
    err = capsys.readouterr().err
    assert code == 2
    assert said in err.splitlines()[-1].replace("DOMAIN/CLASS", "DOMAIN"), err
    assert "Traceback" not in err
    assert not (tmp_path / "out").exists(), "nothing was begun"


def test_mistakes_end_a_real_process_the_same_way(lab_home):
    code, out, err = finish(start(lab_home, "show", "nowhere"))
    assert (code, out, err) == (2, "", "There are no runs in nowhere.\n")
    code, out, err = finish(start(lab_home, "learn"))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1


def test_bad_photos_and_copies_are_named_and_the_rest_is_learnt(here, tmp_path, capsys):
    mine = make_photos(tmp_path / "mine", ["ant", "bee"], 5)
    (mine / "ant" / "broken.jpg").write_bytes((mine / "ant" / "0.png").read_bytes()[:300])
    (mine / "bee" / "notes.txt").write_text("not a photo")
    (mine / "bee" / "ant.png").write_bytes((mine / "ant" / "1.png").read_bytes())
    assert (
        app.main(["run", "--images", str(mine), "--per-task", "1", "--method", "simplecil", *TOY, "--out", str(tmp_path / "out")])
        == 0
    )
    err = capsys.readouterr().err
    assert "broken.jpg" in err
    assert re.search(r"ant/1\.png, bee/ant\.png left out: the same file lies in ant, bee", err)
    assert err.startswith("9 photos of 2 classes")


def test_several_seeds_end_in_a_summary(photos, here, tmp_path, capsys):
    assert app.main(["run", "--images", str(photos), "--per-task", "3", "--method", "simplecil", "--method", "linear_probe", *TOY,
                     "--seeds", "1-3", "--out", str(tmp_path)]) == 0  # fmt: skip
    out = capsys.readouterr().out
    head, *rows = [line.split() for line in out.splitlines() if re.match(r"(in %|simplecil {2}|linear_probe {2})", line)]
    assert head[:7] == ["in", "%", "seeds", "last", "sd", "min", "max"]
    assert [row[:2] for row in rows] == [["simplecil", "3"], ["linear_probe", "3"]]
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{m}-seed{s}" for m in ("simplecil", "linear_probe") for s in (1, 2, 3)
    }


def test_domains_come_from_the_folders_above_the_classes(here, tmp_path, capsys):
    for style in ("photo", "sketch"):
        make_photos(tmp_path / "all" / style, ["ant", "bee"] if style == "photo" else ["bee", "ant"], 6)
        for file in (tmp_path / "all" / style).rglob("*.png"):
            if style == "sketch":
                Image.open(file).convert("L").rotate(90).save(file)
    assert app.main(["run", "--images", str(tmp_path / "all"), "--domains", "--method", "simplecil", *TOY, "--json",
                     "--out", str(tmp_path / "out")]) == 0  # fmt: skip
    got = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert got["classes"] == [["ant", "bee"], ["ant", "bee"]]


def test_a_plugin_is_run_and_not_continued_with_other_code(photos, here, tmp_path, capsys):
    text = (ROOT / "models" / "methods" / "simplecil.py").read_text("utf-8").replace('"simplecil"', '"mine_one"')
    (tmp_path / "mine.py").write_text(text, "utf-8")
    call = ["run", "--images", str(photos), "--per-task", "3", "--method", "mine_one", *TOY, "--out", str(tmp_path / "out")]
    call += ["--plugin", str(tmp_path / "mine.py")]
    assert app.main(call) == 0
    (tmp_path / "mine.py").write_text(text + "\n# changed\n", "utf-8")
    assert app.main(call) == 2
    assert "made with other code of the method" in capsys.readouterr().err.splitlines()[-1]


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


def test_list_names_every_method(capsys):
    from forget_me_not.models.registry import cards

    assert app.main(["list", "--names"]) == 0
    assert capsys.readouterr().out.split() == sorted(cards())
    assert app.main(["list"]) == 0
    out = capsys.readouterr().out
    for card in cards().values():
        assert card.title in out
        assert card.line in out
        for setting in card.settings:
            assert re.search(rf"^    {setting.name} ", out, re.M)


def test_check_tells_a_method_that_keeps_the_rules_from_one_that_does_not(here, tmp_path, capsys):
    text = (ROOT / "models" / "methods" / "simplecil.py").read_text("utf-8")
    (tmp_path / "good.py").write_text(text.replace('"simplecil"', '"good_one"'), "utf-8")
    assert app.main(["check", str(tmp_path / "good.py")]) == 0
    assert "!!" not in capsys.readouterr().out
    bad = text.replace('"simplecil"', '"bad_one"').replace("batch.cls, 1.0)", "batch.cls - batch.cls.mean(0), 1.0)")
    (tmp_path / "bad.py").write_text(bad, "utf-8")
    assert app.main(["check", str(tmp_path / "bad.py")]) == 1
    assert "!!  answers ignore the photos beside" in capsys.readouterr().out


def test_cache_shows_and_gives_room_back(photos, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("FORGET_ME_NOT_HOME", str(tmp_path / "home"))
    assert app.main(["run", "--images", str(photos), "--method", "simplecil", *TOY, "--out", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    assert app.main(["cache", "show"]) == 0
    assert re.search(r"random_\S+ +56 +\[CLS\] +48 ", capsys.readouterr().out)
    assert app.main(["cache", "clear"]) == 0
    assert not list((tmp_path / "home/cache/activations").rglob("*.safetensors"))


def test_doctor_reports_and_names_the_way_out(here, lab_home, monkeypatch, capsys):
    from forget_me_not.demo.cli import doctor

    monkeypatch.setattr(doctor, "_VISION", "raise RuntimeError('operator torchvision::nms does not exist')")
    monkeypatch.setattr(doctor, "ROOM", 2**80)
    assert app.main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"ok  packages .*torch \d", out)
    assert re.search(r"ok  threads +torch uses \d+ threads on \d+ cores", out)
    assert str(lab_home) in out
    assert re.search(r"!!  torchvision .*nms does not exist\n +-> pip install --upgrade torch torchvision", out)
    assert re.search(r"!!  cache .*\n +-> Make room", out)


def test_pairs_of_torch_and_torchvision():
    assert are_a_pair("2.14.1+cpu", "0.29.1+cpu")
    assert are_a_pair("2.6.0", "0.21.0")
    assert not are_a_pair("2.13.0", "0.29.1")
    assert not are_a_pair("2.14.1", "0.21.0")


def test_the_doctor_names_the_pinned_wheel():
    from forget_me_not.models.roads import STARTER as PINNED

    assert PINNED.requirement == STARTER


def test_seeds_are_read_as_written():
    assert seeds_of("1-4") == [1, 2, 3, 4]
    assert seeds_of("5, 1-2,2") == [5, 1, 2]
    for bad in ("", "a", "3-1", "1-", "-1"):
        with pytest.raises(Problem) as problem:
            seeds_of(bad)
        assert problem.value.code == "seeds_bad"


@pytest.mark.photos
@pytest.mark.starter
def test_the_starter_learns_from_real_photos_end_to_end(real_photos, here, tmp_path, capsys):
    for name in ("butterfly", "accordion", "chair", "ferry"):
        (tmp_path / "four" / name).mkdir(parents=True)
        for file in sorted((real_photos / "caltech24" / name).iterdir())[:15]:
            shutil.copy(file, tmp_path / "four" / name)
    assert app.main(["run", "--images", str(tmp_path / "four"), "--per-task", "2", "--method", "tosca", "--json",
                     "--out", str(tmp_path / "runs")]) == 0  # fmt: skip
    got = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert got["last_accuracy"] >= 0.85
    assert got["displacement"] > 0.05


@pytest.mark.starter
def test_backbones_are_listed_and_the_starter_is_here(here, capsys):
    assert app.main(["backbone", "list"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^starter +here ", out, re.M)
    assert re.search(r"^vit_b +\S", out, re.M)


@pytest.mark.photos
@pytest.mark.starter
@pytest.mark.slow
def test_the_neck_in_assets_is_made_from_the_generic_photos(real_photos, here, tmp_path):
    from safetensors.torch import load_file

    assert (
        app.main(["backbone", "neck", "--images", str(real_photos / "generic"), "--out", str(tmp_path / "neck.safetensors")]) == 0
    )
    made, shipped = load_file(tmp_path / "neck.safetensors"), load_file(ROOT / "assets" / "neck_starter.safetensors")
    for name in ("weight", "bias"):
        assert (made[name] - shipped[name]).norm() / shipped[name].norm() <= 1e-3
