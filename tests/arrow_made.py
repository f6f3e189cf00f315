"""ARROW written densely, and correlated gradients to feed it."""

import math

import torch

from forget_me_not.models.plasticity.arrow import Arrow


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


def gradients(d, steps, seed=0, correlated=0.5, dtype=torch.float64):
    """A mixture of one persistent direction and noise, of lengths over two decades."""
    g = rng(seed)
    common = torch.randn(d, generator=g, dtype=dtype)
    for _ in range(steps):
        noise = torch.randn(d, generator=g, dtype=dtype)
        yield (correlated * common + math.sqrt(1 - correlated**2) * noise) * 10 ** float(torch.rand(1, generator=g) * 2 - 1)


def steps_of(arrow, parameter, grads):
    """theta_before - theta_after of each gradient, at lr 1 without momentum."""
    for g in grads:
        before, parameter.grad = parameter.detach().clone(), g.clone().view_as(parameter)
        arrow.step()
        yield (before - parameter.detach()).view(-1)


def alone(d, dtype=torch.float64, **settings):
    parameter = torch.nn.Parameter(torch.zeros(d, dtype=dtype))
    return parameter, Arrow([parameter], lr=1.0, momentum=0.0, **settings)


def dense(window, v, alpha, beta, damping, centred=False):
    """(alpha_t I + beta C)^{-1} v by inverting the d x d matrix, float64."""
    G = torch.stack(window, 1).double()
    n = G.shape[1]
    at = alpha * float(G.square().sum() / n) if damping == "relative" else alpha
    if centred:
        G = G - G.mean(1, keepdim=True)
    inverse = torch.linalg.inv(at * torch.eye(len(v), dtype=torch.float64) + beta * G @ G.T / n)
    return inverse @ v.double() * (at if damping == "relative" else 1.0)


def relative(a, b):
    return float((a.double() - b.double()).norm() / b.double().norm())
