"""Where what Look inside has computed lies, and whether it still counts. Torch-free: page and worker both read it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from forget_me_not.demo.disk import read_json
from forget_me_not.models.problem import Problem

FORMAT = 4
"""Of inside.json: a file of another format is made anew."""


def usable(made: Any) -> bool:
    """Whether an inside.json is one this page can show."""
    return isinstance(made, Mapping) and "problem" not in made and made.get("format") == FORMAT


def learnt(lines: Iterable[Mapping[str, Any]]) -> int:
    """How many tasks a run has learnt by these lines of its events; what is learnt anew counts once."""
    done = 0
    for event in (line["event"] for line in lines):
        if event["event"] in ("TaskFinished", "Resumed"):
            done = event["task"] + (event["event"] == "TaskFinished")
    return done


def grid_file(folder: Path) -> Path:
    """Where the lambda grid of a run's photos, classes and tasks lies: the same for every method and seed trained on them."""
    asked = read_json(folder / "request.json")
    if not isinstance(asked, dict):
        raise Problem("run_unknown")
    same = [asked[part] for part in ("kind", "tasks")] + [[(p["sha"], p["class"]) for p in asked["photos"]]]
    name = hashlib.sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()[:16]
    home = folder.parent.parent
    at = home / "projects" / asked["project"]
    return (at if at.is_dir() else folder) / f"lambda-{name}.json"
