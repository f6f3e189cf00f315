"""The one loop: what it tells and when, and what a method may see."""

import time
from itertools import pairwise

import pytest
import torch
from engine_made import TEST, TRAIN, Spy, stream, table, told, vit_of

from forget_me_not.models import engine, routing
from forget_me_not.models.backbone import create, random_vit
from forget_me_not.models.core import Prediction, Reads, Samples
from forget_me_not.models.encoder import Encoder
from forget_me_not.models.engine import run
from forget_me_not.models.events import Diagnosed, Encoded, Evaluated, Finished, RunStarted, Step, TaskFinished, TaskStarted
from forget_me_not.models.methods.simplecil import SimpleCIL
from forget_me_not.models.methods.tosca import Tosca


def test_the_story_of_a_run():
    s = stream()
    events = told(run(s, Spy(s.tasks[0].test.source.vit), seed=4, name="spy"))
    assert events[0] == RunStarted("spy", 4, tuple("abcdef"), ("t0", "t1", "t2"), ((0, 1), (2, 3), (4, 5)), (12,) * 3, (10,) * 3)
    one = [TaskStarted, Encoded, Encoded, Step, Step, Step, Evaluated, Diagnosed, TaskFinished]
    assert [type(e) for e in events[1:]] == one * 3 + [Finished]
    assert events[4:7] == [Step(0, 1, 3, 1.0), Step(0, 2, 3, 0.5), Step(0, 3, 3, 1 / 3)]
    assert events[2:4] == [Encoded(0, "train", 12, 12), Encoded(0, "test", 10, 10)]
    assert events[8] == Diagnosed(0, {"spread": 0.5})
    rows = [e for e in events if isinstance(e, Evaluated)]
    assert [r.total for r in rows] == [(10,), (10, 10), (10, 10, 10)]
    assert rows[-1].correct == (10, 10, 10)
    ends = [e for e in events if isinstance(e, TaskFinished)]
    assert [e.parameters for e in ends] == [32, 64, 96]
    assert [e.bytes for e in ends] == [(32 * 4 + 2 * 8) * t for t in (1, 2, 3)]
    assert set(ends[0].seconds) == {"encode", "train", "evaluate"}
    assert events[-1].metrics["last_accuracy"] == 1.0
    assert events[-1].metrics["matrix"] == ((1.0, None, None), (1.0, 1.0, None), (1.0, 1.0, 1.0))


def test_time_that_others_take_between_two_events_is_not_the_runs():
    s, slept, began, ends = stream(), 0.0, time.perf_counter(), []
    for event in run(s, Spy(s.tasks[0].test.source.vit)):
        before = time.perf_counter()
        time.sleep(0.01)
        slept += time.perf_counter() - before
        ends += [event] if isinstance(event, TaskFinished) else []
    own = sum(sum(e.seconds.values()) for e in ends)
    assert 0 < own <= time.perf_counter() - began - slept


@pytest.mark.parametrize("steps", [1, 2, 59, 60, 61, 119, 120, 1000, 4321])
def test_at_most_sixty_steps_a_task_are_told_first_and_last_among_them(steps):
    s = stream(((0, 1),))
    numbers = [e.step for e in told(run(s, Spy(vit_of(s), yields=steps))) if isinstance(e, Step)]
    assert numbers[0] == 1
    assert numbers[-1] == steps
    assert len(numbers) <= engine.STEPS_SHOWN + 1
    assert len(numbers) >= min(steps, 59)
    gaps = [b - a for a, b in pairwise(numbers[1:])]
    assert not gaps or max(gaps) - min(gaps) <= 1


def test_a_yield_without_an_event_is_none():
    s = stream(((0, 1),))
    raw = list(run(s, Spy(vit_of(s), yields=1000)))
    assert raw.count(None) >= 900


def test_gradients_are_on_at_every_yield():
    """Runs take turns in one process: a pause inside no_grad would switch gradients off for the next one."""
    s = stream()
    for _ in run(s, Spy(s.tasks[0].test.source.vit)):
        assert torch.is_grad_enabled()


