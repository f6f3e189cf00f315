"""ARROW's step: the dense inverse, its limits and invariances, scale, descent, and the general form."""

import pytest
import torch
from arrow_made import alone, dense, gradients, relative, rng, steps_of
from hypothesis import given, settings, strategies as st

from forget_me_not.models.plasticity.arrow import DAMPING, Arrow, general, pushed


@pytest.mark.parametrize("damping", ["relative", "absolute"])
@pytest.mark.parametrize("centred", [False, True])
def test_t1_a_step_is_the_dense_inverse_also_where_the_window_wraps(damping, centred):
    parameter, arrow = alone(25, window=6, alpha=0.1, beta=1.0, damping=damping, centred=centred)
    grads = list(gradients(25, 25))
    for t, u in enumerate(steps_of(arrow, parameter, grads)):
        want = dense(grads[max(0, t - 5) : t + 1], grads[t], 0.1, 1.0, damping, centred)
        parameter.data.zero_()  # so that theta adds no rounding
        assert relative(u, want) < 1e-10


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e2])
@pytest.mark.parametrize("correlated", [0.0, 0.9, 0.999])
def test_t2_float32_windows_are_exact_to_1e5(scale, correlated):
    parameter, arrow = alone(3000, torch.float32, window=10)
    grads = [g.float() * scale for g in gradients(3000, 13, seed=3, correlated=correlated)]
    for t, u in enumerate(steps_of(arrow, parameter, grads)):
        G = torch.stack(grads[max(0, t - 9) : t + 1], 1).double()
        K = G.T @ G
        unit = torch.zeros(len(K), dtype=torch.float64)
        unit[-1] = 1
        ridge = 0.1 * K.diagonal().mean()
        want = G @ torch.linalg.solve(ridge * torch.eye(len(K)) + K / len(K), unit) * ridge
        parameter.data.zero_()
        assert relative(u, want) < 1e-5


def test_t3_one_gradient_is_shortened_by_alpha_over_alpha_plus_beta():
    parameter, arrow = alone(7, window=1, alpha=0.3, beta=2.0)
    for g, u in zip(gradients(7, 4), steps_of(arrow, parameter, gradients(7, 4)), strict=True):
        assert torch.allclose(u, g * 0.3 / 2.3, rtol=1e-12)
        parameter.data.zero_()


def test_t3_a_persistent_gradient_meets_the_least_gain():
    parameter, arrow = alone(9, window=5)
    g = torch.arange(1.0, 10, dtype=torch.float64)
    for u in steps_of(arrow, parameter, [g] * 7):
        assert torch.allclose(u, g * 0.1 / 1.1, rtol=1e-12)
        parameter.data.zero_()
    assert arrow.readings[0].gain == pytest.approx(1 / 11)
    assert arrow.readings[0].cos == pytest.approx(1)
    assert arrow.concentration(0) == pytest.approx(1)


def test_t3_an_orthonormal_window_keeps_the_direction():
    parameter, arrow = alone(12, window=10)
    basis = torch.linalg.qr(torch.randn(12, 12, generator=rng(), dtype=torch.float64))[0]
    for t, u in enumerate(steps_of(arrow, parameter, basis.T)):
        n = min(t + 1, 10)
        assert torch.allclose(u, basis[:, t] * 0.1 / (0.1 + 1 / n), atol=1e-12)
        parameter.data.zero_()
    assert arrow.readings[0].gain == pytest.approx(0.5)
    assert arrow.concentration(0) == pytest.approx(0, abs=1e-12)


def test_t3_no_new_direction_is_made():
    parameter, arrow = alone(40, window=4)
    grads = list(gradients(40, 9))
    for t, u in enumerate(steps_of(arrow, parameter, grads)):
        span = torch.linalg.qr(torch.stack(grads[max(0, t - 3) : t + 1], 1))[0]
        assert (u - span @ (span.T @ u)).norm() < 1e-10 * u.norm()
        parameter.data.zero_()


def test_t3_orthogonal_bases_change_nothing_and_other_scales_do():
    basis = torch.linalg.qr(torch.randn(20, 20, generator=rng(5), dtype=torch.float64))[0]
    scales = torch.linspace(0.1, 3, 20, dtype=torch.float64)
    grads = list(gradients(20, 6))
    runs = []
    for change in (lambda g: g, lambda g: basis @ g, lambda g: scales * g):
        parameter, arrow = alone(20, window=6)
        runs.append(list(steps_of(arrow, parameter, [change(g) for g in grads]))[-1])
    assert torch.allclose(basis @ runs[0], runs[1], rtol=1e-9)
    assert relative(scales * runs[0], runs[2]) > 0.01


def test_t3_the_order_of_past_gradients_does_not_matter():
    grads, ends = list(gradients(15, 5)), []
    for order in ([0, 1, 2, 3, 4], [3, 0, 2, 1, 4]):
        parameter, arrow = alone(15, window=5)
        ends.append(list(steps_of(arrow, parameter, [grads[i] for i in order]))[-1])
    assert torch.allclose(*ends, rtol=1e-10, atol=1e-12)


