"""The encoder: the same numbers whether cached, uncached or live, edits, and what it does when disk or memory refuse."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from drawn_made import Shift, drain, drawn, encoder_of, shards

from forget_me_not.models import cache as caching
from forget_me_not.models.backbone import random_vit
from forget_me_not.models.cache import Cache
from forget_me_not.models.core import FEATURE, Problem
from forget_me_not.models.edit import Edit
from forget_me_not.models.encoder import FeatureTable


@pytest.fixture(scope="module")
def vit():
    return random_vit()


@pytest.mark.parametrize("cut", [FEATURE, 0, 2, 3])
def test_cached_uncached_and_live_answers_are_the_same_numbers(vit, tmp_path, cut):
    index = torch.arange(10)
    live = encoder_of(vit, drawn(10)).get(index, cut)
    first = encoder_of(vit, drawn(10), Cache(tmp_path))
    drain(first.encode(index, cut))
    photos = drawn(10)
    second = encoder_of(vit, photos, Cache(tmp_path))
    assert torch.equal(live, first.get(index, cut))
    assert torch.equal(live, second.get(index, cut))
    assert sum(p.opened for p in photos) == 0
    assert live.dtype == (torch.float32 if cut == FEATURE else torch.float16)


def test_rows_are_what_the_vit_says(vit):
    photos = drawn(4)
    pixels = torch.stack([vit.preprocess(p.open()) for p in photos])
    encoder = encoder_of(vit, photos)
    assert torch.equal(encoder.get(torch.arange(4), FEATURE), vit.encode(pixels))
    assert torch.equal(encoder.get(torch.tensor([2, 0, 2]), 1), vit.below(pixels, 1).half()[[2, 0, 2]])


def test_a_photo_does_not_depend_on_its_neighbours_in_the_chunk(vit):
    whole = encoder_of(vit, drawn(9)).get(torch.arange(9), FEATURE)
    alone = encoder_of(vit, drawn(9))
    one_by_one = torch.cat([alone.get(torch.tensor([i]), FEATURE) for i in (8, 3, 0, 1, 2, 7, 6, 5, 4)])
    assert torch.allclose(whole[[8, 3, 0, 1, 2, 7, 6, 5, 4]], one_by_one, rtol=0, atol=1e-6 * float(whole.abs().max()))


def test_encode_counts_the_photos_ready_after_chunks_of_four(vit):
    encoder = encoder_of(vit, drawn(10))
    assert drain(encoder.encode(torch.arange(10), FEATURE)) == [4, 8, 10]
    assert drain(encoder.encode(torch.arange(10), FEATURE)) == [10]
    nothing = torch.empty(0, dtype=torch.long)
    assert drain(encoder.encode(nothing, FEATURE)) == []
    assert encoder.get(nothing, 1).shape == (0, vit.length, vit.width)
    assert drain(encoder_of(vit, drawn(3)).encode(torch.tensor([0, 0, 2]), FEATURE)) == [3]


def test_each_photo_is_decoded_once_a_pass(vit):
    photos = drawn(6)
    encoder = encoder_of(vit, photos)
    drain(encoder.encode(torch.arange(6), FEATURE))
    encoder.get(torch.arange(6), FEATURE)
    assert [p.opened for p in photos] == [1] * 6


def test_rows_can_be_learnt_from(vit):
    rows = encoder_of(vit, drawn(4)).get(torch.arange(4), FEATURE)
    weight = torch.zeros(vit.width, requires_grad=True)
    (rows @ weight).sum().backward()
    assert torch.allclose(weight.grad, rows.sum(0))


# Edits


def test_a_named_edit_is_cached_and_an_unnamed_one_computed_each_time(vit, tmp_path):
    index = torch.arange(5)
    encoder = encoder_of(vit, drawn(5), Cache(tmp_path))
    frozen = encoder.get(index, FEATURE)
    named, unnamed = Shift(0.5, "half"), Shift(0.5, None)
    drain(encoder.encode(index, FEATURE, named))
    tokens = encoder.get(index, 1)
    expected = torch.cat([vit.features(tokens[i : i + 1].float(), 1, named) for i in range(5)])
    assert torch.allclose(encoder.get(index, FEATURE, named), expected, atol=1e-5)
    assert torch.equal(encoder.get(index, FEATURE, named), encoder.get(index, FEATURE, unnamed))
    assert not torch.allclose(encoder.get(index, FEATURE, named), frozen, atol=1e-3)
    unnamed.amount = 0.0
    assert not torch.allclose(encoder.get(index, FEATURE, unnamed), expected, atol=1e-3)
    photos = drawn(5)
    assert torch.equal(encoder_of(vit, photos, Cache(tmp_path)).get(index, FEATURE, named), encoder.get(index, FEATURE, named))
    assert sum(p.opened for p in photos) == 0
    assert {k.about["edit"] for k in Cache(tmp_path).kept()} == {None, "half"}


# When disk or memory refuse


def test_a_folder_that_cannot_be_written_leaves_the_run_in_memory(vit, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    photos = drawn(8)
    encoder = encoder_of(vit, photos, Cache(blocked / "cache"))
    drain(encoder.encode(torch.arange(8), FEATURE))
    encoder.get(torch.arange(8), 1)
    assert torch.equal(encoder.get(torch.arange(8), FEATURE), encoder_of(vit, drawn(8)).get(torch.arange(8), FEATURE))
    assert [note.code for note in encoder.notes] == ["cache_unwritable"]
    assert sum(p.opened for p in photos) == 16


def test_the_last_of_the_disk_is_left_to_the_run(vit, tmp_path, monkeypatch):
    monkeypatch.setattr(caching, "RESERVE", 2**62)
    photos = drawn(4)
    encoder = encoder_of(vit, photos, Cache(tmp_path))
    encoder.get(torch.arange(4), FEATURE)
    encoder.get(torch.arange(4), FEATURE)
    assert ([note.code for note in encoder.notes], shards(tmp_path)) == (["cache_unwritable"], [])
    assert [p.opened for p in photos] == [1] * 4


def test_a_full_disk_leaves_the_run_in_memory(tmp_path):
    resource = pytest.importorskip("resource")
    assert resource
    code = """
