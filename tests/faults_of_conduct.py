"""One planted fault in what a method does: whom it looks at, what it draws, keeps, moves, holds up; `fails` names the checks."""

import random

import numpy as np
import torch
from plain_method import Plain
from torch.nn import functional as F

from forget_me_not.models.core import Log, Prediction, Reads
from forget_me_not.models.descent import descend
from forget_me_not.models.edit import Edit
from forget_me_not.models.layers import class_means


class CentresOnTheBatch(Plain):
    fails = ("answers ignore the photos beside",)

    def predict(self, batch):
        return Prediction(self.head.logits(batch.cls + 1e-3 * batch.cls.mean(0), 10.0))


class OneModuleABatch(Plain):
    """As published code does: the batch votes, every photo follows. Each module's own answers are per photo."""

    fails = ("answers ignore the photos beside",)

    def predict(self, batch):
        by_row = self.head.logits(batch.cls, 10.0)
        answers = torch.stack([by_row * (0.5 + i) for i in range(len(self.head.rows))], 1)
        module = torch.full((len(batch),), int(batch.cls[:, 0].mean() > 0) % len(self.head.rows))
        return Prediction(answers[torch.arange(len(batch)), module], module, answers)


class WritesIntoItsState(Plain):
    fails = ("states handed out keep their numbers", "goes on where it stopped", "a stop leaves no trace")

    def fit_task(self, task, rng):
        yield from super().fit_task(task, rng)
        self.drawn = {k: v.add_(1) for k, v in self.drawn.items()}


class DrawsGlobally(Plain):
    fails = ("global randomness is left alone",)

    def fit_task(self, task, rng):
        torch.rand(1)
        yield from super().fit_task(task, rng)


class SeedsGlobally(Plain):
    fails = ("global randomness is left alone",)

    def __init__(self, vit):
        super().__init__(vit)
        np.random.seed(0)
        random.seed(0)


class MakesALinearLayer(Plain):
    fails = ("global randomness is left alone",)

    def predict(self, batch):
        torch.nn.Linear(2, 2)
        return super().predict(batch)


class DrawsFromItsOwnClock(Plain):
    fails = ("same seed, same run", "goes on where it stopped", "a stop leaves no trace")

    def fit_task(self, task, rng):
        other = torch.Generator()
        other.seed()
        yield from super().fit_task(task, other)


class ForgetsToSave(Plain):
    """Its scale grows with each task, and is not in the state."""

    fails = ("goes on where it stopped",)
    scale = 1.0

    def fit_task(self, task, rng):
        yield from super().fit_task(task, rng)
        self.scale = self.scale + 1

    def predict(self, batch):
        return Prediction(self.head.logits(batch.cls, self.scale))


class AddsWhatItLoads(Plain):
    """Loading an earlier state leaves later parts in place."""

    fails = ("a stop leaves no trace",)

    def load_state_dict(self, state):
        old = self.drawn
        super().load_state_dict(state)
        self.drawn = {**old, **self.drawn}


class CountsWhatItBegins(Plain):
    fails = ("a stop leaves no trace", "goes on where it stopped")
    begun = 0

    def fit_task(self, task, rng):
        self.begun += 1
        yield from super().fit_task(task, rng)
        self.drawn = {**self.drawn, f"drawn.{task.index:03d}": torch.tensor(self.begun)}


class LooksAtTestPhotos(Plain):
    fails = ("looks at its own photos only",)

    def fit_task(self, task, rng):
        task.train.source.get(torch.arange(6, 9), -1)
        yield from super().fit_task(task, rng)


class KeepsOldPhotos(Plain):
    """Rehearsal from the photos themselves, which a learner no longer has."""

    fails = ("looks at its own photos only",)
    old = None

    def fit_task(self, task, rng):
        if self.old is not None:
            self.old.cls()
        self.old = task.train
        yield from super().fit_task(task, rng)


class LooksBackInPredict(Plain):
    fails = ("looks at its own photos only",)

    def fit_task(self, task, rng):
        yield from super().fit_task(task, rng)
        self.train = task.train

    def predict(self, batch):
        if hasattr(self, "train"):
            self.train.cls()
        return super().predict(batch)


class RemembersBeingAsked(Plain):
    fails = ("asking changes nothing", "answers ignore the photos beside", "goes on where it stopped", "a stop leaves no trace")
    asked = 0

    def predict(self, batch):
        self.asked += 1
        return Prediction(self.head.logits(batch.cls, 10.0 + self.asked))


class LearnsNothing(Plain):
    fails = ("learns easy classes", "learns classes that come back")

    def predict(self, batch):
        return Prediction(self.head.logits(torch.ones_like(batch.cls), 10.0))


class KeepsTheFirstPrototype(Plain):
    """A class that comes back is not learnt again."""

    fails = ("learns classes that come back",)

    def fit_task(self, task, rng):
        before = self.head
        yield from super().fit_task(task, rng)
        rows = self.head.rows[-1].clone()
        for row, c in enumerate(task.classes):
            for old, ids in zip(before.rows, before.classes, strict=True):
                if c in ids:
                    rows[row] = old[ids == c][0]
        self.head = self.head.with_rows([*before.rows, rows])


class MovesTheFrozenNetwork(Plain):
    fails = ("the frozen network stays frozen",)

    def fit_task(self, task, rng):
        yield from super().fit_task(task, rng)
        self.vit.network.norm.bias.data += 1e-6


class AsksTheNetworkForGradients(Plain):
    fails = ("the frozen network stays frozen",)

    def __init__(self, vit):
        super().__init__(vit)
        vit.network.blocks[-1].requires_grad_(True)


class ClaimsToBeNothing(Plain):
    """Through an edit that is no identity, though its card says so."""

    fails = ("starts as the frozen network",)
    facts = (("identity", True),)
    reads = Reads(cut=2)

    class Shift(Edit):
        first = 2

        def mlp(self, block, x, y):
            return y * 1.01

    def fit_task(self, task, rng):
        means = []
        for batch in task.train.batches(len(task.train)):
            u = batch.cls_through(self.Shift())
            means.append(class_means(u, batch.y, task.classes))
        yield Log(1, 1)
        self.head = self.head.grown(means[0], task.classes)

    def predict(self, batch):
        return Prediction(self.head.logits(batch.cls_through(self.Shift()), 10.0))


class ClaimsIdentityOfNoEdit(Plain):
    fails = ("starts as the frozen network",)
    facts = (("identity", True),)


class TrainsInOneGo(Plain):
    fails = ("lets others breathe",)

    def fit_task(self, task, rng):
        rows = class_means(task.train.cls(), task.train.labels, task.classes)
        head = self.head.grown(rows, task.classes)
        for _ in descend(task.train, [rows], lambda b: F.cross_entropy(head.logits(b.cls, 10.0), b.y), rng=rng, epochs=3,
                         batch=16, lr=0.01):  # fmt: skip
            pass
        yield Log(1, 1)
        self.head = head


class ReadsInOneGo(Plain):
    fails = ("lets others breathe",)

    def fit_task(self, task, rng):
        sums = torch.zeros(len(task.classes), self.vit.width)
        for batch in task.train.batches(1):
            sums[task.classes.index(int(batch.y))] += batch.cls[0]
        yield Log(1, 1)
        self.head = self.head.grown(sums, task.classes)


class CountsStepsTwice(Plain):
    fails = ("lets others breathe",)

    def fit_task(self, task, rng):
        yield Log(1, 1)
        yield from super().fit_task(task, rng)


class SeesAllWithoutSayingSo(Plain):
    fails = ("only a bound sees old photos",)
    sees = "all so far"
