"""Heads: logits by hand, classes that come back, new rows, and old rows that are left alone."""

import math

import pytest
import torch
from features_made import draw
from torch.nn import functional as F

from forget_me_not.models.core import parameter_count
from forget_me_not.models.head import CROSS_ENTROPY, NEW_ROWS, Head, drawn_rows, only
from forget_me_not.models.layers import by_class


def test_cosine_logits_by_hand():
    head = Head().grown(torch.tensor([[3.0, 4.0], [0.0, 2.0]]), (0, 1))
    assert torch.allclose(head.logits(torch.tensor([[5.0, 0.0]]), 10.0), torch.tensor([[6.0, 0.0]]))
    assert head.seen == 2


def test_a_class_that_comes_back_scores_the_best_of_its_rows():
    head = Head().grown(torch.eye(3)[:2], (0, 1)).grown(torch.eye(3)[[2, 0]], (1, 2))
    assert head.row_class.tolist() == [0, 1, 1, 2]
    u = F.normalize(torch.tensor([[0.1, 0.2, 0.9], [0.9, 0.1, 0.0], [0.0, 1.0, 0.1]]), dim=-1)
    logits = head.logits(u, 1.0)
    assert logits.shape == (3, 3)
    assert torch.allclose(logits[:, 1], torch.maximum(u[:, 1], u[:, 2]))
    assert torch.allclose(logits[:, 2], u[:, 0])
    assert by_class(torch.tensor([[1.0]]), torch.tensor([1]), 2).tolist() == [[-math.inf, 1.0]]
    over_modules = head.logits(torch.stack([u, -u]), 2.0)
    assert torch.allclose(over_modules[0], 2 * logits)


def test_a_head_survives_its_state():
    head = Head().grown(draw(2, 4), (0, 1)).grown(draw(1, 4, seed=1), (1,))
    state = head.state()
    assert set(state) == {"head.000.rows", "head.000.classes", "head.001.rows", "head.001.classes"}
    assert parameter_count(state) == 12
    back = Head.from_state({**state, "scale": torch.tensor(1.0)}, "cpu")
    assert torch.equal(back.row_class, head.row_class)
    assert all(a is b or torch.equal(a, b) for a, b in zip(back.rows, head.rows, strict=True))
    assert Head.from_state({}, "cpu").seen == 0


def test_new_rows():
    z, y = torch.tensor([[2.0, 0.0], [4.0, 0.0], [0.0, 5.0]]), torch.tensor([3, 3, 7])
    rng = torch.Generator().manual_seed(0)
    assert NEW_ROWS["means"](z, y, (3, 7), rng).tolist() == [[1, 0], [0, 1]]
    assert not NEW_ROWS["zeros"](z, y, (3, 7), rng).any()
    rows = drawn_rows(2000, 8, rng)
    assert float(rows.std()) == pytest.approx(0.02, rel=0.03)


def test_masked_cross_entropy_leaves_old_rows_alone():
    head = Head().grown(draw(3, 8), (0, 1, 2)).grown(draw(2, 8, seed=1), (3, 4))
    rows = [r.requires_grad_() for r in head.rows]
    u, y = draw(6, 8, seed=2), torch.tensor([3, 4, 3, 4, 4, 3])
    CROSS_ENTROPY["masked"](head.logits(u, 10.0), y, (3, 4)).backward()
    assert not rows[0].grad.any()
    assert rows[1].grad.any()
    CROSS_ENTROPY["full"](head.logits(u, 10.0), y, (3, 4)).backward()
    assert rows[0].grad.any()
    logits = draw(6, 5, seed=3)
    expected = -(logits[:, 3:].log_softmax(-1)[torch.arange(6), y - 3]).mean()
    assert torch.allclose(CROSS_ENTROPY["masked"](logits, y, (3, 4)), expected)
    assert only(logits, (3, 4))[:, :3].eq(-math.inf).all()
