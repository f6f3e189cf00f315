"""The table of routers: what it holds, that the registered router is the very candidate, and photos that never meet."""

import pytest
import torch

from forget_me_not.demo.cli import bench_routers
from forget_me_not.models import core, registry
from forget_me_not.models.core import Batch, Samples, Stream, Task, rng_for
from forget_me_not.models.encoder import FeatureTable
from forget_me_not.models.suites import routers

WIDTH, TRAIN, TEST = 24, 10, 5
TASKS = ((0, 1), (2, 3), (4, 5))


@pytest.fixture(scope="module")
def stream():
    rng = torch.Generator().manual_seed(3)
    means = torch.randn(6, WIDTH, generator=rng)
    features = means.repeat_interleave(TRAIN + TEST, 0) + 0.9 * torch.randn(6 * (TRAIN + TEST), WIDTH, generator=rng)
    source = FeatureTable(features)

    def part(classes, start, count):
        index = torch.cat([torch.arange(count) + c * (TRAIN + TEST) + start for c in classes])
        return Samples(source, index, index // (TRAIN + TEST))

    tested = [core.TestedTask(Task(t, f"t{t}", c, part(c, 0, TRAIN)), part(c, TRAIN, TEST)) for t, c in enumerate(TASKS)]
    return Stream(tuple(tested), tuple("abcdef"))


@pytest.fixture(scope="module")
def heard(stream):
    return routers.listen(stream, 1)


def test_two_hundred_and_seven_candidates_each_with_a_name_of_its_own(heard):
    found = routers.candidates()
    assert len(found) == len({(one.family, one.name) for one in found}) == 207
    for one in found:
        logits, module = one.answer(heard)
        assert logits.shape == (30, 6), one.name
        assert module.shape == (30,)
        assert not logits.isnan().any()
        assert set(module.tolist()) <= {0, 1, 2}


def test_the_registered_router_is_the_candidate_with_its_settings(stream, heard):
    card = registry.card("router_ridge_product")
    defaults = card.read({})
    [same] = [one for one in routers.candidates() if one.settings and all(defaults[k] == v for k, v in one.settings.items())]
    assert same.name == "level ridge 300 x10 * full"
    learner = card.learner(stream.tasks[0].test.source.vit)
    for tested in stream.tasks:
        for log in learner.fit_task(tested.task, rng_for(1, tested.task.index)):
            assert log is None or log.step <= log.steps
    asked = Samples.union([one.test for one in stream.tasks])
    said = learner.predict(Batch(asked.source, asked.index, learner.reads))
    logits, module = same.answer(heard)
    assert torch.allclose(said.logits, logits, atol=1e-4)
    assert torch.equal(said.module, module)
    kept = sum(t.numel() * t.element_size() for name, t in learner.state_dict().items() if name.startswith("statistic."))
    per_task = 4 * sum(20 * (WIDTH + 2 * (t + 1)) for t in range(3))  # its targets have a column for every class so far
    assert kept == per_task
    assert same.bytes(heard) == 3 * 4 * 20 * (WIDTH + 2)


def test_choosing_sees_training_photos_alone_and_never_the_same_twice(stream):
    split = routers.held_out(stream, 101)
    for before, after in zip(stream.tasks, split.tasks, strict=True):
        learnt, judged = after.task.train.index.tolist(), after.test.index.tolist()
        assert sorted(learnt + judged) == sorted(before.task.train.index.tolist())
        assert len(learnt) == 2 * 7
        assert len(judged) == 2 * 3
    assert not torch.equal(split.tasks[0].task.train.index, routers.held_out(stream, 102).tasks[0].task.train.index)


def test_the_best_is_the_one_with_the_highest_accuracy_and_views_are_no_candidates(heard):
    found = [routers.tried(one, [heard, heard]) for one in routers.candidates()]
    best = routers.best(found)
    assert best.accuracy.mean == max(one.accuracy.mean for one in found)
    oracle = routers.tried(routers.ORACLE, [heard])
    assert oracle.routing == 1.0
    assert "views" not in {one.router.family for one in found}
    assert best.than_joint.mean == pytest.approx(best.accuracy.mean - (heard.joint.argmax(1) == heard.y).float().mean().item())


@pytest.mark.parametrize("seeds", [1, 2])
def test_the_table_prints_every_router_tried_with_an_interval_where_there_is_one(heard, capsys, seeds):
    found = [routers.tried(one, [heard] * seeds) for one in [*routers.modules_alone(), routers.ORACLE]]
    bench_routers._print(found, {id(one.router): one for one in found})
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["family", "router", "chosen"]
    assert len(lines) == len(found) == 9
    assert all(("±" in line) == (seeds > 1) for line in lines)
