"""Ready features of a few classes and streams of them."""

import torch
from torch.nn import functional as F

from forget_me_not.models import core
from forget_me_not.models.core import Samples, Stream, Task
from forget_me_not.models.encoder import FeatureTable
from forget_me_not.models.engine import run

TRAIN, TEST = 8, 6


def draw(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def table(classes=6, width=16, noise=0.4, seed=0):
    rng = torch.Generator().manual_seed(seed)
    centres = F.normalize(torch.randn(classes, 1, width, generator=rng), dim=-1) * 3 + 1
    return FeatureTable((centres + torch.randn(classes, TRAIN + TEST, width, generator=rng) * noise).flatten(0, 1))


def samples(source, classes, test=False):
    where = range(TRAIN, TRAIN + TEST) if test else range(TRAIN)
    index = torch.tensor([c * (TRAIN + TEST) + i for c in classes for i in where])
    return Samples(source, index, index // (TRAIN + TEST))


def stream(tasks, source):
    """Tasks of photo classes; the class ids of the stream are given in order of first appearance."""
    ids = {c: i for i, c in enumerate(dict.fromkeys(c for part in tasks for c in part))}

    def renamed(part, test):
        s = samples(source, part, test)
        return Samples(source, s.index, torch.tensor([ids[int(c)] for c in s.labels]))

    tested = tuple(
        core.TestedTask(Task(t, str(t), tuple(ids[c] for c in part), renamed(part, False)), renamed(part, True))
        for t, part in enumerate(tasks)
    )
    return Stream(tested, tuple(str(c) for c in ids))


def learnt(method, s, seed=0):
    for event in run(s, method, seed=seed):
        last = event
    return last.metrics
