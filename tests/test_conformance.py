"""Every registered method passes the conformance suite, and methods with one planted fault fail the check it is for."""

import math
import random
import time
from typing import Annotated, Literal

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from forget_me_not.models import registry
from forget_me_not.models.check import CHECKS, Result, check_method
from forget_me_not.models.core import Log, Prediction, Problem, Reads
from forget_me_not.models.descent import descend
from forget_me_not.models.edit import Edit
from forget_me_not.models.head import Head
from forget_me_not.models.layers import class_means
from forget_me_not.models.registry import Card, Slider, settings_of


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", sorted(registry.cards()))
def test_every_registered_method_conforms(name):
    began = time.process_time()
    results = list(check_method(registry.card(name)))
    assert [r for r in results if not r.passed] == []
    assert [r.name for r in results] == list(CHECKS)
    assert time.process_time() - began < 15  # under 5 on a machine that does nothing else


class Plain:
    """Prototypes, with one drawn number a task so that seeds matter: the sound method all faulty ones are made from."""

    reads = Reads()

    def __init__(self, vit):
        self.vit, self.head, self.drawn = vit, Head(), {}

    def fit_task(self, task, rng):
        means = class_means(task.train.cls(), task.train.labels, task.classes)
        drawn = torch.rand(3, generator=rng)
        yield Log(1, 1, float(drawn[0]))
        self.head = self.head.grown(means, task.classes)
        self.drawn = {**self.drawn, f"drawn.{task.index:03d}": drawn}

    def predict(self, batch):
        return Prediction(self.head.logits(batch.cls, 10.0))

    def state_dict(self):
        return {**self.head.state(), **self.drawn}

    def load_state_dict(self, state):
        self.head = Head.from_state(state, "cpu")
        self.drawn = {k: v for k, v in state.items() if k.startswith("drawn.")}


def card(learner, **facts):
    return Card(name="mine", title="Mine", family="Tests", line="", learner=learner, sees=getattr(learner, "sees", "task"),
                settings=settings_of(learner), **facts)  # fmt: skip


def failed(learner, settings=None, **facts) -> dict[str, str]:
    """Name -> detail of the checks that failed."""
    return {r.name: r.detail for r in check_method(card(learner, **facts), settings) if not r.passed}


def test_the_sound_method_passes():
    results = list(check_method(card(Plain)))
    assert all(r == Result(r.name, True) for r in results)
    assert len(results) == len(CHECKS)


# Faults: each class has one, and names the checks that have to notice it.


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


class SaysNaN(Plain):
    fails = ("answers are well formed",)

    def predict(self, batch):
        logits = self.head.logits(batch.cls, 10.0)
        lost = (logits.argmax(1, keepdim=True) == 0) & (logits.shape[1] > 5)  # the first task's photos, once all tasks are known
        return Prediction(torch.cat([logits[:, :-1], logits[:, -1:] + torch.where(lost, math.nan, 0.0)], 1))


class SaysOneClassTooMany(Plain):
    fails = ("answers are well formed",)

    def predict(self, batch):
        logits = self.head.logits(batch.cls, 10.0)
        return Prediction(F.pad(logits, (0, 1), value=-20.0))


class NamesAModuleThatIsNotThere(Plain):
    fails = ("answers are well formed",)

    def predict(self, batch):
        return Prediction(self.head.logits(batch.cls, 10.0), routes={"key": torch.full((len(batch),), len(self.head.rows))})


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


class MeasuresNaN(Plain):
    fails = ("events survive JSON",)

    def fit_task(self, task, rng):
        yield from super().fit_task(task, rng)
        yield Log(measures={"spread": math.inf})


class LogsATensor(Plain):
    fails = ("events survive JSON",)

    def fit_task(self, task, rng):
        for log in super().fit_task(task, rng):
            yield Log(log.step, log.steps, torch.tensor(1.0))


class NamesWithoutTheTask(Plain):
    fails = ("state is plain and named by task",)

    def state_dict(self):
        return {k.replace("drawn.00", "drawn"): v for k, v in super().state_dict().items()}

    def load_state_dict(self, state):
        super().load_state_dict({k.replace("drawn", "drawn.00") if "." not in k else k: v for k, v in state.items()})


