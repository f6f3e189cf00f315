"""Routes that open a folder of the lab's own computer: for who sits at it alone, never over a network or through a proxy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from forget_me_not.demo.guard import problem_answer
from forget_me_not.demo.openfolder import Openings
from forget_me_not.demo.routes import _json
from forget_me_not.demo.session import Session
from forget_me_not.models.problem import Problem

HERE = ("127.0.0.1", "::1", "localhost")
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via", "cf-connecting-ip")


def at_home(host: str | None, headers: Mapping[str, str]) -> bool:
    """Whether a request comes from this computer itself: its address and the name it asked for are the loopback's."""
    asked = urlsplit("//" + headers.get("host", "")).hostname
    return host in HERE and asked in HERE and not any(name in headers for name in FORWARDED)


def routes(session: Session, local: bool) -> APIRouter:
    """The routes over one session. local: the lab listens on the loopback alone."""
    api, openings = APIRouter(), Openings(session.home)

    def allowed(request: Request) -> bool:
        return local and at_home(request.client.host if request.client else None, request.headers)

    @api.get("/projects/{pid}/folder")
    def state(pid: str, request: Request) -> Any:
        opening = openings.of(session.project(pid))
        said = opening.view() if opening is not None and allowed(request) else {"state": "none"}
        return JSONResponse({**said, "allowed": allowed(request)}, headers={"Cache-Control": "no-store"})

    @api.post("/projects/{pid}/folder")
    async def begin(pid: str, request: Request) -> Response:
        if not allowed(request):
            return problem_answer(Problem("folder_remote"), 403)
        project, asked = session.project(pid), await _json(request)
        if asked.get("do") == "stop":
            opening = openings.of(project)
            if opening is not None:
                opening.stop()
        else:
            opening = await run_in_threadpool(openings.open, project, asked.get("path"))
        said = opening.view() if opening is not None else {"state": "none"}
        return JSONResponse({**said, "allowed": True}, headers={"Cache-Control": "no-store"})

    return api
