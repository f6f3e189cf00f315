"""What a chart says in one sentence: read by people below it and by screen readers instead of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from forget_me_not.demo.view import RunView, accuracy, overall
from forget_me_not.demo.words import fill
from forget_me_not.models.metrics import wilson

UNNAMED = re.compile(r"Task \d+")
"""What a task nobody has named is called in a run; the page says it in its own language."""


def percent(value: float) -> str:
    """`value` in [0, 1] as a whole number of per cent; a half goes up, so 33 of 40 and 35 of 40 round alike."""
    return f"{int(100 * value + 0.5 + 1e-9)}%"


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
    named = {"task": name_of(view, task, words), "best": percent(best), "now": percent(now)}
    return start + words["say.gap"] + fill(words["say.curves_fell" if fall >= 0.005 else "say.curves_kept"], named)


def say_matrix(view: RunView, words: Mapping[str, str]) -> str:
    """One sentence on the newest row."""
    last = len(view.rows) - 1
    if last < 0:
        return words["say.matrix_none"]
    right, total = sum(r for r, _ in view.rows[last]), sum(n for _, n in view.rows[last])
    return fill(words["say.matrix"], {"task": name_of(view, last, words), "right": right, "total": total})


def say_loss(view: RunView, words: Mapping[str, str]) -> str:
    """One sentence on the loss of the newest task; says so where a method has none."""
    tasks = [t for t, points in enumerate(view.losses) if points]
    if not tasks:
        return words["say.loss_none" if not view.done else "say.loss_never"]
    points = view.losses[tasks[-1]]
    values = {"task": name_of(view, tasks[-1], words), "first": f"{points[0][1]:.2f}", "last": f"{points[-1][1]:.2f}"}
    return fill(words["say.loss"], values)


def counted(view: RunView, after: int, task: int, words: Mapping[str, str]) -> str:
    """Hover text: what was asked when, and how many of how many were right."""
    if accuracy(view, after, task) is None:
        return ""
    right, total = view.rows[after][task]
    low, high = wilson(right, total)
    values = {
        "after": after + 1,
        "task": task + 1,
        "name": name_of(view, task, words),
        "right": right,
        "total": total,
        "low": percent(low),
        "high": percent(high),
    }
    return fill(words["figure.hover"], values)


def name_of(view: RunView, task: int, words: Mapping[str, str]) -> str:
    """A task's name made safe for Plotly, which reads a little HTML in its texts."""
    given = view.names[task] if task < len(view.names) else ""
    name = fill(words["task.n"], {"n": task + 1}) if not given or UNNAMED.fullmatch(given) else given
    return safe(name)


def safe(name: str) -> str:
    """A name as Plotly shall show it, letter by letter."""
    return name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def labelled(view: RunView, task: int, words: Mapping[str, str]) -> str:
    """What stands at the end of a task's line: its own name, else its number and the first of its classes."""
    given = view.names[task] if task < len(view.names) else ""
    if given and not UNNAMED.fullmatch(given):
        return safe(short(given))
    inside = [view.classes[c].replace("_", " ") for c in view.tasks[task] if c < len(view.classes)]
    if not inside:
        return name_of(view, task, words)
    more = f" +{len(inside) - 1}" if len(inside) > 1 else ""
    return safe(f"{task + 1} {short(inside[0], 14 - len(more))}{more}")


def short(name: str, most: int = 16) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
