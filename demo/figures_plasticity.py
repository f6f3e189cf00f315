"""Arms of the plasticity track -> Plotly figures as plain dictionaries. Pure.

An arm is a dash and a marker in ink, never a colour: colours are tasks. The fresh network is the dashed line the others are
held to. A heat map compares with the first task: dark blue has shrunk, grey is as it was, yellow has grown.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from forget_me_not.demo.marks import CIVIDIS, DASHES, LABEL_GAP, MARKERS, apart, axis, base_layout, note, on_cividis
from forget_me_not.demo.plasticity import ArmRun
from forget_me_not.demo.sentences import percent
from forget_me_not.demo.words import fill

GLYPHS = {
    "fresh": ("dash", "line-ew"), "adam_fresh": ("dash", "circle"),
    "sgd": ("solid", "x"), "adam": ("solid", "square"), "adamw": ("longdash", "square"),
    "shrink_perturb": ("solid", "diamond"), "clip": ("solid", "triangle-up"), "l2_init": ("longdash", "diamond"),
    "trac": ("dashdot", "diamond"), "cbp": ("5px,3px", "diamond"), "nap": ("longdashdot", "diamond"), "crelu": ("dot", "diamond"),
    "arrow": ("longdash", "star"), "arrow_clip": ("longdashdot", "star"), "adam_arrow": ("solid", "star"),
    "sgd_half": ("5px,3px", "x"), "sgd_quarter": ("dot", "x"), "clip_half": ("5px,3px", "triangle-up"),
    "attention_half": ("dashdot", "x"), "arrow_matched": ("dashdot", "star"), "adam_third": ("5px,3px", "square"),
    "adam_attention_third": ("dashdot", "square"), "adam_arrow_matched": ("5px,3px", "star"),
}  # fmt: skip

MEASURES = ("effective_rank", "stable_rank", "active", "magnitude", "gradient", "drift")
PARTS = {"attention": ("q", "k", "v", "proj"), "ffn": ("fc1", "fc2")}
SPAN = 4.0
"""A value this many times the first task's, or a share of it as small, has the end of the colour scale."""
LABEL, NARROW = 24, 8
"""Columns of a line's name, and on a phone."""
NUMBERS, NARROW_NUMBERS = 12, 4
"""Up to so many tasks a cell has its number, and on a phone; beyond, hover and table have it."""


