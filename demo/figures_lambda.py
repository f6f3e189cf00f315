"""The lambda panel's charts and sentences, from the numbers of a trained grid alone. Pure; tokens for colours."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from forget_me_not.demo.marks import apart, axis, base_layout, note
from forget_me_not.demo.sentences import percent
from forget_me_not.demo.words import fill
from forget_me_not.models.metrics import student

Grid, Words = Mapping[str, Any], Mapping[str, str]
UPPER, LOWER, ASKED = ("@ink-2", "dash", "square"), ("@ink-2", "dot", "diamond"), ("@brand", "solid", "circle")
ACCURACIES = (("oracle", *UPPER), ("accuracy", *ASKED), ("routing", *LOWER))
SHAPES = (("overlap", "@ink-2", "longdash", "triangle-up"), ("zeros", *UPPER), ("turns", *ASKED), ("displacement", *LOWER))
MEASURES = ("zeros", "displacement", "overlap", "turns", "routing", "accuracy", "oracle")
"""Measure, colour, dash, marker. The one asked about is blue; no task's colour, for none of this belongs to a task."""
NEEDED = 20
"""Seeds below which a recorded grid gets no verdict."""
SPARSE, LITTLE = 0.5, 0.1
"""Exact zeros from which on the caption says what is left of a module, and the displacement up to which that is little."""


def draw(grid: Grid, words: Words, verdict: bool = False) -> dict[str, Any]:
    """{"levels", "shapes": figures, "rows": numbers by lambda, "caption", "verdict": null unless asked for and settled}."""
    rows = [summed(row) for row in grid["rows"]]
    known = [row for row in rows if row["accuracy"]]
    return {
        "levels": lines(known, ACCURACIES, words), "shapes": lines(known, SHAPES, words), "rows": rows,
        "caption": caption(known, words, grid["seeds"]), "claim": words["lambda.claim"],
        "verdict": holds(grid["rows"], words) if verdict and len(known) == len(rows) and grid["seeds"] >= NEEDED else None,
        **{k: grid[k] for k in ("grid", "seeds", "done", "total", "state", "problem", "tasks")},
    }  # fmt: skip


def summed(row: Mapping[str, Any]) -> dict[str, Any]:
    """One lambda's numbers: measure -> {"mean", "sd"} over seeds, null where there is none."""
    made: dict[str, Any] = {"sparsity": row["sparsity"], "overlaps": row["overlaps"]}
    for name in MEASURES:
        values = [v for v in row[name] if v is not None]
        sd = statistics.stdev(values) if len(values) > 1 else 0.0
        made[name] = {"mean": statistics.mean(values), "sd": sd} if values else None
    return made


def lines(rows: Sequence[Mapping[str, Any]], measures: Sequence[tuple[str, str, str, str]], words: Words) -> dict[str, Any]:
    """Lines over lambda (evenly spaced, for its values are not) with the spread over seeds, labelled at their ends."""
    data, ends, low = [], [], 1.0
    for number, (name, colour, dash, marker) in enumerate(measures):
        spots = [(x, row[name]) for x, row in enumerate(rows) if row[name]]
        if not spots:
            continue
        ends.append((number, spots[-1][1]["mean"]))
        low = min(low, *(one["mean"] - one["sd"] for _, one in spots))
        data.append({
            "type": "scatter", "mode": "lines+markers", "x": [x for x, _ in spots], "y": [one["mean"] for _, one in spots],
            "cliponaxis": False, "line": {"color": colour, "width": 3, "dash": dash},
            "marker": {"size": 9, "symbol": marker, "color": colour, "line": {"color": "@card", "width": 1.5}},
            "error_y": {"type": "data", "array": [one["sd"] for _, one in spots], "color": colour, "thickness": 1.5,
                        "width": 4},
            "customdata": [_spread(words[f"lambda.{name}"], one) for _, one in spots],
            "hovertemplate": "%{customdata}<extra></extra>",
        })  # fmt: skip
    at, floor = len(rows) - 1, math.floor(low * 10) / 10
    font = {"color": "@ink", "size": 14}
    notes = [note(words[f"lambda.{measures[number][0]}"], x=at, y=height, xanchor="left", xshift=14, font=font)
             for number, _, height in apart(ends, 0.09 * (1.04 - floor))]
    layout = base_layout(l=48, r=126, t=14, b=50) | {
        "annotations": notes,
        "xaxis": axis(range=[-0.2, max(1, at) + 0.1], showgrid=False, tickvals=list(range(len(rows))),
                      ticktext=[shown(row["sparsity"]).lstrip("0") or "0" for row in rows], tickangle=0,
                      title={"text": "λ", "standoff": 6, "font": {"size": 14}}),
        "yaxis": axis(range=[floor, 1.04], dtick=0.1 if floor > 0.4 else 0.2, tickformat=".1f"),
    }  # fmt: skip
    return {"data": data, "layout": layout}


