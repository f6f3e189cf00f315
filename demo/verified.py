"""What was found of a method before anyone trained it here: the claims of its paper that were tried, and its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from forget_me_not.demo.disk import read_json
from forget_me_not.demo.measured import of_method

FOUND = Path(__file__).resolve().parent.parent / "assets" / "results" / "claims.json"
"""Written by `bench claims`: {"name": METHOD_WHAT, "paper", "verdict"} of each claim."""
TRIED = ("holds", "fails", "open")


def with_findings(cards: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The cards, each with two keys more.

    "verified": {"claims", "holds", "fails", "open"}, None where its paper has no claim in the list; "measured": see
    models.suites.claims.measured, with the photos' name, None where it was not.
    """
    names = {card["name"] for card in cards}
    return [{**card, "verified": verdicts(_claims(), card["name"], names), "measured": of_method(card["name"])} for card in cards]


def verdicts(claims: Sequence[Mapping[str, Any]], method: str, methods: Collection[str]) -> dict[str, int] | None:
    """Counts of the claims of one method's paper; a claim is the method's whose name it begins with, the longest of them."""
    mine = [claim["verdict"] for claim in claims if claim["paper"] and _owner(claim["name"], methods) == method]
    counts = Counter(mine)
    return {"claims": len(mine), **{verdict: counts[verdict] for verdict in TRIED}} if mine else None


def _owner(name: str, methods: Collection[str]) -> str:
    return max((method for method in methods if name.startswith(f"{method}_")), key=len, default="")


@cache
def _claims() -> Sequence[Mapping[str, Any]]:
    found = read_json(FOUND, [])
    return [claim for claim in found if {"name", "paper", "verdict"} <= claim.keys()] if isinstance(found, list) else []
