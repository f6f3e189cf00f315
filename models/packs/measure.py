"""What methods reach on a pack, over many seeds: the figures on its card. One thread, so that they come out the same again."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forget_me_not.models import experiment, registry, stream
from forget_me_not.models.core import Source
from forget_me_not.models.events import Finished
from forget_me_not.models.packs.load import Pack

METHODS = ("finetune", "tosca", "simplecil", "joint")
KEPT = ("last_accuracy", "average_accuracy", "forgetting", "batch_vote_accuracy", "routing_accuracy", "oracle_accuracy")
"""The metrics of metrics.summary that are kept; task1_drop is ours: best accuracy on task 1 at any time minus its last."""

Levels = dict[str, Any]


def measure(pack: Pack, source: Source, seeds: Sequence[int]) -> Iterator[tuple[int, int] | Levels]:
    """(runs done, runs in all) after every run, then the levels.

    Levels: seeds; methods: name -> metric -> {mean, sd, min, max}, and task1: mean accuracy on task 1 after every task;
    pairs: "a - b" -> {mean, se} of the last accuracies on the same seeds.
    """
    found: dict[str, list[Mapping[str, Any]]] = {name: [] for name in METHODS}
    total = len(METHODS) * len(seeds)
    for name in METHODS:
        for seed in seeds:
            found[name].append(_run(pack, source, name, seed))
            yield sum(map(len, found.values())), total
    yield {
        "seeds": len(seeds),
        "methods": {name: _spread(runs) for name, runs in found.items()},
        "pairs": {f"{a} - {b}": _pair(found[a], found[b]) for a, b in (("tosca", "finetune"), ("tosca", "simplecil"))},
    }


def _run(pack: Pack, source: Source, method: str, seed: int) -> Mapping[str, Any]:
    events = experiment.conduct(stream.build(pack.plan(seed), source), method, registry.card(method).read({}), seed)
    metrics = next(dict(e.metrics) for e in events if isinstance(e, Finished))
    first = [row[0] for row in metrics["matrix"]]
    return {**{k: metrics[k] for k in KEPT}, "task1_drop": max(first) - first[-1], "task1": first}


def _spread(runs: Sequence[Mapping[str, Any]]) -> Levels:
    spread: Levels = {}
    for metric in (*KEPT, "task1_drop"):
        values = [run[metric] for run in runs]
        if None not in values:
            sd = statistics.stdev(values) if len(values) > 1 else 0.0
            numbers = {"mean": statistics.mean(values), "sd": sd, "min": min(values), "max": max(values)}
            spread[metric] = {k: round(v, 4) for k, v in numbers.items()}
    spread["task1"] = [round(statistics.mean(after), 4) for after in zip(*(run["task1"] for run in runs), strict=True)]
    return spread


def _pair(a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]) -> Levels:
    differences = [x["last_accuracy"] - y["last_accuracy"] for x, y in zip(a, b, strict=True)]
    error = statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else 0.0
    return {"mean": round(statistics.mean(differences), 4), "se": round(error, 4)}
