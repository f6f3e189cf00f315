"""The numbers of a run on disk, as `--json` prints them. No torch."""

from __future__ import annotations

from typing import Any

from forget_me_not.models.events import Finished
from forget_me_not.models.metrics import summary
from forget_me_not.models.store import RunFolder


def is_finished(run: RunFolder) -> bool:
    """Whether the whole stream was learnt."""
    events = run.events()
    return bool(events) and isinstance(events[-1], Finished)


def record(run: RunFolder) -> dict[str, Any]:
    """method, seed, classes by task, every metric (see metrics.summary), settings, versions."""
    facts = run.facts
    classes = [[facts["classes"][c] for c in task["classes"]] for task in facts["tasks"]]
    return {"method": facts["method"], "seed": facts["seed"], "classes": classes, **summary(run.told()),
            "settings": facts["settings"], "versions": facts["versions"]}  # fmt: skip
