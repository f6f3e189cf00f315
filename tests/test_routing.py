"""Routing worked by hand, its invariants, and the honest decomposition."""

import math

import pytest
import torch
from hypothesis import given, settings, strategies as st

from forget_me_not.models import routing

SEEDS = st.integers(0, 2**31)


def random(seed, *shape, scale=3.0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale


def test_entropy_worked_by_hand():
    assert routing.normalised_entropy(torch.zeros(2, 5)).tolist() == pytest.approx([1, 1])
    p = torch.tensor([0.5, 0.25, 0.25])
    assert routing.normalised_entropy(p.log() + 7).item() == pytest.approx(1.5 * math.log(2) / math.log(3))
    assert routing.normalised_entropy(torch.tensor([[3.0]])).tolist() == [0.0]


def test_entropy_of_a_class_ruled_out():
    logits = torch.tensor([0.0, 0.0, -math.inf])
    assert routing.normalised_entropy(logits).item() == pytest.approx(math.log(2) / math.log(3))
    assert routing.normalised_entropy(torch.tensor([0.0, -math.inf])).item() == 0.0


def test_entropy_keeps_the_order_of_answers_that_are_all_but_certain():
    logits = torch.tensor([[0.0, -gap] for gap in (20.0, 30.0, 40.0, 60.0)])
    entropy = routing.normalised_entropy(logits)
    assert (entropy.diff() < 0).all()
    assert entropy[-1] > 0
    gap, e = 60.0, math.exp(-60.0)
    assert entropy[-1].item() == pytest.approx((math.log1p(e) + gap * e / (1 + e)) / math.log(2), rel=1e-5)


@settings(deadline=None)
@given(SEEDS, st.integers(1, 40), st.integers(1, 60))
def test_entropy_is_the_textbook_one_in_0_to_1_and_no_photo_sees_another(seed, batch, classes):
    logits = random(seed, batch, 3, classes)
    entropy = routing.normalised_entropy(logits)
    p = logits.double().softmax(-1)
    textbook = -(p * p.log()).sum(-1) / math.log(max(classes, 2))
    assert torch.allclose(entropy.double(), textbook, atol=1e-6)
    assert ((entropy >= 0) & (entropy <= 1)).all()
    alone = torch.cat([routing.normalised_entropy(one) for one in logits.split(1)])
    assert torch.equal(alone, entropy)
    shuffle = torch.randperm(batch, generator=torch.Generator().manual_seed(seed))
    assert torch.equal(routing.normalised_entropy(logits[shuffle]), entropy[shuffle])


def test_least_entropy_takes_the_surest_module_and_the_first_of_equals():
    answers = torch.tensor([[[1.0, 0.0], [5.0, 0.0]], [[0.0, 4.0], [4.0, 0.0]], [[0.0, 9.0], [1.0, 1.0]]])
    assert routing.least_entropy(answers).tolist() == [1, 0, 0]
    assert routing.pick(answers, torch.tensor([1, 0, 0])).tolist() == [[5, 0], [0, 4], [0, 9]]


def test_the_other_routers_worked_by_hand():
    answers = torch.tensor([[[3.0, -9.0], [2.8, 2.8]]])  # logsumexp 3.0 and 3.49
    assert routing.ROUTERS["logit"](answers).tolist() == [0]
    assert routing.ROUTERS["energy"](answers).tolist() == [1]
    assert routing.ROUTERS["entropy"](answers).tolist() == [0]


@settings(deadline=None)
@given(SEEDS)
def test_with_one_module_every_router_answers_it(seed):
    for router in routing.ROUTERS.values():
        assert router(random(seed, 4, 1, 5)).tolist() == [0] * 4


def test_terms_worked_by_hand():
    module, truth = torch.tensor([0, 0, 1, 1, 0]), torch.tensor([0, 0, 1, 0, 1])
    got = routing.terms(module, truth, torch.tensor([True, False, True, True, False]))
    assert got == (3 / 5, 2 / 3, 1 / 2)
    assert got.accuracy == pytest.approx(3 / 5)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), min_size=1))
def test_the_terms_add_up_to_the_accuracy(photos):
    module, truth, right = (torch.tensor(column) for column in zip(*photos, strict=True))
    r, a_right, a_wrong = got = routing.terms(module, truth, right)
    assert (a_right is None) == (r == 0)
    assert (a_wrong is None) == (r == 1)
    assert r * (a_right or 0) + (1 - r) * (a_wrong or 0) == pytest.approx(right.float().mean().item())
    assert got.accuracy == pytest.approx(right.float().mean().item())


ENTROPY = torch.tensor([[0.2, 0.3], [0.9, 0.4], [0.1, 0.8], [0.5, 0.6]])
VOTES = torch.tensor([[0, 1], [0, 1], [0, 1], [0, 1]])
LABEL = torch.tensor([1, 1, 0, 0])


def test_vote_sorts_by_class_and_lets_a_batch_choose_together():
    assert routing.vote(ENTROPY, VOTES, LABEL, batch=2).tolist() == [1, 1, 0, 0]  # means: class 0 (.3, .7), class 1 (.55, .35)
    assert routing.vote(ENTROPY, VOTES, LABEL, batch=1).tolist() == [0, 1, 0, 0]  # alone: each photo's surest
    assert routing.vote(ENTROPY, VOTES, LABEL, batch=4).tolist() == [0, 0, 0, 0]  # all: (.425, .525)


def test_vote_by_majority_counts_the_photos_own_modules():
    chosen = torch.tensor([1, 0, 1, 1])  # sorted by class: 1, 1 | 1, 0 -> a draw takes the first
    assert routing.vote(None, VOTES, LABEL, chosen, batch=2).tolist() == [0, 0, 1, 1]
    assert routing.vote(None, VOTES, LABEL, chosen, batch=4).tolist() == [1, 1, 1, 1]


