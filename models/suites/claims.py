"""Claims of papers held against results: what was found, and whether it holds here. The list is data (claims.json)."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forget_me_not.models.suites.tables import BOUND, PRESETS, Line, Spread, lines, paired, spread

LIST = Path(__file__).with_name("claims.json")
HOLDS, FAILS, OPEN, UNTESTED, MISSING = "holds", "fails", "open", "untested", "missing"


def judge(results: Sequence[Mapping[str, Any]], packs: Mapping[str, Mapping[str, Any]], figures: Sequence[Mapping[str, Any]],
          about: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:  # fmt: skip
    """Every claim with {"name", "paper", "verdict", "found": list of parts}.

    results: of the offline suite; packs: recorded lambda grids by name; figures: rows of the plasticity bench as JSON.
    A part holds where its 95 % interval lies above the claimed limit and fails where it lies at or below it; a claim with
    several parts holds where all do and fails where one does. One seed gives a number and no verdict.
    """
    about = about or json.loads(LIST.read_text(encoding="utf-8"))
    return [_judge(claim, about["protocol"], results, packs, figures) for claim in about["claims"]]


def _judge(claim: Mapping[str, Any], protocol: str, results: Any, packs: Any, figures: Any) -> dict[str, Any]:
    kind, found = claim["kind"], []
    if kind == "difference":
        found = [part for b in claim["b"] if (part := _difference(claim, protocol, b, results))]
    elif kind == "ratio":
        found = _ratio(claim, protocol, results)
    elif kind == "lambda":
        found = [_grid(name, packs[name]["rows"], claim) for name in claim["packs"] if name in packs]
    elif kind == "figure":
        found = [_figure(claim, row) for row in figures if row["name"] == claim["row"]]
    return {"name": claim["name"], "paper": claim["paper"], "kind": kind, "verdict": _verdict(kind, found), "found": found}


def _verdict(kind: str, found: Sequence[Mapping[str, Any]]) -> str:
    if kind == "untested" or not found:
        return UNTESTED if kind == "untested" else MISSING
    verdicts = [part["verdict"] for part in found]
    return FAILS if FAILS in verdicts else OPEN if OPEN in verdicts else HOLDS


def _part(s: Spread, above: float, **more: Any) -> dict[str, Any]:
    many = s.n > 1
    verdict = OPEN if not many else HOLDS if s.low > above else FAILS if s.high <= above else OPEN
    return {"mean": round(s.mean, 4), "half": round(s.half, 4) if many else None, "n": s.n, "verdict": verdict, **more}


def _difference(claim: Mapping[str, Any], protocol: str, b: str, results: Any) -> dict[str, Any] | None:
    metric = claim.get("metric", "last_accuracy")
    s = paired(results, protocol, claim["a"], b, metric, claim.get("metric_b", ""))
    return s and _part(s, claim["above"], a=claim["a"], b=b)


def _ratio(claim: Mapping[str, Any], protocol: str, results: Any) -> list[dict[str, Any]]:
    known = [one for one in lines(results) if one.protocol == protocol]
    found = [s for title in (claim["a"], claim["b"]) for one in known if one.title == title and (s := one[claim["metric"]])]
    if len(found) < 2:
        return []
    ratio = found[0].mean / found[1].mean
    verdict = HOLDS if ratio >= claim["above"] else FAILS
    return [{"mean": round(ratio, 2), "half": None, "n": min(s.n for s in found), "verdict": verdict}]


def _grid(name: str, rows: Sequence[Mapping[str, Any]], claim: Mapping[str, Any]) -> dict[str, Any]:
    """The lambda of the best mean accuracy against none, over the same seeds."""
    best = max(rows[1:], key=lambda row: statistics.mean(row["accuracy"]))
    differences = [b - a for a, b in zip(rows[0][claim["metric"]], best[claim["metric"]], strict=True)]
    s = spread(differences)
    return _part(s, claim["above"], pack=name, sparsity=best["sparsity"])


def _figure(claim: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    low, high = row["detail"][claim["low"]], row["detail"][claim["high"]]
    verdict = HOLDS if low > claim["above"] else FAILS if high <= claim["above"] else OPEN
    return {"mean": round(row["value"], 4), "low": round(low, 4), "high": round(high, 4), "verdict": verdict}


def measured(results: Sequence[Mapping[str, Any]], about: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Of every method on the claims' photos: means over seeds of its default settings, and its paper's settings beside them.

    A method: {"accuracy", "seeds", "learns", "keeps"}, the last two of learners alone; "preset" where the paper's settings were
    run: {"name", "accuracy", "less": the default's accuracy minus theirs on the same seeds, "seeds"}.
    """
    protocol = (about or json.loads(LIST.read_text(encoding="utf-8")))["protocol"]
    known = {one.title: one for one in lines(results) if one.protocol == protocol and one["last_accuracy"]}
    return {"photos": protocol, "methods": {
        line.method: _means(line) | _preset(known, results, protocol, line.method)
        for title, line in sorted(known.items()) if title == line.method}}  # fmt: skip


def _means(line: Line) -> dict[str, Any]:
    said = {"accuracy": round(line["last_accuracy"].mean, 4), "seeds": line["last_accuracy"].n}
    learns, loses = line["learning_accuracy"], line["forgetting"]
    if learns and loses and line.method != BOUND:
        said |= {"learns": round(learns.mean, 4), "keeps": round(1 - loses.mean, 4)}
    return said


def _preset(known: Mapping[str, Line], results: Any, protocol: str, method: str) -> dict[str, Any]:
    for name in PRESETS:
        title = f"{method} · {name}"
        less = title in known and paired(results, protocol, method, title)
        if less:
            accuracy = round(known[title]["last_accuracy"].mean, 4)
            return {"preset": {"name": name, "accuracy": accuracy, "less": round(less.mean, 4), "seeds": less.n}}
    return {}
