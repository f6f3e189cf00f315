"""What methods on the frozen feature have to reach over the suite's seeds: bars on means, and paired differences to joint."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from forget_me_not.models.bench import Row, judged
from forget_me_not.models.suites.suite import Suite, offline
from forget_me_not.models.suites.tables import BOUND, lines, paired

BARS: Mapping[str, Mapping[str, str]] = {
    "simplecil": {"last_accuracy": ">= 0.865", "forgetting": ""},
    "finetune": {"last_accuracy": "<= 0.75", "forgetting": ">= 0.25"},
    "linear_probe": {"last_accuracy": "", "forgetting": ""},
    "tosca": {"last_accuracy": ">= 0.86", "oracle_accuracy": ">= 0.935", "zeros": ">= 0.2", "displacement": ">= 0.12",
              "forgetting": "", "routing_accuracy": "", "batch_vote_accuracy": ""},
    "tosca · published": {"last_accuracy": "", "oracle_accuracy": "", "forgetting": "", "routing_accuracy": "",
                          "batch_vote_accuracy": ""},
    "ranpac": {"last_accuracy": ">= 0.87", "forgetting": ""},
    "router_ridge_product": {"last_accuracy": "", "oracle_accuracy": "", "forgetting": "", "routing_accuracy": ""},
    BOUND: {"last_accuracy": "", "forgetting": ""},
}  # fmt: skip
"""By entry of the offline suite: metrics shown, and what their means must reach."""


def suite(images: Path) -> Suite:
    """The offline suite's first photos and the entries that have bars."""
    whole = offline(images)
    return Suite("quality", whole.protocols[:1], tuple(entry for entry in whole.entries if entry.title in BARS))


def rows(results: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Mean, sd, min and max of every entry's metrics, then paired differences to joint with half their 95 % interval."""
    found = {line.title: line for line in lines(results)}
    for title, bars in BARS.items():
        for metric, bar in bars.items():
            values = found[title].values[metric] if title in found else ()
            if values:
                sd = statistics.stdev(values) if len(values) > 1 else 0.0
                yield judged(f"{title}: {metric}", statistics.mean(values), bar, sd=sd, min=min(values), max=max(values))
    for title, line in found.items():
        less = paired(results, line.protocol, title)
        if title != BOUND and less and less.n > 1:
            yield judged(f"{title} minus joint, paired", less.mean, half=less.half)
