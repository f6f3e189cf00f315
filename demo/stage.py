"""What is on the teacher's screen, as phones of a class follow it: the pack, its run as it goes, and where the clock stands."""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from forget_me_not.demo import choices
from forget_me_not.demo.packs import LANES, Packs, pack
from forget_me_not.models.problem import Problem

PACE = 4.0
"""Seconds a task lasts on the clock of "See it forget" (static/forget_run.js)."""
OWNED = 6.0
"""Seconds of silence after which another page of the teacher's may say what is on show."""
FRESH = 0.4
"""Seconds for which what phones are told about a run is not read anew."""
TRAINING = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Shown:
    """A pack with a seed, its training if there is one, the clock's position in tasks at time `at`, and the page that said so."""

    pack: str
    seed: int
    training: str | None
    position: float
    playing: bool
    at: float
    page: str
    memory: tuple[dict[str, Any], ...]

    def same_photos(self, other: Shown | None) -> bool:
        """Whether both are about the same memory photos."""
        return other is not None and (self.pack, self.seed) == (other.pack, other.seed)


class Stage:
    """What is on show. shelf: the packs and their runs; clock: seconds."""

    def __init__(self, shelf: Packs, clock: Callable[[], float] = time.monotonic):
        self.shelf, self.clock = shelf, clock
        self.shown: Shown | None = None
        self.round = 0
        self.revealed = False
        self._told: tuple[float, dict[str, Any] | None, str] = (-math.inf, None, "")
        self._done: dict[str, dict[str, Any]] = {}
        self._lock = threading.RLock()

    def show(self, asked: Mapping[str, Any]) -> bool:
        """Takes what a page of the teacher's shows; True where a new round begins. One page rules: the one last touched.

        A round begins with a pack and a seed to guess about, and lasts over its one training.
        """
        shown = self._read(asked)
        with self._lock:
            before = self.shown
            silent = before is None or shown.at - before.at >= OWNED
            if not silent and before.page != shown.page and asked.get("claim") is not True:
                return False
            self.shown = shown
            same_training = before is not None and before.training == shown.training
            new = not shown.same_photos(before) or not (same_training or before.training is None)
            if new:
                self.round, self.revealed = self.round + 1, False
            if new or not same_training:
                self._told, self._done = (-math.inf, None, ""), {}
            if shown.position >= self.tasks - 1e-6 and self._finished():
                self.revealed = True
            return new

    @property
    def tasks(self) -> int:
        """Tasks of the pack on show."""
        return len(pack(self.shown.pack).tasks) if self.shown else 0

    @property
    def memory(self) -> int:
        """Photos there are to guess about."""
        return len(self.shown.memory) if self.shown else 0

    @property
    def position(self) -> float:
        """Where the teacher's clock is by now."""
        shown = self.shown
        if shown is None:
            return 0.0
        gone = (self.clock() - shown.at) / PACE if shown.playing else 0.0
        return min(shown.position + gone, float(self.tasks))

    def story(self) -> tuple[dict[str, Any] | None, str]:
        """(what the run on show is and how it goes, its tag), read anew at most every FRESH seconds however many ask."""
        with self._lock:
            at, story, tag = self._told
            shown, now = self.shown, self.clock()
            if shown is None:
                return None, ""
            if now - at < FRESH:
                return story, tag
            about = next(one for one in self.shelf.list() if one["name"] == shown.pack)
            try:
                lanes = self._lanes()
            except Problem:  # the folder made room for newer trainings
                lanes = {}
            story = {"pack": about, "seed": shown.seed, "memory": list(shown.memory), "lanes": lanes}
            tag = hashlib.sha256(json.dumps(story, sort_keys=True).encode()).hexdigest()[:16]
            self._told = now, story, tag
            return story, tag

    def _read(self, asked: Mapping[str, Any]) -> Shown:
        """What a page said, checked; Problems pack_unknown, choice_bad, request_bad."""
        seed = choices.seed(asked.get("seed"))
        name, position, training = asked.get("pack"), asked.get("position"), asked.get("training")
        good = isinstance(name, str) and isinstance(position, int | float) and math.isfinite(position)
        if not good or not (training is None or (isinstance(training, str) and TRAINING.fullmatch(training))):
            raise Problem("request_bad")
        position = min(max(float(position), 0.0), float(len(pack(name).tasks)))
        page = str(asked.get("page", ""))[:40]
        before = self.shown
        known = before is not None and (before.pack, before.seed) == (name, seed)
        memory = before.memory if known else tuple(self.shelf.about(name, seed)["memory"])
        return Shown(name, seed, training, position, asked.get("playing") is True, self.clock(), page, memory)

    def _lanes(self) -> dict[str, dict[str, Any]]:
        """How every learner of the training on show does, without the ids by which runs are asked for."""
        shown = self.shown
        runs = self.shelf.runs(shown.training) if shown and shown.training else {}
        lanes = {}
        for method, rid in runs.items():
            lane = self._done.get(method) or {k: v for k, v in self.shelf.lane(rid).items() if k != "id"}
            if lane["status"] == "finished":
                self._done[method] = lane
            lanes[method] = lane
        return lanes

    def _finished(self) -> bool:
        lanes = self._lanes()
        return all(lanes.get(method, {}).get("status") == "finished" for method in LANES)
