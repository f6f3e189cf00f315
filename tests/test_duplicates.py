"""Exact and near copies: one group on one side of the test, doubles in two classes reported."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from scenes_made import animals, apart, encoded, lay, scene

from forget_me_not.models.duplicates import groups_of, near_pairs
from forget_me_not.models.images import ImageSet, OnDisk, photo_from_bytes, read

pytestmark = pytest.mark.filterwarnings("error", "ignore::ResourceWarning")  # another test's socket may be swept up here


def test_exact_and_near_copies_share_a_group(tmp_path):
    files = animals() | {
        "cat/copy.jpg": encoded(scene(1)),
        "cat/small.png": encoded(scene(2).resize((48, 32)), "PNG"),
        "dog/grey.webp": encoded(scene(11).convert("L"), "WEBP", quality=40),
    }
    groups = {photo.name: photo.group for photo in read(lay(tmp_path / "pets", files)).photos}
    assert groups["cat/copy.jpg"] == groups["cat/img1.jpg"]
    assert groups["cat/small.png"] == groups["cat/img2.jpg"]
    assert groups["dog/grey.webp"] == groups["dog/img1.jpg"]
    assert set(groups.values()) == set(range(6))


def test_one_file_in_two_classes_is_left_out_and_reported(tmp_path):
    files = animals() | {"dog/same.jpg": encoded(scene(1)), "cat/same.jpg": encoded(scene(1))}
    images = read(lay(tmp_path / "pets", files))
    (double,) = images.doubles
    assert double.exact
    assert double.classes == ("cat", "dog")
    assert double.names == ("cat/img1.jpg", "cat/same.jpg", "dog/same.jpg")
    assert images.counts() == {"cat": 2, "dog": 3}


def test_near_copies_in_two_classes_stay_together_and_are_reported(tmp_path):
    images = read(lay(tmp_path / "pets", animals() | {"dog/same.jpg": encoded(scene(1), quality=50)}))
    (double,) = images.doubles
    assert (double.exact, double.names, double.classes) == (False, ("cat/img1.jpg", "dog/same.jpg"), ("cat", "dog"))
    assert len(images) == 7
    assert len({photo.group for photo in images.photos}) == 6


def test_plain_cards_are_not_copies_of_each_other():
    cards = [photo_from_bytes(encoded(Image.new("RGB", (50, 50), c)), c, "card") for c in ("red", "blue", "white", "red")]
    assert [photo.phash for photo in cards] == [0] * 4
    assert [photo.group for photo in ImageSet.of(cards).photos] == [0, 1, 2, 0]


def test_a_set_of_known_photos(tmp_path):
    lay(tmp_path, {"a": encoded(scene(1))})
    upload = photo_from_bytes(encoded(scene(1)), "new\u202e.jpg", " cat ")
    assert (upload.name, upload.label, upload.domain, upload.group) == ("new.jpg", "cat", "", -1)
    stored = type(upload)("a", "cat", "", upload.sha, upload.phash, OnDisk(tmp_path / "a"))
    images = ImageSet.of([stored, upload])
    assert [photo.group for photo in images.photos] == [0, 0]
    assert apart(images.photos[0].open(), images.photos[1].open()) == 0


def test_groups_are_chained_and_dense():
    hashes = [0b1, 1 << 60, 0b11111, 1 << 40 | 0b111111111, 0b111111111]  # 0 - 2 - 4 in steps of four bits; 3 is one from 4
    assert groups_of(list("abcde"), hashes, distance=4) == [0, 0, 0, 0, 0]
    assert groups_of(list("abcde"), hashes, distance=1) == [0, 1, 2, 3, 3]
    assert groups_of(["x", "y", "x"], [1, 2**64 - 1, 2**63], distance=0) == [0, 1, 0]


def test_pairs_connect_what_comparing_one_by_one_connects():
    rng = np.random.default_rng(3)
    centres = rng.integers(0, 2**63, 40, dtype=np.uint64)
    hashes = centres[rng.integers(0, 40, 1500)] ^ (np.uint64(1) << rng.integers(0, 63, 1500, dtype=np.uint64))
    hashes = np.unique(hashes)
    slow = [(i, j) for i in range(len(hashes)) for j in range(i) if int(hashes[i] ^ hashes[j]).bit_count() <= 2]
    parts = list(range(len(hashes)))
    for i, j in slow:
        parts = [parts[i] if p == parts[j] else p for p in parts] if parts[i] != parts[j] else parts
    pairs = near_pairs(hashes, 2)
    assert {tuple(map(int, pair)) for pair in pairs} <= {(j, i) for i, j in slow}
    assert len(pairs) == len(hashes) - len(set(parts))  # a spanning forest: no more, no fewer
