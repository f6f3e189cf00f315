"""An answer held back until all of it is there: changed, then sent in one piece."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send

Change = Callable[[int, MutableHeaders, bytes], bytes]
"""(status, headers, body) -> the body to send; headers are changed in place."""


async def whole(app: ASGIApp, scope: Scope, receive: Receive, send: Send, change: Change) -> None:
    """What `app` answers, sent as `change` makes it."""
    begun: dict[str, Any] = {}
    parts: list[bytes] = []

    async def catch(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            begun.update(message)
            return
        parts.append(message.get("body", b""))
        if message.get("more_body"):
            return
        headers = MutableHeaders(raw=list(begun["headers"]))
        body = change(begun["status"], headers, b"".join(parts))
        await send({**begun, "headers": headers.raw})
        await send({"type": "http.response.body", "body": body})

    await app(scope, receive, catch)