def test_encoding_yields_at_least_every_four_photos():
    vit = random_vit()

    class Drawn:
        def __init__(self, i):
            self.sha, self.i = f"{i:064x}", i

        def open(self):
            from PIL import Image

            return Image.new("RGB", (40, 40), (self.i, 99, 255 - self.i))

    class Photos:
        photos = tuple(Drawn(i) for i in range(2 * (TRAIN + TEST)))

    s = stream(((0, 1),), Encoder(vit, Photos()))
    turns = 0
    for event in run(s, SimpleCIL(vit)):
        turns += event is None or isinstance(event, Encoded)
        if isinstance(event, Step):
            break
    assert turns >= 2 * (TRAIN + TEST) // 4


def test_a_method_sees_its_own_training_photos_and_no_labels_at_test():
    s = stream()
    spy = Spy(vit_of(s))
    list(run(s, spy))
    for t, task in enumerate(spy.tasks):
        assert torch.equal(task.train.index, s.tasks[t].task.train.index)
        assert task.classes == s.tasks[t].task.classes
    assert all(batch.y is None for batch in spy.batches)


def test_a_bound_sees_the_union():
    class Bound(Spy):
        sees = "all so far"

        def fit_task(self, task, rng):
            self.head = type(self.head)()
            yield from super().fit_task(task, rng)

    s = stream(((0, 1), (1, 2)))
    bound = Bound(vit_of(s))
    list(run(s, bound))
    assert [task.classes for task in bound.tasks] == [(0, 1), (0, 1, 2)]
    assert len(bound.tasks[1].train) == 4 * TRAIN
    assert bound.tasks[1].train.index.tolist() == [*s.tasks[0].task.train.index, *s.tasks[1].task.train.index]


def test_test_batches_mix_tasks():
    """Sorted batches would tell a method that looks at its neighbours which task it is in."""
    s = stream(tuple((c,) for c in range(6)), table())
    spy = Spy(vit_of(s))
    list(run(s, spy))
    last = spy.batches[-1].index // (TRAIN + TEST)
    assert len(last) == 30
    assert last.tolist() != sorted(last.tolist())
    assert len(set(last[:10].tolist())) > 2
    assert sorted(last.tolist()) == [c for c in range(6) for _ in range(TEST)]


def test_portions_follow_the_method():
    s = stream()
    spy = Spy(vit_of(s))
    spy.portion = 7
    list(run(s, spy))
    assert [len(b) for b in spy.batches[-5:]] == [7, 7, 7, 7, 2]


def test_answers_are_kept_in_stream_order():
    s, kept = stream(((4, 0), (2,))), {}
    method = SimpleCIL(vit_of(s))

    def save(task, state, answers):
        kept[task] = (dict(state), answers)

    for event in run(s, method, save=save):
        if isinstance(event, TaskFinished):
            assert event.task in kept  # saved before it is told
    state, answers = kept[1]
    assert answers["photo"].tolist() == [*s.tasks[0].test.index, *s.tasks[1].test.index]
    assert answers["label"].tolist() == [4] * TEST + [0] * TEST + [2] * TEST
    assert answers["task"].tolist() == [0] * 10 + [1] * 5
    direct = method.predict(next(Samples.union([t.test for t in s.tasks]).batches(99)).unlabelled()).logits
    assert torch.equal(answers["class"], direct.argmax(-1))
    assert torch.allclose(answers["confidence"], direct.softmax(-1).amax(-1))
    assert all(torch.equal(v, method.state_dict()[k]) for k, v in state.items())


def test_modules_are_reduced_to_entropy_and_vote():
    s, kept = stream(), {}
    tosca = Tosca(vit_of(s), epochs=2)
    list(run(s, tosca, save=lambda task, state, answers: kept.update({task: answers})))
    prediction = tosca.predict(next(Samples.union([t.test for t in s.tasks]).batches(99)).unlabelled())
    record = kept[2]
    assert record["entropy"].shape == record["vote"].shape == (30, 3)
    assert torch.allclose(record["entropy"], routing.normalised_entropy(prediction.answers), atol=1e-5)
    assert torch.equal(record["vote"], prediction.answers.argmax(-1))
    assert torch.equal(record["module"], record["entropy"].argmin(1))
    assert {"route.energy", "route.logit"} <= set(record)