def test_t3_readings_are_the_gain_and_cosine_of_the_step():
    parameter, arrow = alone(30, window=6)
    for g, u in zip(gradients(30, 9), steps_of(arrow, parameter, gradients(30, 9)), strict=True):
        reading = arrow.readings[0]
        assert reading.gain == pytest.approx(float(u.norm() / g.norm()))
        assert reading.cos == pytest.approx(float(u @ g / (u.norm() * g.norm())))
        assert reading.norm == pytest.approx(float(u.norm()))
        parameter.data.zero_()
    assert reading.fill == 6


def test_norm_matched_steps_keep_length_and_take_the_direction():
    a, plain = alone(30, window=6)
    b, matched = alone(30, window=6, norm_match=True)
    grads = list(gradients(30, 9))
    for g, u, m in zip(grads, steps_of(plain, a, grads), steps_of(matched, b, grads), strict=True):
        assert float(m.norm()) == pytest.approx(float(g.norm()))
        assert torch.allclose(m / m.norm(), u / u.norm(), atol=1e-12)
        a.data.zero_(), b.data.zero_()


def test_t4_a_rescaled_loss_is_a_rescaled_step():
    a, one = alone(18, window=5)
    b, many = alone(18, window=5)
    grads = list(gradients(18, 9))
    for u, w in zip(steps_of(one, a, grads), steps_of(many, b, [1e3 * g for g in grads]), strict=True):
        assert torch.allclose(1e3 * u, w, rtol=1e-9)
        a.data.zero_(), b.data.zero_()


def test_the_absolute_form_is_not_scale_equivariant():
    a, one = alone(18, window=5, damping="absolute")
    b, many = alone(18, window=5, damping="absolute")
    grads = list(gradients(18, 3))
    u, w = list(steps_of(one, a, grads))[-1], list(steps_of(many, b, [1e3 * g for g in grads]))[-1]
    assert relative(1e3 * u, w) > 1


def test_t6_steps_on_a_steep_valley_are_rounder_than_sgds():
    parameter = torch.nn.Parameter(torch.tensor([1.0, 1.0], dtype=torch.float64))
    arrow, g, steps, plain = Arrow([parameter], lr=1e-3, momentum=0.0), rng(2), [], []
    for _ in range(200):
        gradient = torch.tensor([100.0, 1.0]) * parameter.detach() + torch.randn(2, generator=g, dtype=torch.float64)
        before, parameter.grad = parameter.detach().clone(), gradient
        arrow.step()
        steps.append(before - parameter.detach())
        plain.append(gradient)
    steps, plain = torch.stack(steps), torch.stack(plain)
    assert torch.isfinite(steps).all()
    # the median: a ratio of two noisy numbers has no mean
    assert (steps[:, 0] / steps[:, 1]).abs().median() < (plain[:, 0] / plain[:, 1]).abs().median()


@pytest.mark.parametrize("damping", ["relative", "absolute"])
@pytest.mark.parametrize("centred", [False, True])
def test_t9_the_general_form_agrees_inside_the_window_and_with_the_dense_inverse_outside(damping, centred):
    G = torch.stack(list(gradients(25, 6)), 1)
    K = (G.T @ G).numpy()
    d = DAMPING[damping](0.1, K)

    def outside_of(v):
        return d.scale / d.ridge * v + G @ torch.from_numpy(general(K, (G.T @ v).numpy(), d, 1.0, centred))

    inside = G @ torch.from_numpy(pushed(K, 3, d, 1.0, centred))
    assert torch.allclose(inside, outside_of(G[:, 3]), rtol=1e-9, atol=1e-11)
    v = torch.randn(25, generator=rng(9), dtype=torch.float64)
    assert relative(outside_of(v), dense(list(G.T), v, 0.1, 1.0, damping, centred)) < 1e-10


def test_t9_only_every_other_gradient_enters_where_asked():
    parameter, arrow = alone(25, window=3, every=2)
    grads = list(gradients(25, 9))
    for t, u in enumerate(steps_of(arrow, parameter, grads)):
        window = [grads[i] for i in range(0, t + 1, 2)][-3:]
        assert relative(u, dense(window, grads[t], 0.1, 1.0, "relative")) < 1e-9
        parameter.data.zero_()


@given(seed=st.integers(0, 10_000), window=st.integers(1, 12), correlated=st.floats(0, 1), scale=st.floats(-6, 6),
       alpha=st.floats(1e-3, 10), beta=st.floats(0, 10))  # fmt: skip
@settings(max_examples=30, deadline=None)
def test_t10_every_step_descends_and_is_no_longer_than_the_gradient(seed, window, correlated, scale, alpha, beta):
    parameter, arrow = alone(17, window=window, alpha=alpha, beta=beta)
    for g in gradients(17, 15, seed=seed, correlated=correlated):
        g = g * 10**scale
        parameter.data.zero_()
        u = next(steps_of(arrow, parameter, [g]))
        assert float(u @ g) > 0
        assert float(u.norm()) <= float(g.norm()) * (1 + 1e-9)
