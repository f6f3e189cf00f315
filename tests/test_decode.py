"""One file: every kind of photo that can be read, and every kind of bad file with the code of its sentence."""

from __future__ import annotations

import hashlib
import struct
import warnings
import zlib

import numpy as np
import pytest
from PIL import Image
from scenes_made import apart, encoded, scene

from forget_me_not.models.core import Problem
from forget_me_not.models.decode import decode
from forget_me_not.models.duplicates import NEAR, perceptual_hash
from forget_me_not.models.images import Limits, photo_from_bytes

pytestmark = pytest.mark.filterwarnings("error", "ignore::ResourceWarning")  # another test's socket may be swept up here


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
