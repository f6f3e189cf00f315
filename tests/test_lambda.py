"""The lambda grid: one run's measures, values by seed, verdicts with their intervals, captions."""

import json

import plotly.graph_objects as go
import pytest
import torch
from grids_made import filled, row
from painted import painted

from forget_me_not.demo import figures_lambda, lambda_panel
from forget_me_not.demo.words import words
from forget_me_not.models import stream
from forget_me_not.models.encoder import FeatureTable
from forget_me_not.models.packs.load import FOLDER
from forget_me_not.models.problem import Problem

ENGLISH, JAPANESE = words("en"), words("ja")


def table_stream():
    """Three tasks of two classes as points in the plane of 24 features, 8 + 8 photos a class."""
    rng = torch.Generator().manual_seed(0)
    middles, labels = 3 * torch.randn(6, 24, generator=rng), [c for c in range(6) for _ in range(16)]
    features = middles[torch.tensor(labels)] + torch.randn(96, 24, generator=rng)
    asked = stream.plan([f"c{c}" for c in labels], range(96), per_task=2, train_per_class=8, test_per_class=8, seed=0)
    return stream.build(asked, FeatureTable(features))


def test_one_run_of_the_grid_measures_zeros_overlap_and_accuracy():
    found = lambda_panel.drained(lambda_panel.measured(table_stream(), 0.08, 0))
    none = lambda_panel.drained(lambda_panel.measured(table_stream(), 0.0, 0))
    assert none["zeros"] == 0 < found["zeros"]
    assert found["displacement"] < none["displacement"]
    for one in (found, none):
        assert set(lambda_panel.MEASURES) <= set(one)
        assert [len(row) for row in one["overlaps"]] == [3, 3, 3]
        assert one["accuracy"] <= 1


def test_a_grid_keeps_values_by_seed_and_the_mean_overlap():
    grid = lambda_panel.joined(lambda_panel.blank(2), 1, row(0.4))
    grid = lambda_panel.joined(grid, 1, row(0.6))
    assert grid["rows"][1]["accuracy"] == [0.4, 0.6]
    assert grid["rows"][1]["overlaps"] == [[1, 0.5], [0.5, 1]]
    assert (grid["done"], grid["total"], grid["tasks"]) == (2, 12, 2)
    assert grid["rows"][0]["accuracy"] == []


@pytest.mark.parametrize(("effect", "holds"), [((0.1, 0.01), True), ((0.01, 0.2), False), ((0.0, 0.0), False)])
def test_the_claim_holds_only_where_every_interval_lies_on_its_side(effect, holds):
    drawn = figures_lambda.draw(filled(20, effect), ENGLISH, verdict=True)
    assert drawn["verdict"]["holds"] is holds
    assert drawn["verdict"]["word"] == ENGLISH["lambda.holds" if holds else "lambda.fails"]


def test_fewer_than_twenty_seeds_are_shown_without_a_verdict():
    drawn = figures_lambda.draw(filled(19, (0.1, 0.01)), ENGLISH, verdict=True)
    assert drawn["verdict"] is None
    assert drawn["seeds"] == 19


def test_peoples_own_photos_get_no_verdict_and_a_caption_from_the_numbers():
    drawn = figures_lambda.draw(filled(3, (0.1, 0.0)), ENGLISH)
    assert drawn["verdict"] is None
    assert "0.910 ± 0.010 at λ = 0.04" in drawn["caption"]
    assert "against 0.810" in drawn["caption"]
    assert "0% to 83%" in drawn["caption"]
    for language in (ENGLISH, JAPANESE):
        made_of = figures_lambda.draw(filled(3, (0.1, 0.0)), language)
        for name in ("levels", "shapes"):
            go.Figure(**painted(json.loads(json.dumps(made_of[name], allow_nan=False))))


def test_where_no_penalty_is_better_than_none_it_is_said_so():
    drawn = figures_lambda.draw(filled(3, (0.0, 0.0)), ENGLISH)
    assert "no λ has a better mean than none at all: 0.810 ± 0.010 without the penalty" in drawn["caption"]


@pytest.mark.parametrize(("pack", "said"), [
    ("toybox", "At λ = 0.08 a module turns a photo by about 3°, without the penalty by 24°: the answer rests mostly on"),
    ("digits", "At λ = 0.08 a module still turns a photo by about 18°, without the penalty by 38°: the few weights left"),
])  # fmt: skip
def test_what_is_left_of_a_sparse_module_is_told_by_how_far_it_turns_a_photo(pack, said):
    drawn = figures_lambda.draw(json.loads((FOLDER / pack / "lambda.json").read_text()), ENGLISH)
    assert said in drawn["caption"]


def test_a_grid_half_trained_shows_what_it_has():
    half = lambda_panel.joined(lambda_panel.blank(3), 0, row(0.5))
    drawn = figures_lambda.draw(half, ENGLISH, verdict=True)
    assert drawn["caption"] == ENGLISH["lambda.caption_none"]
    assert drawn["verdict"] is None
    assert [bool(one["accuracy"]) for one in drawn["rows"]] == [True] + [False] * 5
    go.Figure(**painted(drawn["levels"]))


def test_the_interval_is_students():
    assert figures_lambda.margin([0.1, 0.3]) == pytest.approx(12.71 * 0.1, rel=1e-3)
    assert figures_lambda.margin([0.1]) == float("inf")


def test_a_pack_that_is_not_there_is_refused():
    with pytest.raises(Problem, match="pack_unknown"):
        lambda_panel.record("nothing", [1])
