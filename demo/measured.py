"""What was measured of every method on real photos: figures for its card, and where it may land on the plane untrained."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

KEPT = Path(__file__).parents[1] / "assets" / "results" / "measured.json"
"""Written by `bench claims` from the offline suite: {"photos": protocol, "methods": {name: figures}}, see claims.measured."""

LEAST = 0.5


@cache
def recorded() -> Mapping[str, Any]:
    """What was measured; empty where nothing was."""
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {"photos": "", "methods": {}}


def of_method(name: str) -> dict[str, Any] | None:
    """The figures of one method, with the photos they were measured on."""
    known = recorded()
    return {"photos": known["photos"], **known["methods"][name]} if name in known["methods"] else None


def estimates(trained: Collection[str], titles: Mapping[str, str]) -> list[dict[str, Any]]:
    """{"method", "title", "learns", "keeps", "seeds", "photos"} of every learner measured that is not among the trained.

    Nobody aims at a method that loses most of what it knew, and its mark would squeeze all others into a corner.
    """
    known = recorded()
    return [{"method": name, "title": titles.get(name, name), "photos": known["photos"],
             **{part: one[part] for part in ("learns", "keeps", "seeds")}}
            for name, one in known["methods"].items() if name not in trained and one.get("keeps", 0) >= LEAST]  # fmt: skip
