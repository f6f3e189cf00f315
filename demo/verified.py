"""What is known of the claims of a method's paper: how many were tried here, and what came of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from forget_me_not.demo.disk import read_json

FOUND = Path(__file__).resolve().parent.parent / "assets" / "results" / "claims.json"
"""Written by `bench claims`: {"name": METHOD_WHAT, "paper", "verdict"} of each claim."""
TRIED = ("holds", "fails", "open")


def with_verdicts(cards: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The cards, each with "verified": {"claims", "holds", "fails", "open"}; None where its paper has no claim in the list."""
    names = {card["name"] for card in cards}
    return [{**card, "verified": verdicts(_claims(), card["name"], names)} for card in cards]


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
