"""Figures of the plasticity track, on permuted digits, one thread: rows like those of models/bench.py.

Times are CPU seconds of this process, which other programs on the machine change least; wall seconds stand beside them.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import psutil
import torch
import torch.nn.functional as F
from torch import nn

from forget_me_not.models import engine
from forget_me_not.models.bench import Row, judged
from forget_me_not.models.core import PIXELS
from forget_me_not.models.events import Evaluated, TaskFinished
from forget_me_not.models.plasticity import summary
from forget_me_not.models.plasticity.arms import SIX, arm, learner
from forget_me_not.models.plasticity.arrow import Arrow
from forget_me_not.models.plasticity.measures import SAMPLED, Gradients, of_reference, of_representations, of_weights
from forget_me_not.models.plasticity.streams import permuted_digits
from forget_me_not.models.suites.tables import spread

TASKS = 20
VIT_B_ATTENTION = 768 * 2304 + 2304 + 768 * 768 + 768


@dataclass(frozen=True)
class Run:
    """One arm on one seed: new-task accuracy by task, and what it took."""

    accuracy: tuple[float, ...]
    wall: float
    cpu: float

    @property
    def average(self) -> float:
        """AAT: the mean over tasks of the accuracy on each right after it was learnt."""
        return summary.average(self.accuracy)

    @property
    def late(self) -> float:
        """The mean of the last fifth of the tasks: of 20, the last 4."""
        return summary.late(self.accuracy)


def run(name: str, seed: int, tasks: int = TASKS, probed: bool = True) -> Run:
    """An arm on permuted digits."""
    study, wall, cpu = permuted_digits(tasks, seed), time.perf_counter(), time.process_time()
    events = engine.run(study.stream, learner(arm(name), study, seed, probed=probed), seed=seed, name=name, evaluate="new")
    accuracy = summary.new_task_accuracy(e for e in events if isinstance(e, Evaluated))
    return Run(tuple(accuracy), time.perf_counter() - wall, time.process_time() - cpu)


def rows(seeds: Sequence[int] = (0, 1, 2), paired: Sequence[int] = (0, 1, 2, 3, 4), tasks: int = TASKS) -> Iterator[Row]:
    """Every figure of the track, the cheap ones first; about a quarter of an hour on a quiet core."""
    torch.set_num_threads(1)
    yield step_ratio("sgd", "arrow", "<= 1.25")
    yield step_ratio("adam", "adam_arrow", "<= 1.25")
    yield vit_b()
    yield share_of_measures()
    yield memory()
    yield from learning(seeds, paired, tasks)


def learning(seeds: Sequence[int], paired: Sequence[int], tasks: int = TASKS) -> Iterator[Row]:
    """Six arms on the first seed with their time; fresh against plain; norm-matched ARROW on Adam against Adam."""
    six = {name: run(name, seeds[0], tasks) for name in SIX}
    for name, r in six.items():
        yield judged(f"{name}: AAT, seed {seeds[0]}", r.average, first=statistics.mean(r.accuracy[:4]), last=r.late, cpu=r.cpu)
    yield judged("six arms, one seed, CPU seconds", sum(r.cpu for r in six.values()), "<= 180",
                 wall=sum(r.wall for r in six.values()))  # fmt: skip
    gaps = [six["fresh"].late - six["sgd"].late]
    gaps += [run("fresh", s, tasks, False).late - run("sgd", s, tasks, False).late for s in seeds[1:]]
    yield judged("fresh minus plain, mean of the last 4 tasks", statistics.mean(gaps), ">= 0.10", min=min(gaps), max=max(gaps),
                 seeds=len(gaps))  # fmt: skip
    pairs = [(run("adam", s, tasks, False).average, run("adam_arrow_matched", s, tasks, False).average) for s in paired]
    yield difference("ARROW on Adam, length kept, minus Adam, AAT", [(b, a) for a, b in pairs])


def difference(name: str, pairs: Sequence[tuple[float, float]]) -> Row:
    """Mean of a - b over pairs, with Student's 95 % interval."""
    found = spread([a - b for a, b in pairs])
    return judged(name, found.mean, low=found.low, high=found.high, pairs=found.n)


