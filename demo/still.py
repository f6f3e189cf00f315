"""Read-only: a lab that only plays what was recorded before. It has no worker, trains nothing and takes nothing in."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from forget_me_not.demo.disk import read_json
from forget_me_not.demo.guard import problem_answer
from forget_me_not.models.problem import Problem

PLAYS = re.compile(r"/packs/[a-z0-9_-]+/train|/gradio_api/(queue/join|reset|heartbeat/.*)")
"""What may still be posted: a starter pack, which answers with a recorded training, and what Gradio's own page needs."""


class Still:
    """In the worker's place (see client.Client): always ready, and every command is refused with Problem("read_only")."""

    pid = None
    status = {"worker": "ready", "backbone": {"state": "ready", "done": 0, "total": 0, "problem": None}, "queue": []}  # noqa: RUF012

    def __init__(self, plugins: Sequence[str] = ()):
        self.plugins, self._lock = plugins, threading.Lock()
        self._cards: list[dict[str, Any]] | None = None
        self._printing: subprocess.Popen | None = None

    def cards(self) -> list[dict[str, Any]]:
        """The cards, where no worker has ever written them: asked of a process of its own, as the page's never imports torch."""
        with self._lock:
            if self._cards is None:
                command = [sys.executable, "-m", "forget_me_not.demo.cards", *self.plugins]
                self._printing = subprocess.Popen(command, stdout=subprocess.PIPE)
                said, _ = self._printing.communicate()
                if self._printing.returncode:
                    raise Problem("worker_away")
                self._cards = json.loads(said)
            return self._cards

    def start(self) -> None:
        """Nothing to start."""

    def stop(self) -> None:
        """Ends the process that prints the cards, where it is still at it."""
        if self._printing is not None:
            self._printing.terminate()

    def retry(self) -> None:
        """Nothing to start again."""

    def call(self, do: str, patience: float = 0.0, **values: Any) -> dict[str, Any]:
        """Problem read_only."""
        raise Problem("read_only")


class ReadOnly:
    """ASGI wrapper: 403 with a sentence for everything that would change something."""

    def __init__(self, app: Callable[..., Awaitable[None]]):
        self.app = app

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        reads = scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS")
        if reads or PLAYS.fullmatch(scope["path"].removeprefix(scope.get("root_path", "").rstrip("/"))):
            await self.app(scope, receive, send)
        else:
            await problem_answer(Problem("read_only"))(scope, receive, send)


def shown(home: Path) -> str | None:
    """Id of the project a read-only lab opens with: of those with runs, the one changed last; None where there is none."""
    files = (home / "projects").glob("*/project.json")
    known = [(path.stat().st_mtime, path.parent.name) for path in files if read_json(path, {}).get("runs")]
    return max(known)[1] if known else None
