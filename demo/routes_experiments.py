"""Routes of ready-made experiments: what there is for a project, what it will cost, what came out, and starting one."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from forget_me_not.demo import experiments as ready, experiments_said
from forget_me_not.demo.experiments import Experiment, Shape, Variant
from forget_me_not.demo.project import Project, request
from forget_me_not.demo.routes import _fresh, _json
from forget_me_not.demo.session import UNFINISHED, Session
from forget_me_not.demo.share.results import Shelf
from forget_me_not.demo.words import fill, words

TEST_SHARE = 1 / 3
"""Share of a class's photos that is tested on (models/stream.plan)."""
Line = Mapping[str, Any]
"""A run as Session.runs tells it."""


def routes(session: Session) -> APIRouter:
    """The routes over one session."""
    api, shelf = APIRouter(), Shelf(session)

    @api.get("/projects/{pid}/experiments")
    def known(pid: str, lang: str = "en") -> Any:
        project = session.project(pid)
        told, work = session.runs(project), photos(project)
        return _fresh({"experiments": [about(session, shelf, one, told, work, words(lang)) for one in ready.EXPERIMENTS]})

    @api.post("/projects/{pid}/experiments")
    async def start(pid: str, asked: Request) -> Any:
        name = (await _json(asked)).get("name")
        return _fresh({"runs": await run_in_threadpool(lambda: begin(session, session.project(pid), ready.named(name)))})

    return api


def shape_of(session: Session) -> Shape:
    """The backbone's width and depth, as the worker has told them; the starter's until then."""
    said = session.client.status["backbone"]
    return Shape(said.get("width") or Shape.width, said.get("depth") or Shape.depth)


def begin(session: Session, project: Project, experiment: Experiment) -> list[str]:
    """Ids of the experiment's runs, all with the project's seed, started or queued as one training."""
    variants = experiment.make(shape_of(session))
    with project.lock:
        session.allow(project, len(variants))
        seed, training, now = project.data["chosen"]["seed"], secrets.token_hex(8), time.time()
        asked_for = {secrets.token_hex(16): request(project, one.method, one.settings, seed, training, now)
                     | {"experiment": experiment.name, "variant": one.name} for one in variants}  # fmt: skip
        project.remember_runs(list(asked_for), {})
    return session.launch(project, asked_for)


def about(session: Session, shelf: Shelf, experiment: Experiment, told: Sequence[Line], work: tuple[list[int], list[int]],
          said: Mapping[str, str]) -> dict[str, Any]:  # fmt: skip
    """An experiment as the page shows it: words, cost for this work, and how its newest training among the runs told stands."""
    shape = shape_of(session)
    variants = experiment.make(shape)
    sizes = [ready.module_bytes(one, shape) for one in variants]
    equal = len(sizes) > 1 and max(sizes) <= (1 + experiments_said.SAME) * min(sizes) and len({v.method for v in variants}) > 1
    train, test = work
    return {
        "name": experiment.name, "title": said[f"experiments.{experiment.name}.title"],
        "asks": said[f"experiments.{experiment.name}.asks"], "routes": experiment.routes, "equal": equal,
        "within": max(sizes) / min(sizes) - 1, "seconds": ready.seconds(variants, shape, train, test) if train else None,
        "variants": [{"name": one.name, "method": one.method, "label": label(experiment, one, said), "bytes": size}
                     for one, size in zip(variants, sizes, strict=True)],
        "last": outcome(session, shelf, experiment, newest(told, experiment), variants, said),
    }  # fmt: skip


def label(experiment: Experiment, variant: Variant, said: Mapping[str, str]) -> str:
    """What a variant is called."""
    return fill(said[f"experiments.{experiment.name}.{variant.name}"], variant.settings)


def photos(project: Project) -> tuple[list[int], list[int]]:
    """About how many photos each task learns from and is tested on."""
    view = project.view()
    count = {c["id"]: c["count"] for c in view["classes"]}
    share = 1 / max(1, len(view["tasks"])) if view["kind"] == "domain" else 1.0
    whole = [share * sum(count[c] for c in task["classes"]) for task in view["tasks"] if task["classes"]]
    return [round(n * (1 - TEST_SHARE)) for n in whole], [round(n * TEST_SHARE) for n in whole]


def newest(told: Sequence[Line], experiment: Experiment) -> list[Line]:
    """The runs of the experiment's newest training, in the order they were asked for; [] before the first."""
    mine = [one for one in told if one["experiment"] == experiment.name]
    return [one for one in mine if one["training"] == mine[-1]["training"]]


def outcome(session: Session, shelf: Shelf, experiment: Experiment, runs: Sequence[Line], variants: Sequence[Variant],
            said: Mapping[str, str]) -> dict[str, Any] | None:  # fmt: skip
    """{"state", "done", "of", "runs", "rows", "say"} of a training: "queued", "running", "failed" or "finished"; None of none."""
    if not runs:
        return None
    standing = [one["status"] for one in runs]
    going = [one for one in standing if one in UNFINISHED]
    done = standing.count("finished")
    state = "queued" if set(standing) == {"queued"} else "running" if going else "finished" if done == len(runs) else "failed"
    found = {"state": state, "done": done, "of": len(runs), "training": runs[0]["training"], "rows": [], "say": "",
             "runs": [one["id"] for one in runs]}  # fmt: skip
    if state != "finished":
        return found
    order, named = [one.name for one in variants], {one.name: label(experiment, one, said) for one in variants}
    made = {one["variant"]: (one["id"], result) for one in runs for result in shelf.of([one["id"]])}
    lines = experiments_said.lines(
        experiment, [(named[name], made[name][1], session.home / "runs" / made[name][0]) for name in order if name in made], said
    )
    return found | {"rows": experiments_said.table(lines), "say": experiments_said.say(experiment, lines, said, size)}


def size(count: int) -> str:
    """Bytes as people read them."""
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{max(1, round(count / 1e3))} kB"
