"""RunView -> Plotly figures as plain dictionaries. Colours are token names ("@t1", "@ink"), replaced in the browser by the theme's.

Colour means task, never method: a method is a dash and a marker, `glyph(name)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forget_me_not.demo.view import RunView, accuracy, overall, summary
from forget_me_not.demo.words import fill

HUES = 6
MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "star")
"""Task 7 reuses the hue of task 1 with the second marker, and so on."""

GLYPHS = {
    "finetune": ("dash", "x"), "finetune_blocks": ("5px,3px", "x"), "linear_probe": ("dot", "diamond"), "joint": ("dot", "line-ew"),
    "simplecil": ("longdash", "square"), "ranpac": ("longdashdot", "diamond"), "tosca": ("solid", "circle"),
    "softtf": ("dashdot", "triangle-up"), "l2p": ("5px,3px", "star"),
}  # fmt: skip
DASHES = ("solid", "dash", "dashdot", "longdash", "longdashdot", "5px,3px")

CIVIDIS = (
    (0.0, "#00224e"), (0.1, "#123570"), (0.2, "#3b496c"), (0.3, "#575d6d"), (0.4, "#707173"), (0.5, "#8a8678"),
    (0.6, "#a59c74"), (0.7, "#c3b369"), (0.8, "#e1cc55"), (0.9, "#f4dd4c"), (1.0, "#fee838"),
)  # fmt: skip
LABEL_GAP = 0.068
"""Least distance of two labels at line ends, as a share of the axis."""


def glyph(method: str) -> tuple[str, str]:
    """(dash, marker) of a method; unknown ones get a pair of their own from their name."""
    if method in GLYPHS:
        return GLYPHS[method]
    total = sum(map(ord, method))
    return DASHES[total % len(DASHES)], MARKERS[total // len(DASHES) % len(MARKERS)]


def hue(task: int) -> str:
    """Colour token of a task (0-based)."""
    return f"@t{task % HUES + 1}"


def draw(view: RunView, words: Mapping[str, str], title: str = "") -> dict[str, Any]:
    """Everything the Train tab draws of a run: three figures, a sentence for each, and the numbers of the status strip."""
    title = title or view.method
    return {
        "matrix": matrix(view, words), "curves": curves(view, words), "loss": loss(view, words),
        "say": {"matrix": say_matrix(view, words), "curves": say_curves(view, words, title), "loss": say_loss(view, words)},
        "view": summary(view),
    }  # fmt: skip


def matrix(view: RunView, words: Mapping[str, str]) -> dict[str, Any]:
    """Heat map of R[after][task], 0 to 100 %, a number in each cell; empty cells are wells, the next row is outlined."""
    size = len(view.tasks)
    cells = [[accuracy(view, after, task) for task in range(size)] for after in range(size)]
    counts = [[_count(view, after, task, words) for task in range(size)] for after in range(size)]
    shapes = [
        _well(task, after, outlined=after == len(view.rows) and view.stage not in ("finished", "stopped", "failed"))
        for after in range(size) for task in range(after + 1) if cells[after][task] is None
    ]  # fmt: skip
    text = [["" if v is None else f"{v:.0%}" for v in row] for row in cells]
    small = size > 8
    heat = {
        "type": "heatmap", "z": cells, "x": list(range(size)), "y": list(range(size)), "zmin": 0, "zmax": 1, "customdata": counts,
        "colorscale": [list(stop) for stop in CIVIDIS], "xgap": 4, "ygap": 4, "showscale": False, "hoverongaps": False,
        "hovertemplate": "%{customdata}<extra></extra>",
    }  # fmt: skip
    numbers = {
        "type": "scatter", "mode": "text", "hoverinfo": "skip", "cliponaxis": False,
        "x": [t for a in range(size) for t in range(size) if text[a][t]], "y": [a for a in range(size) for t in range(size) if text[a][t]],
        "text": [text[a][t].rstrip("%" if small else "") for a in range(size) for t in range(size) if text[a][t]],
        "textfont": {"size": 13 if small else 15,
                     "color": [on_cividis(cells[a][t]) for a in range(size) for t in range(size) if text[a][t]]},
    }  # fmt: skip
    along, first = list(range(size)), [-0.86] * size
    layout = _layout(l=44, r=4, t=34, b=4) | {
        "shapes": shapes,
        "xaxis": _axis(range=[-1.3, size - 0.45], showgrid=False, showticklabels=False),
        "yaxis": _axis(range=[size - 0.45, -1.3], showgrid=False, showticklabels=False),
        "annotations": [
            _note(words["figure.asked"], xref="paper", yref="paper", x=1, y=1, xanchor="right", yanchor="bottom", yshift=6),
            _note(words["figure.after"], xref="paper", yref="paper", x=0, y=0, xanchor="right", yanchor="bottom", textangle=-90, xshift=-8),
        ],
    }
    return {"data": [heat, numbers, _beads(along, first), _beads(first, along)], "layout": layout}


def curves(view: RunView, words: Mapping[str, str]) -> dict[str, Any]:
    """One line a task, from when it was learnt, in the task's colour and the method's dash; labelled at its end."""
    dash, marker = glyph(view.method)
    size, last = len(view.tasks), len(view.rows) - 1
    data, ends = [], []
    for task in range(size):
        spots = [(after, accuracy(view, after, task)) for after in range(task, last + 1)]
        spots = [(after, value) for after, value in spots if value is not None]
        if not spots:
            continue
        ends.append((task, spots[-1][1]))
        data.append({
            "type": "scatter", "mode": "lines+markers", "x": [a + 1 for a, _ in spots], "y": [v for _, v in spots], "cliponaxis": False,
            "line": {"color": hue(task), "width": 3, "dash": dash},
            "marker": {"size": 9, "symbol": _marker(marker, task), "color": hue(task),
                       "line": {"color": "@card", "width": 0 if marker == "x" else 1.5}},
            "customdata": [_count(view, a, task, words) for a, _ in spots], "hovertemplate": "%{customdata}<extra></extra>",
        })  # fmt: skip
    low = min([v for trace in data for v in trace["y"]], default=0.4)
    floor = max(0.0, min(0.8, int(low * 10) / 10 - 0.1))
    notes = [
        _note(f"<b>{value:.0%}</b>  {_short(_name(view, task, words))}", x=last + 1, y=at, xanchor="left", xshift=14, font={"color": "@ink", "size": 14})
        for task, value, at in _apart(ends, min(LABEL_GAP, 1 / max(1, len(ends))) * (1.03 - floor))
    ]
    axis_end = max(size, 2)
    layout = _layout(l=52, r=150 if ends else 24, t=14, b=50) | {
        "annotations": notes,
        "xaxis": _axis(range=[0.8, axis_end + 0.08], tickvals=list(range(1, axis_end + 1)), showgrid=False,
                       title={"text": words["figure.after"], "standoff": 6, "font": {"size": 14}}),
        "yaxis": _axis(range=[floor, 1.03], tickformat=".0%", dtick=0.2 if floor < 0.5 else 0.1),
    }  # fmt: skip
    return {"data": data, "layout": layout}


def loss(view: RunView, words: Mapping[str, str]) -> dict[str, Any]:
    """Training loss over the tasks, one unit a task, each with its colour below; empty for methods that solve in one go."""
    size = max(1, len(view.tasks))
    data = [
        {"type": "scatter", "mode": "lines" if len(points) > 1 else "markers", "x": [task + f for f, _ in points], "y": [v for _, v in points],
         "line": {"color": "@ink-2", "width": 2}, "marker": {"color": "@ink-2", "size": 6}, "hovertemplate": "%{y:.3f}<extra></extra>"}
        for task, points in enumerate(view.losses) if points
    ]  # fmt: skip
    high = max((v for trace in data for v in trace["y"]), default=1.0)
    known = [view.done + (view.part > 0 and task == view.task) > task for task in range(len(view.tasks))]
    shapes = [
        {"type": "rect", "xref": "x", "yref": "paper", "x0": task + 0.012, "x1": task + 0.988, "y0": -0.12, "y1": -0.05, "line": {"width": 0},
         "fillcolor": hue(task) if known[task] else "@sunk"}
        for task in range(len(view.tasks))
    ]  # fmt: skip
    layout = _layout(l=52, r=16, t=8, b=28) | {
        "shapes": shapes,
        "xaxis": _axis(range=[0, size], showgrid=False, showticklabels=False),
        "yaxis": _axis(range=[0, high * 1.08], nticks=4),
    }
    return {"data": data, "layout": layout}


def say_curves(view: RunView, words: Mapping[str, str], title: str) -> str:
    """One sentence of what was kept: the whole, and the task that fell most."""
    last = len(view.rows) - 1
    whole = overall(view, last)
    if whole is None:
        return words["say.curves_none"]
    falls = []
    for task in range(last):
        best = max((accuracy(view, after, task) or 0.0) for after in range(task, last))
        now = accuracy(view, last, task)
        if now is not None:
            falls.append((best - now, task, best, now))
    key = "say.curves_end" if view.stage == "finished" else "say.curves_now"
    start = fill(words[key], {"method": title, "whole": f"{whole:.1%}", "tasks": last + 1})
    if not falls:
        return start
    fall, task, best, now = max(falls)
    named = {"task": _name(view, task, words), "best": f"{best:.0%}", "now": f"{now:.0%}"}
    return start + words["say.gap"] + fill(words["say.curves_fell" if fall >= 0.005 else "say.curves_kept"], named)


def say_matrix(view: RunView, words: Mapping[str, str]) -> str:
    """One sentence on the newest row."""
    last = len(view.rows) - 1
    if last < 0:
        return words["say.matrix_none"]
    right, total = sum(r for r, _ in view.rows[last]), sum(n for _, n in view.rows[last])
    return fill(words["say.matrix"], {"task": _name(view, last, words), "right": right, "total": total})


def say_loss(view: RunView, words: Mapping[str, str]) -> str:
    """One sentence on the loss of the newest task; says so where a method has none."""
    tasks = [t for t, points in enumerate(view.losses) if points]
    if not tasks:
        return words["say.loss_none" if not view.done else "say.loss_never"]
    points = view.losses[tasks[-1]]
    values = {"task": _name(view, tasks[-1], words), "first": f"{points[0][1]:.2f}", "last": f"{points[-1][1]:.2f}"}
    return fill(words["say.loss"], values)


def on_cividis(value: float) -> str:
    """Ink that reads on the colour of `value`: luminance decides, so it holds in both themes."""
    return "#FFFFFF" if value < 0.5 else "#15120A"


def _count(view: RunView, after: int, task: int, words: Mapping[str, str]) -> str:
    """Hover text: what was asked when, and how many of how many were right."""
    if accuracy(view, after, task) is None:
        return ""
    right, total = view.rows[after][task]
    low, high = wilson(right, total)
    values = {"after": after + 1, "task": task + 1, "name": _name(view, task, words), "right": right, "total": total,
              "low": f"{low:.0%}", "high": f"{high:.0%}"}  # fmt: skip
    return fill(words["figure.hover"], values)


def wilson(right: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson 95 % interval of `right` of `total` (Wilson 1927)."""
    share, spread = right / total, z * z / total
    centre = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * (share * (1 - share) / total + spread / (4 * total)) ** 0.5
    return max(0.0, centre - half), min(1.0, centre + half)


