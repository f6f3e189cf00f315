"""The tables of a suite as one HTML file that needs nothing else: a plot of means and intervals above the Markdown's tables."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forget_me_not.models.suites.tables import BOUND, Line, lines

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 32px auto; padding: 0 20px; }
body { color: #23293a; background: #fbfaf7; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 12px 0 28px; display: block; overflow-x: auto; }
td, th { padding: 4px 10px; border-bottom: 1px solid #d9dbe4; text-align: right; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; }
svg { width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: #23293a; }
@media (prefers-color-scheme: dark) {
  body { color: #e8e9f0; background: #171a24; } svg text { fill: #e8e9f0; } td, th { border-color: #363b4c; }
}
"""
LEFT, RIGHT, STEP = 210, 1080, 22


def page(results: Sequence[Mapping[str, Any]], markdown: str) -> str:
    """The document; every name in it is text."""
    found = lines(results)
    names = dict.fromkeys(one.protocol for one in found)
    plots = "".join(_plot(name, [one for one in found if one.protocol == name]) for name in names)
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Forget-Me-Not: results</title><style>{STYLE}</style>'
            f"<h1>Results</h1>{plots}{''.join(_blocks(markdown))}</html>")  # fmt: skip


def _plot(name: str, found: Sequence[Line]) -> str:
    """Accuracy of every entry with its 95 % interval, the bound as a dashed line."""
    shown = sorted(((s, one) for one in found if (s := one["last_accuracy"])), key=lambda pair: -pair[0].mean)
    if not shown:
        return ""
    least = min(s.mean - (0 if math.isnan(s.half) else s.half) for s, _ in shown)
    least = min(0.9, math.floor(least * 10) / 10)

    def x(value: float) -> float:
        return LEFT + (RIGHT - LEFT) * (value - least) / (1 - least)

    def upright(value: float, bottom: float, style: str) -> str:
        return f'<line x1="{x(value):.1f}" x2="{x(value):.1f}" y1="0" y2="{bottom}" {style}/>'

    parts, bottom = [], STEP * len(shown) + 6
    for tenth in range(round(least * 10), 11):
        parts.append(upright(tenth / 10, bottom, 'stroke="currentColor" opacity=".12"'))
        parts.append(f'<text x="{x(tenth / 10):.1f}" y="{bottom + 16}" text-anchor="middle">{tenth / 10:.1f}</text>')
    for row, (s, one) in enumerate(shown):
        y, half = STEP * row + 14, 0.0 if math.isnan(s.half) else s.half
        if one.title == BOUND:
            parts.append(upright(s.mean, bottom, 'stroke="#8a8fa3" stroke-dasharray="5 4"'))
        ends = f'x1="{x(s.mean - half):.1f}" x2="{x(s.mean + half):.1f}" y1="{y}" y2="{y}"'
        parts.append(f'<text x="0" y="{y + 4}">{html.escape(one.title)}</text><line {ends} stroke="#3c6e9f" stroke-width="2"/>')
        parts.append(f'<circle cx="{x(s.mean):.1f}" cy="{y}" r="4.5" fill="#3c6e9f"/>')
    name, size = html.escape(name), f'viewBox="0 0 {RIGHT + 20} {bottom + 22}"'
    label = f'role="img" aria-label="{name}: accuracies, as in the table below"'
    return f"<h2>{name}: accuracy after the last task, 95 % interval</h2><svg {size} {label}>{''.join(parts)}</svg>"


def _blocks(markdown: str) -> Iterator[str]:
    """The few kinds of Markdown our tables use."""
    for block in re.split(r"\n{2,}", markdown.strip()):
        if block.startswith("## "):
            yield f"<h2>{html.escape(block[3:])}</h2>"
        elif block.startswith("|"):
            head, _, *body = ([html.escape(cell.strip()) for cell in row.strip("|").split("|")] for row in block.splitlines())
            cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in body)
            top = "".join(f"<th>{cell}</th>" for cell in head)
            yield f"<table><thead><tr>{top}</tr></thead><tbody>{cells}</tbody></table>"
        else:
            yield f"<p>{html.escape(block)}</p>"
