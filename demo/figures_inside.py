"""What Look inside draws of a run, every task's moment at once, so that its slider needs no server. Pure; tokens for colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from forget_me_not.demo.figures import matrix
from forget_me_not.demo.marks import CIVIDIS, axis, base_layout, beads, note, on_cividis
from forget_me_not.demo.sentences import name_of, percent, say_matrix
from forget_me_not.demo.view import RunView
from forget_me_not.demo.words import fill
from forget_me_not.models.events import Evaluated

ROWS = ("Q", "K", "V", "O")
TERMS = ("routing", "right", "wrong", "accuracy")
Words = Mapping[str, str]
Counts = Sequence[Sequence[int]]
Cells = Sequence[Sequence[float | None]]


def draw(view: RunView, words: Words, made: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """{"frames": one a task learnt, "masks": one a task or null}; made: the content of inside.json, where it is there.

    A frame: "photo" and, with modules, "published" (both {"matrix", "rows", "say", "chosen", "doubt", "terms", …}),
    "oracle". Of a method without modules "chosen" and "terms" are null.
    """
    frames = made["frames"] if made else []
    shared = [one["published"] for one in frames]
    shared += [None] * (len(view.judged) - len(shared))
    return {
        "frames": [_frame(view, words, shared, t) for t in range(len(view.judged))],
        "masks": [masks(one, words) for one in made["masks"]] if made and made.get("masks") else None,
    }


def _frame(view: RunView, words: Words, shared: Sequence[Mapping[str, Any] | None], task: int) -> dict[str, Any]:
    then = replace(view, rows=view.rows[: task + 1], stage="finished")
    event = view.judged[task]
    photo = {"matrix": matrix(then, words), "rows": _rows(then.rows), "say": say_matrix(then, words),
             **_modules(view, words, event, event.chosen if event else (), _answered(event), "photo")}  # fmt: skip
    published = None
    if event is not None and all(shared[: task + 1]):
        rows = tuple(tuple(zip(one["correct"], one["total"], strict=True)) for one in shared[: task + 1])
        batch = replace(then, rows=rows)
        now = shared[task]
        published = {"matrix": matrix(batch, words), "rows": _rows(rows), "say": say_matrix(batch, words),
                     **_modules(view, words, event, now["chosen"], [("published", now)], "published")}  # fmt: skip
    return {"photo": photo, "published": published, "oracle": event.oracle if event else None}


def _rows(rows: Sequence[Sequence[tuple[int, int]]]) -> list[list[list[int]]]:
    return [[list(cell) for cell in row] for row in rows]


def _answered(event: Evaluated | None) -> list[tuple[str, Mapping[str, float | None]]]:
    return list(event.routes.items()) if event else []


def _modules(view: RunView, words: Words, event: Evaluated | None, chosen: Counts,
             routes: Sequence[tuple[str, Mapping[str, float | None]]], how: str) -> dict[str, Any]:  # fmt: skip
    if not chosen or not routes:
        return {"chosen": None, "doubt": None, "terms": None, "say_modules": words["inside.modules_none"], "table": None}
    means = event.entropy
    terms = [{"route": name, "name": words.get(f"route.{name}", name), **{term: one[term] for term in TERMS}}
             for name, one in routes]  # fmt: skip
    return {
        "chosen": selection(view, words, chosen, means),
        "doubt": doubt(view, words, chosen, means) if means else None,
        "terms": terms,
        "say_modules": say_modules(view, words, chosen, terms[0], how),
        "table": {"chosen": [list(row) for row in chosen], "doubt": [list(row) for row in means]},
    }


def selection(view: RunView, words: Words, chosen: Counts, means: Cells) -> dict[str, Any]:
    """Heat map: of the photos of a task (row), the share each module (column) answered; mean doubt on hover."""
    shares = [[count / max(1, sum(row)) for count in row] for row in chosen]
    text = [[percent(value) if count else "" for value, count in zip(line, row, strict=True)]
            for line, row in zip(shares, chosen, strict=True)]  # fmt: skip
    return heat(shares, text, _hover(view, words, chosen, means), words)


def doubt(view: RunView, words: Words, chosen: Counts, means: Cells) -> dict[str, Any]:
    """Heat map: mean normalised entropy of each module (column) on the photos of a task (row)."""
    text = [["" if v is None else f"{v:.2f}" for v in row] for row in means]
    return heat(means, text, _hover(view, words, chosen, means), words)


def _hover(view: RunView, words: Words, chosen: Counts, means: Cells) -> list[list[str]]:
    def one(j: int, i: int) -> str:
        mean = means[j][i] if means else None
        values = {"n": chosen[j][i], "total": sum(chosen[j]), "task": name_of(view, j, words), "module": name_of(view, i, words)}
        said = fill(words["inside.chosen_hover"], values)
        return said if mean is None else said + "<br>" + fill(words["inside.doubt_hover"], {"doubt": f"{mean:.2f}"})

    return [[one(j, i) for i in range(len(chosen[j]))] for j in range(len(chosen))]


def heat(z: Cells, text: Sequence[Sequence[str]], hover: Sequence[Sequence[str]], words: Words) -> dict[str, Any]:
    """A square heat map of [0, 1] with beads of tasks on both sides: the photos' own downwards, modules across."""
    size, wide = len(z), max(map(len, z))
    cells = [(j, i) for j in range(size) for i in range(len(z[j])) if text[j][i]]
    small = size > 8
    colours = {"type": "heatmap", "z": [list(row) for row in z], "x": list(range(wide)), "y": list(range(size)),
               "zmin": 0, "zmax": 1, "customdata": [list(row) for row in hover],
               "colorscale": [list(stop) for stop in CIVIDIS], "xgap": 4, "ygap": 4,
               "showscale": False, "hoverongaps": False, "hovertemplate": "%{customdata}<extra></extra>"}  # fmt: skip
    numbers = {"type": "scatter", "mode": "text", "hoverinfo": "skip", "cliponaxis": False, "x": [i for _, i in cells],
               "y": [j for j, _ in cells], "text": [text[j][i].rstrip("%" if small else "") for j, i in cells],
               "textfont": {"size": 13 if small else 15, "color": [on_cividis(z[j][i] or 0.0) for j, i in cells]}}  # fmt: skip
    along, down = list(range(wide)), list(range(size))
    layout = base_layout(l=44, r=4, t=34, b=4) | {
        "xaxis": axis(range=[-1.3, wide - 0.45], showgrid=False, showticklabels=False),
        "yaxis": axis(range=[size - 0.45, -1.3], showgrid=False, showticklabels=False),
        "annotations": [
            note(words["inside.module_axis"], xref="paper", yref="paper", x=1, y=1, xanchor="right", yanchor="bottom", yshift=6),
            note(words["inside.task_axis"], xref="paper", yref="paper", x=0, y=0, xanchor="right", yanchor="bottom",
                 textangle=-90, xshift=-8),
        ],
    }  # fmt: skip
    return {"data": [colours, numbers, beads(along, [-0.86] * wide), beads([-0.86] * size, down)], "layout": layout}


