"""Kills at named moments and damage of every kind, and then the question that counts: is it as if nothing had been?"""

from __future__ import annotations

import contextlib
import http.client
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forget_me_not.demo.soak import fuse, photos
from forget_me_not.demo.soak.damage import DAMAGE
from forget_me_not.demo.soak.lab import Lab, until
from forget_me_not.demo.soak.moments import MOMENTS, Moment
from forget_me_not.models.problem import Problem

GONE = (OSError, http.client.HTTPException)
"""What a client sees of a page that dies."""


@dataclass(frozen=True)
class Shot:
    """One moment survived, or not. why: "" where all was as it should be. seconds: from the request to the equal matrix."""

    moment: str
    why: str
    seconds: float


class Range:
    """A lab, a project, and what its runs give undisturbed."""

    def __init__(self, lab: Lab, seed: int = 0):
        self.lab, self.pid, self.rng = lab, lab.project(seed=seed), random.Random(seed)
        self._known: dict[tuple[str, int], Any] = {}

    def undisturbed(self, method: str, seed: int) -> Any:
        """The matrix of a run nobody disturbs; trained once."""
        if (method, seed) not in self._known:
            fuse.lay(self.lab.plan, [])
            (rid,) = self.lab.train(self.pid, [method], seed)
            self.lab.wait(rid, "finished", "failed")
            self._known[method, seed] = self.lab.matrix(rid)
        return self._known[method, seed]

    def shoot(self, moment: Moment, seed: int = 0) -> Shot:
        """Lets the lab die at `moment` and looks at what is left of it."""
        wanted = {method: self.undisturbed(method, seed) for method in moment.methods}
        if moment.cold:
            self.lab.close()
            for shard in (self.lab.home / "cache" / "activations").glob("*/*.safetensors"):
                shard.unlink()
            self.lab.open()
        began = time.monotonic()
        try:
            why = self._shoot(moment, seed, wanted)
        except Problem as problem:
            why = f"{problem.code} {problem.values}"
        fuse.lay(self.lab.plan, [])
        return Shot(moment.name, why, time.monotonic() - began)

    def hurt(self, *names: str, seed: int = 0) -> Shot:
        """Kills the worker when a run for each of `names` has learnt one task, damages what DAMAGE says, and lets them go on."""
        wanted, began = self.undisturbed("tosca", seed), time.monotonic()
        activations = self.lab.home / "cache" / "activations"
        try:
            why = self._hurt(names, seed, wanted, activations)
        except Problem as problem:
            why = f"{problem.code} {problem.values}"
        if activations.is_file():  # as it was, for those who come after
            activations.unlink()
            activations.with_name("was").rename(activations)
        return Shot(", ".join(names), why, time.monotonic() - began)

    def _hurt(self, names: Sequence[str], seed: int, wanted: Any, activations: Path) -> str:
        lab, runs = self.lab, {}
        for name in names:
            (runs[name],) = lab.train(self.pid, ["tosca"], seed)
            lab.post(f"runs/{runs[name]}/do", {"do": "step"})
            lab.wait(runs[name], "paused")
        lab.kill("worker")
        until("the worker died", lambda: len(lab.processes()) < 2)
        for name, rid in runs.items():
            DAMAGE[name](lab.folder(rid), activations)
        lab.mend()
        lab.get(f"projects/{self.pid}")
        for name, rid in runs.items():
            if lab.get(f"runs/{rid}")["status"] == "paused":
                lab.post(f"runs/{rid}/do", {"do": "resume"})
            if why := self._compared(rid, wanted):
                return f"{name}: {why}"
        return ""

    def _compared(self, rid: str, wanted: Any) -> str:
        """"" once the run has ended with the wanted matrix, otherwise what it did instead."""
        said = self.lab.wait(rid, "finished", "failed", "stopped")
        if said["status"] != "finished":
            return f"the run has {said['status']}: {said['problem']}"
        found = self.lab.matrix(rid)
        return "" if found == wanted else f"{found} instead of {wanted}"

    def _shoot(self, moment: Moment, seed: int, wanted: dict[str, Any]) -> str:
        lab = self.lab
        runs: list[str] = []
        if moment.doing == "inside":
            runs = lab.train(self.pid, moment.methods, seed)
            lab.wait(runs[0], "finished")
        before = lab.get(f"projects/{self.pid}")
        fuse.lay(lab.plan, moment.steps)
        with contextlib.suppress(Problem, *GONE):  # whoever dies cannot answer; asked again below
            runs = self._do(moment, seed, runs)
        self._pull(moment, runs)
        lab.mend()
        after = lab.get(f"projects/{self.pid}")
        if any(after[part] != before[part] for part in ("classes", "tasks", "kind", "counts")):
            return "the project has changed"
        runs = runs or [rid for rid in after["runs"] if rid not in before["runs"] and self._there(rid)]
        missing = [method for method in moment.methods if method not in {lab.get(f"runs/{rid}")["method"] for rid in runs}]
        runs = [*runs, *(lab.train(self.pid, missing, seed) if missing else ())]
        for rid in runs:
            if why := self._compared(rid, wanted[lab.get(f"runs/{rid}")["method"]]):
                return why
        if moment.doing == "inside":
            made = until("inside.json was whole", lambda: _whole(lab.get(f"runs/{runs[0]}/inside")))
            if not made["before"]["tsne"]:
                return "no picture inside"
        return ""

    def _do(self, moment: Moment, seed: int, runs: list[str]) -> list[str]:
        """What a person did when it happened; ids of the runs it concerns."""
        if moment.doing == "inside":
            until("the worker died", lambda: self._look(moment, runs[0]))
        elif moment.doing == "edit":
            self.lab.post(f"projects/{self.pid}/edit", {"do": "rename_project", "name": f"under fire {time.time()}"})
        elif moment.doing == "upload":
            data = photos.photo(0, 1000 + self.rng.randrange(10**6))
            self.lab.post(f"projects/{self.pid}/photos?name=apple/new.png&class=apple", data)
        else:
            return self.lab.train(self.pid, moment.methods, seed)
        return runs

    def _look(self, moment: Moment, rid: str) -> bool:
        with contextlib.suppress(Problem):
            self.lab.get(f"runs/{rid}/inside")
        return fuse.met(self.lab.plan) == len(moment.steps)

    def _pull(self, moment: Moment, runs: list[str]) -> None:
        """Kills from outside where the moment wants it; otherwise waits until the process has done it itself."""
        lab = self.lab
        if moment.seen == "step":
            until("a training step was seen", lambda: "Step" in lab.kinds(runs[0]), every=0.005)
        if moment.kill:
            lab.kill(*moment.kill)
        else:
            until("the moment came", lambda: fuse.met(lab.plan) == len(moment.steps))
            lab.deaths += sum(step.kill for step in moment.steps)

    def _there(self, rid: str) -> bool:
        try:
            return bool(self.lab.get(f"runs/{rid}"))
        except Problem:  # noted in the project, but its request was never written
            return False


def _whole(made: Any) -> Any:
    return made if "points" in made and not made["pending"] else None


def soak(home: Path, minutes: float, seed: int = 0) -> Iterator[Shot]:
    """Moments and damages in random order, all before any comes again, for so many minutes; the lab lives in `home`."""
    rng = random.Random(seed)
    with Lab(home) as lab:
        target, end = Range(lab, seed), time.monotonic() + 60 * minutes
        waiting: list[Moment | str] = []
        while time.monotonic() < end:
            waiting = waiting or rng.sample([*MOMENTS, *DAMAGE], len(MOMENTS) + len(DAMAGE))
            one = waiting.pop()
            yield target.hurt(one, seed=rng.randrange(3)) if isinstance(one, str) else target.shoot(one, rng.randrange(3))
            if lab.page.poll() is not None:  # a shot that went wrong may leave no lab for the next
                lab.again()
