"""Where photos come from: the files below a folder or inside a zip, found without trusting a single name.

Nothing is ever unpacked to disk: a zip entry is read into memory through its own record, so its name is only text.
"""

from __future__ import annotations

import io
import os
import re
import stat
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from forget_me_not.models.decode import PIXELS
from forget_me_not.models.problem import Problem

_MIB = 2**20
_LITTER = {"__macosx", "thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r", "@eadir", "$recycle.bin", "system volume information"}
_ENCRYPTED = 0x1
_UTF8 = 0x800
_JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]{2}")


@dataclass(frozen=True)
class Limits:
    """The most an input may hold. pixels: of one photo; ratio: uncompressed over compressed bytes of a zip entry."""

    files: int = 60_000
    file_bytes: int = 64 * _MIB
    total_bytes: int = 4096 * _MIB
    ratio: int = 200
    pixels: int = PIXELS


@dataclass(frozen=True)
class Skipped:
    """A file that was left out: the sentence "problem.<code>" takes `name` and `values`."""

    name: str
    code: str
    values: Mapping[str, Any] = field(default_factory=dict)


class Bytes(Protocol):
    """Something that can be opened again and again for its bytes."""

    def open(self) -> BinaryIO:
        """A binary file at its start; OSError or zipfile's errors where it cannot be read."""


@dataclass(frozen=True)
class OnDisk:
    """A file on disk."""

    path: Path

    def open(self) -> BinaryIO:
        return self.path.open("rb")


@dataclass(frozen=True)
class InMemory:
    """Bytes held in memory: one upload."""

    data: bytes = field(repr=False)

    def open(self) -> BinaryIO:
        return io.BytesIO(self.data)


@dataclass(frozen=True)
class InZip:
    """An entry of a zip that stays open as long as its photos are used."""

    zip: zipfile.ZipFile
    entry: zipfile.ZipInfo

    def open(self) -> BinaryIO:
        return self.zip.open(self.entry)


@dataclass(frozen=True)
class Found:
    """A file that may be a photo. parts: cleaned names from its input's own down to the file's. root: which input.

    refused: why it is not even to be opened.
    """

    parts: tuple[str, ...]
    source: Bytes
    size: int
    root: int = 0
    refused: Problem | None = None

    @property
    def name(self) -> str:
        """Its path below its input, as text."""
        return "/".join(self.parts[1:])


def clean(text: str) -> str:
    """`text` as a person reads it: NFC, one space for every run of blanks, no control, bidi or broken characters.

    Zero-width joiners stay: emoji and several scripts need them.
    """
    try:
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # half of a pair, which no file name gives
        text = text.encode("utf-8", "replace").decode("utf-8")
    kept = "".join(c for c in text if c in "\u200c\u200d" or c.isspace() or unicodedata.category(c) not in ("Cc", "Cf", "Cs"))
    return unicodedata.normalize("NFC", " ".join(kept.split())) or "?"


def natural(text: str) -> tuple:
    """Sort key: img2 before img10, capitals beside small letters, the same order on every machine."""
    runs = re.split(r"(\d+)", text.casefold())
    digits = [run.lstrip("0") for run in runs[1::2]]
    numbers = [(len(run), run) for run in digits] + [(-1, "")]
    return (*zip(runs[::2], numbers, strict=True), (text,))


def is_litter(part: str) -> bool:
    """True for names no person made: hidden files, previews and folders of operating systems and notebooks."""
    return part.startswith(".") or part.casefold() in _LITTER


def is_zip(path: Path) -> bool:
    """True for a file that says it is a zip, by its ending or its first bytes."""
    if path.suffix.lower() == ".zip":
        return True
    try:
        with path.open("rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except OSError:
        return False  # named with its reason when it is read


def in_folder(folder: Path, root: int) -> Iterator[Found]:
    """Every file below `folder`, links to files and folders followed once, in no particular order."""
    label, unreadable = clean(folder.resolve().name), []
    seen: set[tuple[int, int]] = set()
    for here, folders, files in os.walk(folder, followlinks=True, onerror=unreadable.append):
        status = os.stat(here)
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(part for part in folders if not is_litter(part))
        above = Path(here).relative_to(folder).parts
        for file in files:
            if not is_litter(file):
                parts = tuple(map(clean, (label, *above, file)))
                yield on_disk(Path(here) / file, parts, root)
    for error in unreadable:
        below = Path(error.filename).relative_to(folder).parts
        yield _refuse((label, *map(clean, below)), root, "image_unreadable", reason=error.strerror)


def on_disk(path: Path, parts: tuple[str, ...], root: int) -> Found:
    """One file; a pipe or a device is never opened."""
    try:
        status = path.stat()
    except OSError as error:
        return _refuse(parts, root, "image_unreadable", reason=error.strerror)
    if not stat.S_ISREG(status.st_mode):
        return _refuse(parts, root, "image_type", type="?")
    return Found(parts, OnDisk(path), status.st_size, root)


def _refuse(parts: tuple[str, ...], root: int, code: str, **values: Any) -> Found:
    return Found(parts, InMemory(b""), 0, root, Problem(code, **values))


def in_zip(path: Path, root: int, limits: Limits) -> Iterator[Found]:
    """Every entry of a zip that may be a photo; Problem images_zip_broken where it is no zip or is cut short."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
        raise Problem("images_zip_broken", name=clean(path.name)) from error
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    for entry, name in zip(entries, _names(entries), strict=True):
        name = name.replace("\\", "/")
        below = [part for part in name.split("/") if part not in ("", ".")]
        if any(is_litter(part) for part in below if part != ".."):
            continue
        parts = (clean(path.stem), *map(clean, below))
        if code := _refused(entry, name, below, limits):
            yield _refuse(parts, root, code, **({"limit": limits.ratio} if code == "image_ratio" else {}))
        else:
            yield Found(parts, InZip(archive, entry), entry.file_size, root)


def _refused(entry: zipfile.ZipInfo, name: str, parts: list[str], limits: Limits) -> str | None:
    """Code of the reason not even to open an entry."""
    if not parts or ".." in parts or name.startswith("/") or re.match("[A-Za-z]:", name):
        return "image_outside"
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "image_link"
    if entry.flag_bits & _ENCRYPTED:
        return "image_encrypted"
    if entry.file_size > _MIB and entry.file_size > limits.ratio * entry.compress_size:
        return "image_ratio"
    return None


def _names(entries: list[zipfile.ZipInfo]) -> list[str]:
    """Names of zip entries as their author typed them.

    The format knows only UTF-8 and cp437. Names not marked as UTF-8 are tried as UTF-8 (macOS forgets the mark), then as
    Shift-JIS (Windows in Japanese), believed only if it makes two Japanese characters in a row: one alone is more often a German
    umlaut read wrongly.
    """
    raw = [None if entry.flag_bits & _UTF8 else _as_cp437(entry.filename) for entry in entries]
    unmarked = [name for name in raw if name is not None]
    codec = next((codec for codec in ("utf-8", "cp932") if _reads_as(codec, unmarked)), "cp437")
    return [entry.filename if name is None else name.decode(codec) for entry, name in zip(entries, raw, strict=True)]


def _as_cp437(name: str) -> bytes | None:
    try:
        return name.encode("cp437")
    except UnicodeEncodeError:  # the entry carried its Unicode name in an extra field
        return None


def _reads_as(codec: str, names: list[bytes]) -> bool:
    try:
        text = "\n".join(name.decode(codec) for name in names)
    except UnicodeDecodeError:
        return False
    return codec == "utf-8" or bool(_JAPANESE.search(text))
