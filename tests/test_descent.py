"""Descent: torch's SGD with momentum, micro-batches, schedules, the clip."""

import math

import pytest
import torch

from forget_me_not.models import descent
from forget_me_not.models.core import Samples, rng_for
from forget_me_not.models.encoder import FeatureTable


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
