"""Photos of the data sets of the README, read whole."""

from __future__ import annotations

import zipfile
from collections import Counter
from pathlib import Path

import pytest
from scenes_made import encoded, key

from forget_me_not.models.images import ImageSet, photo_from_bytes, read

pytestmark = pytest.mark.filterwarnings("error", "ignore::ResourceWarning")  # another test's socket may be swept up here


@pytest.fixture(scope="module")
def caltech24(real_photos) -> ImageSet:
    return read(real_photos / "caltech24")


@pytest.mark.photos
def test_caltech24_is_read_whole_and_its_copies_are_found(caltech24):
    images = caltech24
    assert (len(images), len(images.classes), images.skipped, images.doubles) == (720, 24, (), ())
    assert set(images.counts().values()) == {30}
    members: dict[int, list[str]] = {}
    for photo in images.photos:
        members.setdefault(photo.group, []).append(photo.name)
    assert [names for names in members.values() if len(names) > 1] == [
        ["bonsai/004.jpg", "bonsai/010.jpg"],
        ["grand_piano/014.jpg", "grand_piano/019.jpg"],
        ["lotus/010.jpg", "lotus/013.jpg"],
        ["stop_sign/001.jpg", "stop_sign/004.jpg", "stop_sign/019.jpg", "stop_sign/027.jpg"],
        ["yin_yang/004.jpg", "yin_yang/014.jpg"],
        ["yin_yang/009.jpg", "yin_yang/015.jpg", "yin_yang/017.jpg"],
    ]


@pytest.mark.photos
def test_a_zip_of_caltech24_equals_the_folder(real_photos, caltech24, tmp_path):
    folder = real_photos / "caltech24"
    path = tmp_path / "photos.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.rglob("*.jpg"):
            archive.write(file, Path("wrapped") / file.relative_to(folder))
    assert key(read(path)) == key(caltech24)


@pytest.mark.photos
def test_pacs_has_four_domains(real_photos):
    images = read(real_photos / "pacs", domains=True)
    assert (len(images), len(images.classes), images.skipped, images.doubles) == (560, 7, (), ())
    assert images.domains == ("art_painting", "cartoon", "photo", "sketch")
    assert set(Counter((photo.domain, photo.label) for photo in images.photos).values()) == {20}
    assert len({photo.group for photo in images.photos}) == 559


@pytest.mark.photos
def test_real_photos_saved_again_join_their_original(caltech24):
    photos = caltech24.photos[::10]
    again = [photo_from_bytes(encoded(p.open(), quality=30), f"again {p.name}", p.label) for p in photos]
    groups = [photo.group for photo in ImageSet.of([*photos, *again]).photos]
    assert groups[: len(photos)] == groups[len(photos) :]
