"""ARROW as an optimiser: without curvature it is torch's, groups, saved states, schedulers, bad and missing gradients."""

import copy

import pytest
import torch
from arrow_made import alone, dense, gradients, relative, rng, steps_of

from forget_me_not.models.plasticity.arrow import Arrow, geometry
from forget_me_not.models.plasticity.vit import initialise, small_vit


def trained(make, steps=50, dtype=torch.float32):
    """The weights of a small network after `steps` noisy steps with optimiser make(tensors)."""
    g = rng(1)
    tensors = [torch.nn.Parameter(torch.randn(s, generator=g, dtype=dtype)) for s in ((4, 6), (4,), (3, 4))]
    stepper = make(tensors)
    for _ in range(steps):
        x, y = torch.randn(8, 6, generator=g, dtype=dtype), torch.randn(8, 3, generator=g, dtype=dtype)
        stepper.zero_grad()
        ((torch.tanh(x @ tensors[0].T + tensors[1]) @ tensors[2].T - y) ** 2).mean().backward()
        stepper.step()
    return [t.detach() for t in tensors]


@pytest.mark.parametrize(("momentum", "decay"), [(0.0, 0.0), (0.9, 0.0), (0.9, 0.01)])
def test_t3_without_curvature_it_is_torch_sgd_bit_for_bit(momentum, decay):
    settings = {"lr": 0.05, "momentum": momentum, "weight_decay": decay}
    ours = trained(lambda p: Arrow(p, beta=0.0, **settings))
    assert all(torch.equal(a, b) for a, b in zip(ours, trained(lambda p: torch.optim.SGD(p, **settings)), strict=True))


def test_t3_without_curvature_it_is_torch_adamw():
    settings = {"lr": 0.01, "weight_decay": 0.05}
    ours = trained(lambda p: Arrow(p, base="adam", beta=0.0, **settings), dtype=torch.float64)
    theirs = trained(lambda p: torch.optim.AdamW(p, **settings), dtype=torch.float64)
    assert all(torch.allclose(a, b, rtol=1e-12, atol=1e-13) for a, b in zip(ours, theirs, strict=True))


def test_adam_directions_are_reshaped_after_their_moments():
    parameter, arrow = alone(10, base="adam", window=4)
    shadow = torch.nn.Parameter(torch.zeros(10, dtype=torch.float64))
    adam, directions = torch.optim.Adam([shadow], lr=1.0), []
    for g, u in zip(gradients(10, 8), steps_of(arrow, parameter, gradients(10, 8)), strict=True):
        before, shadow.grad = shadow.detach().clone(), g
        adam.step()
        directions.append(before - shadow.detach())
        want = dense(directions[-4:], directions[-1], 0.1, 1.0, "relative")
        assert torch.allclose(u, want, rtol=1e-8, atol=1e-9)


def test_t5_two_groups_are_two_optimisers_and_one_joint_group_is_not():
    grads = list(gradients(20, 8))

    def last(groups):
        tensors = [torch.nn.Parameter(torch.zeros(d, dtype=torch.float64)) for d in (8, 12)]
        steppers = groups(tensors)
        for g in grads:
            tensors[0].grad, tensors[1].grad = g[:8].clone(), g[8:].clone()
            for s in steppers:
                s.step()
        return torch.cat([t.detach() for t in tensors])

    two = last(lambda t: [Arrow([{"params": [t[0]]}, {"params": [t[1]]}])])
    apart = last(lambda t: [Arrow([t[0]]), Arrow([t[1]])])
    joint = last(lambda t: [Arrow(t)])
    assert torch.equal(two, apart)
    assert relative(joint, two) > 0.01


