"""The lambda panel: TOSCA trained over a grid of sparsities, on somebody's photos in the worker or on a pack for its card.

    python -m forget_me_not.demo.lambda_panel toybox digits     writes assets/packs/NAME/lambda.json, 20 seeds each

A grid is {"format", "method", "settings", "grid", "seeds", "done", "total", "state", "tasks", "rows"}; rows[k] belongs to
grid[k]: {"sparsity", "overlaps": (T, T) mean, and for each of MEASURES a list of values, one a seed, in order}.
"""

from __future__ import annotations

import dataclasses
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forget_me_not.demo.disk import read_json, write_json
from forget_me_not.demo.inside_kept import grid_file
from forget_me_not.demo.request import Request
from forget_me_not.models import probe, registry
from forget_me_not.models.core import Samples, Source, Stream
from forget_me_not.models.events import Finished
from forget_me_not.models.experiment import follow
from forget_me_not.models.packs.load import FOLDER, load
from forget_me_not.models.problem import Problem
from forget_me_not.models.stream import build

if TYPE_CHECKING:
    from forget_me_not.demo.hall import Hall

FORMAT = 1
GRID = (0.0, 0.005, 0.01, 0.02, 0.04, 0.08)
OWN_SEEDS, PACK_SEEDS = 3, 20
METHOD = "tosca"
INIT = "xavier"
"""One way of drawing for every module, so that only the sparsity differs along the grid."""
MEASURES = ("zeros", "displacement", "overlap", "turns", "routing", "accuracy", "oracle")


