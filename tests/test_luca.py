"""LuCA: against loops written by hand, finite differences, exact counts and limits."""

import math

import pytest
import torch
from features_made import draw, learnt, stream, table
from torch.nn import functional as F

from forget_me_not.models import layers
from forget_me_not.models.core import Samples
from forget_me_not.models.layers import LUCA_WEIGHTS, class_means, cosine, luca, new_luca, stack
from forget_me_not.models.methods.tosca import L1_STEP, Tosca, displacement, l1_norm, soft_threshold, zeros


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