def glyph_of(arm: str) -> tuple[str, str]:
    """(dash, marker) of an arm; one that is new gets a pair of its own from its name."""
    total = sum(map(ord, arm))
    return GLYPHS.get(arm, (DASHES[total % len(DASHES)], MARKERS[total // len(DASHES) % len(MARKERS)]))


def title_of(arm: ArmRun, words: Mapping[str, str]) -> str:
    """An arm's name in the language of `words`."""
    return words.get(f"method.{arm.name}.title", arm.card["title"])


def curves(arms: Sequence[ArmRun], tasks: int, words: Mapping[str, str], chosen: str = "",
           label: int = LABEL) -> dict[str, Any]:  # fmt: skip
    """Accuracy on each new task, a line an arm, named at its end in `label` columns; the one called `chosen` is drawn thicker."""
    data, ends = [], []
    lines = [arm for arm in arms if arm.accuracy]
    for number, arm in enumerate(lines):
        values, (dash, marker), fresh = arm.accuracy, glyph_of(arm.name), arm.card["group"] == "fresh"
        ends.append((number, values[-1]))
        colour = "@ink-2" if fresh else "@ink"
        data.append({
            "type": "scatter", "mode": "lines" if marker == "line-ew" and len(values) > 1 else "lines+markers",
            "x": list(range(1, len(values) + 1)), "y": values, "cliponaxis": False, "name": title_of(arm, words),
            "line": {"color": colour, "width": 4 if arm.name == chosen else 2, "dash": dash},
            "marker": {"size": 10 if tasks <= 20 else 7, "symbol": marker, "color": colour,
                       "line": {"color": colour if marker == "line-ew" else "@card", "width": 2 if marker == "line-ew" else 1}},
            "customdata": [hover(arm, t, words) for t in range(len(values))], "hovertemplate": "%{customdata}<extra></extra>",
        })  # fmt: skip
    lowest = min((v for trace in data for v in trace["y"]), default=0.4)
    floor = max(0.0, min(0.8, math.floor(lowest * 10) / 10 - 0.05))
    gap = min(LABEL_GAP, 1 / max(1, len(ends))) * (1.03 - floor)
    ahead = max((len(arm.accuracy) for arm in lines), default=1)  # names stand in one column, so that none covers a line
    threads = [{"type": "line", "x0": len(lines[number].accuracy), "x1": ahead, "y0": value, "y1": at, "layer": "below",
                "line": {"color": "@line-strong", "width": 1, "dash": "dot"}}
               for number, value, at in apart(ends, gap) if len(lines[number].accuracy) < ahead]  # fmt: skip
    notes = [
        note(f"<b>{percent(value)}</b>  {safe(fit(title_of(lines[number], words), label))}", x=ahead, y=at,
             xanchor="left", xshift=14, font={"color": "@ink", "size": 14})
        for number, value, at in apart(ends, gap)
    ]  # fmt: skip
    end = max(tasks, 2)
    layout = base_layout(l=52, r=224 if ends else 24, t=14, b=50) | {
        "annotations": notes, "shapes": threads,
        "xaxis": axis(range=[0.8, end + 0.08], dtick=1 if end <= 20 else 5, tick0=1, showgrid=False,
                      title={"text": words["plastic.after"], "standoff": 6, "font": {"size": 14}}),
        "yaxis": axis(range=[floor, 1.03], tickformat=".0%", dtick=0.2 if floor < 0.3 else 0.1),
    }  # fmt: skip
    return {"data": data, "layout": layout}


def hover(arm: ArmRun, task: int, words: Mapping[str, str]) -> str:
    """What a point says."""
    right, total = arm.view.rows[task][task]
    key = "plastic.hover_named" if arm.view.kind == "task" else "plastic.hover"  # other tasks' names say nothing to a person
    return fill(words[key], {"arm": safe(title_of(arm, words)), "task": task + 1, "right": right, "total": total,
                             "name": safe(arm.view.names[task])})  # fmt: skip


def heat(arm: ArmRun, measure: str, side: str, words: Mapping[str, str], tasks: int, most: int = NUMBERS) -> dict[str, Any]:
    """Values of `measure` by matrix and depth (down) and task (across); the blocks are apart. Colour: against task 1.

    A cell has its number where there are at most `most` tasks.
    """
    rows, values = table(arm, measure, side)
    blocks = sorted({block for _, block in rows})
    heights = [at + 0.6 * blocks.index(block) for at, (_, block) in enumerate(rows)]
    shown, seen = [[None if v is None else tone(v, row[0]) for v in row] for row in values], range(len(arm.view.measures))
    data: list[dict[str, Any]] = []
    for block in blocks:
        mine = [at for at, (_, own) in enumerate(rows) if own == block]
        data.append({
            "type": "heatmap", "x": [t + 1 for t in seen], "y": [heights[at] for at in mine], "z": [shown[at] for at in mine],
            "zmin": 0, "zmax": 1, "colorscale": [list(stop) for stop in CIVIDIS], "showscale": False, "xgap": 2, "ygap": 2,
            "hoverongaps": False, "hovertemplate": "%{customdata}<extra></extra>",
            "customdata": [[cell(measure, rows[at], t, values[at], words) for t in seen] for at in mine],
        })  # fmt: skip
    if tasks <= most:
        spots = [(t, at) for at in range(len(rows)) for t in seen if values[at][t] is not None]
        data.append({"type": "scatter", "mode": "text", "hoverinfo": "skip", "x": [t + 1 for t, _ in spots],
                     "y": [heights[at] for _, at in spots], "text": [brief(values[at][t]) for t, at in spots],
                     "textfont": {"size": 13, "color": [on_cividis(shown[at][t]) for t, at in spots]}})  # fmt: skip
    names = [note(words[f"plastic.part_{part}"], xref="paper", x=0, xanchor="right", xshift=-8, y=heights[at],
                  font={"size": 14, "color": "@ink"}) for at, (part, _) in enumerate(rows)]  # fmt: skip
    for block in blocks:
        mine = [heights[at] for at, (_, own) in enumerate(rows) if own == block]
        names.append(note(fill(words["plastic.block"], {"n": block + 1}), xref="paper", x=0, xanchor="center", xshift=-86,
                          y=sum(mine) / len(mine), textangle=-90))  # fmt: skip
    end = heights[-1] + 0.55 if heights else 1
    layout = base_layout(l=104, r=6, t=6, b=46) | {
        "annotations": names,
        "xaxis": axis(range=[0.45, max(tasks, 2) + 0.55], dtick=1 if tasks <= NUMBERS else 5, tick0=1, showgrid=False,
                      title={"text": words["plastic.after"], "standoff": 4, "font": {"size": 14}}),
        "yaxis": axis(range=[end, -0.55], showgrid=False, showticklabels=False),
    }  # fmt: skip
    return {"data": data, "layout": layout}


def table(arm: ArmRun, measure: str, side: str) -> tuple[list[tuple[str, int]], list[list[float | None]]]:
    """((part, block), …) from the input on, and their values by task; parts and blocks without this measure are left out."""
    known = sorted({key for measures in arm.view.measures for key in measures if key.startswith(measure + ".")})
    blocks = sorted({int(key.rsplit(".", 1)[1]) for key in known if key.rsplit(".", 1)[1].isdigit()})
    rows = [(part, block) for block in blocks for part in PARTS[side] if f"{measure}.{part}.{block}" in known]
    return rows, [[m.get(f"{measure}.{part}.{block}") for m in arm.view.measures] for part, block in rows]


def change(arm: ArmRun, measure: str, side: str, parts: Iterable[str] = ()) -> tuple[float, float] | None:
    """Mean of a measure over a side's matrices after the first and after the latest task; None before the second task."""
    rows, values = table(arm, measure, side)
    kept = [row for (part, _), row in zip(rows, values, strict=True) if not parts or part in parts]
    if not kept or len(kept[0]) < 2 or any(row[0] is None or row[-1] is None for row in kept):
        return None
    return math.fsum(row[0] for row in kept) / len(kept), math.fsum(row[-1] for row in kept) / len(kept)


def tone(value: float, first: float | None) -> float:
    """Place on the colour scale: 0.5 where `value` is as after the first task, by ratio; the ends are SPAN times less or more."""
    if not first or first < 0 or value <= 0:
        return 0.5 if not first else 0.0
    return max(0.0, min(1.0, 0.5 + math.log(value / first) / (2 * math.log(SPAN))))


def brief(value: float) -> str:
    """A number in three figures."""
    figures = next((n for n, least in enumerate((99.5, 9.95, 0.095)) if abs(value) >= least), 3)
    return f"{value:.{figures}f}"


def cell(measure: str, row: tuple[str, int], task: int, values: Sequence[float | None], words: Mapping[str, str]) -> str:
    """What a cell says."""
    value = values[task]
    if value is None:
        return ""
    named = {"measure": words[f"plastic.measure_{measure}"], "part": words[f"plastic.part_{row[0]}"], "block": row[1] + 1}
    return fill(words["plastic.cell"], {**named, "task": task + 1, "value": brief(value), "first": brief(values[0] or 0)})


def fit(name: str, columns: int) -> str:
    """`name` cut to `columns`, of which wide letters take two."""
    taken, kept = 0, ""
    for letter in name:
        taken += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if taken > columns:
            return kept.rstrip() + "…"
        kept += letter
    return kept


def safe(text: str) -> str:
    """Text that Plotly, which reads a little HTML, shows as it is."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
