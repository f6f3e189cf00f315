"""The small trainable ViT and the remedies, each worked by hand."""

import math

import pytest
import torch
from torch import nn

from forget_me_not.models.plasticity.cbp import ContinualBackprop
from forget_me_not.models.plasticity.remedies import (
    Clip,
    CReLU,
    L2Init,
    NormalizeAndProject,
    ShrinkPerturb,
    Training,
    corrected,
    zero_slots,
)
from forget_me_not.models.plasticity.trac import Trac
from forget_me_not.models.plasticity.vit import initialise, small_vit


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


def test_the_network_has_152202_numbers_drawn_without_the_global_generator():
    state = torch.random.get_rng_state()
    a, b = small_vit(), small_vit()
    initialise(a, rng(3)), initialise(b, rng(3))
    assert torch.equal(state, torch.random.get_rng_state())
    assert sum(p.numel() for p in a.parameters()) == 152_202
    assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))
    assert float(a.blocks[0].attn.qkv.weight.detach().std()) == pytest.approx(0.5 / 8, rel=0.15)
    assert torch.equal(a.norm.weight, torch.ones(64))
    assert not a.head.bias.detach().any()


@pytest.fixture
def training():
    network = small_vit(depth=2, width=16, heads=2)
    initialise(network, rng())
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    return Training(network, optimiser, {n: p.detach().clone() for n, p in network.named_parameters()}, rng(1), 1)


def backward(network, seed=0):
    network.zero_grad()
    network(torch.randn(8, 1, 8, 8, generator=rng(seed))).square().sum().backward()


def test_clipping_bounds_the_joint_norm_and_leaves_short_gradients_alone(training):
    backward(training.network)
    before = [p.grad.clone() for p in training.network.parameters()]
    whole = float(torch.stack([g.norm() for g in before]).norm())
    Clip(whole * 2).before_step(training)
    assert all(torch.equal(g, p.grad) for g, p in zip(before, training.network.parameters(), strict=True))
    Clip(0.5).before_step(training)
    assert float(torch.stack([p.grad.norm() for p in training.network.parameters()]).norm()) == pytest.approx(0.5, rel=1e-3)


def test_shrink_and_perturb_mixes_a_new_network_in_before_every_task_but_the_first(training):
    fresh = small_vit(depth=2, width=16, heads=2)
    initialise(fresh, rng(1))
    want = [0.7 * p.detach() + 0.3 * q.detach() for p, q in zip(training.network.parameters(), fresh.parameters(), strict=True)]
    training.task = 0
    ShrinkPerturb().before_task(training)
    assert all(torch.equal(p, training.initial[n]) for n, p in training.network.named_parameters())
    training.task = 1
    ShrinkPerturb().before_task(training)
    assert all(torch.allclose(p, w, atol=1e-6) for p, w in zip(training.network.parameters(), want, strict=True))


def test_l2_init_adds_the_gradient_of_the_squared_distance(training):
    backward(training.network)
    plain = {n: p.grad.clone() for n, p in training.network.named_parameters()}
    with torch.no_grad():
        for p in training.network.parameters():
            p.add_(0.5)
    L2Init(1e-2).before_step(training)
    for n, p in training.network.named_parameters():
        assert torch.allclose(p.grad, plain[n] + 2e-2 * 0.5, atol=1e-5)


def test_projection_gives_weights_and_norms_their_length_back_and_leaves_the_head(training):
    with torch.no_grad():
        for p in training.network.parameters():
            p.mul_(3).add_(0.01)
    moved = training.network.head.weight.detach().clone()
    NormalizeAndProject().after_step(training)
    start = training.initial
    for n, p in training.network.named_parameters():
        if n.endswith(("qkv.weight", "proj.weight", "fc1.weight", "fc2.weight")):
            assert float(p.detach().norm()) == pytest.approx(float(start[n].norm()), rel=1e-5)
    scale, offset = (float(p.detach().norm()) for p in training.network.blocks[1].norm2.parameters())
    assert math.hypot(scale, offset) == pytest.approx(4, rel=1e-5)  # sqrt(16)
    assert torch.equal(training.network.head.weight, moved)


def test_crelu_passes_both_signs_and_halves_fc1():
    network = small_vit()
    CReLU().prepare(network)
    initialise(network, rng())
    assert sum(p.numel() for p in network.parameters()) == 127_242
    assert network.blocks[0].mlp.act(torch.tensor([[1.0, -2.0]])).tolist() == [[1, 0, 0, 2]]
    assert network(torch.zeros(2, 1, 8, 8)).shape == (2, 10)


