"""Scripts, styles and JSON go out compressed: the first page of the lab is to be light. Pictures are so already."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.middleware.gzip import GZipMiddleware

ENDINGS = (".js", ".css", ".json", "/", "/cards", "/packs", "/lane", "/figures", "/inside", "/events", "/runs", "/lessons")
LEAST, LEVEL = 800, 6
"""Bytes from which it pays; zlib's level."""


class Squeeze:
    """ASGI wrapper: answers at paths with one of the endings are gzipped for who accepts it."""

    def __init__(self, app: Callable[..., Awaitable[None]]):
        self.plain, self.packed = app, GZipMiddleware(app, LEAST, LEVEL)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        fits = scope["type"] == "http" and scope["path"].endswith(ENDINGS)
        await (self.packed if fits else self.plain)(scope, receive, send)
