"""The stability-plasticity plane as a Plotly figure: method = marker and label, small marks its seeds, never a colour. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from forget_me_not.demo.compare import Row, bound_of, percent
from forget_me_not.demo.marks import axis, base_layout, glyph, note
from forget_me_not.demo.words import fill

SPAN = (0.06, 0.12)
"""Least width of the axes: a hair's breadth must not look like a gulf."""
LABEL = (0.024, 0.062)
"""Width of a letter and height of a line, as shares of the axes: what labels need to stay off each other."""
PLACES = (("right", 0.035, 0.0), ("left", -0.035, 0.0), ("centre", 0.0, 0.075), ("centre", 0.0, -0.075), ("right", 0.03, 0.06),
          ("left", -0.03, 0.06), ("right", 0.03, -0.06), ("left", -0.03, -0.06))  # fmt: skip
Placed = tuple[Row, str, tuple[float, float], tuple[str, float, float]]
ANCHOR = {"right": "left", "left": "right", "centre": "center"}
MARKER = {"line-ew": "line-ew-open"}


def plane(board: Sequence[Row], words: Mapping[str, str], titles: Mapping[str, str], picked: str = "",
          hints: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:  # fmt: skip
    """x: learns, the mean of R[t][t]; y: keeps, 1 - forgetting. The dashed line ends as well as the bound.

    picked: key of the row that wears the one strong colour. hints: estimates (see measured.estimates), as hollow marks.
    """
    on = [(row, _mean(row)) for row in board if not row.bound and row.points]
    xs, ys = ranges([point for row, mean in on for point in (mean, *((x, y) for _, x, y in row.points))]
                    + [(one["learns"], one["keeps"]) for one in hints])  # fmt: skip
    data: list[dict[str, Any]] = []
    for row, (x, y) in on:
        symbol, chosen = MARKER.get(glyph(row.method)[1], glyph(row.method)[1]), row.key == picked
        if len(row.points) > 1:
            data.append({"type": "scatter", "mode": "markers", "x": [p for _, p, _ in row.points],
                         "y": [s for _, _, s in row.points], "hoverinfo": "skip", "cliponaxis": False,
                         "marker": {"size": 8, "symbol": symbol, "color": "@ink", "opacity": 0.32}})  # fmt: skip
        data.append({"type": "scatter", "mode": "markers", "x": [x], "y": [y], "cliponaxis": False, "meta": row.key,
                     "customdata": [hover(row, x, y, words, titles)], "hovertemplate": "%{customdata}<extra></extra>",
                     "marker": {"size": 17, "symbol": symbol, "color": "@brand" if chosen else "@ink",
                                "line": {"width": 0 if symbol == "x" else 2, "color": "@card"}}})  # fmt: skip
    data += [_hint(one, words) for one in hints]
    line, words_of_it = bound_line(board, xs, ys, words, titles)
    notes = [_label(name, at, place, row.key == picked) for row, name, at, place in placed(on, titles, xs, ys, line)]
    notes += [note(words["compare.corner_both"], xref="paper", yref="paper", x=1, y=1, xanchor="right", yanchor="bottom"),
              note(words["compare.corner_forgets"], xref="paper", yref="paper", x=1, y=0, xanchor="right", yanchor="bottom",
                   xshift=-8, yshift=6)]  # fmt: skip
    layout = base_layout(l=64, r=14, t=30, b=54) | {
        "annotations": notes + words_of_it,
        "xaxis": axis(range=list(xs), tickformat=".0%", nticks=6, title=_title(words["compare.axis_learns"])),
        "yaxis": axis(range=list(ys), tickformat=".0%", nticks=7, title=_title(words["compare.axis_keeps"])),
    }
    return {"data": line + data, "layout": layout}


def _hint(one: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """A hollow mark: where recorded runs on other photos ended."""
    symbol = glyph(one["method"])[1]
    said = fill(words["compare.hover_estimate"], {"method": _safe(one["title"]), "learns": percent(one["learns"]),
                                                  "keeps": percent(one["keeps"]), "seeds": one["seeds"]})  # fmt: skip
    return {"type": "scatter", "mode": "markers", "x": [one["learns"]], "y": [one["keeps"]], "cliponaxis": False,
            "customdata": [said], "hovertemplate": "%{customdata}<extra></extra>",
            "marker": {"size": 15, "symbol": symbol if symbol.endswith("open") else f"{symbol}-open", "color": "@ink-3",
                       "line": {"width": 2}}}  # fmt: skip


def _mean(row: Row) -> tuple[float, float]:
    return row.mean("learning_accuracy"), 1 - row.mean("forgetting")


def ranges(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Both axes with room around the points; 100 % is the end unless something is above it."""
    made = []
    for along, least in zip(range(2), SPAN, strict=True):
        values = [p[along] for p in points] or [0.5, 1.0]
        pad = max(0.14 * (max(values) - min(values)), least / 4)
        low, high = min(values) - pad, max(values) + pad
        high = min(high, 1 + 0.15 * (high - low)) if max(values) <= 1 else high
        low = min(low, high - least)
        made.append((low, high))
    return made[0], made[1]


def bound_line(board: Sequence[Row], xs: tuple[float, float], ys: tuple[float, float], words: Mapping[str, str],
               titles: Mapping[str, str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:  # fmt: skip
    """The points that end as well as the bound: accuracy at the end = learns - (T - 1) / T * forgetting.

    True where every task was at its best right after it was learnt. Nothing without a bound, with one task, or off the chart.
    """
    bound = bound_of(board)
    end = bound.mean("last_accuracy_tasks") if bound else None
    if end is None or bound.tasks < 2:
        return [], []
    ratio = bound.tasks / (bound.tasks - 1)
    ends = _clipped(lambda x: 1 - (x - end) * ratio, lambda y: end + (1 - y) / ratio, xs, ys)
    if ends is None:
        return [], []
    (x0, y0), (x1, y1) = ends
    said = fill(words["compare.bound_line"], {"bound": titles.get(bound.method, bound.method), "accuracy": percent(end)})
    trace = {"type": "scatter", "mode": "lines", "x": [x0, x1], "y": [y0, y1], "hoverinfo": "skip",
             "line": {"color": "@ink-3", "width": 2, "dash": "dash"}}  # fmt: skip
    low = y1 <= ys[0] + 0.2 * (ys[1] - ys[0])
    return [trace], [note(said, x=x1, y=y1, xanchor="right", yanchor="bottom" if low else "top", xshift=-8,
                          yshift=26 if low else -4, font={"color": "@ink-2", "size": 14})]  # fmt: skip


def _clipped(y_of, x_of, xs: tuple[float, float], ys: tuple[float, float]) -> list[tuple[float, float]] | None:
    """The two ends, from left to right, of a falling line inside the chart."""
    spots = [(x, y_of(x)) for x in xs if ys[0] <= y_of(x) <= ys[1]] + [(x_of(y), y) for y in ys if xs[0] < x_of(y) < xs[1]]
    return sorted(spots)[:: len(spots) - 1] if len(spots) > 1 else None


def placed(on: Sequence[tuple[Row, tuple[float, float]]], titles: Mapping[str, str], xs: tuple[float, float],
           ys: tuple[float, float], line: Sequence[Mapping[str, Any]] = ()) -> list[Placed]:  # fmt: skip
    """(row, label, mark, place) so that labels stay off marks, the bound's line and each other as far as eight places allow."""
    share = lambda x, y: ((x - xs[0]) / (xs[1] - xs[0]), (y - ys[0]) / (ys[1] - ys[0]))  # noqa: E731
    spots = [share(*at) for _, at in on]
    taken = [(u - 0.025, v - 0.03, u + 0.025, v + 0.03) for u, v in spots]
    small = [share(x, y) for row, _ in on if len(row.points) > 1 for _, x, y in row.points]
    for trace in line:
        (u0, v0), (u1, v1) = (share(x, y) for x, y in zip(trace["x"], trace["y"], strict=True))
        small += [(u0 + (u1 - u0) * n / 40, v0 + (v1 - v0) * n / 40) for n in range(41)]
    taken += [(u - 0.012, v - 0.014, u + 0.012, v + 0.014) for u, v in small]
    made = []
    for (row, at), (u, v) in zip(on, spots, strict=True):
        name = _safe(titles.get(row.method, row.method) + (f" · {row.note}" if row.note else ""))
        boxes = [(_box(u, v, letters(name), place), place) for place in PLACES]
        worst = [(sum(_overlap(box, other) for other in taken) + 4 * _outside(box), n) for n, (box, _) in enumerate(boxes)]
        box, place = boxes[min(worst)[1]]
        taken.append(box)
        made.append((row, name, at, place))
    return made


def letters(text: str) -> int:
    """How many letters wide a text is; a Japanese one takes the room of two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _box(u: float, v: float, wide: int, place: tuple[str, float, float]) -> tuple[float, float, float, float]:
    side, right, up = place
    width, height = LABEL[0] * wide, LABEL[1]
    left = u + right - {"right": 0.0, "left": width, "centre": width / 2}[side]
    return left, v + up - height / 2, left + width, v + up + height / 2


def _overlap(a: Sequence[float], b: Sequence[float]) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def _outside(a: Sequence[float]) -> float:
    return max(0.0, -a[0]) * LABEL[1] + max(0.0, a[2] - 1) * LABEL[1] + max(0.0, -a[1]) + max(0.0, a[3] - 1)


def _label(name: str, at: tuple[float, float], place: tuple[str, float, float], chosen: bool) -> dict[str, Any]:
    side, right, up = place
    return note(f"<b>{name}</b>" if chosen else name, x=at[0], y=at[1], xanchor=ANCHOR[side], xshift=round(400 * right),
                yshift=round(330 * up), font={"color": "@brand-ink" if chosen else "@ink", "size": 15})  # fmt: skip


def hover(row: Row, learns: float, keeps: float, words: Mapping[str, str], titles: Mapping[str, str]) -> str:
    """The mark's numbers with their definitions."""
    values = {"method": _safe(titles.get(row.method, row.method)), "note": _safe(row.note), "learns": percent(learns),
              "keeps": percent(keeps), "seeds": ", ".join(str(r.seed) for r in row.results)}  # fmt: skip
    return fill(words["compare.hover"], values)


def _title(text: str) -> dict[str, Any]:
    return {"text": text, "standoff": 8, "font": {"size": 14}}


def _safe(text: str) -> str:
    """Plotly reads a little HTML in its texts."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
