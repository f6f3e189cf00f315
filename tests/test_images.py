"""Folders and zips become classes: wrapping folders, domains, litter, hostile entries, names, and inputs that cannot be used."""

from __future__ import annotations

import os
import struct
import unicodedata
import zipfile
from collections import Counter

import pytest
from PIL import Image
from scenes_made import animals, apart, encoded, key, lay, pack, scene

from forget_me_not.models.archive import clean, natural
from forget_me_not.models.core import Problem
from forget_me_not.models.images import Limits, read

pytestmark = pytest.mark.filterwarnings("error", "ignore::ResourceWarning")  # another test's socket may be swept up here


def test_a_folder_of_class_folders(tmp_path):
    images = read(lay(tmp_path / "pets", animals()))
    assert images.classes == ("cat", "dog")
    assert [photo.name for photo in images.photos] == [f"{c}/img{i}.jpg" for c in ("cat", "dog") for i in (1, 2, 10)]
    assert [photo.label for photo in images.photos] == ["cat"] * 3 + ["dog"] * 3
    assert images.counts() == {"cat": 3, "dog": 3}
    assert [photo.group for photo in images.photos] == list(range(6))
    assert (images.skipped, images.doubles, images.domains) == ((), (), ())


@pytest.mark.parametrize("wrapper", ["", "my photos/", "a/b/"])
def test_a_zip_with_or_without_wrapping_folders_equals_the_folder(tmp_path, wrapper):
    folder = read(lay(tmp_path / "pets", animals()))
    zipped = read(pack(tmp_path / "pets.zip", {wrapper + name: data for name, data in animals().items()}))
    assert key(zipped) == key(folder)
    assert [apart(a.open(), b.open()) for a, b in zip(zipped.photos, folder.photos, strict=True)] == [0] * 6
    assert [photo.name for photo in zipped.photos] == [wrapper + photo.name for photo in folder.photos]


def test_loose_files_are_classed_by_what_holds_them(tmp_path):
    lay(tmp_path, {f"cat/{i}.jpg": encoded(scene(i)) for i in range(3)})
    pack(tmp_path / "dog.zip", {f"{i}.jpg": encoded(scene(10 + i)) for i in range(2)})
    assert [p.label for p in read(tmp_path / "cat").photos] == ["cat"] * 3
    assert [p.label for p in read(tmp_path / "dog.zip").photos] == ["dog"] * 2
    both = read([tmp_path / "cat", tmp_path / "dog.zip"])
    assert [(p.name, p.label) for p in both.photos][2:4] == [("cat/2.jpg", "cat"), ("dog/0.jpg", "dog")]
    files = read([tmp_path / "cat/1.jpg", tmp_path / "cat/2.jpg", tmp_path / "cat/1.jpg"])
    assert [p.label for p in files.photos] == ["cat"] * 2


def test_domains(tmp_path):
    order = [f"{domain}/{name}" for domain in ("photo", "sketch") for name in animals()]
    files = {name: encoded(scene(100 + i)) for i, name in enumerate(order)}
    images = read(lay(tmp_path / "set", files), domains=True)
    assert (images.domains, images.classes) == (("photo", "sketch"), ("cat", "dog"))
    assert Counter((p.domain, p.label) for p in images.photos) == {(d, c): 3 for d in images.domains for c in images.classes}
    assert key(read(pack(tmp_path / "set.zip", {f"wrap/{n}": data for n, data in files.items()}), domains=True)) == key(images)
    assert key(read([tmp_path / "set/photo", tmp_path / "set/sketch"], domains=True)) == key(images)
    with pytest.raises(Problem, match="images_no_domains"):
        read(tmp_path / "set/photo", domains=True)


def test_deeper_folders_sort_and_photos_outside_the_classes_are_named(tmp_path):
    images = read(lay(tmp_path / "pets", animals() | {"dog/burst/1.jpg": encoded(scene(77)), "stray.jpg": encoded(scene(78))}))
    assert images.counts() == {"cat": 3, "dog": 4}
    assert [(s.name, s.code) for s in images.skipped] == [("stray.jpg", "image_no_class")]


def test_a_wrapping_folder_may_hold_a_readme(tmp_path):
    images = read(pack(tmp_path / "a.zip", {"wrap/" + n: d for n, d in animals().items()} | {"wrap/readme.txt": b"hello"}))
    assert images.classes == ("cat", "dog")
    assert [(s.name, s.code, s.values) for s in images.skipped] == [("wrap/readme.txt", "image_type", {"type": "TXT"})]


