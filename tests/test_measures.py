"""Measures of a trainable ViT against matrices and activations worked by hand."""

import math

import pytest
import torch

from forget_me_not.models.plasticity import measures
from forget_me_not.models.plasticity.vit import initialise, matrices, small_vit


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


def rotation(n):
    return torch.linalg.qr(torch.randn(n, n, generator=rng(), dtype=torch.float64))[0]


def test_effective_rank_by_hand():
    assert measures.effective_rank(torch.eye(5)) == pytest.approx(5)
    assert measures.effective_rank(torch.ones(7, 1) @ torch.arange(1.0, 5)[None]) == pytest.approx(1, abs=1e-4)
    assert measures.effective_rank(torch.diag(torch.tensor([3.0, 1.0]))) == pytest.approx(1.7548, abs=1e-4)  # 4 / 3^.75
    assert measures.effective_rank(torch.zeros(4, 3)) == 0


def test_effective_rank_ignores_scale_and_basis_and_agrees_with_a_full_decomposition():
    Z = torch.randn(30, 8, generator=rng(1), dtype=torch.float64) * torch.logspace(0, -3, 8, dtype=torch.float64)
    p = torch.linalg.svdvals(Z)
    p = p / p.sum()
    want = math.exp(-float((p * p.log()).sum()))
    for same in (Z, 1e4 * Z, rotation(30) @ Z, Z @ rotation(8), Z.T):
        assert measures.effective_rank(same) == pytest.approx(want, rel=1e-6)


def test_stable_rank_by_hand():
    assert measures.stable_rank(torch.diag(torch.tensor([3.0, 1.0]))) == pytest.approx(10 / 9)
    assert measures.stable_rank(torch.eye(6)[:, :4]) == pytest.approx(4)
    assert measures.stable_rank(torch.zeros(2, 2)) == 0


def test_rank99_counts_values_and_is_not_the_stable_rank():
    spectrum = torch.diag(torch.tensor([50.0, 48.0, 1.0, 1.0]))  # .50, .98, .99 reached by the third
    assert measures.rank99(spectrum) == 3
    assert measures.stable_rank(spectrum) == pytest.approx((2500 + 2304 + 2) / 2500)
    assert measures.rank99(torch.zeros(3, 3)) == 0


def test_activity_of_units_by_hand():
    h = torch.tensor([[[1.0, -0.1, 0.0, 0.05], [2.0, 0.3, 0.0, 0.05]], [[3.0, -0.1, 0.0, 0.05], [2.0, -0.3, 0.0, 0.05]]])
    assert measures.active(h) == 9 / 16  # 4 + 1 + 0 + 4 values above 0
    assert measures.active_on_average(h) == 2 / 4  # unit 1 has mean -.05
    # Mean |h| of units: 2, .2, 0, .05, of all .5625: thresholds .05625 and .0140625
    assert measures.dormant(h, 0.1) == 2 / 4
    assert measures.dormant(h, 0.025) == 1 / 4


def test_gelu_is_above_0_exactly_where_its_input_is():
    pre = torch.randn(5, 7, 11, generator=rng(3))
    assert measures.active(torch.nn.functional.gelu(pre)) == float((pre > 0).float().mean())


def test_magnitude_and_drift_by_hand():
    start, now = torch.tensor([[3.0, 0.0], [0.0, 4.0]]), torch.tensor([[3.0, -3.0], [0.0, 8.0]])
    assert measures.magnitude(now) == 14 / 4
    assert measures.drift(now, start) == pytest.approx(5 / 5)
    assert measures.drift(now, torch.zeros(2, 2)) == 0


def test_rows_are_four_times_the_width_and_always_the_same():
    h = torch.arange(100 * 3 * 4.0).view(100, 3, 4)
    assert measures.rows(h).shape == (16, 4)
    assert torch.equal(measures.rows(h), measures.rows(h.clone()))
    assert measures.rows(h[:2]).shape == (6, 4)


@pytest.fixture(scope="module")
def network():
    network = small_vit(depth=2, width=16, heads=2)
    initialise(network, rng())
    return network


def test_representations_are_what_the_blocks_compute(network):
    pixels = torch.randn(6, 1, 8, 8, generator=rng(4))
    found = measures.representations(network, pixels)
    assert set(found) == {f"{part}.{i}" for part in ("q", "k", "v", "proj", "fc1", "fc2", "block") for i in range(2)}
    assert found["fc1.0"].shape == (6, 4, 64)
    with torch.no_grad():
        h = network._pos_embed(network.patch_embed(pixels))
        block = network.blocks[0]
        attended = block.attn(block.norm1(h))
        q = block.norm1(h) @ block.attn.qkv.weight[:16].T + block.attn.qkv.bias[:16]
        h = h + attended
        hidden = block.mlp.act(block.mlp.fc1(block.norm2(h)))
        out = block.mlp.fc2(hidden)
    for part, want in {"q.0": q, "proj.0": attended, "fc1.0": hidden, "fc2.0": out, "block.0": h + out}.items():
        assert torch.allclose(found[part], want[:, 1:], atol=1e-6), part


def test_measuring_leaves_no_hook_behind(network):
    measures.representations(network, torch.zeros(1, 1, 8, 8))
    assert not any(m._forward_hooks for m in network.modules())


def test_the_class_token_of_the_first_block_would_look_collapsed(network):
    """Why patch tokens are measured: the [CLS] row of q, k, v in block 0 is the same for every image."""
    pixels = torch.randn(40, 1, 8, 8, generator=rng(5))
    block = network.blocks[0]
    with torch.no_grad():
        value = block.attn.qkv(block.norm1(network._pos_embed(network.patch_embed(pixels))))[..., 32:]
    assert measures.effective_rank(value[:, 0]) == pytest.approx(1, abs=1e-3)
    assert measures.effective_rank(measures.representations(network, pixels)["v.0"].flatten(0, 1)) > 4


def test_names_cover_every_matrix_and_part(network):
    weights = dict(network.named_parameters())
    found = measures.of_weights(weights, {n: p.detach().clone() for n, p in weights.items()})
    parts = [f"{p}.{i}" for i in range(2) for p in ("q", "k", "v", "proj", "fc1", "fc2")]
    assert list(matrices(weights)) == parts
    assert set(found) == {f"{m}.{p}" for m in ("stable_rank", "magnitude", "drift") for p in parts}
    assert all(found[f"drift.{p}"] == 0 for p in parts)
    seen = measures.of_representations(network, torch.randn(20, 1, 8, 8, generator=rng(6)))
    assert {f"effective_rank.block.{i}" for i in range(2)} <= set(seen)
    assert {f"{m}.fc1.0" for m in ("active", "active_on_average", "dormant", "dormant_strict")} <= set(seen)


def test_gradient_norms_are_means_over_the_steps_seen(network):
    gradients = measures.Gradients()
    assert gradients.mean() == {}
    for size in (1.0, 3.0):
        for p in network.parameters():
            p.grad = torch.full_like(p, size)
        gradients.see(network)
    network.zero_grad()
    assert gradients.mean()["gradient.q.0"] == pytest.approx(2 * 16)  # 16 x 16 numbers, each 1, then 3
    assert gradients.mean()["gradient.fc2.1"] == pytest.approx(2 * 32)  # 16 x 64
