"""Finished runs -> the leaderboard: one row a method over its seeds, who is tied with whom, and one plain sentence. Pure."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forget_me_not.demo.share.results import Result
from forget_me_not.demo.words import fill
from forget_me_not.models.metrics import student, tie, wilson

METRICS = ("forgetting", "learning_accuracy", "routing_accuracy", "accuracy_right", "accuracy_wrong", "batch_vote_accuracy",
           "oracle_accuracy", "average_accuracy", "bwt", "last_accuracy_tasks")  # fmt: skip
PAIRED = 3
"""Common seeds from which on their differences say more than the photos of one of them."""
SAME = 0.0005
"""Forgetting below this is none, as it is printed."""


@dataclass(frozen=True)
class Row:
    """One line of the leaderboard: a method with one choice of settings over its seeds.

    note: the settings in which it differs from other rows of its method. spread: standard deviation over seeds, None of one.
    means: mean over seeds of each metric, None where a seed lacks it. tied: too close to the best learner to be called worse.
    """

    results: tuple[Result, ...]
    note: str = ""
    bound: bool = False
    tied: bool = False

    @property
    def method(self) -> str:
        return self.results[0].method

    @property
    def key(self) -> str:
        """The same for the row of these settings whatever seeds are added."""
        return f"{self.method} {json.dumps(self.results[0].settings, sort_keys=True)}"

    @property
    def tasks(self) -> int:
        return len(self.results[0].tasks)

    @property
    def scores(self) -> list[float]:
        """Share of all test photos right at the end, by seed."""
        return [right / total if total else 0.0 for right, total in (r.last for r in self.results)]

    @property
    def accuracy(self) -> float:
        return statistics.fmean(self.scores)

    @property
    def spread(self) -> float | None:
        return statistics.stdev(self.scores) if len(self.results) > 1 else None

    @property
    def counts(self) -> tuple[int, int]:
        """(right, total) of one seed; of several their mean: seeds share most photos, so more of them are no more photos."""
        return tuple(round(statistics.fmean(part)) for part in zip(*(r.last for r in self.results), strict=True))

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the accuracy on that many photos."""
        return wilson(*self.counts)

    def mean(self, name: str) -> float | None:
        """Mean of a metric over the seeds."""
        values = [r.numbers.get(name) for r in self.results]
        return None if None in values else statistics.fmean(values)

    @property
    def seconds(self) -> float:
        return statistics.fmean(sum(r.numbers["seconds"].values()) for r in self.results)

    @property
    def points(self) -> list[tuple[int, float, float]]:
        """(seed, learns, keeps) of each seed on the plane; none with one task, where nothing can be forgotten."""
        known = [(r.seed, r.numbers["learning_accuracy"], r.numbers["forgetting"]) for r in self.results]
        return [(seed, learns, 1 - lost) for seed, learns, lost in known if learns is not None and lost is not None]


def streams(results: Sequence[Result]) -> list[dict[str, Any]]:
    """The different sets of photos and tasks that were learnt, the one of the newest run first."""
    found: dict[str, list[Result]] = {}
    for one in sorted(results, key=lambda r: r.created, reverse=True):
        found.setdefault(one.stream, []).append(one)
    return [{"key": key, "tasks": len(of[0].tasks), "classes": len({c for t in of[0].tasks for c in t["classes"]}),
             "photos": of[0].photos, "runs": len(of), "created": of[0].created} for key, of in found.items()]  # fmt: skip


def rows(results: Sequence[Result], stream: str, bounds: Collection[str]) -> list[Row]:
    """The leaderboard of one stream: bounds first, then learners by accuracy; of runs that repeat each other the newest."""
    newest: dict[tuple[str, str, int], Result] = {}
    for one in sorted(results, key=lambda r: r.created):
        if one.stream == stream:
            newest[one.method, json.dumps(one.settings, sort_keys=True), one.seed] = one
    groups: dict[tuple[str, str], list[Result]] = {}
    for (method, settings, _), one in sorted(newest.items(), key=lambda item: item[0]):
        groups.setdefault((method, settings), []).append(one)
    made = [Row(tuple(group), _differing(method, group[0], groups), method in bounds) for (method, _), group in groups.items()]
    made.sort(key=lambda row: (not row.bound, -row.accuracy, row.method, row.note))
    best = next((row for row in made if not row.bound), None)
    return [row if row.bound or best is None else _judged(row, best) for row in made]


def _judged(row: Row, best: Row) -> Row:
    return Row(row.results, row.note, row.bound, row is not best and is_tie(row, best))


def is_tie(a: Row, b: Row) -> bool:
    """Whether two rows are too close to call one better, by the photos of one seed (metrics.tie) and by the seeds in common.

    A seed splits the photos alike for every method, so from 3 common seeds on the mean of their differences counts, too: a tie
    only where 0 lies in its 95 % interval. Splits share photos: the variance is that of Nadeau and Bengio 2003 (Machine
    Learning 52, 239), s^2 (1/k + tested / trained).
    """
    if not tie(a.counts, b.counts):
        return False
    mine, theirs = ({r.seed: score for r, score in zip(row.results, row.scores, strict=True)} for row in (a, b))
    apart = [mine[seed] - theirs[seed] for seed in mine.keys() & theirs.keys()]
    if len(apart) < PAIRED:
        return True
    tested = a.counts[1]
    variance = 1 / len(apart) + tested / max(1, a.results[0].photos - tested)
    deviation = max(statistics.stdev(apart), 0.5 / max(1, tested))  # accuracies are counts: no closer than half a photo
    return abs(statistics.fmean(apart)) <= student(len(apart) - 1) * deviation * math.sqrt(variance)


