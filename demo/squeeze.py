"""Scripts, styles and JSON go out compressed: the first page of the lab is to be light. Pictures are so already."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any

import brotli
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware

ENDINGS = (".js", ".css", ".json", "/", "/cards", "/packs", "/lane", "/figures", "/inside", "/events", "/follow", "/join")
LEAST, LEVEL = 800, 6
"""Bytes from which it pays; zlib's level."""
OURS = "/lab/"
"""Below it lie files that are the same for everybody: packed once, as small as they get, and kept."""


class Squeeze:
    """ASGI wrapper: answers at paths with one of the endings are compressed for who accepts it."""

    def __init__(self, app: Callable[..., Awaitable[None]]):
        self.plain, self.packed = app, GZipMiddleware(app, LEAST, LEVEL)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        fits = scope["type"] == "http" and scope["path"].endswith(ENDINGS)
        if fits and OURS in scope["path"] and "br" in Headers(scope=scope).get("accept-encoding", ""):
            await self._whole(scope, receive, send)
        else:
            await (self.packed if fits else self.plain)(scope, receive, send)

    async def _whole(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """The answer held back until all of it is there, then sent small."""
        begun: dict[str, Any] = {}
        parts: list[bytes] = []

        async def catch(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                begun.update(message)
                return
            parts.append(message.get("body", b""))
            if message.get("more_body"):
                return
            body, headers = b"".join(parts), MutableHeaders(raw=list(begun["headers"]))
            if begun["status"] == 200 and len(body) >= LEAST:
                body = small(body)
                headers["Content-Encoding"], headers["Content-Length"] = "br", str(len(body))
                headers.add_vary_header("Accept-Encoding")
            await send({**begun, "headers": headers.raw})
            await send({"type": "http.response.body", "body": body})

        await self.plain(scope, receive, catch)


@lru_cache(maxsize=256)
def small(body: bytes) -> bytes:
    """`body` by Brotli at its best."""
    return brotli.compress(body, mode=brotli.MODE_TEXT)
