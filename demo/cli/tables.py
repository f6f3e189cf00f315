"""Runs as aligned text: the accuracy matrix, the metrics, and a table over methods and seeds. No torch."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size

from forget_me_not.demo.cli.numbers import is_finished, record
from forget_me_not.models.metrics import seen_accuracy, wilson
from forget_me_not.models.store import RunFolder

LABEL = 34
"""Widest task name, in cells of the terminal (a Japanese letter takes two)."""
ENOUGH_SEEDS = 20

SHARES = {
    "last_accuracy_tasks": ("last accuracy by task", "the same, every task weighs alike"),
    "average_accuracy": ("average accuracy", "mean over tasks of the accuracy right after each"),
    "learning_accuracy": ("learning accuracy", "each task right after it was learnt"),
    "forgetting": ("forgetting", "best before the last task, minus after it"),
    "bwt": ("backward transfer", "after the last task, minus right after learning"),
    "routing_accuracy": ("right module", "share of photos answered by the module of their task"),
    "accuracy_right": ("  accuracy then", "answers of the right module"),
    "accuracy_wrong": ("  accuracy otherwise", "answers of a wrong module"),
    "oracle_accuracy": ("oracle", "if the task were told: no result, a view"),
    "batch_vote_accuracy": ("batch vote, sorted", "one module for a whole sorted batch, which gives the task away"),
    "zeros": ("zeros", "weights of a module that are exactly zero"),
}

COLUMNS = {
    "last_accuracy": "last", "average_accuracy": "average", "forgetting": "forgetting",
    "routing_accuracy": "right module", "oracle_accuracy": "oracle", "batch_vote_accuracy": "batch vote",
}  # fmt: skip


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> Iterator[str]:
    """Lines with columns of one width: the first `left` columns flush left, the others right."""
    widths = [max(cell_len(row[c]) for row in rows if c < len(row)) for c in range(max(map(len, rows)))]
    for row in rows:
        cells = [_fit(text, width, c < left) for c, (text, width) in enumerate(zip(row, widths, strict=False))]
        yield "  ".join(cells).rstrip()


def _fit(text: str, width: int, left: bool) -> str:
    space = " " * (width - cell_len(text))
    return text + space if left else space + text


def share(value: float | None) -> str:
    """A number in [0, 1] in per cent with one decimal; "-" where it is not known."""
    return "-" if value is None else f"{100 * value:.1f}"


def whole(run: RunFolder) -> Iterator[str]:
    """Everything about one run: its title, matrix and metrics."""
    yield title(run)
    if run.matrix():
        yield ""
        yield from matrix(run)
        yield ""
        yield from metrics(run)


def title(run: RunFolder) -> str:
    """Method, seed, stream, and how far it is."""
    facts, done = run.facts, run.finished()
    tasks, classes = len(facts["tasks"]), len(facts["classes"])
    state = "" if is_finished(run) else f", {done} of them learnt so far"
    return f"{facts['method']}, seed {facts['seed']}: {_count(tasks, 'task')}{state}, {_count(classes, 'class', 'classes')}"


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def matrix(run: RunFolder) -> Iterator[str]:
    """R in per cent: a row after each task learnt, a column for each task tested, and all test photos seen so far."""
    yield "Accuracy in % after each task (rows) on the test photos of each task (columns)"
    rows = run.matrix()
    correct, total = [e.correct for e in rows], [e.total for e in rows]
    lines = [["", *(str(j + 1) for j in range(len(rows))), "all seen"]]
    for t in range(len(rows)):
        judged = [share(c / n) if n else "-" for c, n in zip(correct[t], total[t], strict=True)]
        name = f"{t + 1} {run.facts['tasks'][t]['name']}"
        name = name if cell_len(name) <= LABEL else set_cell_size(name, LABEL - 1).rstrip() + "…"
        lines.append([name, *judged, *[""] * (len(rows) - len(judged)), share(seen_accuracy(correct, total, t))])
    yield from aligned(lines)


def metrics(run: RunFolder) -> Iterator[str]:
    """One line a metric with what it means; those a method does not have are left out."""
    numbers, last = record(run), run.matrix()[-1]
    right, photos = sum(last.correct), sum(last.total)
    low, high = wilson(right, photos)
    lines = [["last accuracy", f"{share(numbers['last_accuracy'])} %",
              f"{right} of {photos} test photos; 95 % interval {share(low)} to {share(high)}"]]  # fmt: skip
    lines += [[name, f"{share(numbers[key])} %", means] for key, (name, means) in SHARES.items() if numbers[key] is not None]
    if numbers["displacement"] is not None:
        lines.append(["displacement", f"{numbers['displacement']:.3f}  ", "how far a module moves a feature of length 1"])
    more = f"{numbers['parameters_per_task']:,}"
    lines.append(["parameters", f"{numbers['parameters']:,}  ", f"trained numbers kept; {more} for one more task"])
    lines.append(["bytes a task", f"{numbers['bytes_per_task']:,}  ", "what one more task takes on disk"])
    seconds = numbers["seconds"]
    lines.append(["seconds", f"{sum(seconds.values()):.1f}  ", ", ".join(f"{stage} {s:.1f}" for stage, s in seconds.items())])
    widths = [max(cell_len(line[c]) for line in lines) for c in (0, 1)]
    for name, value, means in lines:
        yield f"{_fit(name, widths[0], True)}  {_fit(value, widths[1], False)}  {means}"


def several(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line a method over its seeds (or, of one seed each, its numbers), in per cent."""
    methods: dict[str, list[Mapping[str, Any]]] = {}
    for one in records:
        methods.setdefault(one["method"], []).append(one)
    shown = {key: name for key, name in COLUMNS.items() if any(one[key] is not None for one in records)}
    seeds = max(map(len, methods.values()))
    spread = ["sd", "min", "max"] if seeds > 1 else []
    lines = [["in %", "seeds"]]
    for key, name in shown.items():
        lines[0] += [name, *spread] if key == "last_accuracy" else [name]
    for method, ones in methods.items():
        line = [method, str(len(ones))]
        for key in shown:
            values = [one[key] for one in ones if one[key] is not None]
            line.append(share(statistics.fmean(values)) if values else "-")
            if key == "last_accuracy" and spread:
                sd = share(statistics.stdev(values)) if len(values) > 1 else "-"
                line += [sd, share(min(values, default=None)), share(max(values, default=None))]
        lines.append(line)
    yield from aligned(lines)
    if len(methods) > 1 and seeds < ENOUGH_SEEDS:
        yield f"{_count(seeds, 'seed')}: small differences prove nothing; take {ENOUGH_SEEDS} (--seeds 1-{ENOUGH_SEEDS})."
