"""The README's tables of results, made from the results themselves: what stands there is what was measured."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from forget_me_not.models.suites.suite import HEADS
from forget_me_not.models.suites.tables import BOUND, PRESETS, Line, Spread, lines, paired, share, signed

PHOTOS, OTHERS = "caltech24", ("pacs_photo", "pacs_domains")


def blocks(results: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Markdown by block: "heads" and "deep" on caltech24, "pacs" on the other photos."""
    return {"heads": _heads(results), "deep": _deep(results), "pacs": _pacs(results)}


def filled(text: str, made: Mapping[str, str]) -> str:
    """`text` with each block between <!-- name --> and <!-- /name --> replaced."""
    for name, block in made.items():
        text = re.sub(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", lambda m, b=block: m[1] + b + m[2], text, flags=re.S)
    return text


def _of(results: Sequence[Mapping[str, Any]], protocol: str) -> dict[str, Line]:
    return {line.title: line for line in lines(results) if line.protocol == protocol and line["last_accuracy"]}


def _heads(results: Sequence[Mapping[str, Any]]) -> str:
    mine = [line for line in _of(results, PHOTOS).values() if line.method in HEADS]
    most = max((len(line.seeds) for line in mine), default=0)
    fewer = lambda line: f", {len(line.seeds)} seeds" if len(line.seeds) < most else ""  # noqa: E731
    rows = [[named(line.title) + fewer(line), _mean(line["last_accuracy"]), _short(line["forgetting"]),
             _short(line["routing_accuracy"]), _less(results, PHOTOS, line.title)]
            for line in sorted(mine, key=lambda one: HEADS.index(one.method))]  # fmt: skip
    return _table(["", "accuracy", "forgetting", "right module", "minus joint"], rows)


def _deep(results: Sequence[Mapping[str, Any]]) -> str:
    known = _of(results, PHOTOS)
    mine = [line for title, line in known.items() if line.method not in HEADS and not title.endswith(PRESETS)]
    rows = []
    for line in sorted(mine, key=lambda one: -one["last_accuracy"].mean):
        paper = known.get(f"{line.title} · paper")
        rows.append([
            named(line.title), str(len(line.seeds)), _mean(line["last_accuracy"]), _short(line["forgetting"]),
            _short(line["routing_accuracy"]), _short(line["oracle_accuracy"]), _less(results, PHOTOS, line.title),
            f"{line['bytes_per_task'].mean / 1e3:,.0f}", f"{min(line.values['seconds']):,.0f}",
            "" if paper is None else f"{_short(paper['last_accuracy'], 3)} ({len(paper.seeds)})",
            "" if paper is None else _difference(paired(results, PHOTOS, line.title, paper.title)),
        ])  # fmt: skip
    return _table(["", "seeds", "accuracy", "forgetting", "right module", "oracle", "minus joint", "kB a task", "seconds",
                   "schedule `paper` (seeds)", "`demo` minus `paper`"], rows)  # fmt: skip


def _pacs(results: Sequence[Mapping[str, Any]]) -> str:
    known = [_of(results, name) for name in OTHERS]
    titles = dict.fromkeys(title for one in known for title in one if not title.endswith(PRESETS))
    rows = []
    for title in sorted(titles, key=lambda one: -max(k[one]["last_accuracy"].mean for k in known if one in k)):
        cells = [named(title)]
        for name, one in zip(OTHERS, known, strict=True):
            line = one.get(title)
            cells += [str(len(line.seeds)), _mean(line["last_accuracy"]), _less(results, name, title)] if line else [""] * 3
        rows.append(cells)
    return _table(["", "seeds", "photo", "minus joint", "seeds", "domains", "minus joint"], rows)


def named(title: str) -> str:
    """"tosca · published" -> "`tosca`, preset published"; the bound is called one."""
    name, _, preset = title.partition(" · ")
    return f"`{name}`" + (f", preset {preset}" if preset else "") + (" (bound)" if name == BOUND else "")


def _mean(value: Spread | None) -> str:
    return "" if value is None else share(value.mean) + ("" if math.isnan(value.sd) else f" ± {share(value.sd)}")


def _short(value: Spread | None, digits: int = 2) -> str:
    if value is None:
        return ""
    return "1.00" if value.mean > 0.995 else f"{value.mean:.{digits}f}".removeprefix("0").replace("-0.", "-.")


def _less(results: Sequence[Mapping[str, Any]], protocol: str, title: str) -> str:
    return "" if title == BOUND else _difference(paired(results, protocol, title))


def _difference(value: Spread | None) -> str:
    return "" if value is None else signed(value.mean) + ("" if math.isnan(value.half) else f" ± {share(value.half)}")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "".join("| " + " | ".join(row) + " |\n" for row in [head, ["---"] * len(head), *rows]).replace("|  |", "| |")
