"""What tests of the starter share: servers of this machine, no outside network, a wheel of full width with made-up weights."""

from __future__ import annotations

import os
import socket
import zipfile
from pathlib import Path

import numpy as np
import pytest
from starter_made import Shelf, onnx_of, wheel_of

from forget_me_not.models import roads, starter
from forget_me_not.models.convert import convert
from forget_me_not.models.roads import Release


@pytest.fixture
def shelf():
    shelf = Shelf()
    yield shelf
    shelf.server.shutdown()
    shelf.server.server_close()


@pytest.fixture
def silent():
    """The address of a server that takes connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture(autouse=True)
def quiet_machine(tmp_path, monkeypatch, request):
    """No index, hub, proxy or cache of the machine reaches a test (those on the real starter share the real cache)."""
    for name in list(os.environ):
        if name.startswith(("PIP_", "UV_", "HF_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    if not request.node.get_closest_marker("starter"):
        monkeypatch.setenv("FORGET_ME_NOT_HOME", str(tmp_path / "home"))


@pytest.fixture
def closed(monkeypatch):
    """No road leads anywhere, and at once."""
    monkeypatch.setattr(roads, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")


@pytest.fixture(scope="session")
def full(tmp_path_factory) -> tuple[Path, Release, tuple[float, ...]]:
    """A wheel of full width with made-up weights, its release, and the numbers its forward gives."""
    pattern = np.sin(np.arange(1 << 20)).round(2) / 10
    wheel, release = wheel_of(tmp_path_factory.mktemp("full"), onnx_of(384, 1536, 14, 1369, lambda s: np.resize(pattern, s)))
    with zipfile.ZipFile(wheel) as opened:
        feature = starter.forward(convert(opened.read(release.member)))
    return wheel, release, tuple(feature[:16].tolist())
