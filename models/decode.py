"""Bytes of an image file -> an upright RGB picture, or a Problem that says what is wrong with the file.

Formats are told by their first bytes, never by their name. Pillow's readers are called one by one rather than through
`Image.open`, so that nothing but these formats is ever parsed, HEIC needs no global registration, and how many pixels are too
many is our decision and sentence instead of a warning.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import PurePosixPath

import numpy as np
from PIL import BmpImagePlugin, GifImagePlugin, Image, JpegImagePlugin, PngImagePlugin, TiffImagePlugin, WebPImagePlugin

from forget_me_not.models.problem import Problem

HEAD = 32
"""Bytes that tell a format."""
SMALL = 64
"""Short side a JPEG is decoded to, at least, where only its look matters."""
HUGE_JPEG = 4
"""A baseline JPEG of up to this many times the pixel cap is read at half size: its decoder never holds the whole picture."""
PIXELS = 80_000_000

_HEIC = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"msf1"}
_BMP_HEADERS = {12, 16, 40, 52, 56, 64, 108, 124}
_ARCHIVES = (b"PK\x03\x04", b"PK\x05\x06", b"Rar!", b"7z\xbc\xaf\x27\x1c", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
_TURN = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_ORIENTATION = 0x0112


def _heic(file: io.BytesIO) -> Image.Image:
    from pillow_heif import HeifImageFile  # loads libheif: only where there is a HEIC photo

    return HeifImageFile(file)


_READERS: dict[str, Callable[[io.BytesIO], Image.Image]] = {
    "JPEG": JpegImagePlugin.jpeg_factory,
    "PNG": PngImagePlugin.PngImageFile,
    "WebP": WebPImagePlugin.WebPImageFile,
    "BMP": BmpImagePlugin.BmpImageFile,
    "GIF": GifImagePlugin.GifImageFile,
    "TIFF": TiffImagePlugin.TiffImageFile,
    "HEIC": _heic,
}


def format_of(head: bytes) -> str | None:
    """Name of the image format that starts with `head` (32 bytes are enough), or None."""
    if head.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "WebP"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "GIF"
    if head.startswith((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")):
        return "TIFF"
    if head.startswith(b"BM") and int.from_bytes(head[14:18], "little") in _BMP_HEADERS:
        return "BMP"
    if head[4:8] == b"ftyp" and head[8:12] in _HEIC:
        return "HEIC"
    return None


def expect_image(head: bytes, name: str) -> str:
    """Format of a file that starts with `head`; Problems image_empty, image_archive, image_type (type: its ending)."""
    if not head:
        raise Problem("image_empty", name=name)
    if found := format_of(head):
        return found
    if head.startswith(_ARCHIVES):
        raise Problem("image_archive", name=name)
    raise Problem("image_type", name=name, type=PurePosixPath(name).suffix.lstrip(".").upper() or "?")


def decode(data: bytes, name: str, pixels: int = PIXELS, small: bool = False) -> Image.Image:
    """Upright RGB picture of an image file: EXIF turned, first frame, alpha over white, 16 bit scaled to 8.

    small: a JPEG may come back reduced (short side >= 64), at a fraction of the cost; damage is found all the same.
    pixels: the most it may have; a baseline JPEG of up to four times that comes back at half size, always.
    Problems: image_empty, image_archive, image_type, image_pixels, image_truncated, image_broken.
    """
    kind = expect_image(data[:HEAD], name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            warnings.filterwarnings("ignore", category=UserWarning, module="PIL")  # damaged metadata around a good picture
            image = _READERS[kind](io.BytesIO(data))
            _fit(image, kind, name, pixels, small)
            image.load()
            return _turn(image, _rgb(image))
    except Problem:
        raise
    except Image.DecompressionBombError:
        raise Problem("image_pixels", name=name, megapixels="?", limit=pixels // 1_000_000) from None
    except Exception as error:  # a decoder may raise anything over a damaged file
        short = isinstance(error, EOFError) or "truncated" in str(error).lower()
        raise Problem("image_truncated" if short else "image_broken", name=name, type=kind) from error


def _fit(image: Image.Image, kind: str, name: str, pixels: int, small: bool) -> None:
    """Sets the scale a JPEG is decoded at; Problem image_pixels for a picture that stays too large."""
    width, height = image.size
    baseline = kind == "JPEG" and not image.info.get("progressive")
    if width * height > pixels * (HUGE_JPEG if baseline else 1):
        raise Problem("image_pixels", name=name, megapixels=round(width * height / 1e6), limit=pixels // 1_000_000)
    if kind == "JPEG":
        if small:
            image.draft(None, (SMALL, SMALL))
        elif width * height > pixels:
            image.draft(None, (width // 2, height // 2))


def _rgb(image: Image.Image) -> Image.Image:
    """The same pixels as 8-bit RGB, transparent ones over white."""
    if image.mode.startswith("I") or image.mode == "F":
        return _eight_bit(np.asarray(image)).convert("RGB")
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        layers = image.convert("RGBA")
        white = Image.new("RGB", image.size, "white")
        white.paste(layers, mask=layers.getchannel("A"))
        return white
    return image.convert("RGB")


def _eight_bit(values: np.ndarray) -> Image.Image:
    """Grey picture of deeper numbers. 16 bit divides by 257; 32 bit and float by the smallest full scale that holds them.

    Scaling by the brightest pixel instead would make the same scene look different under another exposure.
    """
    if values.dtype.itemsize == 2:
        full = 65535.0
    else:
        values = np.nan_to_num(values, posinf=0.0, neginf=0.0)
        scales = (1.0, 255.0, 65535.0) if values.dtype.kind == "f" else (255.0, 65535.0)
        full = next((scale for scale in scales if values.max() <= scale), float(2**31 - 1))
    return Image.fromarray(np.clip(np.rint(values * (255.0 / full)), 0, 255).astype(np.uint8))


def _turn(image: Image.Image, rgb: Image.Image) -> Image.Image:
    """`rgb` turned upright as the EXIF of `image` says; unreadable EXIF is no reason to lose a photo."""
    try:
        way = _TURN.get(image.getexif().get(_ORIENTATION, 1))
    except Exception:  # as above: damaged metadata raises anything
        way = None
    return rgb if way is None else rgb.transpose(way)