def _name(view: RunView, task: int, words: Mapping[str, str]) -> str:
    """A task's name made safe for Plotly, which reads a little HTML in its texts."""
    name = view.names[task] if task < len(view.names) and view.names[task] else fill(words["task.n"], {"n": task + 1})
    return name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _short(name: str, most: int = 16) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _marker(marker: str, task: int) -> str:
    """The method's marker; from task 7 on hues repeat, so the marker tells them apart."""
    return marker if task < HUES else MARKERS[(MARKERS.index(marker) + task // HUES) % len(MARKERS)] if marker in MARKERS else "circle"


def _apart(ends: list[tuple[int, float]], gap: float) -> list[tuple[int, float, float]]:
    """(task, value, height of its label): labels at least `gap` apart, in the order of the values, inside the axis."""
    placed: list[tuple[int, float, float]] = []
    for task, value in sorted(ends, key=lambda end: (-end[1], end[0])):
        at = min(value, placed[-1][2] - gap) if placed else value
        placed.append((task, value, at))
    return placed


def _beads(xs: list[float], ys: list[float]) -> dict[str, Any]:
    count = len(xs)
    return {
        "type": "scatter", "mode": "markers+text", "x": xs, "y": ys, "text": [str(task + 1) for task in range(count)], "hoverinfo": "skip",
        "textfont": {"size": 14, "color": [hue(task) + "-on" for task in range(count)]}, "cliponaxis": False,
        "marker": {"size": 26 if count <= 10 else 20, "color": [hue(task) for task in range(count)], "opacity": 1},
    }  # fmt: skip


def _well(x: int, y: int, outlined: bool) -> dict[str, Any]:
    return {
        "type": "rect", "x0": x - 0.46, "x1": x + 0.46, "y0": y - 0.45, "y1": y + 0.45, "fillcolor": "@sunk", "layer": "below",
        "line": {"width": 1.5 if outlined else 0, "color": "@line-strong", "dash": "dot"},
    }  # fmt: skip


def _layout(**margin: int) -> dict[str, Any]:
    return {
        "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)", "showlegend": False, "margin": margin, "hovermode": "closest",
        "font": {"family": "@sans", "size": 14, "color": "@ink-2"}, "uirevision": "run",
        "hoverlabel": {"bgcolor": "@card", "bordercolor": "@line-strong", "font": {"size": 16, "color": "@ink", "family": "@sans"}},
    }  # fmt: skip


def _axis(**extra: Any) -> dict[str, Any]:
    return {"gridcolor": "@grid", "zeroline": False, "linecolor": "rgba(0,0,0,0)", "tickcolor": "rgba(0,0,0,0)", **extra}


def _note(text: str, **extra: Any) -> dict[str, Any]:
    return {"text": text, "showarrow": False, **extra}
