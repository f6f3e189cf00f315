"""The linear layer of the frozen network is torch's, in value and in every derivative, whichever library multiplies."""

import pytest
import torch
from torch.nn import functional as F

from forget_me_not.models import linear as linear_file
from forget_me_not.models.linear import SMALL, linear


def made(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def derivatives(layer, x, w, b):
    """Output, first derivatives of a bent sum of it, and a derivative of those."""
    x, w, b = (one.clone().requires_grad_() for one in (x, w, b))
    y = layer(x, w, b)
    first = torch.autograd.grad(y.sin().sum(), (x, w, b), create_graph=True)
    second = torch.autograd.grad(sum(one.square().sum() for one in first), (x, w, b))
    return [one.detach() for one in (y, *first, *second)]


@pytest.mark.parametrize("shape", [(4, 50, 96), (40, 96), (2, 3, 20, 96)])
def test_value_and_both_derivatives_are_torchs(shape):
    x, w, b = made(*shape), made(160, 96), made(160)
    assert x.numel() * len(w) >= SMALL
    for mine, torchs in zip(derivatives(linear, x, w, b), derivatives(F.linear, x, w, b), strict=True):
        assert (mine - torchs).norm() <= 1e-5 * torchs.norm()


def test_without_a_bias_and_on_views():
    x, w = made(96, 64).T[:, ::2], made(96, 128).T[:, ::2]
    x = x.expand(90, 64, 48)
    assert torch.allclose(linear(x, w), F.linear(x, w), atol=1e-4)


def test_rows_with_gaps_between_them():
    """[CLS] of every photo, as the last block takes it."""
    x, w, b = made(16, 5, 160), made(160, 160), made(160)
    cls = lambda layer: lambda x, w, b: layer(x[:, 0], w, b)  # noqa: E731
    for mine, torchs in zip(derivatives(cls(linear), x, w, b), derivatives(cls(F.linear), x, w, b), strict=True):
        assert (mine - torchs).norm() <= 1e-5 * torchs.norm()


@pytest.mark.parametrize("bias", [lambda: made(160, 2)[:, 1], lambda: torch.ones(1).expand(160), lambda: made(320)[::2],
                                  lambda: made(1), lambda: made(64, 160)])  # fmt: skip
def test_a_bias_of_any_layout(bias):
    """A kernel that takes it for dense would read the numbers beside it."""
    x, w = made(64, 96), made(160, 96)
    assert torch.allclose(linear(x, w, bias()), F.linear(x, w, bias()), atol=1e-4)


def test_the_gradient_of_a_bias_with_gaps_reaches_where_it_lies():
    wide = made(160, 2).requires_grad_()
    linear(made(64, 96), made(160, 96), wide[:, 1]).sum().backward()
    assert torch.equal(wide.grad, torch.tensor([0.0, 64.0]).expand(160, 2))


def test_only_what_learns_gets_a_gradient():
    x, w = made(64, 96).requires_grad_(), made(160, 96)
    linear(x, w).sum().backward()
    assert torch.allclose(x.grad, w.sum(0).expand(64, -1), atol=1e-4)
    assert w.grad is None


def test_doubles_stay_doubles():
    x, w = made(64, 96).double(), made(160, 96).double()
    assert torch.equal(linear(x, w), F.linear(x, w))


def test_the_faster_library_is_used_where_it_is_there():
    x, w = made(64, 96).requires_grad_(), made(160, 96)
    name = type(linear(x, w).grad_fn).__name__
    assert name.startswith("_Linear") == linear_file.THERE