def say_modules(view: RunView, words: Words, chosen: Counts, term: Mapping[str, float | None], how: str) -> str:
    """How many photos got the module of their own task, and the largest mix-up."""
    total = sum(map(sum, chosen))
    own = sum(row[j] for j, row in enumerate(chosen) if j < len(row))
    said = fill(words[f"inside.modules_say_{how}"], {"own": own, "total": total, "percent": percent(own / max(1, total))})
    wrong = [(count, j, i) for j, row in enumerate(chosen) for i, count in enumerate(row) if i != j and count]
    if not wrong:
        return said
    count, j, i = max(wrong, key=lambda one: one[0])
    values = {"n": count, "task": name_of(view, j, words), "module": name_of(view, i, words)}
    return said + words["say.gap"] + fill(words["inside.modules_mixed"], values)


def masks(deviation: Mapping[str, Sequence[Sequence[float]]], words: Words) -> dict[str, Any]:
    """{"figure", "say", "table"}: mean |m - 1| of one task's masks by block, Q, K, V, O (rows) and head (columns)."""
    lines = [(block, row, values) for block, rows in sorted(deviation.items()) for row, values in enumerate(rows)]
    top = max((v for _, _, values in lines for v in values), default=0.0) or 1.0
    names = [fill(words["inside.mask_row"], {"block": int(block) + 1, "part": ROWS[row]}) for block, row, _ in lines]
    heads = max((len(values) for _, _, values in lines), default=0)
    strong = sorted(((v, n, h) for n, (_, _, values) in enumerate(lines) for h, v in enumerate(values)), reverse=True)[:3]
    colours = {"type": "heatmap", "z": [list(values) for _, _, values in lines], "x": list(range(heads)),
               "y": list(range(len(lines))), "zmin": 0, "zmax": top,
               "colorscale": [list(stop) for stop in CIVIDIS], "xgap": 4, "ygap": 4, "showscale": False,
               "customdata": [[fill(words["inside.mask_hover"], {"row": names[n], "head": h + 1, "value": f"{v:.4f}"})
                               for h, v in enumerate(values)] for n, (_, _, values) in enumerate(lines)],
               "hovertemplate": "%{customdata}<extra></extra>"}  # fmt: skip
    numbers = {"type": "scatter", "mode": "text", "hoverinfo": "skip",
               "x": [h for _, _, values in lines for h in range(len(values))],
               "y": [n for n, (_, _, values) in enumerate(lines) for _ in values],
               "text": [f"{1000 * v:.0f}" for _, _, values in lines for v in values],
               "textfont": {"size": 14, "color": [on_cividis(v / top) for _, _, values in lines for v in values]}}  # fmt: skip
    layout = base_layout(l=96, r=4, t=44, b=4) | {
        "xaxis": axis(range=[-0.55, heads - 0.45], showgrid=False, side="top", tickvals=list(range(heads)),
                      ticktext=[str(h + 1) for h in range(heads)],
                      title={"text": words["inside.mask_heads"], "font": {"size": 14}}),
        "yaxis": axis(range=[len(lines) - 0.45, -0.55], showgrid=False, tickvals=list(range(len(lines))), ticktext=names),
    }  # fmt: skip
    mean = {part: [v for _, row, values in lines if ROWS[row] == part for v in values] for part in ROWS}
    averages = {part: sum(values) / len(values) for part, values in mean.items() if values}
    said = fill(words["inside.mask_say"], {
        "part": max(averages, key=averages.get) if averages else "", "value": f"{1000 * max(averages.values(), default=0.0):.1f}",
        "heads": " / ".join(
            fill(words["inside.mask_head"], {"row": names[n], "head": h + 1}) for _, n, h in strong),
    })  # fmt: skip
    return {"figure": {"data": [colours, numbers], "layout": layout}, "say": said, "rows": len(lines),
            "table": [[words["inside.mask_part"], *[str(h + 1) for h in range(heads)]],
                      *[[names[n], *[f"{v:.4f}" for v in values]] for n, (_, _, values) in enumerate(lines)]]}  # fmt: skip
