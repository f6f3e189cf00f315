"""Streams of well separated features, a learner that notes what it is given, and what tests of the loop compare."""

from dataclasses import replace

import torch
from torch.nn import functional as F

from forget_me_not.models import core
from forget_me_not.models.core import Log, Samples, Stream, Task
from forget_me_not.models.encoder import FeatureTable
from forget_me_not.models.events import Finished, TaskFinished
from forget_me_not.models.methods.simplecil import SimpleCIL

TRAIN, TEST = 6, 5


def table(classes=6, width=16, seed=0):
    """TRAIN + TEST photos a class around well separated centres; photo i has class i // (TRAIN + TEST)."""
    rng = torch.Generator().manual_seed(seed)
    centres = F.normalize(torch.randn(classes, 1, width, generator=rng), dim=-1) * 5
    return FeatureTable((centres + torch.randn(classes, TRAIN + TEST, width, generator=rng) * 0.4).flatten(0, 1))


def stream(tasks=((0, 1), (2, 3), (4, 5)), source=None, kind="class"):
    source = source or table()

    def samples(classes, where):
        index = torch.tensor([c * (TRAIN + TEST) + i for c in classes for i in where])
        return Samples(source, index, index // (TRAIN + TEST))

    return Stream(
        tuple(
            core.TestedTask(Task(t, f"t{t}", tuple(c), samples(c, range(TRAIN))), samples(c, range(TRAIN, TRAIN + TEST)))
            for t, c in enumerate(tasks)
        ),
        tuple("abcdefgh"[: 1 + max(c for part in tasks for c in part)]),
        kind,
    )


def told(events):
    return [e for e in events if e is not None]


def timeless(events):
    out = [replace(e, seconds={}) if isinstance(e, TaskFinished) else e for e in told(events)]
    return [replace(e, metrics={**e.metrics, "seconds": {}}) if isinstance(e, Finished) else e for e in out]


class Spy(SimpleCIL):
    """Prototypes that note what they are given. yields: Logs a task; fails: raised in task 1."""

    def __init__(self, vit, yields=3, fails=None):
        super().__init__(vit)
        self.yields, self.fails = yields, fails
        self.tasks, self.batches, self.drawn = [], [], []

    def fit_task(self, task, rng):
        self.tasks.append(task)
        self.drawn.append(torch.rand(2, generator=rng))
        for i in range(self.yields):
            yield Log(i + 1, self.yields, 1.0 / (i + 1))
        for _ in super().fit_task(task, rng):
            pass
        if task.index == 1 and self.fails:
            raise self.fails
        yield Log(measures={"spread": 0.5})

    def predict(self, batch):
        self.batches.append(batch)
        return super().predict(batch)


def vit_of(s):
    return s.tasks[0].test.source.vit