@pytest.mark.parametrize("settings", [{}, {"base": "adam"}, {"every": 2, "norm_match": True}, {"weight_decay": 0.1}])
def test_t7_saved_and_copied_optimisers_repeat_the_next_steps_bit_for_bit(settings):
    def fresh():
        tensors = [torch.nn.Parameter(torch.ones(30)), torch.nn.Parameter(torch.ones(10))]
        return tensors, Arrow([{"params": tensors[:1]}, {"params": tensors[1:], "geometry": False}], window=4, **settings)

    def go(tensors, arrow, part):
        for g in part:
            tensors[0].grad, tensors[1].grad = g[:30].clone(), g[30:].clone()
            arrow.step()
        return torch.cat([t.detach() for t in tensors])

    grads = list(gradients(40, 11, dtype=torch.float32))
    tensors, arrow = fresh()
    go(tensors, arrow, grads[:7])
    saved, values = copy.deepcopy(arrow.state_dict()), [t.detach().clone() for t in tensors]
    twin_tensors, twin = copy.deepcopy((tensors, arrow))
    end = go(tensors, arrow, grads[7:])
    assert torch.equal(end, go(twin_tensors, twin, grads[7:]))
    again, loaded = fresh()
    loaded.load_state_dict(saved)
    for t, v in zip(again, values, strict=True):
        t.data.copy_(v)
    assert torch.equal(end, go(again, loaded, grads[7:]))


def test_t7_schedulers_set_the_learning_rate():
    parameter, arrow = alone(5)
    scheduler = torch.optim.lr_scheduler.StepLR(arrow, 1, 0.1)
    parameter.grad = torch.ones(5, dtype=torch.float64)
    arrow.step()
    scheduler.step()
    assert arrow.param_groups[0]["lr"] == pytest.approx(0.1)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("base", ["sgd", "adam"])
def test_t8_a_gradient_that_is_not_finite_leaves_no_trace_and_is_counted(bad, base):
    grads, ends = list(gradients(12, 6)), []
    for spoil in (False, True):
        parameter, arrow = alone(12, base=base, window=4)
        for i, g in enumerate(grads):
            if spoil and i == 3:
                worse = g.clone()
                worse[5] = bad
                assert float(next(steps_of(arrow, parameter, [worse])).abs().sum()) == 0
            list(steps_of(arrow, parameter, [g]))
        ends.append(parameter.detach().clone())
        assert arrow.skipped() == int(spoil)
    assert torch.equal(*ends)


def test_missing_gradients_of_a_group_count_as_zeros():
    tensors = [torch.nn.Parameter(torch.zeros(3, dtype=torch.float64)) for _ in range(2)]
    arrow = Arrow(tensors, lr=1.0, momentum=0.0, window=1)
    tensors[0].grad = torch.ones(3, dtype=torch.float64)
    arrow.step()
    assert torch.allclose(tensors[0].detach(), torch.full((3,), -0.1 / 1.1, dtype=torch.float64))
    assert not tensors[1].detach().any()


def test_sparse_gradients_are_refused():
    parameter, arrow = alone(3)
    parameter.grad = torch.sparse_coo_tensor([[1]], [1.0], (3,), dtype=torch.float64, check_invariants=True)
    with pytest.raises(ValueError, match="dense"):
        arrow.step()


@pytest.mark.parametrize(("settings", "sizes"), [
    ({}, [16640, 16640, 16640]),
    ({"last": 1}, [16640]),
    ({"where": "ffn"}, [33088, 33088, 33088]),
    ({"where": "blocks", "last": 2}, [49728, 49728]),
    ({"where": "full"}, [152202]),
    ({"unit": "tensor", "last": 1}, [12288, 192, 4096, 64]),
])  # fmt: skip
def test_geometry_groups_cover_every_number_once(settings, sizes):
    network = small_vit()
    initialise(network, rng())
    groups = geometry(network, **settings)
    assert [sum(p.numel() for p in g["params"]) for g in groups if g["geometry"]] == sizes
    covered = [p for g in groups for p in g["params"]]
    assert len(covered) == len(set(covered))
    assert sum(p.numel() for p in covered) == 152202


def test_a_reset_window_starts_anew_and_keeps_momentum():
    parameter = torch.nn.Parameter(torch.zeros(9, dtype=torch.float64))
    arrow = Arrow([parameter], lr=1.0, momentum=0.5, window=4)
    grads = list(gradients(9, 4))
    list(steps_of(arrow, parameter, grads[:3]))
    moving = arrow.state[parameter]["momentum_buffer"].clone()
    arrow.reset_window()
    u = next(steps_of(arrow, parameter, grads[3:]))
    assert torch.allclose(u, 0.5 * moving + grads[3] * 0.1 / 1.1, rtol=1e-9)
    assert arrow.readings[0].fill == 1
