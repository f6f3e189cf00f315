"""What the pictures need: displacement, overlap, masks by head, where [CLS] looks, layouts that are turned to match."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from forget_me_not.models import probe
from forget_me_not.models.backbone import random_vit
from forget_me_not.models.edit import NO_EDIT, Edit
from forget_me_not.models.methods.tosca import Tosca, displacement
from forget_me_not.models.routing import vote


def test_overlap_by_hand():
    z = torch.tensor([[1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]])  # their layer norm is themselves
    right, up = torch.tensor([1.0, 0, 0, 0]), torch.tensor([0, 1.0, 0, 0])
    u = z + torch.stack([right.expand(2, 4), up.expand(2, 4), -3 * right.expand(2, 4)])
    overlap = probe.functional_overlap(u, z)
    assert torch.allclose(overlap, torch.tensor([[1.0, 0, -1], [0, 1, 0], [-1, 0, 1]]), atol=1e-4)
    assert probe.mean_overlap(overlap) == pytest.approx(-1 / 3, abs=1e-4)


def test_overlap_is_blind_to_how_far_a_module_moves_and_counts_stillness_as_nothing():
    z = torch.randn(5, 8, generator=torch.Generator().manual_seed(0))
    still = F.layer_norm(z, (8,))
    u = torch.stack([still + 2, still + torch.arange(8.0), still])
    a, b = probe.functional_overlap(u, z), probe.functional_overlap(torch.stack([still + 20, u[1], still]), z)
    assert torch.allclose(a, b, atol=1e-5)
    assert a[2].tolist() == [0, 0, 0]


def test_turns_leave_lengths_out_where_overlap_counts_them():
    z = torch.randn(4, 8, generator=torch.Generator().manual_seed(6))
    still, rng = F.layer_norm(z, (8,)), torch.Generator().manual_seed(7)
    gated = 0.5 * (still + 0.1 * torch.randn(2, 4, 8, generator=rng))  # two modules that both halve a photo
    assert probe.mean_overlap(probe.functional_overlap(gated, z)) > 0.9
    assert abs(probe.mean_overlap(probe.turn_overlap(gated, z))) < 0.5
    assert torch.allclose(probe.turn_overlap(5 * gated, z), probe.turn_overlap(gated, z), atol=1e-5)


def test_one_module_has_nothing_to_overlap_with():
    assert probe.mean_overlap(torch.ones(1, 1)) is None


def test_displacement_is_the_one_the_run_reports():
    generator = torch.Generator().manual_seed(1)
    z, u = torch.randn(6, 16, generator=generator), torch.randn(3, 6, 16, generator=generator)
    assert probe.module_displacement(u, z) == pytest.approx([displacement(one, z) for one in u])
    assert probe.module_displacement(F.layer_norm(z, (16,))[None] * 7, z) == pytest.approx([0.0], abs=1e-5)


def test_only_learners_with_modules_on_the_feature_say_something():
    vit = random_vit()
    learner = Tosca(vit)
    assert probe.modules_say(learner, torch.randn(2, vit.width)) is None
    assert probe.modules_say(object(), torch.randn(2, vit.width)) is None


def test_cls_attention_is_the_attention_timm_computes():
    vit = random_vit(size=64)
    images = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(2))
    share = probe.cls_attention(vit, images)
    with torch.no_grad():
        x = vit.network.blocks[-1].norm1(vit.below(images, vit.depth - 1))
        attention = vit.network.blocks[-1].attn
        q, k, _ = attention.qkv(x).reshape(2, 17, 3, vit.heads, -1).permute(2, 0, 3, 1, 4)
        whole = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1)[:, :, 0].mean(1)
    assert share.shape == (2, 4, 4)
    assert torch.allclose(share.flatten(1), whole[:, 1:], atol=1e-6)
    assert torch.allclose(share.sum((1, 2)) + whole[:, 0], torch.ones(2), atol=1e-6)


def test_cls_attention_sees_an_edit_of_the_last_weights():
    class Blind(Edit):
        def weight(self, block, name, w):
            return torch.zeros_like(w) if name.startswith("attn.qkv") else w

    vit = random_vit(size=64)
    share = probe.cls_attention(vit, torch.randn(1, 3, 64, 64), Blind())
    assert torch.allclose(share, torch.full((1, 4, 4), 1 / 17))  # no scores: every token the same


def test_a_mask_is_an_edit_and_everything_else_is_none():
    class Holder:
        masks = ({"002.attn.qkv.weight": torch.ones(3, 3)}, {})

    edit = probe.masked_edit(Holder(), 0)
    assert torch.equal(edit.weight(2, "attn.qkv.weight", torch.full((3, 3), 5.0)), torch.full((3, 3), 10.0))
    for learner, module in ((Holder(), 1), (Holder(), 7), (Holder(), None), (object(), 0)):
        assert probe.masked_edit(learner, module) is NO_EDIT


def test_mask_deviation_by_head_and_the_strongest():
    qkv = torch.zeros(3 * 4, 4)  # 2 heads of width 2
    qkv[4:6] = -0.5  # rows of K, head 0
    proj = torch.zeros(4, 4)
    proj[:, 2:] = 0.25  # columns of head 1
    deviation = probe.mask_deviation({"011.attn.qkv.weight": qkv, "011.attn.proj.weight": proj}, 2)
    assert deviation == {"011": [[0, 0], [0.5, 0], [0, 0], [0, 0.25]]}
    assert probe.strongest(deviation, 2) == [("011", 1, 0, 0.5), ("011", 3, 1, 0.25)]


def test_aligned_takes_back_a_turn_a_mirror_a_size_and_a_move():
    places = np.random.default_rng(3).normal(size=(20, 2))
    turn = np.array([[np.cos(2), -np.sin(2)], [np.sin(2), np.cos(2)]]) @ np.diag([1, -1])
    assert np.allclose(probe.aligned(7 * places @ turn + [3, 4], places), places)


def test_aligned_survives_points_that_all_lie_in_one_place():
    assert np.isfinite(probe.aligned(np.ones((4, 2)), np.random.default_rng(0).normal(size=(4, 2)))).all()


def test_a_warm_start_stays_near_where_it_began():
    rng = np.random.default_rng(4)
    features = np.concatenate([rng.normal(loc=6 * group, size=(15, 10)) for group in range(3)])
    first = probe.tsne(features, 5)
    moved = features + rng.normal(scale=0.05, size=features.shape)
    warm, cold = probe.tsne(moved, 5, start=first), probe.tsne(moved[::-1], 5, seed=1)

    def distance(a):
        return np.linalg.norm(a - first, axis=1).mean() / first.std()

    assert distance(warm) < 0.5 * distance(cold)
    assert np.array_equal(first, probe.tsne(features, 5))


def test_a_batch_shares_the_module_that_votes_for_its_answers():
    generator = torch.Generator().manual_seed(5)
    entropy, label = torch.rand(60, 3, generator=generator), torch.arange(60) % 4
    module, votes = entropy.argmin(1), torch.randint(0, 4, (60, 3), generator=generator)
    for majority in (False, True):
        shared = probe.batch_modules(entropy, module, label, 3, majority)
        expected = vote(entropy, votes, label, module if majority else None)
        assert torch.equal(votes.gather(1, shared[:, None])[:, 0], expected)


def test_keys_only_where_modules_are_chosen_by_them():
    keyed = SimpleNamespace(chooses_by_key=True, memory=SimpleNamespace(keys=(torch.ones(3), torch.zeros(3))))
    assert probe.prompt_keys(keyed).tolist() == [[1, 1, 1], [0, 0, 0]]
    assert probe.prompt_keys(object()) is None


def test_keys_of_a_pool_are_shown_at_the_length_of_features():
    shared = SimpleNamespace(pool={"keys": torch.tensor([[3.0, 4.0], [0.0, 0.5]])})
    assert torch.allclose(probe.pool_keys(shared), torch.tensor([[0.6, 0.8], [0.0, 1.0]]))
    assert probe.pool_keys(SimpleNamespace(pool={"000.keys": torch.ones(2, 2)})) is None
    assert probe.pool_keys(object()) is None