def test_new_judges_only_the_newest_task():
    s = stream()
    rows = [e for e in told(run(s, SimpleCIL(vit_of(s)), evaluate="new")) if isinstance(e, Evaluated)]
    assert [sum(r.total) for r in rows] == [10, 10, 10]
    assert rows[2].total == (0, 0, 10)


def test_told_the_task_only_its_classes_and_its_module_count():
    class Wrong(SimpleCIL):
        """Module i answers the first class of task i; the method itself says class 0 of everything, by module 0."""

        def predict(self, batch):
            C, T = self.head.seen, len(self.head.rows)
            answers = torch.zeros(len(batch), T, C)
            for t in range(T):
                answers[:, t, 2 * t] = 5
                answers[:, t, 0] += 9  # a class of task 0, which told the task is out of the question
            return Prediction(answers[:, 0], torch.zeros(len(batch), dtype=torch.long), answers)

    kept = {}
    s = stream(kind="task")
    events = told(run(s, Wrong(vit_of(s)), save=lambda t, state, answers: kept.update({t: answers})))
    assert kept[2]["class"].tolist() == [0] * 10 + [2] * 10 + [4] * 10
    assert kept[2]["module"].tolist() == [0] * 10 + [1] * 10 + [2] * 10
    assert events[-2].task == 2
    last = [e for e in events if isinstance(e, Evaluated)][-1]
    assert last.correct == (5, 5, 5)
    assert last.oracle == 0.5, "the module of the photo's own task is the one that answered"


def test_a_task_asks_for_what_the_method_reads():
    s, seen = stream(), []

    class Reader(SimpleCIL):
        def __init__(self, vit):
            super().__init__(vit)
            self.reads = Reads(query=True)

        def fit_task(self, task, rng):
            seen.append(task.train.reads)
            yield from super().fit_task(task, rng)

    list(run(s, Reader(vit_of(s))))
    assert seen == [Reads(query=True)] * 3


# Real photos


@pytest.mark.photos
@pytest.mark.starter
def test_cached_uncached_and_live_answers_agree(real_photos, tmp_path):
    from forget_me_not.models import images
    from forget_me_not.models.cache import Cache
    from forget_me_not.models.methods.finetune_blocks import FinetuneBlocks
    from forget_me_not.models.stream import build, plan

    vit = create("starter", device="cpu")
    found = images.read([real_photos / "caltech24"])
    wanted = found.classes[:4]
    labels, groups = [p.label for p in found.photos], [p.group for p in found.photos]
    planned = plan(labels, groups, tasks=[wanted[:2], wanted[2:]], seed=0, train_per_class=4, test_per_class=3)
    cache = Cache(tmp_path, 2**30)

    def answers(source, learner):
        kept = {}
        *_, last = told(run(build(planned, source), learner, save=lambda task, state, record: kept.update({task: record})))
        assert last.metrics["learning_accuracy"] >= 0.75
        return kept[1], learner

    for make in (lambda: SimpleCIL(vit), lambda: FinetuneBlocks(vit, epochs=2)):
        plain, learner = answers(Encoder(vit, found), make())
        cold, _ = answers(Encoder(vit, found, cache), make())
        warm, _ = answers(Encoder(vit, found, cache), make())
        for record in (cold, warm):
            assert set(record) == set(plain)
            assert all(torch.equal(record[k], plain[k]) for k in plain)
        source = Encoder(vit, found)  # live: one photo at a time, nothing kept from before
        live = [learner.predict(next(Samples(source, i[None], i[None], learner.reads).batches(1)).unlabelled()).logits
                for i in plain["photo"]]  # fmt: skip
        assert torch.equal(torch.cat(live).argmax(-1), plain["class"])
        assert torch.allclose(torch.cat(live).softmax(-1).amax(-1), plain["confidence"], atol=1e-4)
