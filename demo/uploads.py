"""Uploaded files -> checked photos: one image, or a zip of class folders, of plain photos, or of styles with class folders."""

from __future__ import annotations

import contextlib
import dataclasses
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from forget_me_not.demo import edits
from forget_me_not.demo.project import PHOTO_LIMIT, Incoming
from forget_me_not.models.archive import InZip, Limits, clean, is_litter, is_zip
from forget_me_not.models.images import Photo, photo_from_bytes, read
from forget_me_not.models.problem import Problem

IMAGE_BYTES, ZIP_BYTES = 64 * 2**20, 2**30
LIMITS = Limits(files=3 * PHOTO_LIMIT, file_bytes=IMAGE_BYTES, total_bytes=2 * ZIP_BYTES)
NAME = 400
"""Letters of a photo's name that are kept; a .fmn file takes no longer ones."""
SKIPPED_TOLD = 200
"""Left-out files of a zip that are named; beyond them the reason is clear."""

Upload = tuple[list[Incoming], list[dict[str, Any]]]


@contextlib.contextmanager
def incoming(path: Path, name: str, label: str, domain: str, by_domain: bool, burst: str = "") -> Iterator[Upload]:
    """(photos, those left out) of the uploaded file at `path`; the photos can be read inside the `with` only.

    name: what the client calls the file, a path or not: text, never a path to us. label, domain: "" lets the folders say.
    burst: the camera burst an image is of.
    """
    label, domain = edits.clean(label), edits.clean(domain)
    pieces = str(name)[:1000].replace("\\", "/").split("/")
    parts = [clean(piece) for piece in pieces if piece.strip() not in ("", ".", "..")] or ["photo"]
    if is_zip(path):
        opened: dict[int, zipfile.ZipFile] = {}
        try:
            yield _zip(path, parts[-1], label, domain, by_domain, opened)
        finally:
            for archive in opened.values():
                archive.close()
    elif parts[-1].lower().endswith(".zip"):
        raise Problem("images_zip_broken", name=parts[-1])
    else:
        found = _image(path, parts, label, domain)
        yield [dataclasses.replace(one, photo=dataclasses.replace(one.photo, burst=burst)) for one in found], []


def _image(path: Path, parts: list[str], label: str, domain: str) -> list[Incoming]:
    """One image; its class is the folder it lies in where none is given."""
    label = label or (edits.clean(parts[-2]) if len(parts) > 1 else "")
    if not label:
        raise Problem("class_missing", name=parts[-1])
    domain = domain or (edits.clean(parts[-3]) if len(parts) > 2 else "")
    shown = "/".join(parts) if len(parts) > 1 else f"{label}/{parts[-1]}"
    if any(is_litter(part) for part in parts):
        return []
    return [Incoming(photo_from_bytes(path.read_bytes(), short(shown), label, domain, LIMITS), label)]


def _zip(path: Path, name: str, label: str, domain: str, by_domain: bool, opened: dict[int, zipfile.ZipFile]) -> Upload:
    """The photos of a zip: classes by folder as the command line reads them, or all in `label`."""
    stem = edits.clean(name.rsplit(".", 1)[0]) or "photos"
    styles = not label and (by_domain or looks_like_styles(path))
    try:
        found = read(path, domains=styles, limits=LIMITS)
    except Problem as problem:
        named = {k: name if k in ("path", "name") and path.name in str(v) else v for k, v in problem.values.items()}
        raise Problem(problem.code, **named) from None
    for photo in found.photos:
        if isinstance(photo.source, InZip):
            opened[id(photo.source.zip)] = photo.source.zip

    def placed(photo: Photo) -> Incoming:
        mine = label or (stem if photo.label == path.stem else edits.clean(photo.label))  # loose: the zip's name is the class
        shown = photo.name if "/" in photo.name else f"{mine}/{photo.name}"
        return Incoming(dataclasses.replace(photo, name=short(shown), domain=domain or edits.clean(photo.domain)), mine)

    left_out = [{"name": short(s.name), "code": s.code, "values": dict(s.values)} for s in found.skipped[:SKIPPED_TOLD]]
    return [placed(photo) for photo in found.photos], left_out


def short(name: str) -> str:
    """The name, or both ends of one that is too long."""
    return name if len(name) <= NAME else f"{name[: NAME // 2]}…{name[1 - NAME // 2 :]}"


def looks_like_styles(path: Path) -> bool:
    """Whether a zip holds the same class folders below several others: photo/dog, sketch/dog, …"""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [entry.filename.replace("\\", "/").split("/") for entry in archive.infolist() if not entry.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError):
        return False
    return are_styles([tuple(parts[:-1]) for parts in names if not any(is_litter(part) for part in parts)])


def are_styles(chains: Sequence[tuple[str, ...]]) -> bool:
    """As `looks_like_styles`, for the folders above each file."""
    while chains and all(chains) and len({chain[0] for chain in chains}) == 1:
        chains = [chain[1:] for chain in chains]
    above: defaultdict[str, set[str]] = defaultdict(set)
    for chain in chains:
        if len(chain) == 2:
            above[chain[1]].add(chain[0])
    return bool(above) and all(len(chain) == 2 for chain in chains) and sum(len(a) > 1 for a in above.values()) * 2 > len(above)