def test_litter_is_skipped_silently(tmp_path):
    litter = [".DS_Store", "cat/.hidden.jpg", "cat/._img1.jpg", "__MACOSX/cat/._img1.jpg",
              "cat/.ipynb_checkpoints/img1-checkpoint.jpg", "Thumbs.db",
              "cat/THUMBS.DB", "dog/desktop.ini", ".git/x.jpg"]  # fmt: skip
    files = animals() | dict.fromkeys(litter, encoded(scene(50)))
    for images in (read(lay(tmp_path / "pets", files)), read(pack(tmp_path / "pets.zip", files))):
        assert (len(images), images.skipped) == (6, ())


def test_a_bad_file_is_named_and_nothing_else_is_lost(tmp_path):
    bad = {"cat/cut.jpg": encoded(scene())[:-400], "cat/empty.png": b"", "dog/film.mp4": b"\0\0\0\x18ftypmp42" + b"\0" * 99,
           "dog/logo.svg": b"<svg/>", "dog/more.zip": b"PK\x03\x04...."}  # fmt: skip
    expected = ["image_truncated", "image_empty", "image_type", "image_type", "image_archive"]
    for images in (read(lay(tmp_path / "pets", animals() | bad)), read(pack(tmp_path / "pets.zip", animals() | bad))):
        assert [(s.name, s.code) for s in images.skipped] == list(zip(bad, expected, strict=True))
        assert images.counts() == {"cat": 3, "dog": 3}


def test_links_are_followed_once_and_pipes_never_opened(tmp_path):
    lay(tmp_path / "pets", animals())
    (tmp_path / "pets/again").symlink_to(tmp_path / "pets")
    (tmp_path / "pets/cat/gone.jpg").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pets/cat/pipe.jpg")
    images = read(tmp_path / "pets")
    assert len(images) == 6
    assert [(s.name, s.code) for s in images.skipped] == [("cat/gone.jpg", "image_unreadable"), ("cat/pipe.jpg", "image_type")]


def entry(name: str, mode: int = 0o100644) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, mode << 16
    return info


def test_zip_entries_never_leave_their_folder(tmp_path):
    photo = encoded(scene(90))
    evil = ["../up.jpg", "cat/../../up.jpg", "/root.jpg", "C:\\windows.jpg", "..\\up.jpg"]
    (tmp_path / "in").mkdir()
    path = pack(tmp_path / "in/pets.zip", animals() | dict.fromkeys(evil, photo))
    images = read(path)
    assert len(images) == 6
    assert [s.code for s in images.skipped] == ["image_outside"] * 5
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["in", "pets.zip"]


def test_zip_entries_refused_by_kind(tmp_path):
    bomb = encoded(Image.new("RGB", (1000, 1000)), "BMP")  # 3 MB of black in 3 kB
    path = pack(tmp_path / "pets.zip", animals() | {entry("cat/link.jpg", 0o120777): b"/etc/passwd", "dog/bomb.bmp": bomb})
    images = read(path)
    assert [(s.name, s.code) for s in images.skipped] == [("cat/link.jpg", "image_link"), ("dog/bomb.bmp", "image_ratio")]
    assert len(images) == 6


def test_an_encrypted_or_damaged_entry_is_named(tmp_path):
    path = pack(tmp_path / "pets.zip", animals())
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1  # the first entry, cat/img1.jpg, says it is encrypted
    second = data.index(b"cat/img2.jpg") + 300
    data[second : second + 8] = bytes(8)
    path.write_bytes(data)
    images = read(path)
    assert [s.name for s in images.skipped] == ["cat/img1.jpg", "cat/img2.jpg"]
    assert images.skipped[0].code == "image_encrypted"
    assert images.skipped[1].code in ("image_unreadable", "image_broken", "image_truncated")
    assert images.counts() == {"cat": 1, "dog": 3}


def test_an_entry_that_lies_about_its_size_is_not_believed(tmp_path):
    path = pack(tmp_path / "a.zip", {"cat/a.bmp": encoded(scene(0, 400, 300), "BMP"), "cat/b.jpg": encoded(scene(1))})
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, 1000)
    path.write_bytes(data)
    assert [s.name for s in read(path).skipped] == ["cat/a.bmp"]


