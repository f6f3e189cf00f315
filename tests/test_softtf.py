"""Soft-TransFormers: masks that start as the frozen network, gradients, isolation of tasks, keys, routes, and the last block."""

import time
from itertools import pairwise

import pytest
import torch
from torch.nn import functional as F

from forget_me_not.models import backbone, encoder, engine, images, registry, stream
from forget_me_not.models.backbone import random_vit
from forget_me_not.models.check_streams import EASY, ground
from forget_me_not.models.core import Batch, Stream
from forget_me_not.models.edit import Edit, run_block
from forget_me_not.models.events import Evaluated, Failed, Finished, TaskFinished
from forget_me_not.models.masks import BLOCKS, INIT, Masked, moved, moved_by_head, new_masks
from forget_me_not.models.memory import Memory, task_key
from forget_me_not.models.methods.router_ridge_masks import RouterRidgeMasks
from forget_me_not.models.methods.softtf import SoftTF
from forget_me_not.models.methods.softtf_product import SoftTFProduct
from forget_me_not.models.prompts import Prefix, drawn
from forget_me_not.models.ridge_head import level

QUICK = {"epochs": 2}


def learn(method, on):
    """(events, state after each task)."""
    states = []
    events = list(engine.run(on.stream, method, seed=1, save=lambda t, state, answers: states.append(dict(state))))
    assert isinstance(events[-1], Finished), [e for e in events if isinstance(e, Failed)]
    return [e for e in events if e is not None], states


def answered(method, on, photos):
    with torch.no_grad():
        return method.predict(Batch(on.source, photos, method.reads))


@pytest.mark.parametrize("matrices", ["qkv", "qkv+proj", "qkv+proj+mlp"])
def test_masks_of_one_are_the_frozen_network_to_the_last_bit(matrices):
    vit = random_vit(depth=3, width=32, heads=2)
    h = torch.randn(4, 5, 32, generator=torch.Generator().manual_seed(0))
    masks = new_masks(vit, range(3), matrices, "one", torch.Generator())
    assert torch.equal(vit.features(h, 0, Masked(masks, 0)), vit.features(h, 0))
    assert sum(m.numel() for m in masks.values()) == 3 * {"qkv": 3, "qkv+proj": 4, "qkv+proj+mlp": 12}[matrices] * 32**2
    mask = dict(masks, **{"002.attn.qkv.weight": torch.full((96, 32), -1.0)})
    assert not torch.allclose(vit.features(h, 0, Masked(mask, 0)), vit.features(h, 0))


def test_gradient_of_a_mask_is_weight_times_gradient_of_the_weight():
    vit = random_vit(depth=1, width=16, heads=2)
    h = torch.randn(3, 5, 16, generator=torch.Generator().manual_seed(0))
    name, w = "attn.proj.weight", vit.network.blocks[0].attn.proj.weight
    moved_ = torch.full_like(w, 0.25).requires_grad_()
    (by_mask,) = torch.autograd.grad(vit.features(h, 0, Masked({f"000.{name}": moved_}, 0)).square().sum(), moved_)

    class Own(Edit):
        def weight(self, block, what, value):
            return effective if what == name else value

    effective = (w * 1.25).requires_grad_()
    (by_weight,) = torch.autograd.grad(vit.features(h, 0, Own()).square().sum(), effective)
    torch.testing.assert_close(by_mask, w * by_weight)


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("layer_scale", [1.0, None])
def test_last_block_read_at_cls_equals_the_full_block(layer_scale, gated):
    vit = random_vit(depth=2, width=384, heads=6, patch=14, size=112, layer_scale=layer_scale)
    rng = torch.Generator().manual_seed(0)
    h = torch.randn(4, vit.length, 384, generator=rng)
    masks = {k: torch.randn(v.shape, generator=rng) * 0.1 for k, v in new_masks(vit, [1], "qkv+proj", "one", rng).items()}
    gates = {1: torch.tensor([1.0, 0.5])} if gated else None
    for prompts in (Edit(), Prefix(drawn([1], 5, 384, rng), heads=6, gates=gates)):
        edit = Masked(masks, 1, prompts)
        full = run_block(vit.network.blocks[1], 1, h, edit)[:, :1]
        only = run_block(vit.network.blocks[1], 1, h, edit, cls_only=True)
        assert (full - only).abs().max() <= 1e-5 * full.abs().max()


