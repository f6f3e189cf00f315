"""RunView -> Plotly figures as plain dictionaries. Pure; colours are token names, replaced in the browser by the theme's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forget_me_not.demo.marks import (
    CIVIDIS,
    LABEL_GAP,
    apart,
    axis,
    base_layout,
    beads,
    glyph,
    hue,
    marker_of,
    note,
    on_cividis,
    well,
)
from forget_me_not.demo.sentences import counted, labelled, percent, say_curves, say_loss, say_matrix
from forget_me_not.demo.view import RunView, accuracy, summary


def draw(view: RunView, words: Mapping[str, str], title: str = "") -> dict[str, Any]:
    """Everything the Train tab draws of a run: three figures, a sentence for each, and the numbers of the status strip."""
    title = words.get(f"method.{view.method}.title") or title or view.method
    return {
        "matrix": matrix(view, words),
        "curves": curves(view, words),
        "loss": loss(view, words),
        "say": {"matrix": say_matrix(view, words), "curves": say_curves(view, words, title), "loss": say_loss(view, words)},
        "view": summary(view),
    }


def matrix(view: RunView, words: Mapping[str, str]) -> dict[str, Any]:
    """Heat map of R[after][task], 0 to 100 %, a number in each cell; empty cells are wells, the next row is outlined."""
    size = len(view.tasks)
    cells = [[accuracy(view, after, task) for task in range(size)] for after in range(size)]
    counts = [[counted(view, after, task, words) for task in range(size)] for after in range(size)]
    shapes = [
        well(task, after, outlined=after == len(view.rows) and view.stage not in ("finished", "stopped", "failed"))
        for after in range(size)
        for task in range(after + 1)
        if cells[after][task] is None
    ]
    text = [["" if v is None else percent(v) for v in row] for row in cells]
    small = size > 8
    heat = {
        "type": "heatmap",
        "z": cells,
        "x": list(range(size)),
        "y": list(range(size)),
        "zmin": 0,
        "zmax": 1,
        "customdata": counts,
        "colorscale": [list(stop) for stop in CIVIDIS],
        "xgap": 4,
        "ygap": 4,
        "showscale": False,
        "hoverongaps": False,
        "hovertemplate": "%{customdata}<extra></extra>",
    }
    numbers = {
        "type": "scatter",
        "mode": "text",
        "hoverinfo": "skip",
        "cliponaxis": False,
        "x": [t for a in range(size) for t in range(size) if text[a][t]],
        "y": [a for a in range(size) for t in range(size) if text[a][t]],
        "text": [text[a][t].rstrip("%" if small else "") for a in range(size) for t in range(size) if text[a][t]],
        "textfont": {
            "size": 13 if small else 15,
            "color": [on_cividis(cells[a][t]) for a in range(size) for t in range(size) if text[a][t]],
        },
    }
    along, first = list(range(size)), [-0.86] * size
    layout = base_layout(l=44, r=4, t=34, b=4) | {
        "shapes": shapes,
        "xaxis": axis(range=[-1.3, size - 0.45], showgrid=False, showticklabels=False),
        "yaxis": axis(range=[size - 0.45, -1.3], showgrid=False, showticklabels=False),
        "annotations": [
            note(words["figure.asked"], xref="paper", yref="paper", x=1, y=1, xanchor="right", yanchor="bottom", yshift=6),
            note(
                words["figure.after"],
                xref="paper",
                yref="paper",
                x=0,
                y=0,
                xanchor="right",
                yanchor="bottom",
                textangle=-90,
                xshift=-8,
            ),
        ],
    }
    return {"data": [heat, numbers, beads(along, first), beads(first, along)], "layout": layout}


CROWD = 14
"""Lines up to which their labels keep the size of the page's smallest type."""


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
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": [a + 1 for a, _ in spots],
                "y": [v for _, v in spots],
                "cliponaxis": False,
                "line": {"color": hue(task), "width": 3, "dash": dash},
                "marker": {
                    "size": 9,
                    "symbol": marker_of(marker, task),
                    "color": hue(task),
                    "line": {"color": "@card", "width": 0 if marker == "x" else 1.5},
                },
                "customdata": [counted(view, a, task, words) for a, _ in spots],
                "hovertemplate": "%{customdata}<extra></extra>",
            }
        )
    low = min([v for trace in data for v in trace["y"]], default=0.4)
    floor = max(0.0, min(0.8, int(low * 10) / 10 - 0.1))
    notes = [
        note(
            f"<b>{percent(value)}</b>  {labelled(view, task, words)}",
            x=last + 1,
            y=at,
            xanchor="left",
            xshift=14,
            font={"color": "@ink", "size": 14 if len(ends) <= CROWD else 11},
        )
        for task, value, at in apart(ends, min(LABEL_GAP, 1 / max(1, len(ends))) * (1.03 - floor), floor)
    ]
    axis_end = max(size, 2)
    layout = base_layout(l=52, r=150 if ends else 24, t=14, b=50) | {
        "annotations": notes,
        "xaxis": axis(
            range=[0.8, axis_end + 0.08],
            tickvals=list(range(1, axis_end + 1)),
            showgrid=False,
            title={"text": words["figure.after"], "standoff": 6, "font": {"size": 14}},
        ),
        "yaxis": axis(range=[floor, 1.03], tickformat=".0%", dtick=0.2 if floor < 0.5 else 0.1),
    }
    return {"data": data, "layout": layout}


def loss(view: RunView, words: Mapping[str, str]) -> dict[str, Any]:
    """Training loss over the tasks, one unit a task, each with its colour below; empty for methods that solve in one go."""
    size = max(1, len(view.tasks))
    data = [
        {
            "type": "scatter",
            "mode": "lines" if len(points) > 1 else "markers",
            "x": [task + f for f, _ in points],
            "y": [v for _, v in points],
            "line": {"color": "@ink-2", "width": 2},
            "marker": {"color": "@ink-2", "size": 6},
            "hovertemplate": "%{y:.3f}<extra></extra>",
        }
        for task, points in enumerate(view.losses)
        if points
    ]
    high = max((v for trace in data for v in trace["y"]), default=1.0)
    known = [view.done + (view.part > 0 and task == view.task) > task for task in range(len(view.tasks))]
    shapes = [
        {
            "type": "rect",
            "xref": "x",
            "yref": "paper",
            "x0": task + 0.012,
            "x1": task + 0.988,
            "y0": -0.12,
            "y1": -0.05,
            "line": {"width": 0},
            "fillcolor": hue(task) if known[task] else "@sunk",
        }
        for task in range(len(view.tasks))
    ]
    layout = base_layout(l=52, r=16, t=8, b=28) | {
        "shapes": shapes,
        "xaxis": axis(range=[0, size], showgrid=False, showticklabels=False),
        "yaxis": axis(range=[0, high * 1.08], nticks=4),
    }
    return {"data": data, "layout": layout}