@pytest.mark.parametrize(
    ("stored", "expected"),
    [("りんご".encode("cp932"), "りんご"), ("Äpfel".encode(), "Äpfel"), ("Äpfel".encode("cp437"), "Äpfel")],
)
def test_folder_names_of_old_zips_are_read_as_typed(tmp_path, stored, expected):
    blank = "#" * len(stored)
    path = pack(tmp_path / "a.zip", {f"{blank}/1.jpg": encoded(scene(1)), "b/1.jpg": encoded(scene(9))})
    path.write_bytes(path.read_bytes().replace(blank.encode(), stored))
    assert set(read(path).classes) == {expected, "b"}


# names


def test_clean_names():
    assert clean(unicodedata.normalize("NFD", "Café")) == "Café"
    assert clean("a\u202ecat\u2066\x00\x1b[31m\ufeff") == "acat[31m"
    assert clean("  two \t\n words ") == "two words"
    assert clean("\x07") == "?"
    assert clean("👩\u200d🔬 می\u200cخواهم") == "👩\u200d🔬 می\u200cخواهم"
    assert clean(os.fsdecode(b"caf\xe9")) == "caf\ufffd"


def test_natural_order():
    names = ["img10", "img2", "IMG1", "img", "img0", "b", "a01", "a1", "Äpfel", "a1b2", "a1b10", "9" * 5000]
    ordered = sorted(names, key=natural)
    assert ordered == ["9" * 5000, "a01", "a1", "a1b2", "a1b10", "b", "img", "img0", "IMG1", "img2", "img10", "Äpfel"]


def test_two_spellings_of_one_class_are_one_class(tmp_path):
    names = [unicodedata.normalize(form, "Café") for form in ("NFC", "NFD")]
    files = {f"{name}/{i}.jpg": encoded(scene(i)) for i, name in enumerate(names)}
    images = read(lay(tmp_path / "x", files | {"Tee/a.jpg": encoded(scene(5))}))
    assert images.counts() == {"Café": 2, "Tee": 1}


# whole inputs


def test_problems_of_a_whole_input(tmp_path):
    def problem(*args, **more) -> Problem:
        with pytest.raises(Problem) as caught:
            read(*args, **more)
        return caught.value

    pets = lay(tmp_path / "pets", animals())
    lay(tmp_path / "texts", {"a/readme.md": b"hello", "b/x.svg": b"<svg/>"})
    (tmp_path / "empty").mkdir()
    assert problem(tmp_path / "nowhere").code == "images_path_missing"
    assert problem(tmp_path / "empty").code == "images_none"
    assert problem([]).code == "images_none"
    nothing = problem(tmp_path / "texts")
    assert (nothing.code, nothing.values["skipped"], nothing.values["first"], nothing.values["why"]) == (
        "images_none_usable", 2, "a/readme.md", "image_type")  # fmt: skip
    broken = lay(tmp_path, {"a.zip": b"PK\x03\x04 cut", "b.zip": b"no zip at all"})
    assert problem(broken / "a.zip").code == problem(broken / "b.zip").code == "images_zip_broken"
    assert problem(pets, limits=Limits(files=5)).values == {"limit": 5}
    assert len(read(pets, limits=Limits(files=6))) == 6
    assert problem(pets, limits=Limits(total_bytes=3000)).code == "images_too_big"
    assert problem(pack(tmp_path / "c.zip", animals()), limits=Limits(total_bytes=3000)).code == "images_too_big"
    same = lay(tmp_path / "same", {"a/1.jpg": encoded(scene()), "b/1.jpg": encoded(scene())})
    assert problem(same).code == "images_all_doubles"


def test_progress_counts_every_file(tmp_path):
    calls = []
    read(lay(tmp_path / "pets", animals() | {"cat/x.txt": b"x"}), progress=lambda done, of: calls.append((done, of)))
    assert calls == [(i, 7) for i in range(1, 8)]


def test_a_photo_that_changed_or_went_is_not_opened(tmp_path):
    folder = lay(tmp_path / "pets", animals())
    photo = read(folder).photos[0]
    (folder / photo.name).write_bytes(encoded(scene(99)))
    with pytest.raises(Problem, match="image_changed"):
        photo.open()
    (folder / photo.name).unlink()
    with pytest.raises(Problem, match="image_gone"):
        photo.open()