def test_starts_of_masks():
    rng = torch.Generator().manual_seed(0)
    m = {name: 1 + draw((30, 20), rng) for name, draw in INIT.items()}
    assert m["one"].eq(1).all()
    assert m["near one"].min() >= 0.99
    assert m["near one"].max() <= 1
    assert m["near zero"].std() == pytest.approx(0.01, rel=0.1)
    assert m["xavier"].abs().max() == pytest.approx((6 / 50) ** 0.5, rel=0.02)
    assert m["kaiming"].abs().max() == pytest.approx((6 / 20) ** 0.5, rel=0.02)
    assert [list(BLOCKS[name](12)) for name in ("last", "last three", "third to fifth")] == [[11], [9, 10, 11], [2, 3, 4]]


def test_where_masks_moved_is_told_by_part_and_head():
    qkv = torch.zeros(12, 4)  # d = 4, two heads of two rows
    qkv[0:2], qkv[6:8] = -1.0, 0.5  # Q of head 0, K of head 1
    masks = {"007.attn.qkv.weight": qkv, "007.attn.proj.weight": torch.full((4, 4), 0.25)}
    told = moved(masks)
    assert told["moved q"] == pytest.approx(0.5)
    assert told["moved k"] == pytest.approx(0.25)
    assert told["moved v"] == 0
    assert told["moved o"] == pytest.approx(0.25)
    assert told["moved"] == pytest.approx((0.5 + 0.25 + 0 + 0.25) / 4)
    expected = torch.tensor([[1.0, 0.0], [0.0, 0.5], [0.0, 0.0], [0.25, 0.25]])
    torch.testing.assert_close(moved_by_head(masks, 2)["007"], expected)


def test_closed_form_key_is_where_gradient_descent_ends():
    rng = torch.Generator().manual_seed(0)
    z = torch.randn(50, 16, generator=rng) + torch.linspace(-1, 1, 16)
    key = (torch.rand(16, generator=rng) * 2 - 1).requires_grad_()
    stepper = torch.optim.Adam([key], lr=0.01)
    for _ in range(600):
        stepper.zero_grad()
        (-F.cosine_similarity(key[None], z).mean()).backward()
        stepper.step()
    assert F.cosine_similarity(key.detach(), task_key(z), 0) > 0.999


def two_tasks(first, second):
    """A memory of two tasks of one class each, at right angles."""
    key, rows = torch.eye(2), torch.eye(2)[:, None]
    return Memory(tuple(key), tuple(rows), (torch.tensor([first]), torch.tensor([second])))


def test_product_by_hand():
    memory = two_tasks(0, 1)
    z = torch.tensor([[1.0, 1.0]])  # the prototypes cannot tell
    answers = torch.tensor([[[0.2, 0.8], [0.1, 0.9]]]).log()  # module 0 doubts its class, module 1 is sure of its own
    logits, module = memory.product(z, answers)
    torch.testing.assert_close(logits.softmax(-1), torch.tensor([[0.2 / 1.1, 0.9 / 1.1]]))
    assert module.tolist() == [1]
    nearer = memory.product(torch.tensor([[1.0, 0.5]]), answers)  # and now they can
    assert nearer[1].tolist() == [0]
    assert memory.by_key(torch.tensor([[1.0, 0.5]])).tolist() == memory.by_prototype(torch.tensor([[1.0, 0.5]])).tolist() == [0]


def test_product_of_a_class_that_came_back_takes_its_best_row():
    memory = two_tasks(0, 0)
    logits, module = memory.product(torch.tensor([[0.0, 1.0]]), torch.zeros(1, 2, 1))
    assert logits.shape == (1, 1)
    assert module.tolist() == [1]


PROMPTS = {"e_prompts": 2, "g_prompts": "first task"}


@pytest.mark.parametrize("settings", [{}, {"layers": "all"}, PROMPTS, {**PROMPTS, "layers": "all"}, {"loss": "full"}])
def test_learning_a_task_leaves_every_other_tasks_tensors_bit_identical(settings):
    on = ground(EASY, patch=16, layer_scale=1.0)
    _, states = learn(SoftTF(on.vit, **QUICK, **settings), on)
    for before, after in pairwise(states):
        for name, value in before.items():
            assert torch.equal(value, after[name]), name
    assert any(v.abs().max() > 0 for k, v in states[-1].items() if k.startswith("mask.001"))


