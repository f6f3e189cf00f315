"""`run` and `show` as a person uses them: other settings, bad photos, seeds, domains, plug-ins; the starter on real photos."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest
from cli_made import COLOURS, FIELDS, ROOT, TOY, finish, make_photos, start
from PIL import Image

from forget_me_not import app


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
    assert err.lstrip().startswith("9 photos of 2 classes")


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
