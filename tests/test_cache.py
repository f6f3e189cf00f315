"""Activations: the same numbers whether cached, uncached or live; shards that survive kills, races, damage and full disks."""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from PIL import Image

from forget_me_not.models import cache as caching
from forget_me_not.models.backbone import random_vit
from forget_me_not.models.cache import Cache
from forget_me_not.models.core import FEATURE, Problem
from forget_me_not.models.disk import read_header
from forget_me_not.models.edit import Edit
from forget_me_not.models.encoder import CHUNK, Encoder, FeatureTable
from forget_me_not.models.images import ImageSet

KEY, OTHER, THIRD = "a" * 64, "b" * 64, "c" * 64


class Drawn:
    """A photo drawn from its number; counts how often it is opened."""

    def __init__(self, number):
        self.number, self.opened = number, 0
        self.sha = hashlib.sha256(b"%d" % number).hexdigest()

    def open(self):
        self.opened += 1
        pixels = torch.randint(0, 256, (40, 48, 3), generator=torch.Generator().manual_seed(self.number), dtype=torch.uint8)
        return Image.fromarray(pixels.numpy())


class Shift(Edit):
    """Adds a number to the first MLP bias of its block."""

    def __init__(self, amount, key, first=1):
        self.amount, self.key, self.first = amount, key, first

    def weight(self, block, name, w):
        return w + self.amount if block == self.first and name == "mlp.fc1.bias" else w


@pytest.fixture(scope="module")
def vit():
    return random_vit()


def drawn(n):
    return [Drawn(i) for i in range(n)]


def encoder_of(vit, photos, *args, **kwargs):
    return Encoder(vit, ImageSet(tuple(photos), ()), *args, **kwargs)


def drain(iterator):
    return list(iterator)


def shas(*numbers):
    return [hashlib.sha256(b"%d" % n).hexdigest() for n in numbers]


def shards(folder):
    return sorted(Path(folder).glob("*/*.safetensors"))


# The same numbers everywhere


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
sys.path.insert(0, sys.argv[2])
from test_cache import drawn, random_vit, encoder_of, Cache, torch
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
import resource, sys
sys.path.insert(0, sys.argv[2])
from test_cache import drawn, random_vit, encoder_of, Cache, torch
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
