"""The stability-plasticity plane as a Plotly figure: method = marker and label, small marks its seeds, never a colour. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from forget_me_not.demo import labels
from forget_me_not.demo.compare import Row, bound_of, percent
from forget_me_not.demo.marks import axis, base_layout, glyph, note
from forget_me_not.demo.words import fill

SPAN = (0.06, 0.12)
"""Least width of the axes: a hair's breadth must not look like a gulf."""
MARGIN = {"l": 64, "r": 14, "t": 30, "b": 54}
SIZE = (640, 450)
"""Width and height of a chart, margins included, where nobody says how large it is."""
TOGETHER = 10
"""Marks nearer than this, in pixels, name each other on hover: the pointer reaches only the uppermost."""
Placed = tuple[Row, str, tuple[float, float], labels.Place]
ANCHOR = {"right": "left", "left": "right", "centre": "center"}
MARKER = {"line-ew": "line-ew-open"}


def plane(board: Sequence[Row], words: Mapping[str, str], titles: Mapping[str, str], picked: str = "",
          hints: Sequence[Mapping[str, Any]] = (), size: tuple[int, int] = SIZE) -> dict[str, Any]:  # fmt: skip
    """x: learns, the mean of R[t][t]; y: keeps, 1 - forgetting. The dashed line ends as well as the bound.

    picked: key of the row that wears the one strong colour. hints: estimates (see measured.estimates), as hollow marks.
    size: the chart's pixels, which decide where labels have room.
    """
    on = [(row, _mean(row)) for row in board if not row.bound and row.points]
    xs, ys = ranges([point for row, mean in on for point in (mean, *((x, y) for _, x, y in row.points))]
                    + [(one["learns"], one["keeps"]) for one in hints])  # fmt: skip
    ground = size[0] - MARGIN["l"] - MARGIN["r"], size[1] - MARGIN["t"] - MARGIN["b"]
    spots = [((x - xs[0]) / (xs[1] - xs[0]) * ground[0], (y - ys[0]) / (ys[1] - ys[0]) * ground[1]) for _, (x, y) in on]
    beside = lambda n: [on[m][0] for m, at in enumerate(spots) if m != n and math.dist(at, spots[n]) < TOGETHER]  # noqa: E731
    data: list[dict[str, Any]] = []
    for n, (row, (x, y)) in enumerate(on):
        symbol, chosen = MARKER.get(glyph(row.method)[1], glyph(row.method)[1]), row.key == picked
        if len(row.points) > 1:
            data.append({"type": "scatter", "mode": "markers", "x": [p for _, p, _ in row.points],
                         "y": [s for _, _, s in row.points], "hoverinfo": "skip", "cliponaxis": False,
                         "marker": {"size": 8, "symbol": symbol, "color": "@ink", "opacity": 0.32}})  # fmt: skip
        data.append({"type": "scatter", "mode": "markers", "x": [x], "y": [y], "cliponaxis": False, "meta": row.key,
                     "customdata": [hover(row, x, y, words, titles, beside(n))], "hovertemplate": "%{customdata}<extra></extra>",
                     "marker": {"size": 17, "symbol": symbol, "color": "@brand" if chosen else "@ink",
                                "line": {"width": 0 if symbol == "x" else 2, "color": "@card"}}})  # fmt: skip
    data += [_hint(one, words) for one in hints]
    line, words_of_it = bound_line(board, xs, ys, words, titles)
    corner = words["compare.corner_forgets"]
    texts = [text_box(one, xs, ys, ground) for one in words_of_it]
    texts.append((ground[0] - 8 - labels.LETTER * labels.letters(corner), 0, ground[0], 6 + labels.HEIGHT))
    notes = [_label(name, at, place, row.key == picked)
             for row, name, at, place in placed(on, titles, xs, ys, ground, line, texts, picked)]  # fmt: skip
    notes += [note(words["compare.corner_both"], xref="paper", yref="paper", x=1, y=1, xanchor="right", yanchor="bottom"),
              note(corner, xref="paper", yref="paper", x=1, y=0, xanchor="right", yanchor="bottom",
                   xshift=-8, yshift=6)]  # fmt: skip
    layout = base_layout(**MARGIN) | {
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


def text_box(one: Mapping[str, Any], xs: tuple[float, float], ys: tuple[float, float], ground: tuple[int, int]) -> labels.Box:
    """The box of the bound's words: right-aligned, above or below their point."""
    right = (one["x"] - xs[0]) / (xs[1] - xs[0]) * ground[0] + one["xshift"]
    edge = (one["y"] - ys[0]) / (ys[1] - ys[0]) * ground[1] + one["yshift"]
    low = edge if one["yanchor"] == "bottom" else edge - labels.HEIGHT
    return right - labels.LETTER * labels.letters(one["text"]), low, right, low + labels.HEIGHT


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
           ys: tuple[float, float], size: tuple[float, float], line: Sequence[Mapping[str, Any]] = (),
           texts: Sequence[labels.Box] = (), picked: str = "") -> list[Placed]:  # fmt: skip
    """(row, label, mark, place) for every label that finds a place on a ground of `size` pixels; the picked one chooses first.

    No label touches a mark, another label or one of `texts`; the bound's line and the small marks of seeds only if it must.
    """
    spot = lambda x, y: ((x - xs[0]) / (xs[1] - xs[0]) * size[0], (y - ys[0]) / (ys[1] - ys[0]) * size[1])  # noqa: E731
    small = [spot(x, y) for row, _ in on if len(row.points) > 1 for _, x, y in row.points]
    for trace in line:
        (u0, v0), (u1, v1) = (spot(x, y) for x, y in zip(trace["x"], trace["y"], strict=True))
        small += [(u0 + (u1 - u0) * n / 40, v0 + (v1 - v0) * n / 40) for n in range(41)]
    order = sorted(on, key=lambda one: one[0].key != picked)
    named = [_named(row, titles) for row, _ in order]
    places = labels.place([spot(*at) for _, at in order], named, size, texts, [labels.around(at, labels.SMALL) for at in small])
    return [(row, name, at, place) for (row, at), name, place in zip(order, named, places, strict=True) if place]


