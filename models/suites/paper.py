"""The papers' benchmarks: a suite from a file of facts, folders checked against it, and published figures beside ours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from forget_me_not.models.problem import Problem
from forget_me_not.models.suites.cut import SPLIT, Protocol
from forget_me_not.models.suites.suite import Entry, Suite
from forget_me_not.models.suites.tables import share, spread

FACTS = Path(__file__).with_name("paper.json")
PHOTOS = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif"})


def facts(file: Path = FACTS) -> Mapping[str, Any]:
    """What the suite is made of; `file` replaces it, e.g. by a stand-in of three classes."""
    return json.loads(file.read_text(encoding="utf-8"))


def suite(about: Mapping[str, Any], images: Path) -> Suite:
    """The benchmarks whose folders lie below `images`, whole. Problems: bench_papers_absent, bench_manifest."""
    found = []
    for name, one in about["benchmarks"].items():
        if (images / one["folder"]).is_dir():
            _whole(name, one, images / one["folder"])
            found.append(
                Protocol(name, one["folder"], per_task=one["per_task"], train=None, test=None, backbone=about["backbone"],
                         size=about["size"], neck="none", order=one["order"], split=True))  # fmt: skip
    if not found:
        wanted = ", ".join(dict.fromkeys(one["folder"] for one in about["benchmarks"].values()))
        raise Problem("bench_papers_absent", folder=str(images), wanted=wanted)
    entries = (Entry(title, e["method"], (about["seed"],), e["settings"]) for title, e in about["entries"].items())
    return Suite("paper", tuple(found), tuple(entries))


def _whole(name: str, one: Mapping[str, Any], folder: Path) -> None:
    """Problem bench_manifest where classes or photos are missing or too many: figures on other data would not compare."""
    counts = {side: sum(1 for p in (folder / side).rglob("*") if p.suffix.lower() in PHOTOS) for side in SPLIT}
    classes = sum(1 for p in (folder / "train").iterdir() if p.is_dir()) if (folder / "train").is_dir() else 0
    if (classes, counts["train"], counts["test"]) != (one["classes"], one["train"], one["test"]):
        raise Problem("bench_manifest", name=name, classes=one["classes"], train=one["train"], test=one["test"],
                      has_classes=classes, has_train=counts["train"], has_test=counts["test"])  # fmt: skip


def beside(results: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> str:
    """Markdown: ours and the published figures of every benchmark measured, with where those come from."""
    figures, sources, lines = about["published"]["figures"], about["published"]["source"], []
    for name, one in about["benchmarks"].items():
        ours = [r for r in results if r["protocol"]["name"] == name and not r["failed"]]
        if not ours:
            continue
        lines += [f"## {one['title']}", "", "| | average, ours | published | last, ours | published | source |", "|---" * 6 + "|"]
        for title in dict.fromkeys(r["title"] for r in ours):
            average, last, source = figures.get(name, {}).get(title, (None, None, ""))
            by = "last_accuracy_tasks" if source == "ranpac" else "last_accuracy"
            pair = [_mean(ours, title, "average_accuracy"), _percent(average), _mean(ours, title, by), _percent(last)]
            lines.append("| " + " | ".join([title, *pair, source]) + " |")
        lines.append("")
    return "\n".join([*lines, *(f"* {name}: {text}" for name, text in sources.items()), ""])


def _mean(results: Iterable[Mapping[str, Any]], title: str, metric: str) -> str:
    s = spread([r["metrics"][metric] for r in results if r["title"] == title])
    return share(s.mean) if s else ""


def _percent(value: float | None) -> str:
    return "" if value is None else share(value / 100)