@settings(deadline=None)
@given(SEEDS, st.integers(2, 60))
def test_vote_with_batches_of_one_is_routing_per_photo(seed, photos):
    entropy, votes = random(seed, photos, 3).sigmoid(), random(seed + 1, photos, 3).long()
    label = random(seed + 2, photos).long()
    alone = votes.gather(1, entropy.argmin(1, keepdim=True))[:, 0]
    assert torch.equal(routing.vote(entropy, votes, label, batch=1), alone)


def test_a_sorted_batch_leaks_the_task():
    """Modules that are only a little surer of their own photos: alone .5-.8 find their module, a sorted batch all do."""
    task = torch.arange(4).repeat_interleave(25)
    entropy = random(0, 100, 4, scale=0.1) + 0.5
    entropy[torch.arange(100), task] -= 0.1
    votes = torch.arange(4).expand(100, 4)
    alone = (entropy.argmin(1) == task).float().mean()
    together = (routing.vote(entropy, votes, task) == task).float().mean()
    assert alone < 0.8
    assert together == 1


def test_oracle_takes_each_photos_own_module():
    votes = torch.tensor([[5, 6], [7, 8]])
    assert routing.oracle(votes, torch.tensor([1, 0])).tolist() == [6, 7]


RECORD = {
    "photo": torch.tensor([10, 11, 12, 13]),
    "label": torch.tensor([0, 0, 1, 1]),
    "task": torch.tensor([0, 0, 1, 1]),
    "class": torch.tensor([0, 1, 1, 1]),
    "module": torch.tensor([0, 1, 1, 0]),
    "entropy": torch.tensor([[0.25, 0.5], [0.75, 0.5], [0.5, 0.25], [0.25, 0.5]]),
    "vote": torch.tensor([[0, 0], [0, 1], [0, 1], [1, 0]]),
    "route.key": torch.tensor([0, 0, 0, 1]),
    "confidence": torch.tensor([0.9, 0.8, 0.7, 0.6]),
}


def test_evaluated_worked_by_hand():
    got = routing.evaluated(1, RECORD)
    assert (got.task, got.correct, got.total) == (1, (1, 2), (2, 2))
    assert got.routes["answer"] == {"routing": 0.5, "right": 1.0, "wrong": 0.5, "accuracy": 0.75}
    assert got.routes["key"] == {"routing": 0.75, "right": 2 / 3, "wrong": 0.0, "accuracy": 0.5}
    assert set(got.routes) == {"answer", "key"}
    assert got.oracle == 0.75  # votes of the own module: 0, 0, 1, 0
    assert got.batch_vote == 0.75  # one batch: means (.4375, .4375), the first module says 0, 0, 0, 1
    assert got.entropy == ((0.5, 0.5), (0.375, 0.375))
    assert got.chosen == ((1, 1), (1, 1))


def test_evaluated_by_majority():
    chosen = {**RECORD, "module": torch.tensor([1, 1, 1, 0])}
    assert routing.evaluated(1, chosen, majority=True).batch_vote == 0.5  # module 1 says 0, 1, 1, 0
    without = {k: v for k, v in chosen.items() if k != "entropy"}
    got = routing.evaluated(1, without)
    assert got.batch_vote == 0.5
    assert got.entropy == ()


def test_evaluated_without_modules_only_counts():
    got = routing.evaluated(2, {k: RECORD[k] for k in ("label", "task", "class")})
    assert (got.correct, got.total) == ((1, 2, 0), (2, 2, 0))
    assert (got.routes, got.oracle, got.batch_vote, got.entropy, got.chosen) == ({}, None, None, (), ())


def test_evaluated_of_a_recurring_class_wants_the_module_of_the_photos_own_task():
    record = {"label": [0, 0], "task": [0, 1], "class": [0, 0], "module": [0, 0], "vote": [[0, 0], [0, 1]]}
    got = routing.evaluated(1, {k: torch.tensor(v) for k, v in record.items()})
    assert got.routes["answer"] == {"routing": 0.5, "right": 1.0, "wrong": 1.0, "accuracy": 1.0}
    assert got.oracle == 0.5


@settings(deadline=None)
@given(SEEDS, st.integers(1, 50), st.integers(1, 5))
def test_evaluated_agrees_with_itself_and_survives_shuffling(seed, photos, tasks):
    label = random(seed, photos).abs().long()
    own, module = ((random(seed + k, photos) * 9).abs().long() % tasks for k in (1, 2))
    votes, entropy = random(seed + 3, photos, tasks).abs().long(), random(seed + 4, photos, tasks).sigmoid()
    record = {"label": label, "task": own, "module": module, "entropy": entropy, "vote": votes}
    record["class"] = votes.gather(1, module[:, None])[:, 0]
    record["route.same"] = module
    got = routing.evaluated(tasks - 1, record)
    assert sum(got.total) == photos == sum(map(sum, got.chosen))
    assert got.routes["answer"] == got.routes["same"]
    assert got.routes["answer"]["accuracy"] == pytest.approx(sum(got.correct) / photos)
    if tasks == 1:
        assert got.oracle == got.batch_vote == got.routes["answer"]["accuracy"]
    order = torch.randperm(photos, generator=torch.Generator().manual_seed(seed))
    other = routing.evaluated(tasks - 1, {k: v[order] for k, v in record.items()})
    assert (got.correct, got.total, got.routes, got.oracle) == (other.correct, other.total, other.routes, other.oracle)