def test_old_answers_change_only_where_shared_prompts_go_on_learning():
    same = {}
    for g in ("none", "first task", "every task"):
        on = ground(EASY, patch=16, layer_scale=1.0)
        method = SoftTF(on.vit, **QUICK, g_prompts=g)
        seen = []

        def keep(task, state, answers, method=method, on=on, seen=seen):
            seen.append(answered(method, on, on.tested(1)).answers[:, 0, :1])

        list(engine.run(on.stream, method, seed=1, save=keep))
        same[g] = float((seen[0] - seen[2]).abs().max() / seen[0].abs().max())
    assert same["none"] < 1e-5
    assert same["first task"] < 5e-3  # what lies below is kept in half precision from the second task on
    assert same["every task"] > 10 * max(same["none"], 1e-6)


def test_cached_prefix_equals_the_whole_network():
    on = ground(EASY, patch=16, layer_scale=1.0)
    method = SoftTF(on.vit, **QUICK)
    learn(method, on)
    photos = on.tested(3)
    pixels = torch.stack([on.vit.preprocess(on.source.encoder.photos[i].open()) for i in photos.tolist()])
    ours = answered(method, on, photos).answers
    with torch.no_grad():
        u = torch.stack([on.vit.features(on.vit.below(pixels, 0), 0, Masked(m, 0)) for m in method.masks], 1)
        whole = method.head.logits(u, method.scale)
    assert (ours - whole).abs().max() < 5e-3 * whole.abs().max()  # tokens are kept in half precision


def test_shared_prompts_that_are_frozen_are_encoded_once():
    on = ground(EASY, patch=16, layer_scale=1.0)
    method = SoftTF(on.vit, **QUICK, **PROMPTS)
    assert method.below is None
    learn(method, on)
    below = method.below
    assert below.key is not None
    index = on.tested(3)
    kept = on.source.get(index, 2, below)  # (N, L, D) entering the last block
    pixels = torch.stack([on.vit.preprocess(on.source.encoder.photos[i].open()) for i in index.tolist()])
    with torch.no_grad():
        direct = on.vit.between(on.vit.below(pixels, 0), 0, 2, below)
        frozen = on.vit.below(pixels, 2)
    assert (kept.float() - direct).abs().max() < 5e-3 * direct.abs().max()
    assert (frozen - direct).abs().max() > 5e-2 * direct.abs().max()  # the prompts do something


def test_a_task_of_one_class_keeps_masks_at_one_and_its_row_at_the_mean():
    on = ground(((0,), (1, 2)), patch=14, layer_scale=None)
    method = SoftTF(on.vit, **QUICK)
    _, states = learn(method, on)
    assert all(v.eq(0).all() for k, v in states[0].items() if k.startswith("mask.000"))
    z = on.stream.tasks[0].task.train.cls()
    torch.testing.assert_close(states[0]["head.000.rows"], F.normalize(z.mean(0, keepdim=True), dim=-1))
    assert any(v.ne(0).any() for k, v in states[1].items() if k.startswith("mask.001"))


@pytest.mark.parametrize("router", ["task key", "prototype", "entropy", "product", "gradient"])
def test_every_route_is_reported_and_the_chosen_one_answers(router):
    on = ground(EASY, patch=16, layer_scale=1.0)
    events, _ = learn(SoftTF(on.vit, **QUICK, router=router), on)
    last = [e for e in events if isinstance(e, Evaluated)][-1]
    names = {"task key", "prototype", "entropy", "product", "gradient"}
    assert set(last.routes) == {"answer", *(names - {router})}
    assert last.oracle is not None
    assert last.batch_vote is not None
    for route in last.routes.values():
        r, right, wrong = route["routing"], route["right"] or 0, route["wrong"] or 0
        assert route["accuracy"] == pytest.approx(r * right + (1 - r) * wrong)


def test_state_of_a_task_has_the_bytes_its_card_says():
    on = ground(((0, 1), (2, 3), (4, 5)), patch=16, layer_scale=1.0)
    events, _ = learn(SoftTF(on.vit, **QUICK), on)
    sizes = [e.bytes for e in events if isinstance(e, TaskFinished)]
    counts = [e.parameters for e in events if isinstance(e, TaskFinished)]
    d, classes = 64, 2
    assert counts[2] - counts[1] == 4 * d * d + d + classes * d
    statistics = classes * d * 4 + 2 * classes * 8  # prototypes, and class ids twice
    assert sizes[2] - sizes[1] == 4 * (counts[2] - counts[1]) + statistics


