"""Single files that mean harm, or are broken: name -> (file, what it is called, codes it may be answered with)."""

import io
import struct
import zlib

import numpy as np
from PIL import Image

from forget_me_not.demo.soak.photos import photo

PNG = photo(0, 0)


def saved(kind, side=48, **more):
    out = io.BytesIO()
    Image.open(io.BytesIO(photo(0, 7))).resize((side, side)).save(out, kind, **more)
    return out.getvalue()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, *more, pixels=None, depth=8, colour=2):
    """A PNG by hand: its header may say what it likes."""
    data = zlib.compress(pixels if pixels is not None else b"\0" * 100)
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(more) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def with_chunks(*more):
    """A good PNG with further chunks behind its header."""
    return PNG[:33] + b"".join(more) + PNG[33:]


def bomb(kind, start):
    """A good PNG with a chunk of 100 kB that is 100 MB when unpacked."""
    return with_chunks(chunk(kind, start + zlib.compress(bytes(100 * 2**20))))


def bmp(width, height):
    head = struct.pack("<IHHIIiiHHIIiiII", 0, 0, 0, 54, 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)
    return b"BM" + head


def frames(kind, count=2000):
    pictures = [Image.fromarray(np.full((8, 8, 3), n % 251, np.uint8)) for n in range(count)]
    out = io.BytesIO()
    pictures[0].save(out, kind, save_all=True, append_images=pictures[1:])
    return out.getvalue()


def tiff(next_ifd=0, strips=1, strip_bytes=192):
    """A grey 8x8 TIFF by hand; next_ifd: where the next page is said to be."""
    tags = [(256, 3, 1, 8), (257, 3, 1, 8), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, strips, 200),
            (277, 3, 1, 1), (278, 3, 1, 8), (279, 4, strips, strip_bytes)]  # fmt: skip
    body = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags) + struct.pack("<I", next_ifd)
    return (b"II*\0" + struct.pack("<I", 8) + body).ljust(200, b"\0") + bytes(range(64)) * 3


def exif_loop():
    """An EXIF whose sub-directories name themselves, and a value of 4 GB."""
    ifd = struct.pack("<H", 3) + struct.pack("<HHII", 0x8769, 4, 1, 8) + struct.pack("<HHII", 0x8825, 4, 1, 8)
    ifd += struct.pack("<HHII", 0x0112, 3, 0xFFFFFFFF, 8) + struct.pack("<I", 8)
    return b"Exif\0\0II*\0" + struct.pack("<I", 8) + ifd + b"\xff" * 60_000


def jpeg_of(width, height):
    data = saved("JPEG")
    at = data.index(b"\xff\xc0")
    return data[: at + 5] + struct.pack(">HH", height, width) + data[at + 9 :]


PHOTO, BROKEN, SHORT = {"added"}, {"image_broken", "image_truncated"}, {"image_truncated", "image_broken"}
TYPE, HUGE = {"image_type"}, {"image_pixels"}

