"""A process that kills itself at a named moment: when it opens or renames a certain file for the n-th time.

The moments lie in a file (`plan`), so that they reach whichever process is alive, page or worker, and outlast its death. A plan
is a list of steps in order; a step is met by the first process that does what it says, and leaves a file so that it is met once.
Python's audit events are the trigger: nothing in the product knows of this.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLAN, CLOCK = "FORGET_ME_NOT_FUSE", "FORGET_ME_NOT_CLOCK"
"""Environment variables: the file of the plan, and by how many seconds the clock runs ahead until the file `back` is there."""
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


@dataclass(frozen=True)
class Step:
    """One thing to wait for. event: "open" or "rename" (just before it happens). path: what the file's path must match.

    count: how many times. mode: what the mode it is opened in must contain. kill: whether the process dies of it.
    """

    event: str
    path: str
    count: int = 1
    mode: str = ""
    kill: bool = True


def lay(plan: Path, steps: Sequence[Step]) -> None:
    """Writes a new plan; what was met of an older one is forgotten."""
    for met in plan.parent.glob(f"{plan.name}.*"):
        met.unlink(missing_ok=True)
    draft = plan.with_name(f".{plan.name}")
    draft.write_text(json.dumps([dataclasses.asdict(step) for step in steps]), "utf-8")
    os.replace(draft, plan)


def met(plan: Path) -> int:
    """How many steps of the plan have been met."""
    return len(list(plan.parent.glob(f"{plan.name}.*")))


def arm() -> None:
    """Makes this process follow the plan of its environment, and tell the time of its environment."""
    if os.environ.get(CLOCK):
        _set_clock(float(os.environ[CLOCK]), Path(os.environ[PLAN]).with_name("back"))
    if os.environ.get(PLAN):
        sys.addaudithook(_Fuse(Path(os.environ[PLAN])))


def _set_clock(ahead: float, back: Path) -> None:
    real = time.time
    time.time = lambda: real() + (0.0 if back.exists() else ahead)


class _Fuse:
    """The audit hook. It must be quick, and may not fall over its own file accesses."""

    def __init__(self, plan: Path):
        self.plan, self.root = plan, str(plan.parent)
        self.seen: tuple[int, int] = (-1, -1)  # (step, times it was met)
        self._mine = threading.local()

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in ("open", "os.rename") or getattr(self._mine, "busy", False):
            return
        self._mine.busy = True
        try:
            self._look(event.removeprefix("os."), arguments)
        except (OSError, TypeError, ValueError):  # a plan being laid, a descriptor instead of a path
            return
        finally:
            self._mine.busy = False

    def _look(self, event: str, arguments: tuple[Any, ...]) -> None:
        path = os.fsdecode(arguments[1] if event == "rename" else arguments[0])
        if not path.startswith(self.root):
            return
        steps = json.loads(self.plan.read_bytes())
        at = met(self.plan)
        if at >= len(steps):
            return
        step = Step(**steps[at])
        mode = str(arguments[1] or "") if event == "open" else ""
        if step.event != event or step.mode not in mode or not re.search(step.path, path):
            return
        self.seen = (at, self.seen[1] + 1 if self.seen[0] == at else 1)
        if self.seen[1] < step.count:
            return
        self.plan.with_name(f"{self.plan.name}.{at}").touch()
        if step.kill:
            os.kill(os.getpid(), KILL)