def _differing(method: str, one: Result, groups: Mapping[tuple[str, str], list[Result]]) -> str:
    """The settings that tell this row from others of its method, as text."""
    others = [group[0].settings for (name, _), group in groups.items() if name == method]
    names = sorted({name for settings in others for name in settings})
    differ = [n for n in names if len({json.dumps(s.get(n), sort_keys=True) for s in others}) > 1]
    return ", ".join(f"{name} {_plain(one.settings.get(name))}" for name in differ)


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def best_of(board: Sequence[Row]) -> Row | None:
    """The learner with the highest accuracy."""
    return next((row for row in board if not row.bound), None)


def bound_of(board: Sequence[Row]) -> Row | None:
    """The highest bound."""
    return max((row for row in board if row.bound), key=lambda row: row.accuracy, default=None)


def percent(value: float | None) -> str:
    """A share in per cent with one decimal, without the sign; a half goes up, as the page rounds it."""
    return "–" if value is None else f"{math.floor(1000 * value + 0.5 + 1e-9) / 10:.1f}"


def _named(row: Row, titles: Mapping[str, str]) -> str:
    return titles.get(row.method, row.method) + (f" ({row.note})" if row.note else "")


def say(board: Sequence[Row], words: Mapping[str, str], titles: Mapping[str, str]) -> str:
    """What the leaderboard says: the best or the tie, what was forgotten most, and how far the bound is."""
    learners, best, bound = [row for row in board if not row.bound], best_of(board), bound_of(board)
    if best is None:
        return words["compare.say_none"]
    name = lambda row: _named(row, titles)  # noqa: E731
    close = [best, *(row for row in learners if row.tied)]
    if len(learners) == 1:
        said = fill(words["compare.say_one"], {"method": name(best), "accuracy": percent(best.accuracy)})
    elif len(close) > 1:
        listed = words["compare.and"].join(name(row) for row in close[:4])
        key = "compare.say_tie" if len(close) <= 4 else "compare.say_tie_many"
        said = fill(words[key], {"names": listed, "n": len(close), "photos": best.counts[1]})
    else:
        second = learners[1]
        said = fill(words["compare.say_first"], {"method": name(best), "accuracy": percent(best.accuracy), "second": name(second),
                                                 "less": percent(second.accuracy)})  # fmt: skip
    parts = [said]
    lost = [(row.mean("forgetting"), row) for row in learners if row.mean("forgetting") is not None]
    if lost:
        most, row = max(lost, key=lambda pair: pair[0])
        key = "compare.say_forgot" if most >= SAME else "compare.say_kept"
        parts.append(fill(words[key], {"method": name(row), "points": percent(most)}))
    if bound is not None:
        gap = bound.accuracy - best.accuracy
        values = {"method": name(best), "bound": name(bound), "points": percent(abs(gap))}
        close_to = is_tie(bound, best)
        key = "compare.say_bound_tie" if close_to else "compare.say_below" if gap > 0 else "compare.say_above"
        parts.append(fill(words[key], values))
    return words["say.gap"].join(parts)


def say_plane(board: Sequence[Row], words: Mapping[str, str], titles: Mapping[str, str]) -> str:
    """What the plane shows: who learns most and who keeps most, with all that share the place to the decimal shown."""
    on = [row for row in board if not row.bound and row.points]
    if not on:
        return words["compare.plane_none"]
    learns, keeps = {row.key: row.mean("learning_accuracy") for row in on}, {row.key: 1 - row.mean("forgetting") for row in on}
    first = [[row for row in on if percent(of[row.key]) == percent(max(of.values()))] for of in (learns, keeps)]
    learner, keeper = (words["compare.and"].join(_named(row, titles) for row in rows) for rows in first)
    key = "compare.plane_same" if first[0] == first[1] else "compare.plane_say"
    most = {"learns": percent(max(learns.values())), "keeps": percent(max(keeps.values()))}
    return fill(words[key], {"learner": learner, "keeper": keeper, **most})


def as_json(row: Row, titles: Mapping[str, str]) -> dict[str, Any]:
    """A row as the page gets it."""
    low, high = row.interval
    right, total = row.counts
    return {
        "key": row.key, "run": row.results[-1].id, "method": row.method, "title": titles.get(row.method, row.method),
        "note": row.note, "bound": row.bound, "tied": row.tied, "seeds": [r.seed for r in row.results],
        "runs": [{"id": r.id, "seed": r.seed} for r in row.results], "accuracy": row.accuracy, "spread": row.spread,
        "least": min(row.scores), "most": max(row.scores), "low": low, "high": high, "right": right, "total": total,
        **{name: row.mean(name) for name in METRICS}, "parameters": row.mean("parameters"), "bytes": row.mean("bytes_per_task"),
        "seconds": row.seconds,
    }  # fmt: skip
