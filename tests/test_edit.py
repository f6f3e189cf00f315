"""One functional block for every method: equal to timm's, and each point of an edit does what it says, no more."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from forget_me_not.models.backbone import random_vit
from forget_me_not.models.core import Problem
from forget_me_not.models.edit import NO_EDIT, Edit, check_block, reads_cls_only, run_block

B, D, H = 3, 64, 4
d = D // H
VARIANTS = [(16, 1.0), (16, None), (14, 1.0), (14, None)]


def tokens(length=5, seed=0):
    return torch.randn(B, length, D, generator=torch.Generator().manual_seed(seed))


def close(a, b, relative=1e-5):
    return float((a - b).norm() / b.norm()) <= relative


@pytest.fixture(scope="module")
def block():
    return random_vit().network.blocks[1]


@pytest.fixture(params=VARIANTS, ids=lambda v: f"patch{v[0]}-scale{v[1]}")
def vit(request):
    return random_vit(patch=request.param[0], layer_scale=request.param[1], size=3 * request.param[0])


@torch.no_grad()
def test_the_block_is_timms(vit):
    h = tokens(vit.length)
    for i, block in enumerate(vit.network.blocks):
        assert close(run_block(block, i, h), block(h), 1e-6)


@torch.no_grad()
def test_the_block_is_timms_with_normed_queries_and_without_bias():
    import timm

    network = timm.models.VisionTransformer(img_size=32, patch_size=16, embed_dim=D, depth=1, num_heads=H, num_classes=0,
                                            qk_norm=True, qkv_bias=False, init_values=1.0)  # fmt: skip
    block, h = network.blocks[0].eval(), tokens()
    assert close(run_block(block, 0, h), block(h), 1e-6)
    assert close(run_block(block, 0, h, cls_only=True), block(h)[:, :1])


@torch.no_grad()
def test_reading_only_cls_gives_the_same_cls(vit):
    h = tokens(vit.length)
    for block in vit.network.blocks:
        assert run_block(block, 0, h, cls_only=True).shape == (B, 1, D)
        assert close(run_block(block, 0, h, cls_only=True), run_block(block, 0, h)[:, :1])


# Faults that a test with timm's initial layer scale of 1e-5 would not see


def swapped(block, i, h):
    class Swap(Edit):
        def weight(self, block, name, w):
            if name.startswith("attn.qkv"):
                q, k, v = w.chunk(3)
                return torch.cat([k, q, v])
            return w

    return run_block(block, i, h, Swap())


def without_residual(block, i, h):
    return run_block(block, i, h) - h


def unscaled(block, i, h):
    class Sharp(Edit):
        def weight(self, block, name, w):
            return torch.cat([w[:D] * d**0.5, w[D:]]) if name.startswith("attn.qkv") else w

    return run_block(block, i, h, Sharp())


@torch.no_grad()
@pytest.mark.parametrize("fault", [swapped, without_residual, unscaled])
def test_the_comparison_sees_planted_faults(block, fault):
    h = tokens()
    assert not close(fault(block, 1, h), block(h), 1e-2)


# The five points


class Prefix(Edit):
    def __init__(self, keys, values, bias=None):
        self.keys, self.values, self.bias, self.asked = keys, values, bias, []

    def attend(self, block, q):
        self.asked.append((block, tuple(q.shape)))
        bias = self.bias
        return self.keys, self.values, None if bias is None else bias.expand(-1, -1, q.shape[2], -1)


def by_hand(block, h, keys=None, values=None, bias=None):
    """The block with softmax attention written out, prefixes concatenated before the tokens' own keys and values."""
    x = block.norm1(h)
    q, k, v = block.attn.qkv(x).reshape(B, -1, 3, H, d).permute(2, 0, 3, 1, 4)
    scores = q @ k.mT / d**0.5
    if keys is not None:
        ahead = q @ keys.mT / d**0.5
        scores = torch.cat([ahead if bias is None else ahead + bias, scores], -1)
        v = torch.cat([values, v], 2)
    x = (scores.softmax(-1) @ v).permute(0, 2, 1, 3).reshape(B, -1, D)
    h = h + block.ls1(block.attn.proj(x))
    return h + block.ls2(block.mlp(block.norm2(h)))


@torch.no_grad()
@pytest.mark.parametrize("cls_only", [False, True])
def test_a_prefix_joins_keys_and_values(block, cls_only):
    rng = torch.Generator().manual_seed(1)
    keys, values = (torch.randn(B, H, 7, d, generator=rng) for _ in range(2))
    h, edit = tokens(), Prefix(keys, values)
    expected = by_hand(block, h, keys, values)
    out = run_block(block, 1, h, edit, cls_only=cls_only)
    assert close(out, expected[:, :1] if cls_only else expected)
    assert edit.asked == [(1, (B, H, 1 if cls_only else 5, d))]
    assert not close(out[:, :1], block(h)[:, :1], 1e-2)


@torch.no_grad()
@pytest.mark.parametrize("cls_only", [False, True])
def test_the_bias_of_a_prefix_is_the_logarithm_of_a_gate(block, cls_only):
    """Adding log g to a score multiplies the prompt's unnormalised weight by g; g = 0 is no prompt at all."""
    rng = torch.Generator().manual_seed(2)
    keys, values = (torch.randn(B, H, 2, d, generator=rng) for _ in range(2))
    gate = torch.rand(B, H, 1, 2, generator=rng) + 0.1
    h, at = tokens(), slice(0, 1 if cls_only else None)
    out = run_block(block, 0, h, Prefix(keys, values, gate.log()), cls_only=cls_only)
    assert close(out, by_hand(block, h, keys, values, gate.log())[:, at])
    double = Prefix(keys[:, :, [0, 0, 1]], values[:, :, [0, 0, 1]])
    twice = Prefix(keys, values, torch.tensor([2.0, 1.0]).log().expand(B, H, 1, 2))
    assert close(run_block(block, 0, h, twice, cls_only=cls_only), run_block(block, 0, h, double, cls_only=cls_only))
    shut = Prefix(keys, values, torch.full((B, H, 1, 2), float("-inf")))
    assert close(run_block(block, 0, h, shut, cls_only=cls_only), block(h)[:, at])