IMAGES = {
    "empty": (lambda: b"", "0.png", {"upload_empty"}),
    "one byte": (lambda: b"\x89", "0.png", TYPE),
    "SVG with a script": (lambda: b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "0.svg", TYPE),
    "HTML called a JPEG": (lambda: b"<!doctype html><script>alert(1)</script>", "0.jpg", TYPE),
    "program called a PNG": (lambda: b"MZ\x90\0" + b"\0" * 5000, "0.png", TYPE),
    "GIF that is a script": (lambda: b"GIF89a=1;/*" + b"<?php system('id'); ?>*/" * 20, "0.gif", BROKEN),
    "JPEG with a zip behind it": (lambda: saved("JPEG") + b"PK\x03\x04" + b"x" * 3000, "0.jpg", PHOTO),
    "PNG with a page behind it": (lambda: PNG + b"<html><script>alert(1)</script>", "0.html", PHOTO),
    "PNG header of 65,535 x 65,535": (lambda: png(65_535, 65_535), "0.png", HUGE),
    "PNG header of 2^31 - 1": (lambda: png(2**31 - 1, 1), "0.png", HUGE | BROKEN),
    "PNG of 20,000 x 20,000 in 400 kB": (lambda: png(20_000, 20_000, pixels=bytes(2500 * 20_000 + 20_000), depth=1, colour=0),
                                         "0.png", HUGE),
    "PNG of no width": (lambda: png(0, 10), "0.png", BROKEN),
    "PNG of negative width": (lambda: png(2**32 - 5, 5), "0.png", BROKEN | HUGE),
    "PNG with less than it says": (lambda: png(4000, 4000), "0.png", SHORT),
    "PNG with 100 MB of text in 100 kB": (lambda: bomb(b"zTXt", b"a\0\0"), "0.png", BROKEN | PHOTO),
    "PNG with 30 MB of plain text": (lambda: with_chunks(chunk(b"tEXt", b"a\0" + b"x" * 30 * 2**20)), "0.png", PHOTO | BROKEN),
    "PNG with a colour profile of junk": (lambda: with_chunks(chunk(b"iCCP", b"x\0\0" + b"\xff" * 5000)), "0.png",
                                          PHOTO | BROKEN),
    "PNG with a colour profile of 100 MB": (lambda: bomb(b"iCCP", b"x\0\0"), "0.png", PHOTO | BROKEN),
    "PNG with 50,000 small chunks": (lambda: with_chunks(*[chunk(b"tEXt", b"a\0b")] * 50_000), "0.png", PHOTO | BROKEN),
    "JPEG header of 65,535 x 65,535": (lambda: jpeg_of(65_535, 65_535), "0.jpg", HUGE),
    "JPEG of no height": (lambda: jpeg_of(48, 0), "0.jpg", BROKEN),
    "JPEG cut in half": (lambda: saved("JPEG", 400)[:-4000], "0.jpg", SHORT),
    "JPEG with 500 empty markers": (lambda: b"\xff\xd8" + b"\xff\xfe\0\2" * 500 + saved("JPEG")[2:], "0.jpg", PHOTO),
    "EXIF that goes round in circles": (lambda: saved("JPEG", exif=exif_loop()), "0.jpg", PHOTO),
    "GIF of 2,000 frames": (lambda: frames("GIF"), "0.gif", PHOTO),
    "APNG of 2,000 frames": (lambda: frames("PNG"), "0.png", PHOTO),
    "GIF of 65,535 x 65,535": (lambda: b"GIF89a" + b"\xff" * 4 + b"\0\0\0,\0\0\0\0" + b"\xff" * 4 + b"\0\2\2L\1\0;", "0.gif",
                               HUGE),
    "TIFF of 500 pages": (lambda: frames("TIFF", 500), "0.tif", PHOTO),
    "TIFF whose next page is itself": (lambda: tiff(next_ifd=8), "0.tif", PHOTO),
    "TIFF of a billion strips": (lambda: tiff(strips=2**30), "0.tif", BROKEN),
    "TIFF whose strip is far away": (lambda: tiff(strip_bytes=2**31), "0.tif", BROKEN | PHOTO),
    "BMP of negative size": (lambda: bmp(-9, -9), "0.bmp", BROKEN | HUGE),
    "BMP of 2^31 - 1": (lambda: bmp(2**31 - 1, 9), "0.bmp", HUGE | BROKEN),
    "WebP cut short": (lambda: saved("WebP", 200)[:300], "0.webp", SHORT),
    "HEIC of junk": (lambda: b"\0\0\0\x18ftypheic" + b"\0\0\0\0mif1heic" + b"\xff" * 500, "0.heic", BROKEN),
    "65 MB of PNG": (lambda: PNG + b"\0" * (65 * 2**20), "0.png", {"upload_big"}),
    "64 megapixels, all it may have": (lambda: png(8000, 8000, pixels=bytes(1001 * 8000), depth=1, colour=0), "0.png", PHOTO),
    "25 megapixels with transparency": (lambda: png(5000, 5000, pixels=bytes(20_001 * 5000), colour=6), "0.png", PHOTO),
    "name that leads out": (lambda: PNG, "../../../../etc/evil.png", PHOTO),
    "name of 9,000 letters": (lambda: PNG, "n" * 9000 + ".png", PHOTO),
    "name with NUL and direction marks": (lambda: PNG, "a\0\u202egpj.exe", PHOTO),
}