def step_ratio(base: str, other: str, bar: str, blocks: int = 5, steps: int = 40) -> Row:
    """Time of a whole training step (forward, backward, update) of `other` over `base`: median of interleaved blocks."""
    ours, theirs = _stepper(other), _stepper(base)
    for _ in range(15):  # the window fills, allocations settle
        ours(), theirs()
    ratios = []
    for _ in range(blocks):
        spent = [0.0, 0.0]
        for _ in range(steps):
            spent[0] += _cpu(ours)
            spent[1] += _cpu(theirs)
        ratios.append(spent[0] / spent[1])
    return judged(f"{other} step / {base} step", statistics.median(ratios), bar, min=min(ratios), max=max(ratios),
                  base_ms=1e3 * spent[1] / steps)  # fmt: skip


def _stepper(name: str) -> Callable[[], None]:
    study = permuted_digits(1)
    made, task = learner(arm(name), study, probed=False), study.stream.tasks[0].task
    pixels, labels = task.train.source.get(task.train.index[:40], PIXELS), task.train.labels[:40]

    def step() -> None:
        made.optimiser.zero_grad()
        F.cross_entropy(made.network(pixels), labels).backward()
        made.optimiser.step()

    return step


def _cpu(do: Callable[[], object]) -> float:
    began = time.process_time()
    do()
    return time.process_time() - began


def vit_b() -> Row:
    """Milliseconds ARROW adds for one attention block of a ViT-B (2.36 M numbers), and the memory of its window."""
    parameter = nn.Parameter(torch.zeros(VIT_B_ATTENTION))
    parameter.grad = torch.randn(VIT_B_ATTENTION, generator=torch.Generator().manual_seed(0))
    reshaped, plain = Arrow([parameter]), Arrow([{"params": [parameter], "geometry": False}])
    spent = {"arrow": [], "plain": []}
    for _ in range(25):
        spent["arrow"].append(_cpu(reshaped.step))
        spent["plain"].append(_cpu(plain.step))
    extra = statistics.median(spent["arrow"][10:]) - statistics.median(spent["plain"][10:])
    megabytes = reshaped.state[parameter]["window"].numel() * 4 / 2**20
    return judged("ViT-B, ARROW a step and attention block, ms", 1e3 * extra, window_mb=megabytes, all_12_mb=12 * megabytes)


def share_of_measures() -> Row:
    """CPU time of all measures of a task over that of its training."""
    study = permuted_digits(1)
    made, task = learner(arm("sgd"), study), study.stream.tasks[0].task
    whole = _cpu(lambda: list(made.fit_task(task, torch.Generator().manual_seed(0))))

    def between() -> None:
        of_weights(dict(made.network.named_parameters()), made.initial)
        of_representations(made.network, study.probe(0))
        of_reference(made.network, study.probe(0))

    pixels = task.train.source.get(task.train.index[:40], PIXELS)
    F.cross_entropy(made.network(pixels), task.train.labels[:40]).backward()
    seen = Gradients()
    steps = study.epochs * math.ceil(len(task.train) / study.batch)
    during = statistics.median(_cpu(lambda: seen.see(made.network)) for _ in range(20)) * steps / SAMPLED
    spent = statistics.median(_cpu(between) for _ in range(5))
    return judged("measures / training, CPU time of a task", (spent + during) / (whole - spent - during), "<= 0.10",
                  measures_ms=1e3 * (spent + during), training_ms=1e3 * (whole - spent - during))  # fmt: skip


def memory(tasks: int = 200, since: int = 50) -> Row:
    """MB a task that the process grows by, least squares over tasks `since` to `tasks` of an ARROW run, one pass a task."""
    study, process, sizes = permuted_digits(tasks, epochs=1), psutil.Process(), []
    for event in engine.run(study.stream, learner(arm("arrow"), study), evaluate="new"):
        if isinstance(event, TaskFinished):
            sizes.append(process.memory_info().rss / 2**20)
    slope = statistics.linear_regression(range(since, tasks), sizes[since:]).slope
    return judged(f"MB a task over tasks {since} to {tasks}", slope, "<= 0.05", first=sizes[since], last=sizes[-1])
