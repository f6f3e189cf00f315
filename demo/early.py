"""Puts stylesheet, script and language into the served page itself: what Gradio adds with JavaScript comes too late."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send

from forget_me_not.demo.whole import whole

FIRST = """
<script>
(() => {
  const asked = new URLSearchParams(location.search);
  const kept = name => { try { return localStorage.getItem('fmn.' + name); } catch { return null; } };
  const lang = asked.get('lang') || kept('lang'), dark = kept('theme');
  const speak = (name, value) => Object.defineProperty(navigator, name, {get: () => value});
  if (asked.get('view') === 'wall') document.documentElement.classList.add('wall');
  if (lang) { speak('language', lang); speak('languages', [lang]); }
  if (dark && !asked.has('__theme')) { asked.set('__theme', dark); history.replaceState(null, '', '?' + asked + location.hash); }
})();
</script>
"""
STATIC = Path(__file__).with_name("static")
STYLES = ("tokens", "shell", "parts", "tabs")
"""Styles that come first, in this order; those of single tabs follow."""
IMPORT = re.compile(r"^(?:import|export)\b[^'\n]*'\./(\w+\.js)'", re.MULTILINE)


def needed(name: str = "lab.js", known: frozenset[str] = frozenset()) -> frozenset[str]:
    """The scripts that `name` cannot start without: itself and what it imports, and so on. Views of later tabs come later."""
    if name in known:
        return known
    known |= {name}
    for other in IMPORT.findall((STATIC / name).read_text("utf-8")):
        known = needed(other, known)
    return known


MODULES = "".join(f'<link rel="modulepreload" href="lab/{name}">' for name in sorted(needed()))
LAST = f"""
<link rel="stylesheet" href="lab/all.css">
<link rel="preload" href="lab/fonts/figtree.woff2" as="font" type="font/woff2" crossorigin>
<script src="lab/lab.js" type="module"></script>{MODULES}
"""
BODY = """<p id="first" aria-hidden="true">Forget-Me-Not</p>"""
"""What is seen while Gradio starts: the name where the header will have it, gone when it has (shell.css)."""


def styles() -> bytes:
    """All stylesheets as one: the first paint waits for one answer instead of eight."""
    first = [STATIC / f"{name}.css" for name in STYLES]
    rest = sorted(path for path in STATIC.glob("*.css") if path not in first)
    return b"\n".join(path.read_bytes() for path in (*first, *rest))


class EarlyHead:
    """ASGI wrapper: the page at "/" comes back with FIRST and LAST at the ends of its head, BODY before Gradio."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        root = scope.get("root_path", "").rstrip("/")
        if scope["type"] != "http" or scope["path"].removeprefix(root) not in ("", "/"):
            await self.app(scope, receive, send)
            return
        plain = [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]
        await whole(self.app, {**scope, "headers": plain}, receive, send, _filled)


def _filled(status: int, headers: MutableHeaders, body: bytes) -> bytes:
    body = body.replace(b"<head>", b"<head>" + FIRST.encode(), 1)
    body = body.replace(b"</head>", LAST.encode() + b"</head>", 1)
    body = body.replace(b"<gradio-app", BODY.encode() + b"<gradio-app", 1)
    headers["content-length"] = str(len(body))
    return body
