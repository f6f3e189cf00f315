"""Routes of the starter packs: what there is, their pictures, and runs made of them without any upload."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, RedirectResponse, Response

from forget_me_not.demo import packs
from forget_me_not.demo.guard import problem_answer
from forget_me_not.demo.routes import _json
from forget_me_not.demo.session import SHA, Session
from forget_me_not.models.problem import Problem

PICTURE = {"Cache-Control": "public, max-age=86400", "Content-Security-Policy": "default-src 'none'; sandbox"}
WALL = "./?view=wall#demo"


def routes(session: Session) -> APIRouter:
    """The routes of packs over one session."""
    api, shelf = APIRouter(), packs.Packs(session)

    @api.get("/packs")
    def known() -> Any:
        return _fresh({"packs": shelf.list()})

    @api.get("/packs/latest")
    def latest() -> Any:
        return _fresh({"training": shelf.latest()})

    @api.get("/packs/{name}")
    def about(name: str, seed: int = 0) -> Any:
        return _fresh(shelf.about(name, seed))

    @api.get("/packs/{name}/{photo}.webp")
    def picture(name: str, photo: int) -> Response:
        return Response(packs.thumb(name, photo), media_type="image/webp", headers=PICTURE)

    @api.get("/packs/{name}/photos/{sha}")
    def picture_of(name: str, sha: str) -> Response:
        if not SHA.fullmatch(sha):
            raise Problem("photo_unknown")
        return Response(packs.thumb_of(name, sha), media_type="image/webp", headers=PICTURE)

    @api.post("/packs/{name}/train")
    async def train(name: str, request: Request) -> Any:
        asked = await _json(request)
        try:
            return _fresh(await run_in_threadpool(shelf.train, name, asked.get("seed", 0)))
        except Problem as problem:
            return problem_answer(problem, 409 if problem.code == "packs_busy" else None)

    @api.get("/runs/{rid}/lane")
    def lane(rid: str) -> Any:
        return _fresh(shelf.lane(rid))

    @api.get("/wall")
    def wall() -> Response:
        return RedirectResponse(WALL)

    return api


def _fresh(content: Any) -> JSONResponse:
    return JSONResponse(content, headers={"Cache-Control": "no-store"})
