"""Methods of the frozen feature: what each keeps, overwrites and forgets, on ready features."""

import pytest
import torch
from features_made import TRAIN, learnt, stream, table
from torch.nn import functional as F

from forget_me_not.models import registry
from forget_me_not.models.backbone import random_vit
from forget_me_not.models.core import Log, parameter_count, rng_for
from forget_me_not.models.engine import run
from forget_me_not.models.events import Evaluated
from forget_me_not.models.layers import class_means, luca
from forget_me_not.models.methods.finetune import Finetune
from forget_me_not.models.methods.finetune_blocks import FinetuneBlocks
from forget_me_not.models.methods.joint import Joint
from forget_me_not.models.methods.linear_probe import LinearProbe
from forget_me_not.models.methods.simplecil import SimpleCIL
from forget_me_not.models.methods.tosca import Tosca, zeros


def test_tosca_published_differs_from_starter_only_in_what_is_listed():
    card = registry.card("tosca")
    starter, published = card.read({"preset": "starter"}), card.read({"preset": "published"})
    assert {k: (starter[k], published[k]) for k in starter if starter[k] != published[k]} == {
        "batch": (16, 48),
        "scale": (10.0, 1.0),
        "init": ("linear", "published"),
        "schedule": ("cosine per step", "cosine per epoch"),
        "l1": ("proximal", "subgradient"),
        "sparsity": (0.02, 5e-4),
    }
    shared = {
        "epochs": 20,
        "lr": 0.025,
        "loss": "full",
        "rows": "means",
        "placement": "code",
        "router": "entropy",
        "reduction": 16,
    }
    assert {k: starter[k] for k in shared} == shared


def test_the_published_init_is_linear_once_and_xavier_after():
    source = table(width=48)
    tosca = Tosca(source.vit, init="published", epochs=1, lr=1e-4, sparsity=0.0)
    learnt(tosca, stream([(0, 1), (2, 3)], source))
    first, later = tosca.modules
    assert first["down_bias"].abs().max() > 0.05  # nn.Linear draws biases
    assert later["down_bias"].abs().max() < 0.01  # Xavier starts them at zero, and a tiny step hardly moves them


def test_tosca_keeps_old_modules_and_overwrites_new_rows_by_means():
    source = table()
    s = stream([(0, 1), (2, 3)], source)
    tosca, states = Tosca(source.vit, epochs=3), {}
    list(run(s, tosca, save=lambda task, state, answers: states.update({task: dict(state)})))
    for k, v in states[0].items():
        if k.startswith("module."):
            assert states[1][k] is v
    train = s.tasks[1].task.train
    means = class_means(luca(train.cls(), tosca.modules[1]), train.labels, (2, 3))
    assert torch.equal(tosca.head.rows[1], means)
    assert not torch.equal(states[0]["head.000.rows"], states[1]["head.000.rows"])  # the whole head is trained
    width, rank = 16, 1
    luca_size = 4 * width * rank + rank + 3 * width
    assert parameter_count(states[1]) == 2 * luca_size + 4 * width + 1


def test_sparsity_gives_exact_zeros_and_the_subgradient_none():
    source = table(width=32)
    s = stream([(0, 1), (2, 3)], source)

    def share(**settings):
        tosca = Tosca(source.vit, **settings)
        learnt(tosca, s)
        return sum(map(zeros, tosca.modules)) / 2

    assert share(sparsity=0.0) == 0
    assert share(sparsity=5e-4, l1="subgradient") == 0
    assert 0.005 < share(sparsity=0.02) < share(sparsity=0.1) <= 1


def test_with_one_task_the_module_is_always_the_first():
    source = table(noise=2.0)
    s = stream([(0, 1, 2, 3, 4, 5)], source)
    tosca = Tosca(source.vit, epochs=2)
    learnt(tosca, s)
    prediction = tosca.predict(next(s.tasks[0].test.batches(99)).unlabelled())
    assert prediction.module.tolist() == [0] * 36
    assert torch.equal(prediction.logits, prediction.answers[:, 0])
    assert all(not route.any() for route in prediction.routes.values())


def test_simplecil_depends_on_neither_order_nor_split():
    source = table(noise=1.6)
    tasks = [[(0, 1, 2, 3, 4, 5)], [(0, 1), (2, 3), (4, 5)], [(5, 3), (1,), (0, 4, 2)], [(c,) for c in (4, 2, 0, 1, 3, 5)]]
    accuracy = [learnt(SimpleCIL(source.vit), stream(t, source))["last_accuracy"] for t in tasks]
    assert len(set(accuracy)) == 1
    assert accuracy[0] < 1


