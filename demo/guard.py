"""At the door: no posts from other sites, safe headers on every answer, and problems as JSON with the status that fits."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse

from forget_me_not.demo.words import fill, words
from forget_me_not.models.problem import Problem

UNKNOWN = ("project_unknown", "photo_unknown", "run_unknown", "file_unknown", "pack_unknown", "room_unknown")
AWAY = ("worker_away", "backbone_away")
CLASS = {403: ("read_only", "phone_unknown", "class_closed", "photos_phone", "photos_room"), 429: ("room_tries", "room_full")}
STATUS = {404: UNKNOWN, 503: AWAY, 409: ("run_finished", "run_elsewhere", "run_early", "run_begun", "guess_late"),
          413: ("upload_big",), 507: ("disk_full",), **CLASS}  # fmt: skip
"""HTTP status by code; every other problem is 400."""
GRADIO_DOORS = re.compile(r"(/gradio_api)?/(upload|file|proxy|stream|component_server|deep_link|custom_component|login)\b")
"""Gradio's own ways to take and give files and to log in, which no part of our page uses: shut, since they know no project and no
limit."""
SAFE = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin"}


class Guard:
    """ASGI wrapper: no posts from other sites, and every answer of ours says it must not be sniffed."""

    def __init__(self, app: Callable[..., Awaitable[None]]):
        self.app = app

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        if scope["method"] not in ("GET", "HEAD", "OPTIONS") and not same_site(headers):
            await problem_answer(Problem("other_site"), 403)(scope, receive, send)
            return

        if GRADIO_DOORS.match(scope["path"].removeprefix(scope.get("root_path", "").rstrip("/"))):
            await problem_answer(Problem("file_unknown"))(scope, receive, send)
            return

        async def guarded(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                there = {k.lower() for k, _ in message["headers"]}
                extra = [(k.lower().encode(), v.encode()) for k, v in SAFE.items() if k.lower().encode() not in there]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        with contextlib.suppress(ClientDisconnect):  # who leaves in the middle of an upload hears no answer, and that is no error
            await self.app(scope, receive, guarded)


def same_site(headers: Mapping[str, str]) -> bool:
    """Whether a post comes from our own page or from no page at all. Over plain http browsers only send Origin."""
    if "sec-fetch-site" in headers:
        return headers["sec-fetch-site"] in ("same-origin", "none")
    if "origin" not in headers:
        return True
    return urlsplit(headers["origin"]).netloc in (headers.get("host"), headers.get("x-forwarded-host"))


def problem_answer(problem: Problem, status: int | None = None) -> JSONResponse:
    """{"problem": {"code", "values", "sentence"}} with the status that fits."""
    code = problem.code
    if status is None:
        status = next((number for number, codes in STATUS.items() if code in codes), 400)
    values = {k: v if isinstance(v, str | int | float | bool | list | type(None)) else str(v) for k, v in problem.values.items()}
    said = {"code": code, "values": values, "sentence": fill(words("en").get(f"problem.{code}", code), values)}
    return JSONResponse({"problem": said}, status, headers={"Cache-Control": "no-store"})
