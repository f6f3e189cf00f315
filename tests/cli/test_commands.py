"""The other commands: list, check, cache, doctor, backbone."""

from __future__ import annotations

import re

import pytest
from cli_made import ROOT, TOY

from forget_me_not import app
from forget_me_not.demo.cli.doctor import STARTER, are_a_pair


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
