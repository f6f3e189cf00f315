"""The papers' backbones from a hub: served once by a stand-in on this machine, kept, and refused in seconds by a silent one."""

import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import timm
import torch
from safetensors.torch import save

from forget_me_not.models import hub
from forget_me_not.models.backbone import create
from forget_me_not.models.core import Problem

PATH = "/timm/vit_tiny_patch16_224.augreg_in21k/resolve/main/model.safetensors"


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """No cache of this machine helps, and nothing is left on it."""
    monkeypatch.setenv("FORGET_ME_NOT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    for name in ("HF_HUB_OFFLINE", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def serve(monkeypatch):
    """serve(files) is a hub with these files, by path; it lists what it was asked."""
    servers = []

    def start(files):
        asked = []

        class Answer(BaseHTTPRequestHandler):
            def do_HEAD(self):
                asked.append((self.command, self.path))
                content = files.get(self.path)
                self.send_response(200 if content else 404)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                if content and self.command == "GET":
                    self.wfile.write(content)

            do_GET = do_HEAD  # noqa: N815

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        return asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_published_backbone_is_fetched_once_and_is_timms(serve):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        published = timm.create_model("vit_tiny_patch16_224", num_classes=7).eval()
    asked = serve({PATH: save(published.state_dict())})
    told = []
    vit = create("vit_ti", size=224, device="cpu", progress=lambda done, total: told.append(done))
    assert ("GET", PATH) in asked
    assert told
    x = torch.randn(1, 3, 224, 224)
    with torch.no_grad():
        theirs = published.forward_head(published.forward_features(x), pre_logits=True)
        assert float((vit.encode(x) - theirs).norm() / theirs.norm()) < 1e-5
    assert vit.mean == (0.5, 0.5, 0.5)
    assert vit.neck is None

    count = len(asked)
    assert create("vit_ti", size=224, device="cpu").fingerprint == vit.fingerprint
    assert len(asked) == count
    small = create("vit_ti", size=112, device="cpu")  # the position grid is resampled
    assert (small.length, len(asked)) == (50, count)
    assert small.fingerprint != vit.fingerprint


def test_a_hub_without_the_file_says_so(serve):
    serve({})
    with pytest.raises(Problem, match="hub_unreachable") as caught:
        create("vit_ti", size=112)
    assert "404" in caught.value.values["reason"]
    assert caught.value.values["name"] == "vit_tiny_patch16_224.augreg_in21k"


def test_a_silent_hub_costs_at_most_ten_seconds(monkeypatch):
    """It accepts the connection and never says a word; with the real patience."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        began = time.monotonic()
        with pytest.raises(Problem, match="hub_unreachable"):
            hub.weights("vit_tiny_patch16_224", "augreg_in21k")
        assert time.monotonic() - began < 10
