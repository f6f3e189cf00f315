"""A mistake on the command line is one sentence and exit status 2; nothing is begun."""

from __future__ import annotations

import pytest
from cli_made import TOY, finish, start

from forget_me_not import app
from forget_me_not.demo.cli.data import seeds_of
from forget_me_not.models.problem import Problem


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


def test_photos_that_cannot_be_read_and_folders_that_are_no_method_are_told_in_sentences(here, tmp_path, capsys):
    (tmp_path / "ant").mkdir()
    (tmp_path / "ant" / "list.txt").write_text("no photo")
    assert app.main(["run", "--out", str(tmp_path / "out"), *TOY, "--images", str(tmp_path), "--method", "tosca"]) == 2
    said = capsys.readouterr().err
    assert "files left out: 1. The first: ant/list.txt is not a photo the lab can read (TXT). Use JPEG" in said
    assert "image_type" not in said
    assert app.main(["check", str(tmp_path)]) == 2
    assert f"{tmp_path} is a folder. Give the Python file that holds the method" in capsys.readouterr().err


def test_seeds_are_read_as_written():
    assert seeds_of("1-4") == [1, 2, 3, 4]
    assert seeds_of("5, 1-2,2") == [5, 1, 2]
    for bad in ("", "a", "3-1", "1-", "-1"):
        with pytest.raises(Problem) as problem:
            seeds_of(bad)
        assert problem.value.code == "seeds_bad"
