"""Float64 work is done on the CPU, whatever the device of the features: Apple's GPUs have no float64."""

import pytest
import torch

from forget_me_not.models import neck, ridge
from forget_me_not.models.backbone import random_vit
from forget_me_not.models.gaussians import cloud_of
from forget_me_not.models.memory import Memory
from forget_me_not.models.methods.norga import NoRGa
from forget_me_not.models.plasticity.arrow import Arrow
from forget_me_not.models.plasticity.measures import effective_rank
from forget_me_not.models.routers import mahalanobis_scores


class Single(torch.Tensor):
    """A tensor on a device that has no float64."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is torch.Tensor.cpu:
            return args[0].as_subclass(torch.Tensor)
        made = super().__torch_function__(function, types, args, kwargs or {})
        if isinstance(made, Single) and made.dtype == torch.float64:
            raise TypeError("this device has no float64")
        return made


def single(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0)).as_subclass(Single)


def last(generator):
    """What a generator returns."""
    while True:
        try:
            next(generator)
        except StopIteration as end:
            return end.value


def task_head():
    vit = random_vit(depth=1)
    learner = NoRGa(vit)
    learner.prompts = ({},)
    learner.memory = Memory().grown(torch.ones(2, vit.width), torch.tensor([0, 1]), (0, 1))
    learner.moments = {"statistic.second": single(vit.width, vit.width), "statistic.000.sums": single(2, vit.width)}
    return learner.by_task_head(torch.ones(1, vit.width))


def arrow_step():
    weight = torch.nn.Parameter(torch.zeros(6))
    weight.grad = torch.ones(6)
    arrow = Arrow([weight])
    arrow.step()
    for name in ("window", "gram"):
        arrow.state[weight][name] = arrow.state[weight][name].as_subclass(Single)
    arrow.step()
    return arrow.concentration(0)


TARGETS = ridge.one_hot(torch.arange(20) % 3, 3)


@pytest.mark.parametrize("work", [
    lambda: last(ridge.square_root(single(20, 8), TARGETS)),
    lambda: last(ridge.held_out_penalty(single(20, 8), TARGETS, torch.Generator())),
    lambda: last(ridge.solve(single(20, 8), TARGETS.float(), 1.0)),
    lambda: cloud_of(single(20, 8)),
    lambda: neck.fit(single(20, 8)),
    lambda: mahalanobis_scores(torch.ones(2, 8), torch.ones(3, 8), single(8, 8) @ single(8, 8).T),
    lambda: effective_rank(single(20, 8)),
    task_head,
    arrow_step,
], ids=["root", "penalty", "solve", "cloud", "neck", "mahalanobis", "rank", "task head", "arrow"])  # fmt: skip
def test_features_of_a_device_without_float64_will_do(work):
    work()


def test_the_device_of_these_tests_has_none():
    with pytest.raises(TypeError, match="no float64"):
        single(2, 2).double()
