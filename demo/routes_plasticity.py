"""Routes of the plasticity track: the arms there are, a start of some, what they say side by side, and stop."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from forget_me_not.demo import choices, figures_plasticity as figures, plastic_photos
from forget_me_not.demo.guard import AWAY, UNKNOWN, problem_answer
from forget_me_not.demo.plasticity import ArmRun, Plasticity, between
from forget_me_not.demo.routes import Views, _json
from forget_me_not.demo.say_plasticity import say_curves, say_heat, verdict
from forget_me_not.demo.session import Session
from forget_me_not.demo.view import seconds_left
from forget_me_not.demo.words import words
from forget_me_not.models.plasticity import summary
from forget_me_not.models.problem import Problem

DEFAULT = "sgd"
"""The arm the maps show where nobody has chosen one."""
OWN = ("created", "project")
"""What a start keeps to itself: who knows its id may watch it, and is not let in to the photos."""


def routes(session: Session) -> APIRouter:
    """The routes over one session."""
    api, track, views = APIRouter(), Plasticity(session), Views(session)

    @api.get("/plasticity")
    def offered() -> Any:
        return _fresh(track.offered())

    @api.post("/plasticity")
    async def start(request: Request) -> Any:
        asked = await _json(request)
        try:
            return _fresh(await run_in_threadpool(track.start, asked))
        except Problem as problem:
            return problem_answer(problem, None if problem.code in (*UNKNOWN, *AWAY, "disk_full") else 409)

    @api.get("/projects/{pid}/class-groups")
    def groups(pid: str, per_task: int = plastic_photos.PER_TASK[0], seed: int = 0) -> Any:
        project, per_task = session.project(pid), between(per_task, plastic_photos.PER_TASK, "classes")
        try:
            return _fresh(plastic_photos.preview(project, per_task, choices.seed(seed)))
        except Problem as problem:  # what photos still lack is an answer, not a failure
            return problem_answer(problem, 200)

    @api.get("/plasticity/{tid}")
    def state(tid: str, lang: str = "en", arm: str = "", measure: str = figures.MEASURES[0], stamp: str = "",
              narrow: bool = False) -> Any:  # fmt: skip
        made, arms = track.find(tid), track.arms(tid, lambda rid: views.at(rid, None))
        now = " ".join(f"{a.status}{a.view.stage}{a.view.done}.{a.view.part:.2f}" for a in arms)
        if stamp == now:
            return _fresh({"stamp": now})
        return _fresh({"stamp": now, **{k: v for k, v in made.items() if k not in OWN},
                       **drawn(arms, made["tasks"], lang, arm, measure, narrow)})  # fmt: skip

    @api.post("/plasticity/{tid}/stop")
    async def stop(tid: str) -> Any:
        await run_in_threadpool(track.stop, tid)
        return _fresh({"id": tid})

    return api


def drawn(arms: list[ArmRun], tasks: int, lang: str, name: str, measure: str, narrow: bool = False) -> dict[str, Any]:
    """Figures, sentences and numbers of a start of `tasks` tasks; maps of the arm called `name`. narrow: for a phone."""
    say = words(lang)
    label, most = (figures.NARROW, figures.NARROW_NUMBERS) if narrow else (figures.LABEL, figures.NUMBERS)
    measure = measure if measure in figures.MEASURES else figures.MEASURES[0]
    of = {arm.name: arm for arm in arms}
    chosen = of.get(name) or of.get(DEFAULT) or arms[0]
    sides = {side: {"figure": figures.heat(chosen, measure, side, say, tasks, most), "say": say_heat(chosen, measure, side, say),
                    "table": numbers(chosen, measure, side)} for side in figures.PARTS}  # fmt: skip
    return {"chosen": chosen.name, "measure": measure, "curves": figures.curves(arms, tasks, say, chosen.name, label),
            "sides": sides, "say": say_curves(arms, say), "verdict": verdict(arms, say),
            "arms": [told(arm) for arm in arms]}  # fmt: skip


def numbers(arm: ArmRun, measure: str, side: str) -> list[dict[str, Any]]:
    """The rows of a map as plain numbers."""
    rows, values = figures.table(arm, measure, side)
    return [{"part": part, "block": block, "values": row} for (part, block), row in zip(rows, values, strict=True)]


def told(arm: ArmRun) -> dict[str, Any]:
    """What an arm's card shows. gain: mean over blocks and tasks of ARROW's step length against the base optimiser's."""
    gains = [v for m in arm.view.measures for key, v in m.items() if key.startswith("gain.geometry.")]
    return {"name": arm.name, "run": arm.rid, "status": arm.status, "problem": arm.problem, "done": arm.view.done,
            "part": arm.view.part, "accuracy": arm.accuracy, "average": summary.average(arm.accuracy), "step": arm.step,
            "bytes": arm.view.bytes, "parameters": arm.view.parameters, "left": seconds_left(arm.view),
            "gain": sum(gains) / len(gains) if gains else None}  # fmt: skip


def _fresh(content: Any) -> JSONResponse:
    return JSONResponse(content, headers={"Cache-Control": "no-store"})