import resource, sys, torch
from forget_me_not.models.backbone import random_vit
from forget_me_not.models.cache import Cache
sys.path.insert(0, sys.argv[2])
from drawn_made import drawn, encoder_of
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
encoder = encoder_of(random_vit(), drawn(8), Cache(sys.argv[1]))
rows = encoder.get(torch.arange(8), 1)
assert torch.equal(rows, encoder.get(torch.arange(8), 1))
print([n.code for n in encoder.notes], sum(p.opened for p in encoder.photos))
"""
    args = [sys.executable, "-c", code, str(tmp_path), str(Path(__file__).parent)]
    done = subprocess.run(args, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "['cache_unwritable'] 8", done.stderr
    assert shards(tmp_path) == []
    assert not list(tmp_path.glob("*/.*.tmp"))


def test_beyond_the_memory_budget_rows_come_from_the_shards(vit, tmp_path):
    index = torch.arange(20)
    expected = encoder_of(vit, drawn(20)).get(index, 1)
    photos = drawn(20)
    encoder = encoder_of(vit, photos, Cache(tmp_path), memory=0)
    drain(encoder.encode(index, 1))
    picked = torch.tensor([19, 3, 3, 7])
    assert torch.equal(encoder.get(picked, 1), expected[picked])
    assert sum(s.bytes for s in encoder._stores.values()) == 0
    assert sum(p.opened for p in photos) == 20
    assert encoder.notes == []


def test_memory_goes_to_the_cut_in_use(vit, tmp_path):
    index = torch.arange(20)
    one = 20 * vit.length * vit.width * 2
    encoder = encoder_of(vit, drawn(20), Cache(tmp_path), memory=int(1.5 * one))
    encoder.get(index, 1)
    encoder.get(index, 2)
    assert [(cut, s.count) for (cut, _), s in encoder._stores.items()] == [(1, 0), (2, 20)]


def test_memory_over_budget_without_a_disk_is_said_once(vit):
    photos = drawn(8)
    encoder = encoder_of(vit, photos, memory=0)
    drain(encoder.encode(torch.arange(8), 1))
    encoder.get(torch.arange(8), 1)
    assert [note.code for note in encoder.notes] == ["memory_over_budget"]
    assert sum(p.opened for p in photos) == 8


# The training loop's path


def test_a_batch_from_memory_costs_microseconds(vit):
    encoder = encoder_of(vit, drawn(64))
    drain(encoder.encode(torch.arange(64), FEATURE))
    index = torch.arange(16) * 4
    best = min(_seconds(encoder, index) for _ in range(5))
    assert best < 100e-6


def _seconds(encoder, index, times=200):
    start = time.perf_counter()
    for _ in range(times):
        encoder.get(index, FEATURE)
    return (time.perf_counter() - start) / times


# Ready features


def test_a_feature_table_gives_its_rows_and_no_tokens():
    table = FeatureTable(torch.arange(12.0).view(4, 3))
    assert table.get(torch.tensor([3, 1]), FEATURE).tolist() == [[9, 10, 11], [3, 4, 5]]
    assert drain(table.encode(torch.arange(4), FEATURE)) == [4]
    assert table.vit.width == 3
    with pytest.raises(Problem, match="no_tokens"):
        table.get(torch.arange(2), 0)
    with pytest.raises(Problem, match="no_tokens"):
        drain(table.encode(torch.arange(2), FEATURE, Edit()))