def test_product_answers_by_both_posteriors_and_shares_the_masks():
    on = ground(EASY, patch=16, layer_scale=1.0)
    method = SoftTFProduct(on.vit, **QUICK)
    learn(method, on)
    photos = on.tested(3)
    told = answered(method, on, photos)
    z = on.source.get(photos, -1)
    logits, module = method.masked.memory.product(z, told.answers)
    torch.testing.assert_close(told.logits, logits)
    assert torch.equal(told.module, module)
    assert "product" not in told.routes
    assert "task key" in told.routes


def test_the_ridge_router_multiplies_its_posterior_with_that_of_the_same_masks():
    on = ground(EASY, patch=16, layer_scale=1.0)
    method, plain = RouterRidgeMasks(on.vit, **QUICK), SoftTF(on.vit, layers="last three", gradient=False, **QUICK)
    for learner in (method, plain):
        learn(learner, on)
    photos = on.tested(3)
    told = answered(method, on, photos)
    answers = answered(plain, on, photos).answers
    assert torch.equal(told.answers, answers)
    z, classes, tasks = on.source.get(photos, -1), torch.cat(plain.memory.classes), plain.memory.row_task
    frozen = (10 * level(z) @ method.ridge.weight).softmax(-1)
    for b in range(len(photos)):
        for k, (c, t) in enumerate(zip(classes.tolist(), tasks.tolist(), strict=True)):
            both = frozen[b, k].log() + answers[b, t].log_softmax(-1)[c]
            assert float(told.logits[b, c]) >= float(both) - 1e-4  # the best of the class's rows
    assert torch.equal(told.module, tasks[(frozen.log() + answers.log_softmax(-1)[:, tasks, classes]).argmax(-1)])


@pytest.mark.parametrize("name", ["softtf", "softtf_product", "router_ridge_masks", "l2p", "dualprompt", "coda", "norga"])
def test_every_deep_method_has_both_schedules_on_its_card(name):
    card = registry.card(name)
    assert {"paper", "demo"} <= set(card.presets)
    assert card.deviations
    for preset in card.presets:
        card.learner(random_vit(), **card.read({"preset": preset}))


@pytest.mark.parametrize("name", ["softtf", "softtf_product", "router_ridge_masks", "l2p", "dualprompt", "norga"])
def test_paper_schedules_clip_as_their_public_code_does(name):
    """The DualPrompt family of code clips the whole gradient at norm 1 and scales Adam's rate, 0.03, by batch / 256."""
    card = registry.card(name)
    paper = card.read({"preset": "paper"})
    assert paper["clip"] == 1.0
    assert paper["lr"] == pytest.approx(0.03 * paper["batch"] / 256, rel=0.02)


def test_a_step_from_the_cached_prefix_costs_a_tenth_of_one_from_pixels():
    vit = random_vit(depth=12, width=384, heads=6, patch=14, size=112)
    rng = torch.Generator().manual_seed(0)
    pixels = torch.randn(16, 3, 112, 112, generator=rng)
    masks = {k: v.requires_grad_() for k, v in new_masks(vit, [11], "qkv+proj", "one", rng).items()}
    edit = Masked(masks, 11)
    with torch.no_grad():
        h = vit.below(pixels, 11)

    def step(tokens):
        began = time.process_time()
        with torch.no_grad():
            tokens = vit.below(pixels, 11) if tokens is None else tokens
        vit.features(tokens, 11, edit).square().sum().backward()
        return time.process_time() - began

    assert min(step(h) for _ in range(5)) <= 0.1 * min(step(None) for _ in range(3))


@pytest.mark.photos
@pytest.mark.starter
@pytest.mark.slow
def test_right_masks_know_real_photos(real_photos):
    vit = backbone.create("starter", device="cpu")
    found = images.read([real_photos / "caltech24"])
    plan = stream.plan([p.label for p in found.photos], [p.group for p in found.photos], per_task=4, seed=1,
                       train_per_class=10, test_per_class=5)  # fmt: skip
    whole = stream.build(plan, encoder.Encoder(vit, found))
    part = Stream(whole.tasks[:3], whole.classes, whole.kind)
    last = [e for e in engine.run(part, SoftTF(vit), seed=1) if isinstance(e, Evaluated)][-1]
    assert last.oracle >= 0.94
    assert last.routes["answer"]["right"] >= 0.94