@torch.no_grad()
def test_an_empty_prefix_is_the_frozen_block(block):
    nothing = Prefix(torch.empty(B, H, 0, d), torch.empty(B, H, 0, d))
    for cls_only in (False, True):
        assert close(run_block(block, 0, tokens(), nothing, cls_only=cls_only), block(tokens())[:, : 1 if cls_only else None])


PARAMETERS = [name for name, _ in random_vit(depth=1).network.blocks[0].named_parameters()]


def test_a_block_has_the_parameters_we_think():
    assert PARAMETERS == ["norm1.weight", "norm1.bias", "attn.qkv.weight", "attn.qkv.bias", "attn.proj.weight",
                          "attn.proj.bias", "ls1.gamma", "norm2.weight", "norm2.bias", "mlp.fc1.weight", "mlp.fc1.bias",
                          "mlp.fc2.weight", "mlp.fc2.bias", "ls2.gamma"]  # fmt: skip


@torch.no_grad()
@pytest.mark.parametrize("cls_only", [False, True])
@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_can_be_replaced(block, name, cls_only):
    """An edit of a parameter equals timm's block with that parameter overwritten, and moves the output."""
    import copy

    changed = copy.deepcopy(block)
    parameter = changed.get_parameter(name)
    parameter += 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3))

    class Replace(Edit):
        def weight(self, block, n, w):
            return parameter if (block, n) == (1, name) else w

    h, at = tokens(), slice(0, 1 if cls_only else None)
    out = run_block(block, 1, h, Replace(), cls_only=cls_only)
    assert close(out, changed(h)[:, at])
    key_bias = name == "attn.qkv.bias"  # its k part shifts all scores of a query alike; q and v parts do count
    assert not close(out, block(h)[:, at], 1e-4 if key_bias else 1e-3)
    assert close(run_block(block, 0, h, Replace(), cls_only=cls_only), block(h)[:, at])


@torch.no_grad()
def test_mlp_sees_stream_and_branch(block):
    seen = {}

    class Adapter(Edit):
        def mlp(self, block, x, y):
            seen.update(x=x, y=y)
            return y + 0.5 * x

    h = tokens()
    out = run_block(block, 0, h, Adapter())
    x = h + block.ls1(block.attn(block.norm1(h)))
    assert close(seen["x"], x)
    assert close(seen["y"], block.ls2(block.mlp(block.norm2(x))))
    assert close(out, x + seen["y"] + 0.5 * x)


@torch.no_grad()
def test_tokens_and_read_make_prompts_at_the_input():
    """L2P: prompts after [CLS], the feature is the mean of their outputs; timm's own blocks and norm agree."""
    vit = random_vit()
    prompts = torch.randn(2, D, generator=torch.Generator().manual_seed(4))

    class Pool(Edit):
        def tokens(self, block, h):
            return torch.cat([h[:, :1], prompts.expand(len(h), -1, -1), h[:, 1:]], 1) if block == 0 else h

        def read(self, h):
            return h[:, 1:3].mean(1)

    h = tokens()
    whole = vit.network.norm(vit.network.blocks(torch.cat([h[:, :1], prompts.expand(B, -1, -1), h[:, 1:]], 1)))
    assert not reads_cls_only(Pool())
    assert close(vit.above(h, 0, Pool()), whole[:, 1:3].mean(1))


def test_an_edit_carries_gradients(block):
    shift = torch.zeros(D, requires_grad=True)

    class Shift(Edit):
        def weight(self, block, name, w):
            return w + shift if name == "norm1.bias" else w

    run_block(block, 0, tokens(), Shift(), cls_only=True).square().sum().backward()
    assert shift.grad.abs().max() > 0
    assert all(p.grad is None for p in block.parameters())


def test_nothing_is_edited_by_default():
    h = tokens()
    assert NO_EDIT.tokens(0, h) is h
    assert NO_EDIT.weight(0, "norm1.bias", h) is h
    assert NO_EDIT.mlp(0, None, h) is h
    assert NO_EDIT.attend(0, h) is None
    assert torch.equal(NO_EDIT.read(h), h[:, 0])
    assert reads_cls_only(NO_EDIT)


def test_a_block_of_other_parts_is_refused(block):
    check_block(block, "known")

    class Other(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)
            self.attn, self.mlp = nn.Module(), nn.Module()
            self.attn.qkv, self.attn.proj = nn.Linear(D, 3 * D), nn.Identity()

    with pytest.raises(Problem, match="backbone_unknown_block") as caught:
        check_block(Other(), "mine")
    assert caught.value.values == {"name": "mine", "part": "attn.proj"}


def test_attention_by_hand_is_torchs(block):
    h = tokens()
    assert close(by_hand(block, h), block(h), 1e-6)
    q = torch.randn(B, H, 5, d)
    assert close((q @ q.mT / d**0.5).softmax(-1) @ q, F.scaled_dot_product_attention(q, q, q), 1e-5)