def command(hall: Hall, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Starts, stops or looks at ("what") the grid of a run's photos; {"running": whether it is being trained}."""
    rid, what = asked["run"], asked.get("what")
    request = Request.read(hall.home / "runs" / rid)
    file = grid_file(request.folder)
    name = f"lambda {file.name}"
    if what == "start" and name not in hall.studies:
        source = hall.encoder(request)
        hall.studies[name] = Panel(name, request, source, min((j.used for j in hall.jobs.values() if j.active), default=0.0))
    elif what == "stop" and name in hall.studies:
        hall.studies.pop(name).stop()
    return {"running": name in hall.studies}


class Panel:
    """A grid in the making, run by run in turns with everything else; what is done is kept, and a stopped one goes on there."""

    def __init__(self, name: str, request: Request, source: Source, used: float):
        self.id, self.used, self.file = name, used, grid_file(request.folder)
        known = read_json(self.file)
        self.grid = known if isinstance(known, dict) and known.get("format") == FORMAT else blank(OWN_SEEDS)
        self.grid |= {"state": "running", "problem": None}
        write_json(self.file, self.grid)
        self._steps: Iterator[None] | None = self._train(request, source)

    @property
    def working(self) -> bool:
        """Whether it wants a turn."""
        return self._steps is not None

    pending = working

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        return self._steps is None

    def advance(self) -> None:
        """One step of the run at work."""
        try:
            next(self._steps)
        except StopIteration:
            self._end("finished")
        except Exception as error:
            if not isinstance(error, Problem):
                traceback.print_exception(error)
            values = error.values if isinstance(error, Problem) else {"reason": f"{type(error).__name__}: {error}"}
            code = error.code if isinstance(error, Problem) else "lambda_failed"
            self._end("failed", {"code": code, "values": {name: str(value) for name, value in values.items()}})

    def stop(self) -> None:
        """Ends it where it is."""
        if self._steps is not None:
            self._steps.close()
            self._end("stopped")

    def _end(self, state: str, problem: Mapping[str, Any] | None = None) -> None:
        self._steps = None
        self.grid |= {"state": state, "problem": problem}
        write_json(self.file, self.grid)

    def _train(self, request: Request, source: Source) -> Iterator[None]:
        """Seed by seed over the whole grid, so that a first line is there early."""
        for place in range(self.grid["done"], self.grid["total"]):
            seed, at = divmod(place, len(GRID))
            asked = dataclasses.replace(request, seed=seed, method=METHOD)
            found = yield from measured(asked.stream(source), GRID[at], asked.seed)
            self.grid = joined(self.grid, at, found)
            write_json(self.file, self.grid)


def record(name: str, seeds: Sequence[int] = tuple(range(1, PACK_SEEDS + 1)), kept: Path | None = None) -> dict[str, Any]:
    """The grid of the shipped pack called `name`, over `seeds` (split and initialisation): what lies in its lambda.json.

    About two seconds a run, one thread. kept: a file that is written after every seed, and gone on with. Problem("pack_unknown").
    """
    pack = load(name)
    known = read_json(kept) if kept else None
    grid = known if isinstance(known, dict) and known.get("format") == FORMAT else blank(0)
    source = pack.source()
    for seed in seeds[grid["seeds"] :]:
        for at, sparsity in enumerate(GRID):
            grid = joined(grid, at, drained(measured(build(pack.plan(seed), source), sparsity, seed)))
        grid |= {"state": "finished", "pack": name, "seeds": grid["seeds"] + 1, "total": grid["done"]}
        if kept:
            write_json(kept, grid)
    return grid


def drained(steps: Iterator[None]) -> Any:
    """What a generator returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def blank(seeds: int) -> dict[str, Any]:
    """A grid nothing has been trained for."""
    rows = [{"sparsity": sparsity, "overlaps": [], **{m: [] for m in MEASURES}} for sparsity in GRID]
    return {"format": FORMAT, "method": METHOD, "settings": {"init": INIT}, "grid": list(GRID), "seeds": seeds, "done": 0,
            "total": seeds * len(GRID), "state": "stopped", "problem": None, "tasks": 0, "rows": rows}  # fmt: skip


def joined(grid: Mapping[str, Any], at: int, found: Mapping[str, Any]) -> dict[str, Any]:
    """The grid with one run more at place `at`; the overlap of pairs is a running mean."""
    row = grid["rows"][at]
    before = len(row["accuracy"])
    new = found["overlaps"]
    mean = new if not before else [[(a * before + b) / (before + 1) for a, b in zip(x, y, strict=True)]
                                   for x, y in zip(row["overlaps"], new, strict=True)]  # fmt: skip
    row = {**row, "overlaps": [[round(v, 5) for v in line] for line in mean],
           **{m: [*row[m], None if found[m] is None else round(found[m], 5)] for m in MEASURES}}  # fmt: skip
    rows = [*grid["rows"][:at], row, *grid["rows"][at + 1 :]]
    return {**grid, "rows": rows, "done": grid["done"] + 1, "tasks": len(new)}


def measured(stream: Stream, sparsity: float, seed: int) -> Iterator[None]:
    """One run of TOSCA at `sparsity`; returns MEASURES and "overlaps" (T, T), the functional overlap on all test photos."""
    source = stream.tasks[0].test.source
    learner = registry.card(METHOD).learner(source.vit, sparsity=sparsity, init=INIT)
    metrics: Mapping[str, Any] = {}
    for event in follow(stream, learner, METHOD, seed):
        if isinstance(event, Finished):
            metrics = event.metrics
        yield None
    z = Samples.union([tested.test for tested in stream.tasks]).cls().float().to(learner.device)
    u = probe.modules_say(learner, z)  # (T, N, D)
    overlaps, turns = probe.functional_overlap(u, z).cpu(), probe.turn_overlap(u, z).cpu()
    yield None
    return {
        "zeros": metrics["zeros"], "displacement": metrics["displacement"],
        "overlap": probe.mean_overlap(overlaps), "turns": probe.mean_overlap(turns),
        "routing": metrics["routing_accuracy"], "accuracy": metrics["last_accuracy"], "oracle": metrics["oracle_accuracy"],
        "overlaps": overlaps.tolist(),
    }  # fmt: skip


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    for pack_name in sys.argv[1:]:
        record(pack_name, kept=FOLDER / pack_name / "lambda.json")
