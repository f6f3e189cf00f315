"""Where a method not trained yet may land on the plane: means of recorded runs on other photos. A hint, and told as one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from forget_me_not.demo.compare import Row

KEPT = Path(__file__).parents[1] / "assets" / "results" / "estimates.json"
"""Written by `bench claims` from the offline suite: {"photos": protocol, "methods": {name: {"learns", "keeps", "seeds"}}}."""

LEAST = 0.5


@cache
def recorded() -> Mapping[str, Any]:
    """What was recorded; empty where nothing was."""
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {"photos": "", "methods": {}}


def of(board: Sequence[Row], titles: Mapping[str, str]) -> list[dict[str, Any]]:
    """{"method", "title", "learns", "keeps", "seeds", "photos"} of every recorded method that has no row of its own yet.

    Nobody aims at a method that loses most of what it knew, and its mark would squeeze all others into a corner.
    """
    there, known = {row.method for row in board}, recorded()
    return [{"method": name, "title": titles.get(name, name), "photos": known["photos"], **one}
            for name, one in known["methods"].items() if name not in there and one["keeps"] >= LEAST]  # fmt: skip
