"""What an accuracy matrix says: pure functions with their definition and source.

R[t][j] is the accuracy on the test photos of task j after learning task t, in [0, 1]; None where it was not judged and
above the diagonal. Counts have the same form: correct[t][j] of total[t][j] photos. T tasks, counted from 0.
A number that cannot be had (one task, an unjudged entry) is None.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from forget_me_not.models.events import Diagnosed, Evaluated, Event, Resumed, TaskFinished

Matrix = Sequence[Sequence[float | None]]
Counts = Sequence[Sequence[int]]

Z95 = 1.959963984540054
"""Two-sided 95 % point of the normal distribution."""
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110,
       2.101, 2.093, 2.086)  # fmt: skip
"""Two-sided 95 % points of Student's t for 1 to 20 degrees of freedom: the page loads no scipy."""


def matrix(correct: Counts, total: Counts) -> list[list[float | None]]:
    """R (T x T) from the counts of each evaluation; row t may be longer or shorter than t + 1."""
    tasks = len(total)
    return [
        [c[j] / n[j] if j <= t and j < len(n) and n[j] else None for j in range(tasks)]
        for t, (c, n) in enumerate(zip(correct, total, strict=True))
    ]


def seen_accuracy(correct: Counts, total: Counts, t: int) -> float | None:
    """Share of right answers among all test photos of tasks 0..t after task t (photos weigh alike)."""
    n = total[t][: t + 1]
    return sum(correct[t][: t + 1]) / sum(n) if len(n) == t + 1 and all(n) else None


def last_accuracy(correct: Counts, total: Counts) -> float | None:
    """Accuracy over all test photos of all classes after the last task: A_T ("A_B" in PILOT, arXiv:2309.07117)."""
    return seen_accuracy(correct, total, len(total) - 1) if total else None


def last_accuracy_tasks(R: Matrix) -> float | None:
    """Mean of the last row, 1/T sum_j R[T-1][j]: tasks weigh alike (ACC in Lopez-Paz & Ranzato 2017, arXiv:1706.08840)."""
    return _mean(R[-1]) if R else None


def average_accuracy(correct: Counts, total: Counts) -> float | None:
    """Mean over t of the accuracy over all photos seen after task t (iCaRL, arXiv:1611.07725: average incremental accuracy)."""
    return _mean([seen_accuracy(correct, total, t) for t in range(len(total))])


def forgetting(R: Matrix) -> float | None:
    """1/(T-1) sum_{j<T-1} (max_{l<T-1} R[l][j] - R[T-1][j]), Chaudhry et al. 2018, arXiv:1801.10112.

    The last row is not among the candidates of the maximum, so a task that got better counts negative. None with one task.
    """
    last = len(R) - 1
    return _mean([_minus(_max([R[row][j] for row in range(j, last)]), R[last][j]) for j in range(last)])


def bwt(R: Matrix) -> float | None:
    """Backward transfer 1/(T-1) sum_{j<T-1} (R[T-1][j] - R[j][j]), Lopez-Paz & Ranzato 2017, arXiv:1706.08840."""
    last = len(R) - 1
    return _mean([_minus(R[last][j], R[j][j]) for j in range(last)])


def learning_accuracy(R: Matrix) -> float | None:
    """Mean of the diagonal, 1/T sum_t R[t][t]: each task right after it was learnt (Riemer et al. 2019, arXiv:1810.11910)."""
    return _mean([R[t][t] for t in range(len(R))])


def stability(R: Matrix) -> float | None:
    """1 - forgetting: our axis of the stability-plasticity plane; above 1 where old tasks got better."""
    lost = forgetting(R)
    return None if lost is None else 1 - lost


def plasticity(R: Matrix) -> float | None:
    """Learning accuracy: our other axis of that plane."""
    return learning_accuracy(R)


def wilson(correct: int, total: int) -> tuple[float, float]:
    """95 % interval (low, high) of a share, Wilson 1927 (J. Am. Stat. Assoc. 22, 209); (0, 1) of no photos."""
    if not total:
        return 0.0, 1.0
    p, z2 = correct / total, Z95**2 / total
    centre = p + z2 / 2
    half = Z95 * math.sqrt(p * (1 - p) / total + z2 / (4 * total))
    low = 0.0 if correct == 0 else (centre - half) / (1 + z2)
    high = 1.0 if correct == total else (centre + half) / (1 + z2)
    return low, high


