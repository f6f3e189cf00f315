"""The backbone as it arrives: fetched and converted in a thread of its own, told to the page step by step."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from forget_me_not.models.backbone import FrozenViT, create, random_vit
from forget_me_not.models.problem import Problem

EVERY = 0.2
"""Seconds between two words about the download."""


class Arrival:
    """The one backbone of this worker. name: of the backbone, or "random" for a tiny one; vit: None until it is here."""

    def __init__(self, name: str, size: int, say: Callable[[Mapping[str, Any]], None]):
        self.name, self.size, self.say = name, size, say
        self.vit: FrozenViT | None = None
        self._news = {"state": "loading", "done": 0, "total": 0, "problem": None}
        self._told = 0.0

    def fetch(self) -> None:
        """Sends for it in a thread of its own."""
        threading.Thread(target=self._load, name="backbone", daemon=True).start()

    def retry(self) -> None:
        """Sends for it again where it could not be had."""
        if self._news["state"] == "failed":
            self._tell(state="loading", problem=None)
            self.fetch()

    def ready(self) -> FrozenViT:
        """The backbone; Problem("backbone_away") before it is here."""
        if self.vit is None:
            raise Problem("backbone_away")
        return self.vit

    def _load(self) -> None:
        def heard(*said: Any) -> None:
            done, total = int(said[-2]), int(said[-1])
            arrived = 0 < total <= done
            if arrived or time.monotonic() - self._told > EVERY:
                self._tell(state="converting" if arrived else "fetching", done=done, total=total)

        try:
            self._tell()
            vit = random_vit() if self.name == "random" else create(self.name, size=self.size, progress=heard)
        except Problem as problem:
            values = {name: str(value) for name, value in problem.values.items()}
            self._tell(state="failed", problem={"code": problem.code, "values": values})
        except Exception as error:  # no network stack is free of surprises; the page shows it and offers to try again
            traceback.print_exc()
            values = {"reason": f"{type(error).__name__}: {error}"}
            self._tell(state="failed", problem={"code": "backbone_failed", "values": values})
        else:
            self.vit = vit
            self._tell(state="ready", width=vit.width, depth=vit.depth)

    def _tell(self, **news: Any) -> None:
        self._told = time.monotonic()
        self._news = {**self._news, **news}
        self.say({"status": {"backbone": self._news}})