class HandsOutGradients(Plain):
    fails = ("state is plain and named by task",)

    def state_dict(self):
        return {k: v.detach().requires_grad_() if k.endswith("rows") else v for k, v in super().state_dict().items()}

    def load_state_dict(self, state):
        super().load_state_dict({k: v.detach() for k, v in state.items()})


class SeesAllWithoutSayingSo(Plain):
    fails = ("only a bound sees old photos",)
    sees = "all so far"


class DefaultsOutOfRange(Plain):
    """Args:
    scale: Sharpness.
    """

    fails = ("settings are sound",)

    def __init__(self, vit, *, scale: Annotated[float, Slider(1.0, 5.0)] = 10.0):
        super().__init__(vit)


class HasNoHelp(Plain):
    fails = ("settings are sound",)

    def __init__(self, vit, *, scale: Annotated[float, Slider(1.0, 50.0)] = 10.0):
        super().__init__(vit)


class CannotBeMadeWithOneChoice(Plain):
    """Args:
    kind: Which of the two.
    """

    fails = ("settings are sound",)

    def __init__(self, vit, *, kind: Literal["round", "square"] = "round"):
        super().__init__(vit)
        {"round": 1}[kind]


class HasAPresetThatDoesNotFit(Plain):
    """Args:
    scale: Sharpness.
    """

    fails = ("settings are sound",)
    facts = (("presets", {"paper": {"scale": 100.0}}),)

    def __init__(self, vit, *, scale: Annotated[float, Slider(1.0, 50.0)] = 10.0):
        super().__init__(vit)


class BreaksInTheSecondTask(Plain):
    fails = ("runs from the first task to the last",)

    def fit_task(self, task, rng):
        yield from super().fit_task(task, rng)
        if task.index:
            raise KeyError("rows")


class GivesUp(Plain):
    fails = ("runs from the first task to the last",)

    def fit_task(self, task, rng):
        yield from super().fit_task(task, rng)
        raise Problem("no_tokens", name="drawn")


class NeverYields(Plain):
    fails = ("runs from the first task to the last",)

    def fit_task(self, task, rng):
        list(super().fit_task(task, rng))


FAULTS = Plain.__subclasses__()


@pytest.mark.parametrize("learner", FAULTS, ids=lambda c: c.__name__)
def test_a_planted_fault_fails_its_check_and_no_other(learner):
    found = failed(learner, **dict(getattr(learner, "facts", ())))
    assert set(found) == set(learner.fails)
    assert all(detail.endswith(".") for detail in found.values())


def test_every_check_can_fail():
    assert {check for learner in FAULTS for check in learner.fails} == set(CHECKS)


def test_flaws_are_sentences_that_name_the_place():
    detail = failed(LooksAtTestPhotos)["looks at its own photos only"]
    assert detail.startswith("fit_task looked at 3 photos that are not its own")
    assert f"(line {LooksAtTestPhotos.fit_task.__code__.co_firstlineno + 1} of test_conformance.py)" in detail
    assert "KeyError (line " in failed(BreaksInTheSecondTask)["runs from the first task to the last"]
    assert "(4, 2); 4 photos and 1 classes" in failed(SaysOneClassTooMany)["answers are well formed"]
    assert "nn.Linear" in failed(MakesALinearLayer)["global randomness is left alone"]


def test_a_run_that_breaks_ends_the_suite_there():
    results = list(check_method(card(BreaksInTheSecondTask)))
    assert results[-1].name == "runs from the first task to the last"
    assert not results[-1].passed


def test_settings_are_taken_and_refused():
    with pytest.raises(Problem, match="setting_bad"):
        next(check_method(registry.card("finetune"), {"lr": "fast"}))
    found = {r.name: r.passed for r in check_method(registry.card("finetune"), {"epochs": "1", "lr": "0.0001"})}
    assert not found["learns easy classes"]  # a hundredth of the steps at a hundredth of the rate
    assert sum(not passed for passed in found.values()) == 2


def test_the_suite_itself_leaves_no_trace():
    state, drawn = torch.get_rng_state(), random.getstate()
    list(check_method(card(DrawsGlobally)))
    list(check_method(card(SeedsGlobally)))
    assert torch.equal(torch.get_rng_state(), state)
    assert random.getstate() == drawn


@pytest.mark.parametrize("preset", ["starter", "published"])
def test_presets_of_tosca_conform(preset):
    assert [r for r in check_method(registry.card("tosca"), {"preset": preset}) if not r.passed] == []
