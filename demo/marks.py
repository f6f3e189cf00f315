"""The marks charts are made of: colour tokens of tasks, dash and marker of methods, beads, wells, axes.

Colour means task, never method. Tokens ("@t1", "@ink") become the theme's colours in the browser.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

HUES = 6
MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "star")
"""Task 7 reuses the hue of task 1 with the second marker, and so on."""

GLYPHS = {
    "finetune": ("dash", "x"),
    "finetune_blocks": ("5px,3px", "x"),
    "linear_probe": ("dot", "diamond"),
    "joint": ("dot", "line-ew"),
    "simplecil": ("longdash", "square"),
    "ranpac": ("longdashdot", "diamond"),
    "tosca": ("solid", "circle"),
    "softtf": ("dashdot", "triangle-up"),
    "l2p": ("5px,3px", "star"),
}
DASHES = ("solid", "dash", "dashdot", "longdash", "longdashdot", "5px,3px")

CIVIDIS = (
    (0.0, "#00224e"),
    (0.1, "#123570"),
    (0.2, "#3b496c"),
    (0.3, "#575d6d"),
    (0.4, "#707173"),
    (0.5, "#8a8678"),
    (0.6, "#a59c74"),
    (0.7, "#c3b369"),
    (0.8, "#e1cc55"),
    (0.9, "#f4dd4c"),
    (1.0, "#fee838"),
)
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


def on_cividis(value: float) -> str:
    """Black or white, whichever reads better on the colour of `value` in [0, 1]: at least 4.5 : 1 (WCAG 2 contrast)."""
    red, green, blue = cividis(value)
    light = 0.2126 * _linear(red) + 0.7152 * _linear(green) + 0.0722 * _linear(blue)
    return "#FFFFFF" if 1.05 / (light + 0.05) > (light + 0.05) / 0.05 else "#000000"


def cividis(value: float) -> tuple[float, float, float]:
    """Red, green and blue in [0, 1] of `value`, straight between the stops as the browser draws them."""
    (low, dark), (high, bright) = next(pair for pair in pairwise(CIVIDIS) if value <= pair[1][0])
    share = (value - low) / (high - low)
    channels = ((int(dark[i : i + 2], 16), int(bright[i : i + 2], 16)) for i in (1, 3, 5))
    return tuple((a + share * (b - a)) / 255 for a, b in channels)


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def marker_of(marker: str, task: int) -> str:
    """The method's marker; from task 7 on hues repeat, so the marker tells them apart."""
    return (
        marker
        if task < HUES
        else MARKERS[(MARKERS.index(marker) + task // HUES) % len(MARKERS)]
        if marker in MARKERS
        else "circle"
    )


def apart(ends: list[tuple[int, float]], gap: float, floor: float = -math.inf) -> list[tuple[int, float, float]]:
    """(task, value, height of its label): labels at least `gap` apart, in the order of the values, none below `floor`."""
    placed: list[tuple[int, float, float]] = []
    for task, value in sorted(ends, key=lambda end: (-end[1], end[0])):
        at = min(value, placed[-1][2] - gap) if placed else value
        placed.append((task, value, at))
    last = len(placed) - 1
    return [(task, value, max(at, floor + (last - n) * gap)) for n, (task, value, at) in enumerate(placed)]


def beads(xs: list[float], ys: list[float]) -> dict[str, Any]:
    count = len(xs)
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": xs,
        "y": ys,
        "text": [str(task + 1) for task in range(count)],
        "hoverinfo": "skip",
        "textfont": {"size": 14, "color": [hue(task) + "-on" for task in range(count)]},
        "cliponaxis": False,
        "marker": {"size": 26 if count <= 10 else 20, "color": [hue(task) for task in range(count)], "opacity": 1},
    }


def well(x: int, y: int, outlined: bool) -> dict[str, Any]:
    return {
        "type": "rect",
        "x0": x - 0.46,
        "x1": x + 0.46,
        "y0": y - 0.45,
        "y1": y + 0.45,
        "fillcolor": "@sunk",
        "layer": "below",
        "line": {"width": 1.5 if outlined else 0, "color": "@line-strong", "dash": "dot"},
    }


def base_layout(**margin: int) -> dict[str, Any]:
    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "margin": margin,
        "hovermode": "closest",
        "font": {"family": "@sans", "size": 14, "color": "@ink-2"},
        "uirevision": "run",
        "hoverlabel": {
            "bgcolor": "@card",
            "bordercolor": "@line-strong",
            "font": {"size": 16, "color": "@ink", "family": "@sans"},
        },
    }


def axis(**extra: Any) -> dict[str, Any]:
    return {"gridcolor": "@grid", "zeroline": False, "linecolor": "rgba(0,0,0,0)", "tickcolor": "rgba(0,0,0,0)", **extra}


def note(text: str, **extra: Any) -> dict[str, Any]:
    return {"text": text, "showarrow": False, **extra}
