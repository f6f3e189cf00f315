"""Gradient ID against finite differences, for a batch, for some shots, and photo by photo."""

import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from forget_me_not.models import gradient_id
from forget_me_not.models.backbone import random_vit
from forget_me_not.models.layers import cosine
from forget_me_not.models.masks import Masked, new_masks

PHOTOS, TASKS, CLASSES = 9, 3, 7


def entropy_of(vit, first, h, rows):
    def entropy(masks):
        u = vit.features(h, first, Masked(masks, first))
        return gradient_id.entropy_of_top(10 * cosine(u, rows), TASKS)

    return entropy


def world(blocks, matrices="qkv+proj", dtype=torch.float64):
    vit = random_vit(depth=3, width=32, heads=2)
    vit.network.to(dtype)
    rng = torch.Generator().manual_seed(4)
    h = torch.randn(PHOTOS, vit.length, vit.width, generator=rng, dtype=dtype)
    rows = torch.randn(CLASSES, vit.width, generator=rng, dtype=dtype)
    masks = []
    for _ in range(TASKS):
        fresh = new_masks(vit, blocks, matrices, "one", rng)
        masks.append({k: torch.randn(v.shape, generator=rng, dtype=dtype) * 0.3 for k, v in fresh.items()})
    return entropy_of(vit, blocks[0], h, rows), masks


def by_differences(entropy, masks, step=1e-5):
    """dH/dalpha_t (B, T) of the superposition sum_t alpha_t M_t at alpha = 1/T, by central differences."""

    def at(alpha):
        return entropy({n: sum(a * (1 + m[n]) for a, m in zip(alpha, masks, strict=True)) - 1 for n in masks[0]})

    columns = []
    for t in range(TASKS):
        up, down = [1 / TASKS] * TASKS, [1 / TASKS] * TASKS
        up[t], down[t] = up[t] + step, down[t] - step
        columns.append((at(up) - at(down)) / (2 * step))
    return torch.stack(columns, -1)


SETS = [(range(2, 3), "qkv+proj"), (range(3), "qkv+proj"), (range(1, 3), "qkv+proj+mlp")]


@pytest.mark.parametrize(("blocks", "matrices"), SETS)
def test_closed_form_is_the_derivative(blocks, matrices):
    entropy, masks = world(blocks, matrices)
    true = by_differences(entropy, masks)
    assert true.abs().max() > 1e-3
    torch.testing.assert_close(gradient_id.per_photo(entropy, masks), true, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(gradient_id.of_batch(entropy, masks), true.mean(0), rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(gradient_id.of_batch(entropy, masks, gradient_id.SHOTS), true[:7].mean(0), rtol=1e-5, atol=1e-7)


def test_photos_choose_for_themselves():
    entropy, masks = world(range(2, 3))
    slopes = gradient_id.per_photo(entropy, masks)
    chosen = gradient_id.choose(slopes)
    assert len(chosen.unique()) > 1  # a batch could not have chosen as its photos do
    assert int(gradient_id.choose(torch.tensor([0.2, -0.1, 0.3]))) == 1


def test_works_where_gradients_are_off_and_leaves_no_trace():
    entropy, masks = world(range(2, 3))
    with torch.no_grad():
        slopes = gradient_id.per_photo(entropy, masks)
        batch = gradient_id.of_batch(entropy, masks)
    assert not slopes.requires_grad
    assert not batch.requires_grad
    assert not any(v.requires_grad for m in masks for v in m.values())
    torch.testing.assert_close(slopes.mean(0), batch)


class Largest(TorchDispatchMode):
    """Remembers the largest tensor that any operation made."""

    numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for value in out if isinstance(out, tuple | list) else (out,):
            if isinstance(value, torch.Tensor):
                self.numbers = max(self.numbers, value.numel())
        return out


def test_no_photo_gets_a_tensor_the_size_of_a_weight():
    entropy, masks = world(range(1, 3))
    with Largest() as largest:
        gradient_id.per_photo(entropy, masks)
    weight = masks[0]["001.attn.qkv.weight"].numel()
    assert largest.numbers < PHOTOS * weight


def test_entropy_looks_at_the_top_of_the_logits_only():
    logits = torch.tensor([[0.0, math.log(3.0), -50.0, -60.0, -70.0, -80.0]])
    two = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))  # 6 classes of 3 tasks: the two largest, 1 : 3
    assert float(gradient_id.entropy_of_top(logits, 3)) == pytest.approx(two)
    assert float(gradient_id.entropy_of_top(logits, 6)) == pytest.approx(two)  # never fewer than two
    assert float(gradient_id.entropy_of_top(logits[:, :1], 1)) == 0
