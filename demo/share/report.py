"""The report: one web page that needs nothing else, with the leaderboard, the plane and every run's matrix. No script in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from forget_me_not.demo import figures_compare
from forget_me_not.demo.compare import Row, percent, say, say_plane
from forget_me_not.demo.marks import cividis, glyph, on_cividis
from forget_me_not.demo.sentences import UNNAMED, percent as whole
from forget_me_not.demo.share.results import Result
from forget_me_not.demo.words import fill
from forget_me_not.models.metrics import wilson

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light; --ink: #1d2236; --ink2: #545a70; --line: #e8e2d6; --strong: #938b7a; --brand: #4254ae; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 32px 20px 64px; max-width: 1080px; background: #faf8f3; color: var(--ink); line-height: 1.5;
       font: 16px/1.5 "Figtree", "Noto Sans JP", "Hiragino Sans", "Yu Gothic", system-ui, sans-serif; }
h1, h2 { font-family: "Fraunces", Georgia, "Noto Serif JP", serif; font-weight: 560; line-height: 1.2; margin: 0 0 8px; }
h1 { font-size: 36px; } h2 { font-size: 25px; margin-top: 40px; } h3 { font-size: 18px; margin: 0 0 4px; }
p { margin: 0 0 12px; max-width: 70ch; } .sub { color: var(--ink2); }
.card { background: #fff; border: 1px solid var(--line); border-radius: 18px; padding: 24px; margin: 16px 0; overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }
th, td { padding: 8px 10px; text-align: right; border-bottom: 1px solid var(--line); font-weight: 400; vertical-align: top; }
th:first-child { text-align: left; font-weight: 650; } thead th { color: var(--ink2); font-weight: 400; }
tr.bound td, tr.bound th { border-bottom: 2px dashed var(--strong); }
th small { display: block; color: var(--ink2); font-weight: 400; }
table.matrix { width: auto; border-collapse: separate; border-spacing: 3px; }
.matrix td { border: 0; border-radius: 6px; min-width: 52px; text-align: center; } .matrix th { border: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 6px 20px; margin: 0; }
dt { font-weight: 650; } dd { margin: 0; color: var(--ink2); }
svg { width: 100%; max-width: 720px; height: auto; } td { white-space: nowrap; }
.runs { display: grid; gap: 16px; grid-template-columns: repeat(auto-fill, minmax(min(100%, 460px), 1fr)); }
.runs .card { margin: 0; } .runs .sub { font-size: 14px; }
@media (max-width: 640px) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: 8px; } }
@media print { body { background: #fff; padding: 0; } .card { break-inside: avoid; } }
"""
DEFINED = ("end", "forgot", "learns", "keeps", "module", "module_right", "published", "oracle", "memory", "seconds", "interval")
SHAPES = {"circle": "M-7 0a7 7 0 1 0 14 0a7 7 0 1 0 -14 0z", "square": "M-6 -6h12v12h-12z", "diamond": "M0 -8l8 8-8 8-8-8z",
          "triangle-up": "M0 -8l8 14h-16z", "x": "M-6 -6l12 12M6 -6l-12 12",
          "star": "M0 -8l2.4 5 5.6.7-4.1 3.8 1.1 5.5-5-2.8-5 2.8 1.1-5.5-4.1-3.8 5.6-.7z",
          "line-ew": "M-8 0h16"}  # fmt: skip
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 460, 64, 16, 28, 52


def report(name: str, board: Sequence[Row], words: Mapping[str, str], titles: Mapping[str, str], language: str,
           version: str) -> str:  # fmt: skip
    """The page about one stream. Every name is escaped; nothing is fetched when it is opened, and its policy forbids it."""
    first = board[0].results[0]
    heading = name or words["report.title"]
    facts = fill(words["report.facts"], {"tasks": len(first.tasks), "photos": first.photos, "backbone": first.backbone,
                                         "classes": len({c for t in first.tasks for c in t["classes"]})})  # fmt: skip
    tests = fill(words["report.tests"], {"n": board[0].counts[1]})
    parts = [
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_e(heading)}</title>\n<style>{STYLE}</style>\n</head>\n<body>",
        f"<h1>{_e(heading)}</h1>\n<p class='sub'>{_e(facts)} {_e(tests)}</p>",
        f"<p>{_e(say(board, words, titles))}</p>",
        _section(words["compare.board"], leaderboard(board, words, titles)),
        _section(words["compare.plane"], plane(board, words, titles) + f"<p>{_e(say_plane(board, words, titles))}</p>")
        if any(row.points for row in board if not row.bound) else "",
        _section(words["report.order"], order(first, words)),
        f"<h2>{_e(words['report.runs'])}</h2><p class='sub'>{_e(words['report.runs_sub'])}</p>",
        "<div class='runs'>", *(matrix(one, words, titles) for row in board for one in row.results), "</div>",
        _section(words["compare.meaning"], definitions(words)),
        f"<p class='sub'>{_e(fill(words['report.made'], {'version': version}))}</p>\n</body>\n</html>\n",
    ]  # fmt: skip
    return "\n".join(parts)