def test_continual_backprop_replaces_the_least_used_unit_with_its_slots(training):
    remedy = ContinualBackprop(rate=1 / 64, maturity=3)
    remedy.prepare(training.network)
    block = training.network.blocks[0]
    with torch.no_grad():
        block.mlp.fc2.weight[:, 5] = 1e-6  # nobody listens to unit 5
    for step in range(4):
        backward(training.network, step)
        training.optimiser.step()
        row, others = block.mlp.fc1.weight[5].detach().clone(), block.mlp.fc2.weight.detach().clone()
        with torch.no_grad():
            block.mlp.fc2.weight[:, 5] = 1e-6
        remedy.after_step(training)
    assert not torch.equal(block.mlp.fc1.weight[5], row)
    assert float(block.mlp.fc1.bias[5].detach()) == 0
    assert not block.mlp.fc2.weight[:, 5].detach().any()
    kept = [j for j in range(64) if j != 5]
    assert torch.equal(block.mlp.fc2.weight[:, kept].detach(), others[:, kept])
    slots = training.optimiser.state
    assert not slots[block.mlp.fc1.weight]["momentum_buffer"][5].any()
    assert not slots[block.mlp.fc2.weight]["momentum_buffer"][:, 5].any()
    assert slots[block.mlp.fc1.weight]["momentum_buffer"][kept].abs().sum() > 0
    assert float(remedy.age[0][5]) == 0
    assert float(remedy.age[0][4]) == 4


def test_young_units_are_not_replaced_and_use_is_bias_corrected(training):
    remedy = ContinualBackprop(rate=1.0, maturity=100)
    remedy.prepare(training.network)
    backward(training.network)
    before = training.network.blocks[0].mlp.fc1.weight.detach().clone()
    remedy.after_step(training)
    assert torch.equal(before, training.network.blocks[0].mlp.fc1.weight)
    average, use = torch.zeros(2), torch.tensor([3.0, 7.0])
    for age in range(1, 6):
        average = 0.99 * average + 0.01 * use
        assert torch.allclose(corrected(average, 0.99, torch.tensor([float(age)])), use, rtol=1e-4)


def test_only_training_counts_as_use(training):
    remedy = ContinualBackprop()
    remedy.prepare(training.network)
    with torch.no_grad():
        training.network(torch.ones(3, 1, 8, 8))
    assert not remedy.size[0].any()


def test_slots_of_other_shapes_are_left_alone():
    parameter = nn.Parameter(torch.ones(3, 2))
    adam = torch.optim.Adam([parameter])
    parameter.grad = torch.ones(3, 2)
    adam.step()
    zero_slots(adam, parameter, torch.tensor([1]), 0)
    assert adam.state[parameter]["exp_avg"].count_nonzero() == 4
    assert float(adam.state[parameter]["step"]) == 1


def quadratic(parameter, remedy_step, steps=60):
    """Where 60 noisy gradients of a valley take a parameter; remedy_step(gradient) makes the step."""
    g, path = rng(7), []
    for _ in range(steps):
        gradient = 2 * (parameter.detach() - 3) + 0.1 * torch.randn(parameter.shape, generator=g, dtype=parameter.dtype)
        remedy_step(gradient)
        path.append(parameter.detach().clone())
    return torch.stack(path)


class OneTensor(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, 6, dtype=torch.float64))


def trac_step(start=1e-8):
    """A parameter of six numbers, its remedy, and a step by a gradient."""
    network = OneTensor()
    base, remedy = torch.optim.SGD(network.parameters(), lr=0.05), Trac(start=start)
    training = Training(network, base, {}, rng(), 0)

    def step(gradient):
        network.weight.grad = gradient
        remedy.before_step(training)
        base.step()
        remedy.after_step(training)

    return network.weight, remedy, step


def test_trac_begins_at_the_first_weights_and_grows_its_scale():
    weight, remedy, step = trac_step(start=1e-3)
    path = quadratic(weight, step, 400)
    assert float((path[0] - torch.linspace(-1, 1, 6)).abs().max()) < 1e-2
    assert float(remedy.scale) > 0.1
    assert float((path[-1] - 3).abs().mean()) < float((path[0] - 3).abs().mean()) / 2


@pytest.mark.parametrize("scale", [-1e-8, -2e-8, -1e-3])
def test_trac_keeps_its_way_while_its_scale_is_below_0(scale):
    weight, remedy, step = trac_step()
    first = weight.detach().clone()
    for _ in range(20):
        step(torch.ones_like(weight))
    way, remedy.scale = remedy.way["weight"].clone(), torch.tensor(scale, dtype=torch.float64)
    step(torch.ones_like(weight))
    assert torch.allclose(remedy.way["weight"], way - 0.05, rtol=0, atol=1e-12)  # a step of the base
    assert torch.allclose(weight.detach(), first + remedy.scale * remedy.way["weight"])


def test_trac_comes_back_from_a_scale_below_0():
    weight, remedy, step = trac_step(start=1e-3)
    first, scales = weight.detach().clone(), []
    for i in range(200):
        step(torch.full_like(weight, 1.0 if i < 20 or i >= 60 else -1.0))
        scales.append(float(remedy.scale))
        assert scales[-1] > 0 or torch.equal(weight.detach(), first)
    assert min(scales) < 0 < scales[-1]


def test_trac_agrees_with_pytorch_optimizer():
    theirs = pytest.importorskip("pytorch_optimizer")
    weight, _, step = trac_step(start=1e-3)
    ours = quadratic(weight, step)
    parameter = nn.Parameter(torch.linspace(-1, 1, 6, dtype=torch.float64))
    reference = theirs.TRAC(torch.optim.SGD([parameter], lr=0.05), s_prev=1e-3)

    def step(gradient):
        parameter.grad = gradient
        reference.step()

    torch.set_default_dtype(torch.float64)  # the type it keeps its tuner in
    try:
        path = quadratic(parameter, step)
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.allclose(ours, path, atol=1e-9)
