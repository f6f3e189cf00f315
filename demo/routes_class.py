"""Routes of a class: the page phones open, what the room's code lets them ask, and the teacher's side; 404 without a class."""

from __future__ import annotations

from typing import Any

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, JSONResponse, Response

from forget_me_not.demo import lan
from forget_me_not.demo.classroom import PHOTO_BYTES, Phone, Room
from forget_me_not.demo.marks import DASHES, GLYPHS, MARKERS
from forget_me_not.demo.routes import STATIC, _json, _receive
from forget_me_not.models.problem import Problem

COOKIE = "fmn_phone"
DECODED_AT_ONCE = 2
"""Photos of phones decoded side by side: thirty phones at once shall not fill the memory, nor keep all others waiting."""
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; connect-src 'self'; "
          "img-src 'self' blob: data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'")  # fmt: skip


def routes(room: Room | None, address: str | None) -> APIRouter:
    """The routes of `room`; None: there is no class. address: where phones reach this lab, None: on no network."""
    api, limiter = APIRouter(), CapacityLimiter(DECODED_AT_ONCE)
    joined = f"{address}/join?room={room.code}" if room and address else None
    drawn = lan.modules(joined) if joined else []
    join = {"address": f"{address}/join", "link": joined, "side": len(drawn), "path": lan.path(drawn)} if joined else None

    def there() -> Room:
        if room is None:
            raise Problem("file_unknown")
        return room

    def entered(code: str, request: Request) -> Room:
        there().enter(code, request.client.host if request.client else "")
        return room

    def phone(code: str, request: Request) -> Phone:
        return entered(code, request).phone(request.cookies.get(COOKIE))

    @api.get("/join")
    def page() -> Response:
        there()
        headers = {"Cache-Control": "no-cache", "Content-Security-Policy": POLICY}
        return HTMLResponse((STATIC / "join" / "join.html").read_text("utf-8"), headers=headers)

    @api.post("/class/{code}/enter")
    def enter(code: str, request: Request) -> Response:
        token = entered(code, request).admit(request.cookies.get(COOKIE))
        answer = _fresh({"glyphs": GLYPHS, "dashes": DASHES, "markers": MARKERS})
        answer.set_cookie(COOKIE, token, max_age=86400, httponly=True, samesite="strict", path="/")
        return answer

    @api.get("/class/{code}/follow")
    def follow(code: str, request: Request, tag: str = "") -> Any:
        mine = phone(code, request)
        return _fresh(room.told(mine, tag))

    @api.post("/class/{code}/guess")
    async def guess(code: str, request: Request) -> Any:
        mine = phone(code, request)
        room.guess(mine, await _json(request))
        return _fresh({"guess": mine.guess})

    @api.post("/class/{code}/photo")
    async def photo(code: str, request: Request) -> Any:
        mine = phone(code, request)
        room.may_send(mine)
        with room.session.draft() as path:
            await _receive(request, path, room.session, PHOTO_BYTES, PHOTO_BYTES)
            await to_thread.run_sync(room.add, mine, path, limiter=limiter)
        return _fresh({"sent": mine.sent})

    @api.get("/class")
    def seen() -> Any:
        return _fresh({**there().seen(), "join": join})

    @api.post("/class")
    async def told(request: Request) -> Any:
        there()
        asked = await _json(request)
        match asked.get("do"):
            case "show":
                await run_in_threadpool(room.show, asked)
            case "open":
                await run_in_threadpool(room.open, asked.get("project"), asked.get("class"))
            case "close":
                room.close()
            case other:
                raise Problem("edit_unknown", do=str(other)[:40])
        return seen()

    return api


def _fresh(content: Any) -> JSONResponse:
    return JSONResponse(content, headers={"Cache-Control": "no-store"})
