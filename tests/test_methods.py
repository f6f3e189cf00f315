"""The equations of layers, heads and methods: against loops written by hand, finite differences, exact counts and limits."""

import math
import re

import pytest
import torch
from torch.nn import functional as F

from forget_me_not.models import core, descent, layers, registry
from forget_me_not.models.backbone import random_vit
from forget_me_not.models.check_streams import ground
from forget_me_not.models.core import Log, Samples, Stream, Task, parameter_count, rng_for
from forget_me_not.models.encoder import FeatureTable
from forget_me_not.models.engine import run
from forget_me_not.models.events import Evaluated, TaskFinished
from forget_me_not.models.head import CROSS_ENTROPY, NEW_ROWS, Head, drawn_rows, only
from forget_me_not.models.layers import LUCA_WEIGHTS, by_class, class_means, cosine, luca, new_luca, stack
from forget_me_not.models.methods.finetune import Finetune
from forget_me_not.models.methods.finetune_blocks import FinetuneBlocks
from forget_me_not.models.methods.joint import Joint
from forget_me_not.models.methods.linear_probe import LinearProbe
from forget_me_not.models.methods.simplecil import SimpleCIL
from forget_me_not.models.methods.tosca import L1_STEP, Tosca, displacement, l1_norm, soft_threshold, zeros

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


# LuCA


def luca_by_hand(z, p, placement):
    """One photo and one number at a time."""
    d, r = len(z), len(p["down_bias"])
    hidden = [sum(p["down"][j][i] * z[i] for i in range(d)) + p["down_bias"][j] for j in range(r)]
    hidden = [x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in map(float, hidden)]
    a = [sum(float(p["up"][i][j]) * hidden[j] for j in range(r)) + float(p["up_bias"][i]) for i in range(d)]

    def norm(v):
        mean = sum(v) / d
        variance = sum((x - mean) ** 2 for x in v) / d
        return [(x - mean) / math.sqrt(variance + 1e-5) * float(p["gain"][i]) + float(p["shift"][i]) for i, x in enumerate(v)]

    z = [float(x) for x in z]
    if placement == "code":
        h = norm([x + y for x, y in zip(z, a, strict=True)])
    elif placement == "readme":
        h = [x + y for x, y in zip(z, norm(a), strict=True)]
    else:
        h = [x + y for x, y in zip(z, a, strict=True)]
    squeezed = [max(0.0, sum(float(p["squeeze"][j][i]) * h[i] for i in range(d))) for j in range(r)]
    gate = [sum(float(p["excite"][i][j]) * squeezed[j] for j in range(r)) for i in range(d)]
    return [x / (1 + math.exp(-g)) for x, g in zip(h, gate, strict=True)]


def module(width=12, rank=3, seed=0, dtype=torch.float64):
    """A module none of whose parameters is at a special value."""
    p = new_luca(width, rank, torch.Generator().manual_seed(seed))
    return {k: v.to(dtype) + 0.1 * draw(*v.shape, seed=seed + 1 + i, dtype=dtype) for i, (k, v) in enumerate(p.items())}


@pytest.mark.parametrize("placement", layers.PLACEMENT)
def test_luca_is_its_equation(placement):
    z, p = draw(4, 12, seed=9, dtype=torch.float64), module()
    expected = torch.tensor([luca_by_hand(row, p, placement) for row in z], dtype=torch.float64)
    assert torch.allclose(luca(z, p, placement), expected, atol=1e-12)


def test_stacked_modules_are_the_modules_one_by_one():
    z, modules = draw(5, 12, dtype=torch.float64), [module(seed=10 * i) for i in range(3)]
    assert torch.allclose(luca(z, stack(modules)), torch.stack([luca(z, p) for p in modules]), atol=1e-14)


def test_luca_counts():
    for d, r in ((768, 48), (384, 24), (10, 3)):
        p = new_luca(d, r, torch.Generator())
        assert sum(p[name].numel() for name in LUCA_WEIGHTS) == 4 * d * r
        assert sum(v.numel() for v in p.values()) == 4 * d * r + r + 3 * d
    p = new_luca(768, 48, torch.Generator())
    assert sum(v.numel() for v in p.values()) == 149_808
    assert sum(p[name].numel() for name in LUCA_WEIGHTS) == 147_456
    # twelve adapters of rank 64, a down and an up projection with biases in each block, are "about 8 times" as many
    weights, biases = 12 * 2 * 768 * 64, 12 * (64 + 768)
    assert weights + biases == 1_189_632
    assert round((weights + biases) / 149_808, 2) == 7.94
    assert round(weights / 147_456, 2) == 8.0