def leaderboard(board: Sequence[Row], words: Mapping[str, str], titles: Mapping[str, str]) -> str:
    """The table of methods, bounds first."""
    names = ("method", "end", "forgot", "learns", "module", "published", "memory", "parameters", "seconds")
    head = "".join(f"<th scope='col'>{_e(words[f'compare.{name}'])}</th>" for name in names)
    lines = []
    for row in board:
        low, high = row.interval
        spread = f" ± {percent(row.spread)}" if row.spread is not None else ""
        small = [words["compare.upper_bound"]] if row.bound else []
        small += [row.note] if row.note else []
        small += [fill(words["compare.seeds"], {"n": len(row.results)})] if len(row.results) > 1 else []
        small += [words["compare.tied"]] if row.tied else []
        title = _e(titles.get(row.method, row.method)) + (f"<small>{_e(', '.join(small))}</small>" if small else "")
        cells = [f"<b>{percent(row.accuracy)}</b>{spread}<br><span class='sub'>{percent(low)}–{percent(high)}</span>",
                 *(percent(row.mean(m)) for m in ("forgetting", "learning_accuracy", "routing_accuracy", "batch_vote_accuracy")),
                 size(row.mean("bytes_per_task")), f"{row.mean('parameters') or 0:,.0f}", f"{row.seconds:.1f} s"]  # fmt: skip
        kind = " class='bound'" if row.bound else ""
        lines.append(f"<tr{kind}><th scope='row'>{title}</th>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def plane(board: Sequence[Row], words: Mapping[str, str], titles: Mapping[str, str]) -> str:
    """The plane as SVG, the same marks and labels in the same places as on the page."""
    on = [(row, (row.mean("learning_accuracy"), 1 - row.mean("forgetting"))) for row in board if not row.bound and row.points]
    xs, ys = figures_compare.ranges([p for row, mean in on for p in (mean, *((x, y) for _, x, y in row.points))])
    x_of = lambda x: LEFT + (x - xs[0]) / (xs[1] - xs[0]) * (WIDTH - LEFT - RIGHT)  # noqa: E731
    y_of = lambda y: HEIGHT - BOTTOM - (y - ys[0]) / (ys[1] - ys[0]) * (HEIGHT - TOP - BOTTOM)  # noqa: E731
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_e(say_plane(board, words, titles))}" font-size="14">']
    for value in ticks(*xs):
        parts.append(f'<path d="M{x_of(value):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#e8e2d6"/>' + _words(
            whole(value), x_of(value), HEIGHT - BOTTOM + 18, "middle"))  # fmt: skip
    for value in ticks(*ys):
        parts.append(f'<path d="M{LEFT} {y_of(value):.1f}H{WIDTH - RIGHT}" stroke="#e8e2d6"/>' + _words(
            whole(value), LEFT - 8, y_of(value) + 5, "end"))  # fmt: skip
    lines, said = figures_compare.bound_line(board, xs, ys, words, titles)
    for line, label in zip(lines, said, strict=True):
        (x0, x1), (y0, y1) = line["x"], line["y"]
        parts.append(f'<path d="M{x_of(x0):.1f} {y_of(y0):.1f}L{x_of(x1):.1f} {y_of(y1):.1f}" stroke="#6e7387" stroke-width="2" '
                     'stroke-dasharray="7 5"/>')  # fmt: skip
        parts.append(_words(label["text"], x_of(x1) - 8, y_of(y1) - (10 if label["yanchor"] == "bottom" else -18), "end"))
    for row, (x, y) in on:
        shape = SHAPES.get(glyph(row.method)[1], SHAPES["circle"])
        style = 'fill="none" stroke="#1d2236" stroke-width="4"' if glyph(row.method)[1] in ("x", "line-ew") else 'fill="#1d2236"'
        for _, sx, sy in row.points if len(row.points) > 1 else ():
            at = f'transform="translate({x_of(sx):.1f} {y_of(sy):.1f}) scale(.55)"'
            parts.append(f'<path d="{shape}" {style} opacity=".3" {at}/>')
        parts.append(f'<path d="{shape}" {style} transform="translate({x_of(x):.1f} {y_of(y):.1f})"/>')
    ground = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    texts = [figures_compare.text_box(label, xs, ys, ground) for label in said]
    for _, label, (x, y), (side, right, up, far) in figures_compare.placed(on, titles, xs, ys, ground, lines, texts):
        anchor = {"right": "start", "left": "end", "centre": "middle"}[side]
        if far:
            parts.append(f'<path d="M{x_of(x):.1f} {y_of(y):.1f}l{right:.1f} {-up:.1f}" stroke="#6e7387"/>')
        shown = label.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        parts.append(_words(shown, x_of(x) + right, y_of(y) - up + 5, anchor, "#1d2236"))
    parts.append(_words(words["compare.axis_learns"], (LEFT + WIDTH) / 2, HEIGHT - 8, "middle"))
    parts.append(f'<g transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)">'
                 + _words(words["compare.axis_keeps"], 0, 0, "middle") + "</g></svg>")  # fmt: skip
    return "".join(parts)


