"""Cards: what they say of parameters and deviations is what the learner does."""

import re

import pytest
import torch

from forget_me_not.models import registry
from forget_me_not.models.check_streams import ground
from forget_me_not.models.engine import run
from forget_me_not.models.events import TaskFinished


def test_joint_alone_is_given_the_union():
    bounds = [name for name, card in registry.cards().items() if card.sees == "all so far"]
    assert bounds == ["joint"]
    assert all(card.bound == (name in bounds) for name, card in registry.cards().items())


def test_every_card_says_what_it_stores_and_what_it_costs():
    for name, card in registry.cards().items():
        assert card.title, name
        assert card.line, name
        assert card.stores, name
        assert card.parameters, name


def ours():
    """Cards of the methods of this package."""
    return {n: c for n, c in registry.cards().items() if c.learner.__module__.startswith("forget_me_not.models.methods.")}


D, DEPTH = 64, 3
"""Width and depth of the ViT that parameters are counted on: methods of three or four blocks then change all of them."""
LUCA, ADAPTER = (lambda r: 4 * D * r + r + 3 * D), (lambda r: 2 * D * r + r + D)
FORMULAS = {  # of each card, for two tasks of one and two classes: (T, C) = (2, 3)
    "adapter": DEPTH * ADAPTER(64) + 3 * D + 1,
    "adapter_tasks": 2 * (DEPTH * ADAPTER(64) + D) + 3 * D,
    "aper": DEPTH * ADAPTER(64) + 3 * 2 * D,
    "coda": 2 * DEPTH * 10 * (8 + 2) * D + 3 * D,
    "dualprompt": 2 * ((DEPTH - 1) * 2 * 5 * D + D) + 3 * D + 2 * 5 * D,
    "ease": 2 * DEPTH * ADAPTER(64) + (1 * 1 + 2 * 2) * D,
    "finetune": LUCA(4) + 1 + 3 * D,
    "finetune_blocks": 12 * D**2 + 13 * D + 2 * D + 3 * D + 1,  # 2 d of layer scale
    "joint": LUCA(4) + 1 + 3 * D,
    "l2p": 10 * (5 + 1) * D + 3 * D,
    "linear_probe": 3 * D + 1,
    "lora": DEPTH * 8 * D * 4 + 3 * D + 1,
    "lora_tasks": 2 * (DEPTH * 8 * D * 4 + D) + 3 * D,
    "luca_layers": 2 * (DEPTH * 4 * D * 24 + D) + 3 * D,
    "mos": 2 * DEPTH * ADAPTER(16) + 3 * (D + 1),
    "norga": 2 * (DEPTH * 2 * 5 * D + D) + 3 * D + 2 * DEPTH,
    "ranpac": 3 * 4000,
    "router_ridge_product": 2 * LUCA(4) + 3 * 2 * D + 1,
    "simplecil": 3 * D,
    "softtf": 2 * (4 * D**2 + D) + 3 * D,
    "softtf_product": 2 * (DEPTH * 4 * D**2 + D) + 3 * D,
    "router_ridge_masks": 2 * (DEPTH * 4 * D**2 + D) + 2 * 3 * D,
    "tosca": 2 * LUCA(4) + 3 * D + 1,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_parameters_are_those_of_the_cards_formula(name):
    """What the engine counts after two tasks; statistics and fixed numbers are bytes, not parameters."""
    on, card = ground(((0,), (1, 2)), patch=16, layer_scale=1.0), ours()[name]
    quick = {"epochs": 1, "batch": 64, "alignment": 1}
    method = card.learner(on.vit, **card.read({s.name: quick[s.name] for s in card.settings if s.name in quick}))
    assert (on.vit.width, on.vit.depth) == (D, DEPTH)
    end = [e for e in run(on.stream, method) if isinstance(e, TaskFinished)][-1]
    assert end.parameters == FORMULAS[name]
    aside = [v for k, v in method.state_dict().items() if k.startswith(("statistic.", "fixed.")) or not v.is_floating_point()]
    assert end.bytes == 4 * end.parameters + sum(v.numel() * v.element_size() for v in aside)


def test_every_method_that_trains_declares_its_one_view():
    """Papers crop at random; a card that trains on one view has to say so."""
    for name, card in ours().items():
        if any(s.name == "epochs" for s in card.settings):
            assert any("one view of every training photo" in d.lower() for d in card.deviations), name


def test_finetune_differs_from_tosca_by_what_its_card_says():
    """Same recipe; no l1, and rows that are drawn and stay as learnt."""
    cards = ours()
    shared, tosca = cards["finetune"].read({}), cards["tosca"].read({})
    assert {k: tosca[k] for k in shared} == shared
    text = " ".join(cards["finetune"].deviations)
    assert "no l1" in text
    assert "drawn" in text


def test_toscas_card_names_every_number_its_starter_preset_changes():
    card = ours()["tosca"]
    starter, published = card.read({"preset": "starter"}), card.read({"preset": "published"})
    text = next(d for d in card.deviations if d.startswith("Preset starter"))
    changed = {k for k in starter if starter[k] != published[k]}
    assert changed == {"batch", "scale", "init", "schedule", "l1", "sparsity"}
    for name in ("batch", "scale", "sparsity"):
        for value in (starter[name], published[name]):
            assert re.search(rf"(?<![\d.]){re.escape(f'{value:g}'.lstrip('0'))}(?!\d)", text), (name, value)


@pytest.mark.parametrize("name", [n for n, c in ours().items() if any("no masked cross-entropy" in d for d in c.deviations)])
def test_a_task_of_one_class_teaches_a_masked_loss_nothing(name):
    """As cards say: a pass more changes nothing but the keys L2P pulls towards its photos."""
    on, card = ground(((0,),), patch=16, layer_scale=1.0), ours()[name]
    states = []
    for epochs in (1, 2):
        method = card.learner(on.vit, **card.read({"epochs": epochs, "lr": 0.01}))
        list(run(on.stream, method))
        states.append(method.state_dict())
    changed = {k for k in states[0] if not torch.equal(states[0][k], states[1][k])}
    assert changed == ({"pool.keys"} if name == "l2p" else set())
