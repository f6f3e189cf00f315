"""Every kind of photo and every kind of bad file, made here, and the real ones."""

from __future__ import annotations

import hashlib
import io
import os
import struct
import unicodedata
import warnings
import zipfile
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pillow_heif
import pytest
from PIL import Image

from forget_me_not.models.archive import clean, natural
from forget_me_not.models.core import Problem
from forget_me_not.models.decode import decode
from forget_me_not.models.duplicates import NEAR, groups_of, near_pairs, perceptual_hash
from forget_me_not.models.images import ImageSet, Limits, OnDisk, photo_from_bytes, read

pytestmark = pytest.mark.filterwarnings("error")


def scene(seed: int = 0, width: int = 96, height: int = 64) -> Image.Image:
    """A smooth random picture: no two seeds look alike."""
    coarse = np.random.default_rng(seed).integers(0, 256, (5, 6, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)


def encoded(image: Image.Image, format: str = "JPEG", **how) -> bytes:
    file = io.BytesIO()
    if format == "HEIF":
        pillow_heif.from_pillow(image).save(file)
    else:
        image.save(file, format, **how)
    return file.getvalue()


def lay(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def pack(path: Path, files: dict[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def animals() -> dict[str, bytes]:
    return {f"{label}/img{i}.jpg": encoded(scene(10 * c + i)) for c, label in enumerate(("cat", "dog")) for i in (1, 2, 10)}


def apart(a: Image.Image, b: Image.Image) -> float:
    """Mean difference of two pictures in grey levels."""
    return float(np.abs(np.asarray(a, dtype=float) - np.asarray(b, dtype=float)).mean())


def code_of(data: bytes, name: str = "photo", **limits) -> str:
    with pytest.raises(Problem) as caught:
        photo_from_bytes(data, name, "x", limits=Limits(**limits))
    assert caught.value.values["name"] == name
    return caught.value.code


# what can be read


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "HEIF"])
def test_every_format_gives_the_picture_whatever_its_name(format):
    data = encoded(scene(), format)
    photo = photo_from_bytes(data, "no ending", "cat")
    assert photo.sha == hashlib.sha256(data).hexdigest()
    opened = photo.open()
    assert (opened.mode, opened.size) == ("RGB", (96, 64))
    assert apart(opened, scene()) < 12  # GIF's 256 colours are the worst
    assert (photo.phash ^ perceptual_hash(opened)).bit_count() <= NEAR  # though it was hashed from a reduced picture


def test_heic_needs_no_registration():
    photo_from_bytes(encoded(scene(), "HEIF"), "a.heic", "x").open()
    assert "HEIF" not in Image.OPEN


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_turns_the_photo_upright(format, orientation):
    upright = scene()
    stored = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # the transposition that undoes each orientation
    image = upright.transpose(Image.Transpose(stored[orientation])) if orientation > 1 else upright
    exif = Image.Exif()
    exif[0x0112] = orientation
    photo = photo_from_bytes(encoded(image, format, exif=exif), "a", "x")
    assert photo.open().size == (96, 64)
    assert apart(photo.open(), upright) < 6
    assert (photo.phash ^ perceptual_hash(upright)).bit_count() <= NEAR


def test_damaged_exif_does_not_lose_the_photo():
    data = encoded(scene(), exif=b"Exif\0\0MM\0*\xff\xff\xff\xf0garbage")
    assert photo_from_bytes(data, "a.jpg", "x").open().size == (96, 64)


def test_cmyk_keeps_its_colours():
    assert apart(photo_from_bytes(encoded(scene().convert("CMYK")), "a", "x").open(), scene()) < 12


@pytest.mark.parametrize("format", ["PNG", "TIFF"])
def test_sixteen_bits_are_scaled_not_cut(format):
    ramp = np.linspace(0, 65535, 256 * 4).astype(np.uint16).reshape(4, 256)
    opened = np.asarray(photo_from_bytes(encoded(Image.fromarray(ramp), format), "a", "x").open())
    assert np.array_equal(opened[..., 0], np.rint(ramp / 257).astype(np.uint8))
    assert (opened[0, 0, 0], opened[-1, -1, 0]) == (0, 255)


@pytest.mark.parametrize(
    ("values", "expected"),
    [(np.array([[0, 255]], np.int32), 255), (np.array([[0, 65535]], np.int32), 255), (np.array([[0, 2**30]], np.int32), 128),
     (np.array([[0.0, 1.0]], np.float32), 255), (np.array([[np.nan, 127.0]], np.float32), 127)],
)  # fmt: skip
def test_deeper_numbers_scale_by_the_smallest_range_that_holds_them(values, expected):
    opened = np.asarray(decode(encoded(Image.fromarray(values), "TIFF"), "a"))
    assert opened[0, :, 0].tolist() == [0, expected]


def test_transparent_pixels_lie_over_white():
    image = Image.new("RGBA", (8, 8), (255, 0, 0, 255))
    image.paste((0, 0, 0, 0), (0, 0, 4, 8))
    image.paste((0, 0, 0, 128), (4, 4, 8, 8))
    opened = decode(encoded(image, "PNG"), "a")
    assert opened.getpixel((0, 0)) == (255, 255, 255)
    assert opened.getpixel((5, 0)) == (255, 0, 0)
    assert opened.getpixel((5, 5)) == (127, 127, 127)
    grey = Image.merge("LA", (Image.new("L", (2, 2), 0), Image.new("L", (2, 2), 0)))
    assert decode(encoded(grey, "PNG"), "a").getpixel((0, 0)) == (255, 255, 255)


def test_palettes_with_and_without_transparency():
    image = scene().quantize(16)
    assert apart(decode(encoded(image, "PNG"), "a"), image.convert("RGB")) == 0
    opened = decode(encoded(image, "PNG", transparency=bytes([0] * 16)), "a")
    assert opened.getextrema() == ((255, 255),) * 3


def test_animation_gives_its_first_frame():
    data = encoded(scene(1), "GIF", save_all=True, append_images=[scene(2), scene(3)])
    assert apart(decode(data, "a"), scene(1)) < 12


def test_a_huge_jpeg_is_read_at_half_size_where_that_is_safe():
    data = encoded(scene(0, 200, 120))
    photo = photo_from_bytes(data, "a", "x", limits=Limits(pixels=200 * 120 - 1))
    assert photo.open().size == (100, 60)
    assert code_of(data, pixels=200 * 120 // 4 - 1) == "image_pixels"
    assert code_of(encoded(scene(0, 200, 120), progressive=True), pixels=200 * 120 - 1) == "image_pixels"


# what cannot


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_that_claims(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")


def test_pictures_with_too_many_pixels_are_our_sentence_never_a_warning():
    # 100 MP makes Pillow warn, 400 MP makes it raise: neither shows, nor is anything of that size allocated
    for width, height in ((10_000, 10_000), (20_000, 20_000)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with pytest.raises(Problem) as problem:
                photo_from_bytes(png_that_claims(width, height), "a.png", "x")
        assert not caught
        assert problem.value.values == {"name": "a.png", "megapixels": width * height // 1_000_000, "limit": 80}


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.95])
@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "HEIF"])
def test_a_file_cut_short_is_found(format, share):
    data = encoded(scene(0, 300, 200), format)
    assert code_of(data[: max(20, int(len(data) * share))]) in ("image_truncated", "image_broken")


def test_bad_files_by_code():
    assert code_of(encoded(scene())[:-400]) == "image_truncated"
    assert code_of(b"") == "image_empty"
    assert code_of(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "a.svg") == "image_type"
    assert code_of(b"just text, named like a photo", "a.jpg") == "image_type"
    assert code_of(b"%PDF-1.7 ...", "a.pdf") == "image_type"
    assert code_of(b"PK\x03\x04 a zip") == "image_archive"
    assert code_of(b"\xff\xd8\xff\xe0 nothing of a JPEG") == "image_truncated"
    assert code_of(b"BMW is a maker of cars, not a bitmap") == "image_type"
    assert code_of(encoded(scene(), "BMP")[:20] + bytes(2000)) == "image_broken"
    assert code_of(b"\0\0\0\x18ftypheic" + b"\0" * 40) == "image_broken"
    assert code_of(encoded(scene()), file_bytes=1000) == "image_bytes"


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF"])
def test_random_damage_gives_a_picture_or_a_problem_and_nothing_else(format):
    rng, codes = np.random.default_rng(0), set()
    whole = np.frombuffer(encoded(scene(), format), np.uint8)
    for _ in range(60):
        data = whole.copy()
        where = rng.integers(0, len(data), 8)
        data[where] = rng.integers(0, 256, 8)
        try:
            assert photo_from_bytes(data.tobytes(), "a", "x", limits=Limits(pixels=1_000_000)).open().mode == "RGB"
        except Problem as problem:
            codes.add(problem.code)
    assert codes <= {"image_type", "image_pixels", "image_truncated", "image_broken"}


# folders and zips


def test_a_folder_of_class_folders(tmp_path):
    images = read(lay(tmp_path / "pets", animals()))
    assert images.classes == ("cat", "dog")
    assert [photo.name for photo in images.photos] == [f"{c}/img{i}.jpg" for c in ("cat", "dog") for i in (1, 2, 10)]
    assert [photo.label for photo in images.photos] == ["cat"] * 3 + ["dog"] * 3
    assert images.counts() == {"cat": 3, "dog": 3}
    assert [photo.group for photo in images.photos] == list(range(6))
    assert (images.skipped, images.doubles, images.domains) == ((), (), ())


def key(images: ImageSet) -> list:
    return [(photo.sha, photo.label, photo.domain, photo.group) for photo in images.photos]


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


# duplicates


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


# real photos


@pytest.fixture(scope="module")
def real() -> Path:
    if "FMN_PHOTOS" not in os.environ:
        pytest.skip("FMN_PHOTOS names no folder of photos")
    return Path(os.environ["FMN_PHOTOS"])


@pytest.fixture(scope="module")
def caltech24(real) -> ImageSet:
    return read(real / "caltech24")


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
def test_a_zip_of_caltech24_equals_the_folder(real, caltech24, tmp_path):
    folder = real / "caltech24"
    path = tmp_path / "photos.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.rglob("*.jpg"):
            archive.write(file, Path("wrapped") / file.relative_to(folder))
    assert key(read(path)) == key(caltech24)


@pytest.mark.photos
def test_pacs_has_four_domains(real):
    images = read(real / "pacs", domains=True)
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
