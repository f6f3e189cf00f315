"""Commands as processes, photos for them, and what their runs leave behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from PIL import Image, ImageDraw

ROOT = Path(__file__).resolve().parent.parent
COLOURS = {"ant": "firebrick", "bee": "gold", "cat": "seagreen", "dog": "royalblue", "eel": "purple", "fox": "orange"}
FIELDS = [
    "method", "seed", "classes", "matrix", "last_accuracy", "last_accuracy_tasks", "average_accuracy", "forgetting", "bwt",
    "learning_accuracy", "routing_accuracy", "accuracy_right", "accuracy_wrong", "oracle_accuracy", "batch_vote_accuracy",
    "zeros", "displacement", "parameters", "parameters_per_task", "bytes_per_task", "seconds", "settings", "versions",
]  # fmt: skip
TOY = ("--backbone", "random", "--size", "56")


def make_photos(folder: Path, classes: list[str], count: int) -> Path:
    """A folder of class folders; the photos of a class have its colour and no two the same shapes."""
    for number, name in enumerate(classes):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            image = Image.new("RGB", (64, 56), COLOURS[name])
            draw = ImageDraw.Draw(image)
            for k in range(7):
                x, y = (37 * i + 19 * k * (i + 1) + 7 * number) % 60, (53 * k + 29 * i * (k + 1)) % 50
                size = (6 + (11 * i + 5 * k) % 30, 6 + (7 * i + 13 * k) % 25)
                draw.ellipse((x, y, x + size[0], y + size[1]), fill=(40 * k % 256, 23 * i % 256, 90))
            image.save(folder / name / f"{i}.png")
    return folder


def start(home: Path, *arguments: object) -> subprocess.Popen:
    """`python app.py …` as a process."""
    environment = {**os.environ, "FORGET_ME_NOT_HOME": str(home), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(ROOT / "app.py"), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", env=environment)


def finish(process: subprocess.Popen) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    out, err = process.communicate(timeout=240)
    return process.returncode, out, err


def events_of(folder: Path) -> list[dict]:
    """The whole lines of a run's events.jsonl so far."""
    file = folder / "events.jsonl"
    lines = file.read_text("utf-8").split("\n")[:-1] if file.exists() else []
    return [json.loads(line)["event"] for line in lines]


def wait_for(process: subprocess.Popen, seen) -> None:
    """Returns as soon as seen() is true; fails where the process ends before."""
    end = time.monotonic() + 120
    while not seen():
        assert process.poll() is None, f"ended before: {process.communicate()}"
        assert time.monotonic() < end
        time.sleep(0.001)
