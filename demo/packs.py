"""Starter packs for the page: what they are, a run of one asked for, and how it went step by step. Torch-free."""

from __future__ import annotations

import json
import secrets
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from forget_me_not.demo import choices
from forget_me_not.demo.disk import read_json, room_for, write_json
from forget_me_not.demo.session import UNFINISHED, Session
from forget_me_not.demo.still import Still
from forget_me_not.demo.view import RunView
from forget_me_not.demo.watch import Mark, lane
from forget_me_not.models.packs.load import Pack, load, names
from forget_me_not.models.problem import Problem

PROJECT = "pack:"
"""What stands in front of a pack's name where a run of photos has its project."""
LANES = ("finetune", "tosca")
METHODS = (*LANES, "simplecil")
"""Those that learn at one click: the two lanes, and prototypes, which train nothing, to tell whether training paid."""
KEPT = 40
"""Trainings of packs that stay on disk; older ones make room."""
WAITING = 12
"""Runs of packs that may be unfinished at a time."""


class Packs:
    """The packs this server shows, and the runs made with them. session: who holds the runs' folders and the worker."""

    def __init__(self, session: Session):
        self.session = session
        self._index = session.home / "packs.json"
        self._lock = threading.Lock()

    def list(self) -> list[dict[str, Any]]:
        """Every pack as the page shows it, the one to begin with first."""
        return [_shown(pack(name)) for name in names()]

    def about(self, name: str, seed: int) -> dict[str, Any]:
        """The photos a run with this seed is watched by: {"memory": [{"photo", "class"}], "tested": photos of task 1}."""
        chosen = pack(name)
        plan = chosen.plan(seed)
        memory = [{"photo": photo, "class": chosen.labels[photo]} for photo in chosen.memory(plan)]
        return {"name": name, "seed": seed, "memory": memory, "tested": len(plan.tasks[0].test)}

    def train(self, name: str, seed: Any) -> dict[str, Any]:
        """A training of a pack, started: {"training", "pack", "seed", "runs": {method: id}}."""
        seed, chosen = choices.seed(seed), pack(name)
        if isinstance(self.session.client, Still):
            return self.recorded(name, seed)
        room_for(self.session.home, 0)
        with self._lock:
            known = self._known()
            waiting = [rid for one in known for rid in one["runs"].values() if self._status(rid) in UNFINISHED]
            if len(waiting) + len(METHODS) > WAITING:
                raise Problem("packs_busy", limit=WAITING // len(METHODS))
            made = {"training": secrets.token_hex(8), "pack": name, "seed": seed, "created": time.time(),
                    "runs": {method: secrets.token_hex(16) for method in METHODS}}  # fmt: skip
            for old in known[: max(0, len(known) + 1 - KEPT)]:
                for rid in old["runs"].values():
                    shutil.rmtree(self.session.home / "runs" / rid, ignore_errors=True)
            write_json(self._index, [*known[-(KEPT - 1) :], made])
        try:
            for method, rid in made["runs"].items():
                write_json(self.session.home / "runs" / rid / "request.json", request(chosen, method, made))
            self.session.client.call("start", runs=list(made["runs"].values()), patience=90)
        except BaseException:
            self._forget(made)
            raise
        return made

    def kept(self, name: str, seed: int | None = None) -> dict[str, Any] | None:
        """The newest training of a pack (with this seed) that is on disk; None where there is none."""
        known = (one for one in reversed(self._known()) if one["pack"] == name and seed in (None, one["seed"]))
        return next((one for one in known if self._whole(one)), None)

    def recorded(self, name: str, seed: int) -> dict[str, Any]:
        """What a read-only lab plays: the training with this seed, else the newest of the pack. Problem read_only."""
        found = self.kept(name, seed) or self.kept(name)
        if found is None:
            raise Problem("read_only")
        return found

    def latest(self) -> dict[str, Any] | None:
        """The newest training that is still on disk; None before the first."""
        return next((one for one in reversed(self._known()) if self._whole(one)), None)

    def runs(self, training: str) -> dict[str, str]:
        """{method: id} of a training by its token; empty where it is no longer known."""
        return next((dict(one["runs"]) for one in self._known() if one["training"] == training and self._whole(one)), {})

    def lane(self, rid: str) -> dict[str, Any]:
        """How a run of a pack went so far: {"status", "problem", "method", "pack", "seed", "tasks", "marks", "end"}."""
        folder = self.session.folder(rid)
        asked = read_json(folder / "request.json", {})
        if "pack" not in asked:
            raise Problem("run_unknown")
        chosen, status = pack(asked["pack"]), self.session.status(rid)
        events = [line["event"] for line in self.session.lines(rid, 0)] if status["status"] == "finished" else []
        end = next((event["metrics"] for event in reversed(events) if event["event"] == "Finished"), None)
        classes = [task.classes for task in chosen.tasks]
        return {"id": rid, "method": asked["method"], "pack": asked["pack"], "seed": asked["seed"], **status,
                "seconds": sum(end["seconds"].values()) if end else None, "whole": end["last_accuracy"] if end else None,
                **lane(marks(folder), classes)}  # fmt: skip

    def _known(self) -> list[dict[str, Any]]:
        return [one for one in read_json(self._index, []) if isinstance(one, dict)]

    def _whole(self, one: Mapping[str, Any]) -> bool:
        return all((self.session.home / "runs" / rid / "request.json").is_file() for rid in one["runs"].values())

    def _status(self, rid: str) -> str:
        return self.session.status(rid)["status"] if (self.session.home / "runs" / rid).is_dir() else "finished"

    def _forget(self, made: Mapping[str, Any]) -> None:
        for rid in made["runs"].values():
            shutil.rmtree(self.session.home / "runs" / rid, ignore_errors=True)
        with self._lock:
            write_json(self._index, [one for one in self._known() if one["training"] != made["training"]])


def in_language(view: RunView, folder: Path, language: str) -> RunView:
    """The view of a run of a pack with its tasks and classes named in `language`; of any other run as it is."""
    name = read_json(folder / "request.json", {}).get("pack")
    if name is None:
        return view
    chosen = pack(name)
    titles = {task.name: task.title.get(language, task.name) for task in chosen.tasks}
    captions = {label: words.get(language, label) for label, words in chosen.captions.items()}
    names, classes = tuple(titles.get(n, n) for n in view.names), tuple(captions.get(c, c) for c in view.classes)
    return replace(view, names=names, classes=classes)


@lru_cache(maxsize=8)
def pack(name: str) -> Pack:
    """The shipped pack called `name`; Problem("pack_unknown")."""
    return load(name)


def marks(folder: Path) -> list[Mark]:
    """What was seen of a run while it learnt, as the worker wrote it; a line that is torn ends it."""
    found = []
    try:
        lines: Sequence[bytes] = (folder / "watch.jsonl").read_bytes().splitlines()
    except OSError:
        return found
    for line in lines:
        try:
            found.append(Mark(**json.loads(line)))
        except (ValueError, TypeError):
            break
    return found


def request(chosen: Pack, method: str, made: Mapping[str, Any]) -> dict[str, Any]:
    """What a run of a pack is asked for with (see packjobs.PackRequest); photos: the first of each class, for beads."""
    first = {label: photo for photo, label in reversed(list(enumerate(chosen.labels)))}
    photos = [{"sha": chosen.shas[first[c]], "name": c, "class": c, "domain": "", "ext": "webp", "phash": "0"} for c in first]
    return {
        "format": 1, "pack": chosen.name, "project": PROJECT + chosen.name, "training": made["training"],
        "created": made["created"], "method": method, "settings": {}, "seed": made["seed"], "kind": "class",
        "classes": [{"key": c, "name": c} for c in chosen.classes],
        "tasks": [{"name": task.name, "classes": list(task.classes)} for task in chosen.tasks], "photos": photos,
    }  # fmt: skip


def thumb(name: str, photo: int) -> bytes:
    """The picture of a photo by its number; Problem("photo_unknown")."""
    chosen = pack(name)
    if not 0 <= photo < len(chosen):
        raise Problem("photo_unknown")
    return chosen.thumb(photo)


def thumb_of(name: str, sha: str) -> bytes:
    """The picture of a photo by the hash that run folders know it by; Problem("photo_unknown")."""
    chosen = pack(name)
    if sha not in chosen.shas:
        raise Problem("photo_unknown")
    return chosen.thumb(chosen.shas.index(sha))


def _shown(chosen: Pack) -> dict[str, Any]:
    return {
        "name": chosen.name, "title": dict(chosen.title), "line": dict(chosen.line), "seed": chosen.seed, "photos": len(chosen),
        "train_per_class": chosen.about["train_per_class"], "cover": list(chosen.cover()), "license": chosen.about["license"],
        "origin": chosen.about["origin"], "captions": {c: dict(w) for c, w in chosen.captions.items()},
        "tasks": [{"title": dict(t.title), "classes": list(t.classes), "photo": chosen.labels.index(t.classes[0])}
                  for t in chosen.tasks],
        "levels": chosen.about.get("levels") or None,
    }  # fmt: skip
