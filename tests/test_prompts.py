"""Prompts reach their own photo: prefix attention, the published mix-up, gates, pools, and the methods that use them."""

import pytest
import torch
from torch.nn import functional as F

from forget_me_not.models import engine, routing
from forget_me_not.models.backbone import random_vit
from forget_me_not.models.check_streams import ground
from forget_me_not.models.core import Batch
from forget_me_not.models.edit import Edit, run_block
from forget_me_not.models.events import Evaluated, Failed, Finished
from forget_me_not.models.methods.coda import Coda, mixed, orthonormal
from forget_me_not.models.methods.dualprompt import DualPrompt
from forget_me_not.models.methods.l2p import L2P, Taken
from forget_me_not.models.methods.norga import NoRGa
from forget_me_not.models.methods.softtf import SoftTF
from forget_me_not.models.prompts import Prefix, drawn, gate, mixed_up, of_photos
from forget_me_not.models.routing import vote

QUICK = {"epochs": 2}
THREE = ((0,), (1, 2), (3, 4))


def learn(method, on, upto=None):
    """States after each task."""
    states = []
    stream = on.upto(upto) if upto else on.stream
    events = list(engine.run(stream, method, seed=1, save=lambda t, state, answers: states.append(dict(state))))
    assert isinstance(events[-1], Finished), [e for e in events if isinstance(e, Failed)]
    return states