def tie(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether two (correct, total) are too close to call one better.

    True where 0 lies in the 95 % interval of the difference that the two Wilson intervals make (Newcombe 1998, Statistics
    in Medicine 17, 873, method 10). It takes the two as independent, so on the same photos it calls a tie rather too often.
    """
    if not a[1] or not b[1]:
        return True
    (low, worse), (high, better) = sorted((c / n, (c, n)) for c, n in (a, b))
    return high - low <= math.hypot(high - wilson(*better)[0], wilson(*worse)[1] - low)


def paired(gained: int, lost: int, total: int) -> tuple[float, float, float]:
    """(difference, low, high): what one set of answers is better than another on the same `total` photos, with its 95 % interval.

    gained: photos only the first has right, lost: only the second. The interval is Agresti & Min's, Wald after half a photo is
    added to each of the four cells (2005, Statistics in Medicine 24, 729); (0, -1, 1) of no photos.
    """
    if not total:
        return 0.0, -1.0, 1.0
    b, c, n = gained + 0.5, lost + 0.5, total + 2
    middle = (b - c) / n
    half = Z95 * math.sqrt(max(0.0, b + c - (b - c) ** 2 / n)) / n
    return (gained - lost) / total, max(-1.0, middle - half), min(1.0, middle + half)


def student(free: int) -> float:
    """Two-sided 95 % point of Student's t for `free` >= 1 degrees of freedom; above 20 that of 20, a little too wide."""
    return T95[min(free, len(T95)) - 1]


def summary(events: Iterable[Event]) -> dict[str, Any]:
    """A run's numbers from its events, as `--json` prints them; what is not known yet is None.

    matrix and the metrics above; routing_accuracy, accuracy_right, accuracy_wrong, oracle_accuracy, batch_vote_accuracy:
    after the last task; zeros, displacement: mean over tasks; parameters: kept after the last task; parameters_per_task,
    bytes_per_task: what the last task added; seconds by stage over all tasks. What was said of tasks >= k before
    Resumed(task=k) does not count.
    """
    evaluated, measures, finished = _by_task(events)
    rows = range(max(evaluated, default=-1) + 1)
    correct = [evaluated[t].correct if t in evaluated else () for t in rows]
    total = [evaluated[t].total if t in evaluated else () for t in rows]
    R = matrix(correct, total)
    last = evaluated[rows[-1]] if rows else None
    answer = last.routes.get("answer", {}) if last else {}
    ends = [finished[t] for t in sorted(finished)]
    return {
        "matrix": R,
        "last_accuracy": last_accuracy(correct, total),
        "last_accuracy_tasks": last_accuracy_tasks(R),
        "average_accuracy": average_accuracy(correct, total),
        "forgetting": forgetting(R),
        "bwt": bwt(R),
        "learning_accuracy": learning_accuracy(R),
        "routing_accuracy": answer.get("routing"),
        "accuracy_right": answer.get("right"),
        "accuracy_wrong": answer.get("wrong"),
        "oracle_accuracy": last.oracle if last else None,
        "batch_vote_accuracy": last.batch_vote if last else None,
        "zeros": _mean([m["zeros"] for m in measures.values() if "zeros" in m]),
        "displacement": _mean([m["displacement"] for m in measures.values() if "displacement" in m]),
        "parameters": ends[-1].parameters if ends else None,
        "parameters_per_task": _added([e.parameters for e in ends]),
        "bytes_per_task": _added([e.bytes for e in ends]),
        "seconds": {stage: math.fsum(e.seconds.get(stage, 0.0) for e in ends) for stage in ("encode", "train", "evaluate")},
    }


def _by_task(
    events: Iterable[Event],
) -> tuple[dict[int, Evaluated], dict[int, Mapping[str, float]], dict[int, TaskFinished]]:
    """What still counts, by task: evaluations, measures (of one task merged), ends."""
    evaluated: dict[int, Evaluated] = {}
    measures: dict[int, Mapping[str, float]] = {}
    finished: dict[int, TaskFinished] = {}
    for event in events:
        match event:
            case Evaluated(task=t):
                evaluated[t] = event
            case Diagnosed(task=t):
                measures[t] = {**measures.get(t, {}), **event.measures}
            case TaskFinished(task=t):
                finished[t] = event
            case Resumed(task=k):
                for known in (evaluated, measures, finished):
                    for t in [t for t in known if t >= k]:
                        del known[t]
    return evaluated, measures, finished


def _added(kept: Sequence[int]) -> int | None:
    """What the last task added to what is kept."""
    return None if not kept else kept[-1] - kept[-2] if len(kept) > 1 else kept[-1]


def _mean(values: Sequence[float | None]) -> float | None:
    """Mean, None of nothing or where any is unknown."""
    return None if not values or None in values else math.fsum(values) / len(values)


def _max(values: Sequence[float | None]) -> float | None:
    return None if not values or None in values else max(values)


def _minus(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b