def test_simplecil_is_the_class_mean():
    source = table()
    s = stream([(0, 1), (2,)], source)
    method = SimpleCIL(source.vit)
    learnt(method, s)
    z = s.tasks[1].test.cls()
    means = [source.features[c * 14 : c * 14 + TRAIN].mean(0) for c in range(3)]
    expected = torch.stack([F.cosine_similarity(z, m[None]) for m in means], 1)
    assert torch.allclose(method.predict(next(s.tasks[1].test.batches(9)).unlabelled()).logits, expected, atol=1e-6)


def test_naive_forgets_and_joint_does_not():
    source = table(noise=0.8)
    s = stream([(0, 1), (2, 3), (4, 5)], source)
    naive, joint = learnt(Finetune(source.vit), s), learnt(Joint(source.vit), s)
    assert naive["learning_accuracy"] > 0.9
    assert naive["forgetting"] > 0.25
    assert joint["last_accuracy"] > 0.9
    assert naive["parameters"] == joint["parameters"] == (4 * 16 + 1 + 3 * 16) + 6 * 16 + 1


def test_finetune_keeps_one_module_and_never_overwrites_rows_by_means():
    source = table()
    s = stream([(0, 1), (2, 3)], source)
    method, states = Finetune(source.vit, epochs=2), {}
    list(run(s, method, save=lambda task, state, answers: states.update({task: dict(state)})))
    assert {k for k in states[1] if k.startswith("module.")} == {k for k in states[0] if k.startswith("module.")}
    assert not torch.equal(states[0]["module.down"], states[1]["module.down"])
    train = s.tasks[1].task.train
    means = class_means(luca(train.cls(), method.shared.module), train.labels, (2, 3))
    assert F.cosine_similarity(method.shared.head.rows[1], means).max() < 0.999


def test_linear_probe_masked_leaves_old_rows_and_full_moves_them():
    source = table()
    s = stream([(0, 1), (2, 3)], source)
    for loss, still in (("masked", True), ("full", False)):
        states = {}
        list(run(s, LinearProbe(source.vit, loss=loss), save=lambda t, state, a, kept=states: kept.update({t: dict(state)})))
        assert torch.equal(states[0]["head.000.rows"], states[1]["head.000.rows"]) == still
        assert parameter_count(states[1]) == 4 * 16 + 1


def test_tosca_masked_learns_the_rows_of_the_tasks_classes_alone():
    """A class that comes back takes its older row along: the best of both speaks for it, so both can have a gradient."""
    source = table(classes=6)
    s = stream([(0, 1), (2, 3), (4, 5), (0, 5)], source)
    for loss, still in (("masked", True), ("full", False)):
        method = Tosca(source.vit, loss=loss, epochs=2)
        states = {}
        list(run(s, method, save=lambda t, state, a, kept=states: kept.update({t: dict(state)})))
        for row in ("head.000.rows", "head.001.rows"):
            assert torch.equal(states[1][row], states[2][row]) == still
        assert torch.equal(states[2]["head.001.rows"], states[3]["head.001.rows"]) == still
        assert not torch.equal(states[2]["head.000.rows"], states[3]["head.000.rows"])
    assert method._learning(method.head, (4,)) == [0, 1, 2, 3]
    assert Tosca(source.vit, loss="masked")._learning(method.head, (5,)) == [2, 3]


@pytest.mark.parametrize(("blocks", "first"), [(1, 2), (2, 1), (3, 0), (24, 0)])
def test_finetune_blocks_reads_at_its_first_block_and_starts_frozen(blocks, first):
    vit = random_vit()
    method = FinetuneBlocks(vit, blocks=blocks)
    assert method.reads.cut == first
    assert set(method.state_dict()) == {"scale"}
    a_block = 12 * 64**2 + 13 * 64 + 2 * 64  # layer scale included
    assert sum(v.numel() for v in method.own.values()) == (3 - first) * a_block


def test_measures_come_last_and_once():
    source = table()
    s = stream([(0, 1)], source)
    logs = [log for log in Tosca(source.vit, epochs=2).fit_task(s.tasks[0].task, rng_for(0, 0)) if log]
    assert isinstance(logs[-1], Log)
    assert set(logs[-1].measures) == {"zeros", "displacement"}
    assert not any(log.measures for log in logs[:-1])


def test_evaluation_of_modules_adds_up():
    """accuracy = r right + (1 - r) wrong, from the events of a real run with confusions."""
    source = table(noise=2.2)
    rows = [e for e in run(stream([(0, 1), (2, 3), (4, 5)], source), Tosca(source.vit, epochs=5)) if isinstance(e, Evaluated)]
    answer = rows[-1].routes["answer"]
    total = answer["routing"] * answer["right"] + (1 - answer["routing"]) * answer["wrong"]
    assert total == pytest.approx(sum(rows[-1].correct) / sum(rows[-1].total))
    assert rows[-1].oracle > answer["accuracy"]
    assert 0 < answer["routing"] < 1
