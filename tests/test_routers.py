"""Routers by hand, and TOSCA x ridge against its own parts."""

import math

import pytest
import torch

from forget_me_not.models import engine, registry, ridge, routers, stream
from forget_me_not.models.core import Batch
from forget_me_not.models.encoder import FeatureTable
from forget_me_not.models.events import Failed, Finished
from forget_me_not.models.ridge_head import level

CLASSES = (torch.tensor([0, 1]), torch.tensor([2]))  # two tasks, three classes
ROW_CLASS, ROW_TASK = torch.tensor([0, 1, 2]), torch.tensor([0, 0, 1])
ANSWERS = torch.log(torch.tensor([[[0.6, 0.2, 0.2], [0.3, 0.3, 0.4]]]))  # (1, 2, 3): already posteriors


def test_rows_know_their_task():
    assert routers.row_tasks(CLASSES).tolist() == [0, 0, 1]


def test_full_view_is_each_rows_own_module():
    assert routers.full_view(ANSWERS, ROW_CLASS, ROW_TASK).exp()[0].tolist() == pytest.approx([0.6, 0.2, 0.4])


def test_own_view_divides_by_the_tasks_own_classes():
    assert routers.own_view(ANSWERS, ROW_CLASS, ROW_TASK).exp()[0].tolist() == pytest.approx([0.75, 0.25, 1.0])


def test_own_routers_by_hand():
    assert routers.own_logit(ANSWERS, ROW_CLASS, ROW_TASK).tolist() == [0]  # .6 against .4
    assert routers.own_energy(ANSWERS, ROW_CLASS, ROW_TASK).tolist() == [0]  # .6 + .2 against .4
    assert routers.own_entropy(ANSWERS, ROW_CLASS, ROW_TASK).tolist() == [1]  # one class: no doubt


def test_task_scores_add_probabilities():
    scores = torch.log(torch.tensor([[0.2, 0.3, 0.5]]))
    assert routers.task_scores(scores, ROW_TASK).exp()[0].tolist() == pytest.approx([0.5, 0.5])


def test_answer_takes_the_best_row_of_a_class_that_came_back():
    scores = torch.tensor([[1.0, 2.0, 5.0, 0.0]])
    logits, module = routers.answer(scores, torch.tensor([0, 1, 0, 1]), torch.tensor([0, 0, 1, 1]), 2)
    assert logits.tolist() == [[5.0, 2.0]]
    assert module.tolist() == [1]


def test_mahalanobis_by_hand():
    z, means = torch.tensor([[2.0, 0.0]]), torch.tensor([[0.0, 0.0], [2.0, 2.0]])
    scores = routers.mahalanobis_scores(z, means, torch.diag(torch.tensor([4.0, 1.0])), shrinkage=0.0)
    assert scores[0].tolist() == pytest.approx([-0.5 * 4 / 4, -0.5 * 4 / 1])


def test_mahalanobis_shrunk_far_is_the_nearest_mean():
    rng = torch.Generator().manual_seed(0)
    z, means = torch.randn(20, 5, generator=rng), torch.randn(4, 5, generator=rng)
    a = torch.randn(5, 5, generator=rng)
    near = routers.mahalanobis_scores(z, means, a @ a.T, shrinkage=1e6).argmax(-1)
    assert torch.equal(near, torch.cdist(z, means).argmin(-1))


def test_level_has_mean_square_one():
    z = level(torch.randn(3, 7, generator=torch.Generator().manual_seed(1)) * 40)
    assert torch.allclose(z.square().mean(-1), torch.ones(3))


@pytest.fixture(scope="module")
def learnt():
    """TOSCA x ridge after three tasks of 2, 2 and 1 classes."""
    rng = torch.Generator().manual_seed(2)
    centres, labels = torch.randn(5, 24, generator=rng) * 2, torch.arange(5).repeat_interleave(12)
    table = FeatureTable(centres[labels] + torch.randn(60, 24, generator=rng) * 0.5)
    plan = stream.plan([f"class {c}" for c in labels.tolist()], list(range(60)), per_task=2, seed=1, train_per_class=8,
                       test_per_class=4)  # fmt: skip
    built = stream.build(plan, table)
    card = registry.card("router_ridge_product")
    method = card.learner(table.vit, **card.read({"epochs": 5}))
    told = list(engine.run(built, method, seed=1))
    assert not any(isinstance(e, Failed) for e in told)
    return method, built, told, table


def test_learns(learnt):
    _, _, told, _ = learnt
    assert isinstance(told[-1], Finished)
    assert told[-1].metrics["last_accuracy"] >= 0.9


def test_modules_are_toscas(learnt):
    method, built, _, table = learnt
    tosca = registry.card("tosca").learner(table.vit, epochs=5)
    assert not any(isinstance(e, Failed) for e in engine.run(built, tosca, seed=1))
    mine = method.state_dict()
    assert all(torch.equal(mine[name], value) for name, value in tosca.state_dict().items())


def test_ridge_is_one_solve_over_all_photos(learnt):
    method, built, _, _ = learnt
    z = torch.cat([level(t.task.train.cls()) for t in built.tasks]).double()
    y = ridge.one_hot(torch.cat([t.task.train.labels for t in built.tasks]), 5)  # ids in order of first appearance: rows
    w = torch.linalg.solve(z.T @ z + 300 * torch.eye(24), z.T @ y)
    assert torch.allclose(method.ridge.weight.double(), w, atol=1e-5)


def test_the_answer_is_the_product(learnt):
    method, built, _, table = learnt
    batch = Batch(table, built.tasks[1].test.index, method.reads)
    said, heard = method.predict(batch), method.tosca.predict(batch)
    frozen = (10.0 * level(batch.cls) @ method.ridge.weight).softmax(-1)
    rows, tasks = method.tosca.head.row_class, routers.row_tasks(method.tosca.head.classes)
    for b in range(len(batch)):
        for k, (c, t) in enumerate(zip(rows.tolist(), tasks.tolist(), strict=True)):
            own = heard.answers[b, t].softmax(-1)[c]
            assert float(said.logits[b, c]) == pytest.approx(math.log(frozen[b, k] * own), abs=1e-3)


def test_weight_zero_is_the_ridge_alone(learnt):
    method, _, _, table = learnt
    alone = registry.card("router_ridge_product").learner(table.vit, weight=0.0)
    alone.load_state_dict(method.state_dict())
    batch = Batch(table, torch.arange(60), method.reads)
    rows = method.tosca.head.row_class
    assert torch.equal(alone.predict(batch).logits.argmax(-1), rows[(level(batch.cls) @ method.ridge.weight).argmax(-1)])