def ticks(low: float, high: float) -> list[float]:
    """Round values between low and high: about five of them."""
    step = next((s for s in (0.01, 0.02, 0.05, 0.1, 0.2) if (high - low) / s <= 6), 0.5)
    first = int(low / step) + (low > 0)
    return [n * step for n in range(first, int(high / step + 1e-9) + 1)]


def order(one: Result, words: Mapping[str, str]) -> str:
    """The tasks with their classes, in the order of learning."""
    items = "".join(f"<tr><th scope='row'>{_e(task_name(one, t, words))}</th><td style='text-align:left;white-space:normal'>"
                    f"{_e(', '.join(task['classes']))}</td></tr>" for t, task in enumerate(one.tasks))  # fmt: skip
    return f"<table><tbody>{items}</tbody></table>"


def matrix(one: Result, words: Mapping[str, str], titles: Mapping[str, str]) -> str:
    """One run: its accuracy matrix with the counts on hover."""
    size = len(one.rows)
    head = "".join(f"<th scope='col'>{t + 1}</th>" for t in range(size))
    lines = []
    for after, row in enumerate(one.rows):
        cells = "".join(_cell(*row[task]) if task < len(row) and row[task][1] else "<td></td>" for task in range(size))
        lines.append(f"<tr><th scope='row'>{_e(task_name(one, after, words))}</th>{cells}</tr>")
    title = _e(fill(words["report.run"], {"method": titles.get(one.method, one.method), "seed": one.seed}))
    used = ", ".join(f"{name} {value}" for name, value in one.settings.items())
    settings = f"<p class='sub'>{_e(used)}</p>" if used else ""
    return (f"<section class='card'><h3>{title}</h3>{settings}<table class='matrix'><thead><tr>"
            f"<th>{_e(words['table.after'])}</th>{head}</tr></thead>"
            f"<tbody>{''.join(lines)}</tbody></table></section>")  # fmt: skip


def _cell(right: int, total: int) -> str:
    share = right / total
    colour = "#" + "".join(f"{round(255 * c):02x}" for c in cividis(share))
    low, high = wilson(right, total)
    return (f'<td style="background:{colour};color:{on_cividis(share)}" '
            f'title="{right}/{total} ({percent(low)}–{percent(high)})">{whole(share)}</td>')  # fmt: skip


def definitions(words: Mapping[str, str]) -> str:
    items = "".join(f"<dt>{_e(words[f'compare.{n}'])}</dt><dd>{_e(words[f'compare.{n}_help'])}</dd>" for n in DEFINED)
    return f"<dl>{items}</dl>"


def task_name(one: Result, task: int, words: Mapping[str, str]) -> str:
    """"2 · fruit", or "Task 2" where nobody named it."""
    name = one.tasks[task]["name"]
    unnamed = not name or UNNAMED.fullmatch(name)
    return fill(words["task.n"], {"n": task + 1}) if unnamed else f"{task + 1} · {name}"


def size(count: float | None) -> str:
    """Bytes as people read them."""
    if count is None:
        return "–"
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{max(1, round(count / 1e3)) if count else 0} kB"


def _section(title: str, *inside: Iterable[Any]) -> str:
    return f"<h2>{_e(title)}</h2><div class='card'>{''.join(inside)}</div>"


def _words(text: str, x: float, y: float, anchor: str, colour: str = "#545a70") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{_e(text)}</text>'


def _e(text: Any) -> str:
    return escape(str(text), quote=True)