def _spread(name: str, one: Mapping[str, float]) -> str:
    return f"{name}: {one['mean']:.3f} ± {one['sd']:.3f}"


def shown(sparsity: float) -> str:
    """A lambda without needless digits."""
    return f"{sparsity:g}"


def caption(rows: Sequence[Mapping[str, Any]], words: Words, seeds: int) -> str:
    """What the numbers say, in four sentences at most; nothing that is not in them."""
    if len(rows) < 2:
        return words["lambda.caption_none"]
    first, last = rows[0], rows[-1]
    best = max(rows, key=lambda row: row["accuracy"]["mean"])
    said = [fill(words["lambda.caption_shapes"], {
        "low": shown(first["sparsity"]), "high": shown(last["sparsity"]), "zeros0": percent(first["zeros"]["mean"]),
        "zeros1": percent(last["zeros"]["mean"]), "move0": f"{first['displacement']['mean']:.2f}",
        "move1": f"{last['displacement']['mean']:.2f}"})]  # fmt: skip
    if first["turns"] and last["turns"]:
        over = {"over0": f"{first['turns']['mean']:.2f}", "over1": f"{last['turns']['mean']:.2f}"}
        change = last["turns"]["mean"] - first["turns"]["mean"]
        noise = 2 * math.hypot(first["turns"]["sd"], last["turns"]["sd"])
        key = "same" if abs(change) <= max(noise, 0.005) else "rise" if change > 0 else "fall"
        said.append(fill(words[f"lambda.caption_overlap_{key}"], over))
    said.append(fill(words["lambda.caption_best_none" if best is first else "lambda.caption_best"], {
        "best": shown(best["sparsity"]), "accuracy": f"{best['accuracy']['mean']:.3f}", "sd": f"{best['accuracy']['sd']:.3f}",
        "none": f"{first['accuracy']['mean']:.3f}", "seeds": seeds}))  # fmt: skip
    if last["zeros"]["mean"] >= SPARSE:
        key = "empty" if last["displacement"]["mean"] <= LITTLE else "sparse"
        said.append(fill(words[f"lambda.caption_{key}"], {
            "high": shown(last["sparsity"]), "angle": _angle(last), "none": _angle(first)}))  # fmt: skip
    return words["say.gap"].join(said)


def _angle(row: Mapping[str, Any]) -> int:
    """Degrees a module turns a photo by: the angle at which two vectors of length 1 are the displacement apart."""
    return round(math.degrees(2 * math.asin(min(1.0, row["displacement"]["mean"] / 2))))


def holds(rows: Sequence[Mapping[str, Any]], words: Words) -> dict[str, Any]:
    """{"holds", "word", "text", "parts"}: does sparsity keep modules apart, and the right one found more often?

    Paired over seeds, the lambda of the best mean accuracy against 0; a part holds where the 95 % interval of the mean
    difference lies on the claimed side of 0.
    """
    best = max(rows[1:], key=lambda row: statistics.mean(row["accuracy"]))
    parts = []
    for name, side in (("turns", -1), ("routing", 1), ("accuracy", 1)):
        differences = [b - a for a, b in zip(rows[0][name], best[name], strict=True)]
        mean, half = statistics.mean(differences), margin(differences)
        parts.append({"name": name, "mean": mean, "half": half, "holds": side * mean - half > 0})
    whole = all(part["holds"] for part in parts)
    said = [f"{words['lambda.' + part['name']]} {part['mean']:+.3f} ± {part['half']:.3f}" for part in parts]
    text = fill(words["lambda.against"], {"best": shown(best["sparsity"]), "parts": " / ".join(said)})
    return {"holds": whole, "word": words["lambda.holds" if whole else "lambda.fails"], "text": text, "parts": parts}


def margin(differences: Sequence[float]) -> float:
    """Half the 95 % interval of the mean of paired differences (Student's t); infinite for one."""
    free = len(differences) - 1
    if free < 1:
        return math.inf
    return student(free) * statistics.stdev(differences) / math.sqrt(len(differences))
