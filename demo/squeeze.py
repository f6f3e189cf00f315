"""Scripts, styles and JSON go out compressed: the first page of the lab is to be light. Pictures are so already."""

from __future__ import annotations

from functools import lru_cache

import brotli
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from forget_me_not.demo.whole import whole

ENDINGS = (".js", ".css", ".json", "/", "/cards", "/packs", "/lane", "/figures", "/inside", "/events", "/follow", "/join")
LEAST, LEVEL = 800, 6
"""Bytes from which it pays; zlib's level."""
OURS = "/lab/"
"""Below it lie files that are the same for everybody: packed once, as small as they get, and kept."""


class Squeeze:
    """ASGI wrapper: answers at paths with one of the endings are compressed for who accepts it."""

    def __init__(self, app: ASGIApp):
        self.plain, self.packed = app, GZipMiddleware(app, LEAST, LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        fits = scope["type"] == "http" and scope["path"].endswith(ENDINGS)
        if fits and OURS in scope["path"] and "br" in Headers(scope=scope).get("accept-encoding", ""):
            await whole(self.plain, scope, receive, send, _packed)
        else:
            await (self.packed if fits else self.plain)(scope, receive, send)


def _packed(status: int, headers: MutableHeaders, body: bytes) -> bytes:
    if status != 200 or len(body) < LEAST:
        return body
    body = small(body)
    headers["Content-Encoding"], headers["Content-Length"] = "br", str(len(body))
    headers.add_vary_header("Accept-Encoding")
    return body


@lru_cache(maxsize=256)
def small(body: bytes) -> bytes:
    """`body` by Brotli at its best."""
    return brotli.compress(body, mode=brotli.MODE_TEXT)