def test_the_gradient_of_a_luca_step_agrees_with_finite_differences():
    z, rows, y = (
        draw(6, 12, seed=1, dtype=torch.float64),
        draw(4, 12, seed=2, dtype=torch.float64),
        torch.tensor([0, 1, 2, 3, 0, 1]),
    )
    p = {k: v.requires_grad_() for k, v in module().items()}
    scale = torch.tensor(7.0, dtype=torch.float64, requires_grad=True)
    parameters = [*p.values(), rows.requires_grad_(), scale]

    def loss():
        return F.cross_entropy(scale * cosine(luca(z, p), rows), y) + 5e-4 * l1_norm(p)

    gradients = torch.autograd.grad(loss(), parameters)
    step = 1e-6
    for parameter, gradient in zip(parameters, gradients, strict=True):
        flat = parameter.detach().view(-1)
        for i in range(0, len(flat), max(1, len(flat) // 5)):
            before = float(flat[i])
            flat[i] = before + step
            up = float(loss().detach())
            flat[i] = before - step
            down = float(loss().detach())
            flat[i] = before
            assert float(gradient.reshape(-1)[i]) == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-8)


def test_the_subgradient_of_the_l1_norm_at_zero_is_zero():
    w = torch.tensor([-2.0, 0.0, 3.0], requires_grad=True)
    l1_norm({"w": w}).backward()
    assert w.grad.tolist() == [-1, 0, 1]


def test_the_published_l1_covers_every_parameter():
    p = {k: v.requires_grad_() for k, v in module().items()}
    l1_norm(p).backward()
    assert all((v.grad.abs() == 1).all() for v in p.values())


def test_soft_threshold_is_exact():
    """sign(w) max(|w| - a, 0) on the four weight matrices, in numbers that binary fractions hold."""
    p = {name: torch.tensor([-0.5, -0.125, 0.0, 0.0625, 0.125, 0.75]) for name in LUCA_WEIGHTS}
    p |= {"gain": torch.ones(3), "up_bias": torch.tensor([0.0625])}
    soft_threshold(p, 0.125)
    for name in LUCA_WEIGHTS:
        assert p[name].tolist() == [-0.375, 0, 0, 0, 0, 0.625]
    assert (p["gain"].tolist(), p["up_bias"].tolist()) == ([1, 1, 1], [0.0625])
    assert zeros(p) == pytest.approx(4 / 6)
    L1_STEP["subgradient"](p, 0.125)
    assert p["down"].tolist() == [-0.375, 0, 0, 0, 0, 0.625]


def empty(width, rank):
    p = new_luca(width, rank, torch.Generator())
    return {k: torch.zeros_like(v) if k != "gain" else v for k, v in p.items()}


def test_without_weights_luca_is_half_the_layer_norm():
    z = draw(7, 12)
    assert torch.allclose(luca(z, empty(12, 3)), F.layer_norm(z, (12,)) / 2, atol=1e-6)
    assert displacement(luca(z, empty(12, 3)), z) == pytest.approx(0, abs=1e-6)
    assert displacement(-luca(z, empty(12, 3)), z) == pytest.approx(2, abs=1e-5)


def test_without_weights_tosca_is_the_nearest_mean_of_normed_features():
    """The limit of a large lambda: sparsity empties the weights, and no step moves the rest."""
    source = table(noise=1.5)
    s = stream([(0, 1, 2), (3, 4, 5)], source)
    tosca = Tosca(source.vit, epochs=1)
    learnt(tosca, s)
    tosca.load_state_dict(emptied(tosca.state_dict(), s, source))
    test = Samples.union([t.test for t in s.tasks])
    z = F.layer_norm(test.cls(), (16,))
    train = Samples.union([t.task.train for t in s.tasks])
    means = class_means(F.layer_norm(train.cls(), (16,)), train.labels, range(6))
    answer = tosca.predict(next(test.batches(99)).unlabelled()).logits.argmax(-1)
    assert torch.equal(answer, cosine(z, means).argmax(-1))
    assert (answer != test.labels).any()  # noisy enough for the comparison to mean something


def emptied(state, s, source):
    """TOSCA's state with modules without weights, and head rows at the class means of what they then give."""
    out = dict(state)
    for t, tested in enumerate(s.tasks):
        for k, v in empty(16, 1).items():
            out[f"module.{t:03d}.{k}"] = v
        u = luca(tested.task.train.cls(), empty(16, 1))
        out[f"head.{t:03d}.rows"] = class_means(u, tested.task.train.labels, tested.task.classes)
    return out


@pytest.mark.parametrize("init", layers.INIT)
def test_initial_weights_have_the_spread_of_their_name(init):
    p = new_luca(96, 24, torch.Generator().manual_seed(0), init)
    bound = {"linear": (96**-0.5, 24**-0.5), "xavier": (math.sqrt(6 / 120),) * 2}[init]
    for name, limit in zip(("down", "up"), bound, strict=True):
        assert float(p[name].abs().max()) == pytest.approx(limit, rel=0.02)
        assert float(p[name].std()) == pytest.approx(limit / math.sqrt(3), rel=0.05)
    assert bool(p["down_bias"].any()) == (init == "linear")
    assert p["gain"].eq(1).all()
    assert not p["shift"].any()


def test_linear_is_what_torch_draws():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        theirs = torch.nn.Linear(96, 24)
    ours = new_luca(96, 24, torch.Generator().manual_seed(0))
    for a, b in ((theirs.weight, ours["down"]), (theirs.bias, ours["down_bias"])):
        assert float(a.detach().abs().max()) == pytest.approx(float(b.abs().max()), rel=0.1)
        assert a.shape == b.shape


# Heads


def test_cosine_logits_by_hand():
    head = Head().grown(torch.tensor([[3.0, 4.0], [0.0, 2.0]]), (0, 1))
    assert torch.allclose(head.logits(torch.tensor([[5.0, 0.0]]), 10.0), torch.tensor([[6.0, 0.0]]))
    assert head.seen == 2


def test_a_class_that_comes_back_scores_the_best_of_its_rows():
    head = Head().grown(torch.eye(3)[:2], (0, 1)).grown(torch.eye(3)[[2, 0]], (1, 2))
    assert head.row_class.tolist() == [0, 1, 1, 2]
    u = F.normalize(torch.tensor([[0.1, 0.2, 0.9], [0.9, 0.1, 0.0], [0.0, 1.0, 0.1]]), dim=-1)
    logits = head.logits(u, 1.0)
    assert logits.shape == (3, 3)
    assert torch.allclose(logits[:, 1], torch.maximum(u[:, 1], u[:, 2]))
    assert torch.allclose(logits[:, 2], u[:, 0])
    assert by_class(torch.tensor([[1.0]]), torch.tensor([1]), 2).tolist() == [[-math.inf, 1.0]]
    over_modules = head.logits(torch.stack([u, -u]), 2.0)
    assert torch.allclose(over_modules[0], 2 * logits)


def test_a_head_survives_its_state():
    head = Head().grown(draw(2, 4), (0, 1)).grown(draw(1, 4, seed=1), (1,))
    state = head.state()
    assert set(state) == {"head.000.rows", "head.000.classes", "head.001.rows", "head.001.classes"}
    assert parameter_count(state) == 12
    back = Head.from_state({**state, "scale": torch.tensor(1.0)}, "cpu")
    assert torch.equal(back.row_class, head.row_class)
    assert all(a is b or torch.equal(a, b) for a, b in zip(back.rows, head.rows, strict=True))
    assert Head.from_state({}, "cpu").seen == 0


def test_new_rows():
    z, y = torch.tensor([[2.0, 0.0], [4.0, 0.0], [0.0, 5.0]]), torch.tensor([3, 3, 7])
    rng = torch.Generator().manual_seed(0)
    assert NEW_ROWS["means"](z, y, (3, 7), rng).tolist() == [[1, 0], [0, 1]]
    assert not NEW_ROWS["zeros"](z, y, (3, 7), rng).any()
    rows = drawn_rows(2000, 8, rng)
    assert float(rows.std()) == pytest.approx(0.02, rel=0.03)


def test_masked_cross_entropy_leaves_old_rows_alone():
    head = Head().grown(draw(3, 8), (0, 1, 2)).grown(draw(2, 8, seed=1), (3, 4))
    rows = [r.requires_grad_() for r in head.rows]
    u, y = draw(6, 8, seed=2), torch.tensor([3, 4, 3, 4, 4, 3])
    CROSS_ENTROPY["masked"](head.logits(u, 10.0), y, (3, 4)).backward()
    assert not rows[0].grad.any()
    assert rows[1].grad.any()
    CROSS_ENTROPY["full"](head.logits(u, 10.0), y, (3, 4)).backward()
    assert rows[0].grad.any()
    logits = draw(6, 5, seed=3)
    expected = -(logits[:, 3:].log_softmax(-1)[torch.arange(6), y - 3]).mean()
    assert torch.allclose(CROSS_ENTROPY["masked"](logits, y, (3, 4)), expected)
    assert only(logits, (3, 4))[:, :3].eq(-math.inf).all()


# Descent


class Ramp:
    """Samples of one feature a photo: x_i = i."""

    def __init__(self, n):
        self.source = FeatureTable(torch.arange(float(n))[:, None])
        self.samples = Samples(self.source, torch.arange(n), torch.zeros(n, dtype=torch.long))


def test_descent_is_torchs_sgd_with_momentum_and_cosine():
    n, epochs, batch, lr = 10, 3, 4, 0.1
    w = torch.tensor([1.0])
    logs = list(descent.descend(Ramp(n).samples, [w], lambda b: (b.cls * w).mean() / 10, rng=rng_for(0, 0), epochs=epochs,
                                batch=batch, lr=lr))  # fmt: skip
    rng, v, velocity, step, steps = rng_for(0, 0), 1.0, 0.0, 0, 9
    for _ in range(epochs):
        order = torch.randperm(n, generator=rng)
        for part in order.split(batch):
            velocity = 0.9 * velocity + float(part.float().mean()) / 10
            v -= lr * 0.5 * (1 + math.cos(math.pi * step / steps)) * velocity
            step += 1
    assert float(w) == pytest.approx(v, rel=1e-5)
    assert [(log.step, log.steps) for log in logs] == [(i + 1, 9) for i in range(9)]
    assert not w.requires_grad


@pytest.mark.parametrize("micro", [1, 2, 3])
def test_micro_batches_give_the_gradient_of_the_whole_batch(micro):
    ends = []
    for size in (None, micro):
        w = torch.tensor([1.0], dtype=torch.float32)

        def loss(b, w=w):
            return (b.cls * w - 3).square().mean() / 100

        logs = list(descent.descend(Ramp(10).samples, [w], loss, rng=rng_for(1, 0), epochs=2, batch=4, lr=0.05, micro=size))
        ends.append((float(w), [log.loss for log in logs if log]))
    assert logs.count(None) == 2 * sum(math.ceil(k / micro) - 1 for k in (4, 4, 2))
    assert ends[0][0] == pytest.approx(ends[1][0], rel=1e-5)
    assert ends[0][1] == pytest.approx(ends[1][1], rel=1e-4)


def test_schedules():
    at = {name: [f(s, 4, s // 2, 2) for s in range(4)] for name, f in descent.SCHEDULE.items()}
    assert at["constant"] == [1, 1, 1, 1]
    assert at["cosine per step"] == pytest.approx([1, (1 + math.sqrt(0.5)) / 2, 0.5, (1 - math.sqrt(0.5)) / 2])
    assert at["cosine per epoch"] == pytest.approx([1, 1, 0.5, 0.5])


def test_the_clip_bounds_the_whole_gradient():
    w = torch.tensor([0.0, 0.0])
    list(descent.descend(Ramp(4).samples, [w], lambda b: (w * torch.tensor([30.0, 40.0])).sum(), rng=rng_for(0, 0), epochs=1,
                         batch=4, lr=1.0, clip=1.0, schedule="constant"))  # fmt: skip
    assert w.tolist() == pytest.approx([-0.6, -0.8], rel=1e-4)


# Methods


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


def test_joint_alone_is_given_the_union():
    bounds = [name for name, card in registry.cards().items() if card.sees == "all so far"]
    assert bounds == ["joint"]
    assert all(card.bound == (name in bounds) for name, card in registry.cards().items())


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


@pytest.mark.parametrize(("blocks", "first"), [(1, 2), (2, 1), (3, 0), (24, 0)])
def test_finetune_blocks_reads_at_its_first_block_and_starts_frozen(blocks, first):
    vit = random_vit()
    method = FinetuneBlocks(vit, blocks=blocks)
    assert method.reads.cut == first
    assert set(method.state_dict()) == {"scale"}
    a_block = 12 * 64**2 + 13 * 64 + 2 * 64  # layer scale included
    assert sum(v.numel() for v in method.own.values()) == (3 - first) * a_block


def test_every_card_says_what_it_stores_and_what_it_costs():
    for name, card in registry.cards().items():
        assert card.title, name
        assert card.line, name
        assert card.stores, name
        assert card.parameters, name


def ours():
    """Cards of the methods of this package."""
    return {n: c for n, c in registry.cards().items() if c.learner.__module__.startswith("forget_me_not.models.methods.")}


D, DEPTH = 64, 3
"""Width and depth of the ViT that parameters are counted on: methods of three or four blocks then change all of them."""
LUCA, ADAPTER = (lambda r: 4 * D * r + r + 3 * D), (lambda r: 2 * D * r + r + D)
FORMULAS = {  # of each card, for two tasks of one and two classes: (T, C) = (2, 3)
    "adapter": DEPTH * ADAPTER(64) + 3 * D + 1,
    "adapter_tasks": 2 * (DEPTH * ADAPTER(64) + D) + 3 * D,
    "aper": DEPTH * ADAPTER(64) + 3 * 2 * D,
    "coda": 2 * DEPTH * 10 * (8 + 2) * D + 3 * D,
    "dualprompt": 2 * ((DEPTH - 1) * 2 * 5 * D + D) + 3 * D + 2 * 5 * D,
    "ease": 2 * DEPTH * ADAPTER(64) + (1 * 1 + 2 * 2) * D,
    "finetune": LUCA(4) + 1 + 3 * D,
    "finetune_blocks": 12 * D**2 + 13 * D + 2 * D + 3 * D + 1,  # 2 d of layer scale
    "joint": LUCA(4) + 1 + 3 * D,
    "l2p": 10 * (5 + 1) * D + 3 * D,
    "linear_probe": 3 * D + 1,
    "lora": DEPTH * 8 * D * 4 + 3 * D + 1,
    "lora_tasks": 2 * (DEPTH * 8 * D * 4 + D) + 3 * D,
    "luca_layers": 2 * (DEPTH * 4 * D * 24 + D) + 3 * D,
    "mos": 2 * DEPTH * ADAPTER(16) + 3 * (D + 1),
    "norga": 2 * (DEPTH * 2 * 5 * D + D) + 3 * D + 2 * DEPTH,
    "ranpac": 3 * 4000,
    "router_ridge_product": 2 * LUCA(4) + 3 * 2 * D + 1,
    "simplecil": 3 * D,
    "softtf": 2 * (4 * D**2 + D) + 3 * D,
    "softtf_product": 2 * (DEPTH * 4 * D**2 + D) + 3 * D,
    "tosca": 2 * LUCA(4) + 3 * D + 1,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_parameters_are_those_of_the_cards_formula(name):
    """What the engine counts after two tasks; statistics and fixed numbers are bytes, not parameters."""
    on, card = ground(((0,), (1, 2)), patch=16, layer_scale=1.0), ours()[name]
    quick = {"epochs": 1, "batch": 64, "alignment": 1}
    method = card.learner(on.vit, **card.read({s.name: quick[s.name] for s in card.settings if s.name in quick}))
    assert (on.vit.width, on.vit.depth) == (D, DEPTH)
    end = [e for e in run(on.stream, method) if isinstance(e, TaskFinished)][-1]
    assert end.parameters == FORMULAS[name]
    aside = [v for k, v in method.state_dict().items() if k.startswith(("statistic.", "fixed.")) or not v.is_floating_point()]
    assert end.bytes == 4 * end.parameters + sum(v.numel() * v.element_size() for v in aside)


def test_every_method_that_trains_declares_its_one_view():
    """Papers crop at random; a card that trains on one view has to say so."""
    for name, card in ours().items():
        if any(s.name == "epochs" for s in card.settings):
            assert any("one view of every training photo" in d.lower() for d in card.deviations), name


def test_finetune_differs_from_tosca_by_what_its_card_says():
    """Same recipe; no l1, and rows that are drawn and stay as learnt."""
    cards = ours()
    shared, tosca = cards["finetune"].read({}), cards["tosca"].read({})
    assert {k: tosca[k] for k in shared} == shared
    text = " ".join(cards["finetune"].deviations)
    assert "no l1" in text
    assert "drawn" in text


def test_toscas_card_names_every_number_its_starter_preset_changes():
    card = ours()["tosca"]
    starter, published = card.read({"preset": "starter"}), card.read({"preset": "published"})
    text = next(d for d in card.deviations if d.startswith("Preset starter"))
    changed = {k for k in starter if starter[k] != published[k]}
    assert changed == {"batch", "scale", "init", "schedule", "l1", "sparsity"}
    for name in ("batch", "scale", "sparsity"):
        for value in (starter[name], published[name]):
            assert re.search(rf"(?<![\d.]){re.escape(f'{value:g}'.lstrip('0'))}(?!\d)", text), (name, value)


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
