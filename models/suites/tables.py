"""What the results of a suite say: means over seeds, paired differences, and Markdown of both."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.stats import t as student

BOUND = "joint"
PRESETS = ("paper", "published")
"""Presets that stand for the papers' settings; a suite runs them under the title "method · preset"."""


@dataclass(frozen=True)
class Spread:
    """Mean, standard deviation and half a 95 % interval of the mean (Student's t) of n values; nan where one value has none."""

    mean: float
    sd: float
    half: float
    n: int

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + self.half


def spread(values: Sequence[float]) -> Spread | None:
    """The spread of some values; None of none."""
    if not values:
        return None
    if len(values) == 1:
        return Spread(values[0], math.nan, math.nan, 1)
    n, sd = len(values), statistics.stdev(values)
    return Spread(statistics.mean(values), sd, float(student.ppf(0.975, n - 1)) * sd / math.sqrt(n), n)


@dataclass(frozen=True)
class Line:
    """One entry under one protocol: spreads of its metrics, and what failed."""

    protocol: str
    title: str
    method: str
    seeds: tuple[int, ...]
    values: Mapping[str, tuple[float, ...]]
    failed: tuple[str, ...] = ()

    def __getitem__(self, metric: str) -> Spread | None:
        return spread(self.values.get(metric, ()))


SHOWN = ("last_accuracy", "average_accuracy", "forgetting", "learning_accuracy", "routing_accuracy", "accuracy_right",
         "accuracy_wrong", "oracle_accuracy", "batch_vote_accuracy", "zeros", "displacement", "parameters_per_task",
         "bytes_per_task")  # fmt: skip


def lines(results: Iterable[Mapping[str, Any]]) -> list[Line]:
    """One line for every entry of every protocol, in the order they first appear; results of a seed count once."""
    groups: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = {}
    for one in results:
        groups.setdefault((one["protocol"]["name"], one["title"]), {})[one["seed"]] = one
    return [_line(protocol, title, dict(sorted(runs.items()))) for (protocol, title), runs in groups.items()]


def _line(protocol: str, title: str, runs: Mapping[int, Mapping[str, Any]]) -> Line:
    good = {seed: run for seed, run in runs.items() if not run["failed"]}
    values = {name: tuple(_numbers(run["metrics"].get(name) for run in good.values())) for name in SHOWN}
    values["seconds"] = tuple(math.fsum(run["metrics"]["seconds"].values()) for run in good.values())
    failed = tuple(sorted({run["failed"]["code"] for run in runs.values() if run["failed"]}))
    return Line(protocol, title, next(iter(runs.values()))["method"], tuple(good), values, failed)


def _numbers(values: Iterable[float | None]) -> list[float]:
    return [v for v in values if v is not None]


def paired(results: Sequence[Mapping[str, Any]], protocol: str, a: str, b: str = BOUND, metric: str = "last_accuracy",
           metric_b: str = "") -> Spread | None:  # fmt: skip
    """a's metric minus b's on the seeds they share: the same class order, split and photos. None where they share none."""
    first, second = _by_seed(results, protocol, a, metric), _by_seed(results, protocol, b, metric_b or metric)
    return spread([first[s] - second[s] for s in sorted(first.keys() & second.keys())])


def _by_seed(results: Iterable[Mapping[str, Any]], protocol: str, title: str, metric: str) -> dict[int, float]:
    mine = (r for r in results if r["protocol"]["name"] == protocol and r["title"] == title and not r["failed"])
    return {r["seed"]: value for r in mine if (value := r["metrics"].get(metric)) is not None}


HEADINGS = ("", "seeds", "accuracy", "minus joint", "forgetting", "right module", "right, then", "wrong, then", "oracle",
            "batch vote", "numbers a task", "kB a task", "seconds")  # fmt: skip


def table(results: Sequence[Mapping[str, Any]], protocol: str) -> list[list[str]]:
    """Rows of text under HEADINGS: best accuracy first, and the bound where it falls."""
    found = [line for line in lines(results) if line.protocol == protocol]
    found.sort(key=lambda line: -(s.mean if (s := line["last_accuracy"]) else -1))
    return [_cells(line, paired(results, protocol, line.title) if line.title != BOUND else None) for line in found]


def _cells(line: Line, less: Spread | None) -> list[str]:
    def mean(metric: str, scale: float = 1.0, form: str = "share") -> str:
        if (s := line[metric]) is None:
            return ""
        value = s.mean * scale
        return share(value) if form == "share" else f"{value:,.{0 if value >= 10 else 1}f}"

    accuracy = line["last_accuracy"]
    return [
        line.title + (f" ({', '.join(line.failed)})" if line.failed else ""), str(len(line.seeds)),
        "" if accuracy is None else share(accuracy.mean) + ("" if math.isnan(accuracy.sd) else f" ± {share(accuracy.sd)}"),
        "" if less is None else signed(less.mean) + ("" if math.isnan(less.half) else f" ± {share(less.half)}"),
        mean("forgetting"), mean("routing_accuracy"), mean("accuracy_right"), mean("accuracy_wrong"), mean("oracle_accuracy"),
        mean("batch_vote_accuracy"), mean("parameters_per_task", form="count"), mean("bytes_per_task", 1e-3, "count"),
        mean("seconds", form="count"),
    ]  # fmt: skip


def share(value: float) -> str:
    """0.8834 -> ".883"; 1 -> "1.000"; "" for no number."""
    if math.isnan(value):
        return ""
    return f"{value:.3f}".removeprefix("0") if value >= 0 else "-" + share(-value)


def signed(value: float) -> str:
    """0.0081 -> "+.008"."""
    return ("+" if value >= 0 else "-") + share(abs(value))


def markdown(results: Sequence[Mapping[str, Any]]) -> str:
    """A section and a table for every protocol, and what they were measured with."""
    parts = []
    for protocol in dict.fromkeys(one["protocol"]["name"] for one in results):
        some = next(one for one in results if one["protocol"]["name"] == protocol)
        rows = table(results, protocol)
        full = [i for i in range(len(HEADINGS)) if i < 2 or any(row[i] for row in rows)]
        cells = [[HEADINGS[i] for i in full], ["---"] * len(full), *[[row[i] for i in full] for row in rows]]
        parts += [f"## {protocol}", "", about(some), "", *["| " + " | ".join(row) + " |" for row in cells], ""]
    return "\n".join(parts)


def about(one: Mapping[str, Any]) -> str:
    """One sentence on the photos, the cut and the software of a result."""
    p, versions = one["protocol"], one["versions"]
    sizes = p["per_task"] if isinstance(p["per_task"], int) else "/".join(map(str, p["per_task"] or ())) or "all"
    tasks = "a task a domain" if p["domains"] else f"{sizes} classes a task"
    shots = f"{p['train'] or 'all'} photos a class to learn, {p['test'] or 'the rest'} to test"
    used = ", ".join(f"{name} {versions[name]}" for name in ("forget-me-not", "python", "torch", "timm") if name in versions)
    return (f"{one['photos']} photos of {one['classes']} classes (set {one['photo_set']}); {tasks}, {shots}; "
            f"{p['backbone']} at {p['size']} px; {used}; {one['threads']} thread.")  # fmt: skip