def test_prefix_is_attention_to_prompts_beside_the_tokens():
    vit = random_vit(depth=1, width=16, heads=2)
    rng = torch.Generator().manual_seed(0)
    h, block = torch.randn(3, 5, 16, generator=rng), vit.network.blocks[0]
    own = {k: torch.randn(3, 4, 16, generator=rng) for k in ("000.keys", "000.values")}  # every photo has its own
    x = block.norm1(h)
    expected = []
    for b in range(3):
        q, k, v = F.linear(x[b], block.attn.qkv.weight, block.attn.qkv.bias).chunk(3, -1)
        k, v = torch.cat([own["000.keys"][b], k]), torch.cat([own["000.values"][b], v])
        heads = [(q[:, s] @ k[:, s].T / 8**0.5).softmax(-1) @ v[:, s] for s in (slice(0, 8), slice(8, 16))]
        y = h[b] + block.attn.proj(torch.cat(heads, -1))
        expected.append(y + block.mlp(block.norm2(y)))
    expected = torch.stack(expected)
    edit = Prefix(own, heads=2)
    torch.testing.assert_close(run_block(block, 0, h, edit), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(run_block(block, 0, h, edit, cls_only=True), expected[:, :1], rtol=1e-5, atol=1e-5)


def test_no_prompt_is_the_frozen_block():
    vit = random_vit(depth=1, width=16, heads=2)
    h = torch.randn(3, 5, 16, generator=torch.Generator().manual_seed(0))
    empty = {"000.keys": torch.zeros(0, 16), "000.values": torch.zeros(0, 16)}
    for edit in (Prefix({}, heads=2), Prefix(empty, heads=2), Prefix(drawn([0], 0, 16, torch.Generator()), heads=2)):
        for cls_only in (False, True):
            ours, frozen = (run_block(vit.network.blocks[0], 0, h, e, cls_only=cls_only) for e in (edit, Edit()))
            torch.testing.assert_close(ours, frozen, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("photos", [1, 2, 3, 4, 6])
def test_the_published_reshape_gives_photos_each_others_prompts(photos):
    keys = torch.arange(photos, dtype=torch.float32).view(photos, 1, 1)
    pair = torch.stack([keys, 100 + keys])  # photo b: key b, value 100 + b
    flat = [*range(photos), *range(100, 100 + photos)]
    got_keys, got_values = mixed_up(pair)
    assert got_keys.flatten().tolist() == flat[0::2]
    assert got_values.flatten().tolist() == flat[1::2]
    both_own = [got_keys[b] == b and got_values[b] == 100 + b for b in range(photos)]
    assert sum(map(bool, both_own)) == (photos == 1)  # alone a photo keeps its pair: a pairing training never saw


def test_layout_published_lets_neighbours_change_an_answer_and_per_photo_does_not():
    vit = random_vit(depth=2, width=16, heads=2)
    rng = torch.Generator().manual_seed(1)
    h = torch.randn(4, 5, 16, generator=rng)
    sets = [drawn([0, 1], 3, 16, rng) for _ in range(2)]
    chosen = torch.tensor([0, 1, 0, 1])

    def z(photos, layout):
        return vit.features(h[photos], 0, Prefix(of_photos(sets, chosen[photos]), heads=2, layout=layout))

    everyone = torch.arange(4)
    alone = torch.cat([z(everyone[b : b + 1], "per photo") for b in range(4)])
    torch.testing.assert_close(z(everyone, "per photo"), alone, rtol=1e-5, atol=1e-5)
    alone = torch.cat([z(everyone[b : b + 1], "published") for b in range(4)])
    apart = (z(everyone, "published") - alone).norm(dim=1) / alone.norm(dim=1)
    assert (apart > 1e-2).all()


def test_dualprompt_published_depends_on_the_batch():
    on = ground(((0, 1), (2, 3)), patch=16, layer_scale=1.0)
    photos = on.tested(2)
    changed = {}
    for layout in ("per photo", "published"):
        method = DualPrompt(on.vit, layout=layout, **QUICK)
        learn(method, on)
        with torch.no_grad():
            whole = method.predict(Batch(on.source, photos, method.reads)).answers
            alone = torch.cat([method.predict(Batch(on.source, photos[i : i + 1], method.reads)).answers for i in range(4)])
        changed[layout] = float((whole[:4] - alone).abs().max() / whole.abs().max())
    assert changed["per photo"] < 1e-5
    assert changed["published"] > 1e-3


def test_layout_published_never_splits_a_pair():
    """An odd batch has a middle photo whose keys and values are halves that no training batch put together."""
    for place in ("last four", "first blocks"):
        method = DualPrompt(ground(((0, 1),), patch=16, layer_scale=1.0).vit, layout="published", place=place)
        for tasks in range(30):
            method.prompts = ({},) * tasks
            assert method.portion >= 2
            assert method.portion % 2 == 0


def test_the_mix_up_spares_the_prompts_all_tasks_share():
    """Public code picks shared prompts by an index a photo, which needs no reshape: before the task prompts nothing differs."""
    vit = random_vit(depth=3, width=16, heads=2)
    rng = torch.Generator().manual_seed(3)
    h, shared, own = torch.randn(4, 5, 16, generator=rng), drawn([0, 1], 3, 16, rng), drawn([2], 3, 16, rng)
    plain = Prefix(shared, own, heads=2)
    published = Prefix(shared, own, heads=2, layout="published", straight=(0, 1))
    torch.testing.assert_close(vit.between(h, 0, 2, published), vit.between(h, 0, 2, plain), rtol=0, atol=0)
    assert not torch.allclose(vit.features(h, 0, published), vit.features(h, 0, plain), atol=1e-2)


def test_dualprompt_tests_its_shared_prompts_as_it_learnt_them():
    on = ground(((0, 1), (2, 3)), patch=16, layer_scale=1.0)
    method = DualPrompt(on.vit, layout="published", **QUICK)
    learn(method, on)
    photos = on.tested(2)
    batch = Batch(on.source, photos, method.reads)
    with torch.no_grad():
        whole = Prefix(method.shared, method.prompts[1], heads=on.vit.heads, first=method.reads.cut, layout="published",
                       straight=method.shared_blocks)  # fmt: skip
        u = batch.cls_through(whole)
        torch.testing.assert_close(method.predict(batch).answers[:, 1], method.head.logits(u, method.scale), rtol=1e-4, atol=1e-4)


def test_gate_is_norgas_equation():
    rng = torch.Generator().manual_seed(2)
    vit = random_vit(depth=1, width=16, heads=2)
    h, block = torch.randn(2, 5, 16, generator=rng), vit.network.blocks[0]
    own, strength = drawn([0], 3, 16, rng), torch.tensor([0.7, 1.3])
    x = block.norm1(h)
    q, k, v = F.linear(x, block.attn.qkv.weight, block.attn.qkv.bias).unflatten(-1, (3, 2, 8)).unbind(2)
    q, k, v = (part.transpose(1, 2) for part in (q, k, v))
    pk, pv = (own[f"000.{part}"].unflatten(-1, (2, 8)).transpose(0, 1).expand(2, -1, -1, -1) for part in ("keys", "values"))
    s = q @ pk.mT / 8**0.5
    s = s + 1.3 * torch.sigmoid(0.7 * s)  # S' = S + a2 sigma(a1 S)
    mixed_ = torch.cat([s, q @ k.mT / 8**0.5], -1).softmax(-1) @ torch.cat([pv, v], 2)
    y = h + block.attn.proj(mixed_.transpose(1, 2).flatten(2))
    expected = y + block.mlp(block.norm2(y))
    edit = Prefix(own, heads=2, gates={0: strength})
    torch.testing.assert_close(run_block(block, 0, h, edit), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(run_block(block, 0, h, edit, cls_only=True), expected[:, :1], rtol=1e-5, atol=1e-5)
    off = Prefix(own, heads=2, gates={0: torch.tensor([0.7, 0.0])})
    torch.testing.assert_close(run_block(block, 0, h, off), run_block(block, 0, h, Prefix(own, heads=2)), rtol=1e-5, atol=1e-5)
    assert gate(q, pk, torch.tensor([0.0, 1.0])).eq(0.5).all()


def test_coda_mixes_by_hand():
    q = torch.tensor([[1.0, 0.0]])
    parts = {"prompt": torch.tensor([[[1.0, 2.0]], [[10.0, 20.0]]]), "key": torch.tensor([[2.0, 0.0], [1.0, 1.0]]),
             "attention": torch.tensor([[3.0, 5.0], [4.0, 0.0]])}  # fmt: skip
    share = 0.5**0.5  # cos((4, 0), (1, 1)); the first is cos((3, 0), (2, 0)) = 1
    got = mixed(q, {f"000.{k}": v for k, v in parts.items()}, 0)
    torch.testing.assert_close(got, torch.tensor([[[1 + 10 * share, 2 + 20 * share]]]))


def test_components_are_orthogonal_to_old_ones_while_there_is_room():
    rng = torch.Generator().manual_seed(3)
    old = torch.randn(5, 12, generator=rng)
    new = orthonormal(4, 12, old, rng)
    torch.testing.assert_close(new @ new.T, torch.eye(4), atol=1e-5, rtol=0)
    assert (new @ old.T).abs().max() < 1e-5
    more = orthonormal(4, 8, old[:, :8], rng)  # 5 + 4 > 8: no room
    torch.testing.assert_close(more.norm(dim=1), torch.ones(4))


def test_l2p_puts_each_photos_prompts_behind_cls_and_reads_them():
    vit = random_vit(depth=2, width=16, heads=2)
    rng = torch.Generator().manual_seed(4)
    h, prompts = torch.randn(2, 5, 16, generator=rng), torch.randn(2, 3, 16, generator=rng)
    edit = Taken(prompts, 0)
    assert torch.equal(edit.tokens(0, h), torch.cat([h[:, :1], prompts, h[:, 1:]], 1))
    assert torch.equal(edit.tokens(1, h), h)
    x = torch.cat([h[:, :1], prompts, h[:, 1:]], 1)
    for i, block in enumerate(vit.network.blocks):
        x = run_block(block, i, x)
    torch.testing.assert_close(vit.features(h, 0, edit), vit.network.norm(x)[:, 1:4].mean(1))


def test_l2p_takes_the_nearest_keys_of_each_photo():
    on = ground(((0, 1),), patch=16, layer_scale=1.0)
    method = L2P(on.vit, pool=6, top=2, length=1)
    pool = {"prompts": torch.arange(6.0).view(6, 1, 1).expand(6, 1, 64), "keys": torch.eye(64)[:6]}
    q = torch.zeros(2, 64)
    q[0, 1], q[0, 4], q[1, 5], q[1, 0] = 2.0, 1.0, 3.0, 1.0
    edit, near = method._edit(q, pool)
    assert edit.prompts[:, :, 0].tolist() == [[1.0, 4.0], [5.0, 0.0]]
    torch.testing.assert_close(near, torch.tensor([[2.0, 1.0], [3.0, 1.0]]) / torch.tensor([[5.0], [10.0]]).sqrt())


@pytest.mark.parametrize("make", [DualPrompt, NoRGa, Coda, L2P])
def test_what_belongs_to_an_old_task_keeps_its_bits(make):
    on = ground(THREE, patch=16, layer_scale=1.0)
    states = learn(make(on.vit, **QUICK), on)
    shared = ("shared.", "pool.", "statistic.second")
    for t in (1, 2):
        for name, value in states[t - 1].items():
            assert name in states[t]
            if not name.startswith(shared):
                assert torch.equal(states[t][name], value), name
    moved = [n for n in states[0] if n.startswith(("shared.", "pool.")) and not torch.equal(states[0][n], states[2][n])]
    assert bool(moved) == (make in (DualPrompt, L2P))  # what is shared goes on learning


@pytest.mark.parametrize("make", [DualPrompt, NoRGa, SoftTF])
def test_a_batch_votes_with_the_modules_its_photos_chose(make):
    """Prompts and masks are chosen from the frozen feature: a shared choice is the majority's, not the least entropy's."""
    on, kept = ground(THREE, patch=16, layer_scale=1.0), {}
    events = engine.run(on.stream, make(on.vit, **QUICK), seed=1, save=lambda t, state, answers: kept.update({t: answers}))
    last = [e for e in events if isinstance(e, Evaluated)][-1]
    record = kept[len(THREE) - 1]
    shared = vote(None, record["vote"], record["label"], record["module"])
    assert last.batch_vote == pytest.approx(float((shared == record["label"]).double().mean()))
    assert routing.evaluated(len(THREE) - 1, record, majority=True) == last


def test_norgas_gates_learn_in_the_first_task_only():
    on = ground(((0, 1), (2, 3)), patch=16, layer_scale=1.0)
    states = learn(NoRGa(on.vit, **QUICK), on)
    gates = [n for n in states[0] if n.startswith("gate.")]
    assert len(gates) == on.vit.depth
    assert any(not torch.equal(states[0][n], torch.ones(2)) for n in gates)
    assert all(torch.equal(states[0][n], states[1][n]) for n in gates)


@pytest.mark.parametrize(("make", "settings"), [(L2P, {"pool": 2, "top": 5}), (Coda, {"components": 20}), (DualPrompt, {})])
def test_more_tasks_than_any_pool(make, settings):
    on = ground(((0,), (1,), (2,), (3,)), patch=14, layer_scale=None)
    states = learn(make(on.vit, epochs=1, **settings), on)
    assert len({k.split(".")[1] for k in states[-1] if k.startswith("head.")}) == 4
