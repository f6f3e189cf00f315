"""In class: the lab itself opens only at the computer it runs on; others get the page of the class, and no more."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.responses import RedirectResponse

from forget_me_not.demo.guard import problem_answer
from forget_me_not.demo.lan import is_here
from forget_me_not.models.problem import Problem

OPEN = {
    "GET": re.compile(r"/join|/lab/.+|/packs/[a-z0-9_-]+/\d+\.webp|/class/[^/]+/follow"),
    "POST": re.compile(r"/class/[^/]+/(enter|guess|photo)"),
}
"""All that a phone may ask: the page, its scripts and words, drawings of the shipped packs, and what the room's code opens."""


class Door:
    """ASGI wrapper: who is not at this computer gets what OPEN names; a visitor of "/" is shown to the page of the class."""

    def __init__(self, app: Callable[..., Awaitable[None]]):
        self.app = app

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan" or is_here(*(pair and pair[0] for pair in (scope.get("client"), scope.get("server")))):
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        path = scope["path"].removeprefix(scope.get("root_path", "").rstrip("/"))
        wanted = OPEN.get("GET" if scope["method"] == "HEAD" else scope["method"])
        if wanted and wanted.fullmatch(path):
            await self.app(scope, receive, send)
        elif path in ("", "/"):
            await RedirectResponse("join")(scope, receive, send)
        else:
            await problem_answer(Problem("file_unknown"))(scope, receive, send)