def _label(name: str, at: tuple[float, float], place: labels.Place, chosen: bool) -> dict[str, Any]:
    shown = {"text": f"<b>{name}</b>" if chosen else name, "x": at[0], "y": at[1], "xanchor": ANCHOR[place.side],
             "font": {"color": "@brand-ink" if chosen else "@ink", "size": 15}}  # fmt: skip
    if place.far:  # Plotly draws the line from the label's end to the mark
        return shown | {"showarrow": True, "arrowhead": 0, "arrowwidth": 1, "arrowcolor": "@ink-3", "standoff": 10,
                        "borderpad": 1, "ax": round(place.right), "ay": -round(place.up)}  # fmt: skip
    return note(**shown, xshift=round(place.right), yshift=round(place.up))


def hover(row: Row, learns: float, keeps: float, words: Mapping[str, str], titles: Mapping[str, str],
          beside: Sequence[Row] = ()) -> str:  # fmt: skip
    """The mark's numbers with their definitions, and the names of the marks that lie on it."""
    values = {"method": _safe(titles.get(row.method, row.method)), "note": _safe(row.note), "learns": percent(learns),
              "keeps": percent(keeps), "seeds": ", ".join(str(r.seed) for r in row.results)}  # fmt: skip
    also = [fill(words["compare.hover_also"], {"methods": "<br>".join(_named(one, titles) for one in beside)})] if beside else []
    return "<br>".join([fill(words["compare.hover"], values), *also])


def _named(row: Row, titles: Mapping[str, str]) -> str:
    return _safe(titles.get(row.method, row.method) + (f" · {row.note}" if row.note else ""))


def _title(text: str) -> dict[str, Any]:
    return {"text": text, "standoff": 8, "font": {"size": 14}}


def _safe(text: str) -> str:
    """Plotly reads a little HTML in its texts."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
