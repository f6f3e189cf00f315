"""Activations on disk: keys, budget and pins; shards that survive kills, races and damage."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from drawn_made import Shift, drain, drawn, encoder_of, shards, shas

from forget_me_not.models.backbone import random_vit
from forget_me_not.models.cache import Cache
from forget_me_not.models.core import FEATURE
from forget_me_not.models.disk import read_header
from forget_me_not.models.encoder import CHUNK

KEY, OTHER, THIRD = "a" * 64, "b" * 64, "c" * 64


@pytest.fixture(scope="module")
def vit():
    return random_vit()


# Keys


def test_other_weights_cuts_and_edits_never_share_rows(tmp_path):
    index = torch.arange(4)
    for seed in (0, 1):
        encoder = encoder_of(random_vit(seed=seed), drawn(4), Cache(tmp_path))
        for cut in (FEATURE, 0, 1):
            encoder.get(index, cut)
        encoder.get(index, FEATURE, Shift(1.0, "x"))
        encoder.get(index, FEATURE, Shift(2.0, "y"))
    assert len(Cache(tmp_path).kept()) == 10


# Shards


def test_a_row_is_found_by_the_photo_wherever_it_was_written(tmp_path):
    cache = Cache(tmp_path)
    rows = torch.arange(12.0).view(6, 2)
    assert cache.write(KEY, shas(0, 1, 2), rows[:3], {})
    assert cache.write(KEY, shas(3, 4, 5), rows[3:], {})
    found, values = Cache(tmp_path).read(KEY, shas(5, 9, 0, 4))
    back = dict(zip(found, values.tolist(), strict=True))
    assert back == {0: [10.0, 11.0], 2: [0.0, 1.0], 3: [8.0, 9.0]}
    assert cache.read(OTHER, shas(0)) == ([], None)


def test_shards_hold_at_most_256_photos_and_small_chunks_share_one(vit, tmp_path, monkeypatch):
    Cache(tmp_path / "a").write(KEY, shas(*range(600)), torch.zeros(600, 2), {})
    assert sorted(len(json.loads(read_header(p).metadata["photos"])) for p in shards(tmp_path / "a")) == [88, 256, 256]
    drain(encoder_of(vit, drawn(30), Cache(tmp_path / "b")).encode(torch.arange(30), FEATURE))
    assert len(shards(tmp_path / "b")) == 1


def test_what_is_computed_is_kept_when_encoding_stops_half_way(vit, tmp_path):
    photos = drawn(12)
    walk = encoder_of(vit, photos, Cache(tmp_path)).encode(torch.arange(12), FEATURE)
    assert next(walk) == CHUNK
    walk.close()
    assert drain(encoder_of(vit, photos, Cache(tmp_path)).encode(torch.arange(12), FEATURE)) == [4, 8, 12]
    assert [p.opened for p in photos] == [1] * 12


@pytest.mark.parametrize("harm", ["cut", "header", "data", "photos", "empty", "zeros"])
def test_a_damaged_shard_is_found_and_built_again(vit, tmp_path, harm):
    index = torch.arange(6)
    expected = encoder_of(vit, drawn(6), Cache(tmp_path)).get(index, 1)
    (path,) = shards(tmp_path)
    content = bytearray(path.read_bytes())
    if harm == "cut":
        content = content[:-7]
    elif harm == "header":
        content[0] ^= 0xFF
    elif harm == "data":
        content[-5] ^= 0x10
    elif harm == "photos":  # one letter of one photo's hash
        spot = content.index(shas(0)[0].encode())
        content[spot] = ord("0") if content[spot] != ord("0") else ord("1")
    elif harm == "empty":
        content = bytearray()
    else:
        content = bytearray(len(content))
    path.write_bytes(content)
    photos = drawn(6)
    cache = Cache(tmp_path)
    assert torch.equal(encoder_of(vit, photos, cache).get(index, 1), expected)
    assert [note.code for note in cache.notes] == ["cache_repaired"]
    assert sum(p.opened for p in photos) == 6
    again = drawn(6)
    assert torch.equal(encoder_of(vit, again, Cache(tmp_path)).get(index, 1), expected)
    assert sum(p.opened for p in again) == 0


def test_two_processes_may_write_the_same_photos(tmp_path):
    code = """
import sys, torch
from forget_me_not.models.backbone import random_vit
from forget_me_not.models.cache import Cache
sys.path.insert(0, sys.argv[2])
from drawn_made import drawn, encoder_of
encoder = encoder_of(random_vit(), drawn(24), Cache(sys.argv[1]))
for _ in encoder.encode(torch.arange(24), 1): pass
for part in torch.arange(24).split(int(sys.argv[3])):
    for _ in encoder.encode(part, -1): pass
