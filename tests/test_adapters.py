"""Small parts inside the blocks: identity at the start, worked values, content keys, and what is kept from task to task."""

import pytest
import torch

from forget_me_not.models import engine, registry
from forget_me_not.models.adapters import Adapters, Lora, LucaLayers
from forget_me_not.models.backbone import random_vit
from forget_me_not.models.check_streams import ground
from forget_me_not.models.core import Batch, parameter_count, rng_for
from forget_me_not.models.events import Failed

KINDS = (Adapters, Lora, LucaLayers)


@pytest.fixture(scope="module")
def vit():
    return random_vit()


@pytest.fixture(scope="module")
def tokens(vit):
    return vit.below(torch.randn(3, 3, 32, 32, generator=torch.Generator().manual_seed(1)), 1)


def fresh(kind, vit, seed=0):
    return kind.new(range(1, vit.depth), vit.width, 4, torch.Generator().manual_seed(seed))


def stirred(kind, vit, seed=0):
    """Numbers of `kind` none of which is zero."""
    rng = torch.Generator().manual_seed(seed)
    return {k: v + 0.1 * torch.randn(v.shape, generator=rng) for k, v in fresh(kind, vit, seed).items()}


@pytest.mark.parametrize("kind", KINDS)
def test_identity_before_learning(kind, vit, tokens):
    edited = vit.features(tokens, 1, kind(fresh(kind, vit), 1, torch.Generator()))
    assert torch.allclose(edited, vit.features(tokens, 1), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_matters(kind, vit, tokens):
    """From non-zero numbers on, each tensor gets a gradient."""
    values = {k: v.requires_grad_() for k, v in stirred(kind, vit).items()}
    vit.features(tokens, 1, kind(values, 1)).square().sum().backward()
    assert all(v.grad.abs().sum() > 0 for v in values.values())


@pytest.mark.parametrize(("kind", "count"), [(Adapters, 2 * 64 * 4 + 4 + 64), (Lora, 8 * 64 * 4), (LucaLayers, 4 * 64 * 4)])
def test_numbers_a_block(kind, count, vit):
    assert sum(v.numel() for v in fresh(kind, vit).values()) == count * (vit.depth - 1)


def test_published_count_of_adapters():
    values = Adapters.new(range(12), 768, 64, torch.Generator().manual_seed(0))
    assert sum(v.numel() for v in values.values()) == 1_189_632  # EASE's log for ViT-B/16


def test_adapter_by_hand():
    one = torch.tensor
    values = {"000.down": one([[1.0, -1.0]]), "000.down_bias": one([0.5]), "000.up": one([[2.0], [0.0]]),
              "000.up_bias": one([0.0, 3.0])}  # fmt: skip
    edit = Adapters(values, 0)
    x, y = one([[[3.0, 1.0], [0.0, 4.0]]]), torch.zeros(1, 2, 2)
    # tokens: ReLU(3 - 1 + .5) = 2.5 and ReLU(0 - 4 + .5) = 0; times .1 with the bias
    assert torch.allclose(edit.mlp(0, x, y), one([[[0.5, 0.3], [0.0, 0.3]]]))


def test_lora_by_hand(vit):
    values = stirred(Lora, vit)
    edit, w = Lora(values, 1), torch.zeros(3 * 64, 64)
    a, b = values["001.a"], values["001.b"]
    qkv = edit.weight(1, "attn.qkv.weight", w)
    for i in range(3):
        assert torch.allclose(qkv[64 * i : 64 * (i + 1)], 8 * b[i] @ a[i], atol=1e-5)
    assert torch.allclose(edit.weight(1, "attn.proj.weight", w[:64]), 8 * b[3] @ a[3], atol=1e-5)
    assert edit.weight(1, "norm1.weight", w) is w


def test_luca_by_hand():
    values = {"000.down": torch.zeros(1, 2), "000.up": torch.zeros(2, 1), "000.squeeze": torch.tensor([[1.0, 0.0]]),
              "000.excite": torch.tensor([[1.0], [0.0]])}  # fmt: skip
    y = torch.tensor([[[2.0, 5.0]]])
    gate = 2 / (1 + torch.exp(torch.tensor(-2.0)))
    assert torch.allclose(LucaLayers(values, 0).mlp(0, y, y), torch.stack([2 * gate, torch.tensor(5.0)])[None, None])


def test_dropout_is_drawn_from_its_own_generator(vit, tokens):
    def through(seed):
        drop = None if seed is None else torch.Generator().manual_seed(seed)
        return vit.features(tokens, 1, Adapters(stirred(Adapters, vit), 1, drop))

    assert torch.equal(through(5), through(5))
    assert not torch.equal(through(5), through(6))
    assert not torch.equal(through(5), through(None))


def test_key_names_the_content(vit):
    values = stirred(Adapters, vit)
    key = Adapters.frozen(values, 1).key
    other = {k: v.clone() for k, v in values.items()}
    assert Adapters.frozen(other, 1).key == key
    other["001.up_bias"] = other["001.up_bias"] + 1e-6
    assert Adapters.frozen(other, 1).key != key
    assert Lora.frozen(values, 1).key != key
    assert Adapters(values, 1).key is None


def test_a_frozen_part_is_computed_once_a_photo(vit):
    bench = ground([[0, 1]], patch=16, layer_scale=1.0)
    asked = []

    class Counted(Adapters):
        def mlp(self, block, x, y):
            asked.append(block)
            return super().mlp(block, x, y)

    index = bench.stream.tasks[0].test.index
    edit = Counted.frozen(stirred(Adapters, vit), 1)
    batch = Batch(bench.source, index, bench.stream.tasks[0].test.reads.__class__(cut=1, query=True))
    first = batch.cls_through(edit)
    times = len(asked)
    assert torch.equal(batch.cls_through(edit), first)
    assert len(asked) == times > 0
    assert torch.allclose(first, bench.vit.features(batch.h, 1, Adapters(edit.values, 1)), atol=1e-4)


def learnt(name, tasks=((0, 1), (2, 3)), **settings):
    """(method, ground, states after each task) of a small stream of drawn photos."""
    bench = ground([list(t) for t in tasks], patch=16, layer_scale=1.0)
    card = registry.card(name)
    method = card.learner(bench.vit, **card.read({"epochs": 2, "blocks": 2, **settings}))
    states = []
    events = list(engine.run(bench.stream, method, seed=2, save=lambda t, state, answers: states.append(dict(state))))
    assert not any(isinstance(e, Failed) for e in events)
    return method, bench, states


@pytest.mark.parametrize("name", ["adapter_tasks", "lora_tasks", "luca_layers"])
def test_parts_a_task_never_touch_older_ones(name):
    method, _, states = learnt(name)
    assert all(states[1][k] is v for k, v in states[0].items() if k.startswith("parts."))
    assert all(torch.equal(states[1][k], v) for k, v in states[0].items())
    assert parameter_count(states[1]) == 2 * parameter_count(states[0])
    assert all(edit.key for edit in method.edits)


@pytest.mark.parametrize("name", ["adapter_tasks", "lora_tasks", "luca_layers"])
def test_what_is_kept_of_a_task_is_used(name):
    """The key that every task keeps, and that its card counts, chooses one of the routes."""
    method, bench, _ = learnt(name)
    batch = Batch(bench.source, bench.tested(2), method.reads)
    told = method.predict(batch)
    keys = torch.stack(method.memory.keys)
    assert torch.equal(told.routes["task key"], torch.cosine_similarity(batch.cls[:, None], keys[None], dim=-1).argmax(-1))


@pytest.mark.parametrize("name", ["adapter", "lora"])
def test_shared_parts_are_overwritten(name):
    _, _, states = learnt(name, lr=0.5)
    still = [k for k, v in states[0].items() if k.startswith("parts.") and torch.equal(states[1][k], v)]
    assert still == []


def test_one_class_a_task_leaves_the_identity(vit):
    method, bench, _ = learnt("adapter_tasks", tasks=((0,), (1,)), loss="masked")
    batch = Batch(bench.source, bench.stream.tasks[1].test.index, method.reads)
    assert torch.allclose(method.predict(batch).answers[:, 0], method.predict(batch).answers[:, 1], atol=1e-4)


def test_aper_of_a_single_class_is_simplecil():
    method, bench, _ = learnt("aper", tasks=((0,), (1, 2), (3,)))
    plain = registry.card("simplecil").learner(bench.vit)
    for tested in bench.stream.tasks:
        for _ in plain.fit_task(tested.task, rng_for(1, tested.task.index)):
            pass
    batch = Batch(bench.source, bench.tested(3), method.reads)
    assert torch.allclose(method.predict(batch).logits, plain.predict(batch).logits, atol=2e-3)  # tokens are kept in 16 bits


def test_aper_learns_its_adapter_once():
    method, bench, states = learnt("aper", tasks=((0, 1), (2, 3), (4, 5)))
    assert all(states[2][k] is v for k, v in states[0].items() if k.startswith("adapter."))
    assert method.edit.values["002.up"].abs().sum() > 0
    batch = Batch(bench.source, bench.tested(1), method.reads)
    u = method.predict(batch).feature
    assert torch.equal(u[:, : bench.vit.width], batch.cls)
    assert u.shape[1] == 2 * bench.vit.width


def test_tosca_parts_hold_what_they_use():
    names = {"adapter": 6, "calibrator": 2, "parallel": 8, "both": 8}
    for parts, count in names.items():
        bench = ground([[0, 1]], patch=16, layer_scale=1.0)
        method = registry.card("tosca").learner(bench.vit, parts=parts, epochs=1)
        for _ in method.fit_task(bench.stream.tasks[0].task, rng_for(0, 0)):
            pass
        assert len(method.modules[0]) == count
        batch = Batch(bench.source, bench.tested(1), method.reads)
        module, z = method.modules[0], batch.cls
        if parts == "calibrator":
            gate = torch.sigmoid(torch.relu(z @ module["squeeze"].T) @ module["excite"].T)
            assert torch.allclose(method.predict(batch).feature, z * gate, atol=1e-5)
