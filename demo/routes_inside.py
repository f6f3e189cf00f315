"""Routes of Look inside: all figures of a run at once, and the lambda grid of its photos or of a pack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from forget_me_not.demo import figures_inside, figures_lambda
from forget_me_not.demo.disk import read_json
from forget_me_not.demo.inside_kept import grid_file, usable
from forget_me_not.demo.packs import in_language
from forget_me_not.demo.routes import _fresh, _json
from forget_me_not.demo.session import Session
from forget_me_not.demo.view import replay
from forget_me_not.demo.words import words
from forget_me_not.models.events import from_json
from forget_me_not.models.problem import Problem

PACKS = Path(__file__).resolve().parents[1] / "assets" / "packs"
GRID = "lambda.json"


def inside_routes(session: Session, packs: Path = PACKS) -> APIRouter:
    """The routes, over one session."""
    api = APIRouter()

    @api.get("/runs/{rid}/inside/figures")
    def figures(rid: str, lang: str = "en") -> Any:
        folder = session.folder(rid)
        view = replay(from_json(line["event"]) for line in session.lines(rid, 0))
        made = read_json(folder / "inside.json")
        view = in_language(view, folder, lang)
        return _fresh(figures_inside.draw(view, words(lang), made if usable(made) else None))

    @api.get("/runs/{rid}/lambda")
    def grid(rid: str, lang: str = "en") -> Any:
        known = read_json(grid_file(session.folder(rid)))
        if not isinstance(known, dict):
            return _fresh({"state": "none"})
        if known["state"] == "running" and not session.client.call("lambda", run=rid, what="look")["running"]:
            known["state"] = "stopped"  # the worker that trained it has died; what was done is kept
        return _fresh(figures_lambda.draw(known, words(lang)))

    @api.post("/runs/{rid}/lambda")
    async def train(rid: str, request: Request) -> Any:
        session.folder(rid)
        what = (await _json(request)).get("do")
        if what not in ("start", "stop"):
            raise Problem("edit_unknown", do=str(what)[:40])
        return _fresh(await run_in_threadpool(lambda: {"running": session.client.call("lambda", run=rid, what=what)["running"]}))

    @api.get("/lambda")
    def recorded(lang: str = "en") -> Any:
        found = [(file.parent.name, read_json(file.with_name("pack.json"), {})) for file in sorted(packs.glob(f"*/{GRID}"))]
        return _fresh([{"name": name, "title": about.get("title", {}).get(lang, name)} for name, about in found])

    @api.get("/lambda/{name}")
    def recording(name: str, lang: str = "en") -> Any:
        file = next((one for one in packs.glob(f"*/{GRID}") if one.parent.name == name), None)
        known = read_json(file) if file else None
        if not isinstance(known, dict):
            raise Problem("pack_unknown", name=name, known="")
        return _fresh(figures_lambda.draw(known, words(lang), verdict=True))

    return api