print(len(encoder.notes), float(encoder.get(torch.arange(24), 1).float().sum()))
"""
    args = [sys.executable, "-c", code, str(tmp_path), str(Path(__file__).parent)]
    running = [subprocess.Popen([*args, str(part)], stdout=subprocess.PIPE, text=True) for part in (24, 8)]
    answers = [process.communicate(timeout=120)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert answers[0] == answers[1]
    assert answers[0].startswith("0 ")
    photos = drawn(24)
    encoder = encoder_of(random_vit(), photos, Cache(tmp_path))
    assert torch.equal(encoder.get(torch.arange(24), 1), encoder_of(random_vit(), drawn(24)).get(torch.arange(24), 1))
    encoder.get(torch.arange(24), FEATURE)
    assert sum(p.opened for p in photos) == 0
    assert not list(tmp_path.glob("*/.*.tmp"))


# Budget, pins, show and clear


def aged(cache, key, seconds):
    moment = time.time() - seconds
    os.utime(cache.folder / key / "about.json", (moment, moment))


def test_the_least_recently_used_key_goes_first_and_pinned_ones_stay(tmp_path):
    cache = Cache(tmp_path, budget=10_000)
    for age, key in ((30, KEY), (20, OTHER)):
        cache.write(key, shas(0), torch.zeros(1, 800), {"cut": age})  # 3200 bytes and a header
        aged(cache, key, age)
    Cache(tmp_path).pin("run", [KEY])
    assert cache.write(THIRD, shas(0), torch.ones(1, 1000), {})
    assert {k.key for k in cache.kept()} == {KEY, THIRD}
    assert cache.read(OTHER, shas(0)) == ([], None)
    assert cache.bytes <= 10_000
    assert [k.pinned for k in cache.kept()] == [False, True]


def test_a_budget_full_of_pinned_keys_is_said_once_and_kept(tmp_path):
    cache = Cache(tmp_path, budget=5_000)
    assert cache.write(KEY, shas(0), torch.zeros(1, 800), {})
    cache.pin("run", [KEY])
    assert not cache.write(OTHER, shas(0), torch.zeros(1, 800), {})
    assert not cache.write(OTHER, shas(1), torch.zeros(1, 800), {})
    assert [note.code for note in cache.notes] == ["cache_over_budget"]
    cache.unpin("run")
    assert cache.write(OTHER, shas(0), torch.zeros(1, 800), {})
    assert [k.key for k in cache.kept()] == [OTHER]


def test_pins_of_a_process_that_is_gone_do_not_count(tmp_path):
    code = "import sys; from forget_me_not.models.cache import Cache; Cache(sys.argv[1]).pin('gone', ['a' * 64])"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert (tmp_path / "pins" / "gone.json").exists()
    assert Cache(tmp_path).pinned() == set()
    assert not (tmp_path / "pins" / "gone.json").exists()


def test_an_encoder_pins_what_it_uses_until_it_is_closed(vit, tmp_path):
    encoder = encoder_of(vit, drawn(2), Cache(tmp_path))
    encoder.get(torch.arange(2), FEATURE)
    assert len(Cache(tmp_path).pinned()) == 1
    encoder.close()
    assert Cache(tmp_path).pinned() == set()


def test_show_lists_keys_and_clear_removes_only_them(vit, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "holiday.txt").write_text("keep")
    encoder = encoder_of(vit, drawn(5), Cache(tmp_path))
    encoder.get(torch.arange(5), 2)
    (kept,) = Cache(tmp_path).kept()
    assert (kept.photos, kept.about["cut"], kept.about["backbone"], kept.pinned) == (5, 2, vit.name, True)
    assert kept.bytes >= 5 * vit.length * vit.width * 2
    assert Cache(tmp_path).clear() == 0
    encoder.close()
    assert Cache(tmp_path).clear() == kept.bytes
    assert Cache(tmp_path).kept() == []
    assert (tmp_path / "mine" / "holiday.txt").read_text() == "keep"


def test_eviction_under_a_running_encoder_only_costs_time(vit, tmp_path):
    photos = drawn(6)
    encoder = encoder_of(vit, photos, Cache(tmp_path), memory=0)
    before = encoder.get(torch.arange(6), 1)
    Cache(tmp_path).clear(pinned=True)
    assert torch.equal(encoder.get(torch.arange(6), 1), before)
    assert torch.equal(encoder.get(torch.arange(6), 1), before)


def test_a_clock_that_goes_backwards_is_harmless(tmp_path):
    cache = Cache(tmp_path, budget=10_000)
    cache.write(KEY, shas(0), torch.zeros(1, 800), {})
    aged(cache, KEY, -10_000_000)  # used in the future
    cache.write(OTHER, shas(0), torch.zeros(1, 800), {})
    assert cache.write(THIRD, shas(0), torch.zeros(1, 800), {})
    assert {k.key for k in cache.kept()} == {KEY, THIRD}
