"""Files, folders and zips -> ImageSet: every photo that can be read, labelled and grouped, and a reason for every other file."""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from forget_me_not.models.archive import (
    Bytes,
    Found,
    InMemory,
    Limits,
    OnDisk,
    Skipped,
    clean,
    in_folder,
    in_zip,
    is_zip,
    natural,
    on_disk,
)
from forget_me_not.models.decode import HEAD, decode, expect_image
from forget_me_not.models.duplicates import groups_of, perceptual_hash
from forget_me_not.models.problem import Problem

__all__ = ["Double", "ImageSet", "InMemory", "Limits", "OnDisk", "Photo", "Skipped", "photo_from_bytes", "read"]

_UNREADABLE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)
UNGROUPED = -1


@dataclass(frozen=True)
class Photo:
    """One photo, decoded only when opened.

    name: path below its input. label, domain: names ("" without domains). sha: sha256 of the file, hex. phash: 64-bit look, see
    `perceptual_hash`. source: where its bytes are (OnDisk, InMemory, a zip entry). group: photos of one group never straddle
    train and test; -1 until an ImageSet gives it. burst: the camera burst it was recorded in, which is one group; "" for none.
    """

    name: str
    label: str
    domain: str
    sha: str
    phash: int
    source: Bytes = field(repr=False, compare=False)
    group: int = UNGROUPED
    limits: Limits = field(default=Limits(), repr=False, compare=False)
    burst: str = ""

    def read(self) -> bytes:
        """The bytes of the file; Problem image_gone or image_changed if they are no longer those that were hashed."""
        try:
            with self.source.open() as file:
                data = file.read(self.limits.file_bytes + 1)
        except _UNREADABLE as error:
            raise Problem("image_gone", name=self.name) from error
        if hashlib.sha256(data).hexdigest() != self.sha:
            raise Problem("image_changed", name=self.name)
        return data

    def open(self, small: bool = False) -> Image.Image:
        """The upright RGB picture. small: a JPEG may come back reduced, its short side at least decode.SMALL."""
        return decode(self.read(), self.name, self.limits.pixels, small)


@dataclass(frozen=True)
class Double:
    """One picture in several classes. exact: the very same file, left out of the photos; else a near copy, kept."""

    names: tuple[str, ...]
    classes: tuple[str, ...]
    exact: bool


@dataclass(frozen=True)
class ImageSet:
    """N photos with their groups, the classes and domains they name (natural order), and what is not among them and why."""

    photos: tuple[Photo, ...]
    classes: tuple[str, ...]
    domains: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    doubles: tuple[Double, ...] = ()

    def __len__(self) -> int:
        return len(self.photos)

    def counts(self) -> Mapping[str, int]:
        """Photos of each class, in the order of the classes."""
        count = Counter(photo.label for photo in self.photos)
        return {name: count[name] for name in self.classes}

    @classmethod
    def of(cls, photos: Iterable[Photo], skipped: Iterable[Skipped] = ()) -> ImageSet:
        """The set of `photos`, in their order, grouped anew.

        The same file in two classes has two answers, and no one but its owner knows the right one: it can neither teach nor
        test, so every copy of it is left out and reported in `doubles`. Copies within a class stay, in one group. Near copies in
        two classes may be different things that look alike: they stay, in one group, and are reported.
        """
        photos = list(photos)
        copies: defaultdict[str, list[Photo]] = defaultdict(list)
        for photo in photos:
            copies[photo.sha].append(photo)
        torn = {sha: same for sha, same in copies.items() if len({photo.label for photo in same}) > 1}
        doubles = [_double(same, exact=True) for same in torn.values()]
        kept = [photo for photo in photos if photo.sha not in torn]
        groups = groups_of([p.sha for p in kept], [p.phash for p in kept], bursts=[p.burst for p in kept])
        kept = [replace(photo, group=group) for photo, group in zip(kept, groups, strict=True)]
        members: defaultdict[int, list[Photo]] = defaultdict(list)
        for photo in kept:
            members[photo.group].append(photo)
        doubles += [_double(group, exact=False) for group in members.values() if len({p.label for p in group}) > 1]
        domains = {photo.domain for photo in kept if photo.domain}
        return cls(
            tuple(kept),
            tuple(sorted({photo.label for photo in kept}, key=natural)),
            tuple(sorted(domains, key=natural)),
            tuple(skipped),
            tuple(doubles),
        )


def _double(photos: Sequence[Photo], exact: bool) -> Double:
    classes = tuple(sorted({photo.label for photo in photos}, key=natural))
    return Double(tuple(photo.name for photo in photos), classes, exact)


def photo_from_bytes(data: bytes, name: str, label: str, domain: str = "", limits: Limits = Limits()) -> Photo:  # noqa: B008
    """One uploaded photo, checked; it keeps its bytes in memory until `dataclasses.replace(photo, source=OnDisk(path))`.

    Problems: image_bytes and those of `decode`.
    """
    name = clean(name)
    return _photo(Found(("", name), InMemory(data), len(data)), clean(label), clean(domain) if domain else "", limits)


def _photo(found: Found, label: str, domain: str, limits: Limits) -> Photo:
    """A file read once: its kind told, its bytes hashed, its picture decoded as small as that proves it whole."""
    name = found.name
    if found.refused is not None:
        raise found.refused
    try:
        with found.source.open() as file:
            head = file.read(HEAD)
            expect_image(head, name)  # before the size: a film is no photo, not too large a photo
            data = b"" if found.size > limits.file_bytes else head + file.read(limits.file_bytes + 1 - len(head))
    except _UNREADABLE as error:
        reason = getattr(error, "strerror", None)
        raise Problem("image_unreadable", name=name, reason=reason or "damaged in the zip") from error
    if not data or len(data) > limits.file_bytes:
        size = max(found.size, len(data)) / 2**20
        raise Problem("image_bytes", name=name, mib=round(size, 1), limit=limits.file_bytes // 2**20)
    look = perceptual_hash(decode(data, name, limits.pixels, small=True))
    return Photo(name, label, domain, hashlib.sha256(data).hexdigest(), look, found.source, limits=limits)


def read(
    paths: str | os.PathLike | Sequence[str | os.PathLike],
    domains: bool = False,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    progress: Callable[[int, int], None] | None = None,
    choose: Callable[[Sequence[Found]], Sequence[Found]] | None = None,
) -> ImageSet:
    """All photos of `paths`: files, folders, zips, or several of them; with domains, below DIR/domain/class.

    A photo's class is the first folder below its input (a lone wrapping folder does not count), for loose files the folder or
    zip that holds them; deeper folders only sort. Photos come in natural order of their names. progress(done, of) is called
    after each file. A bad file is named in `skipped`, nothing else is lost. choose(files) gives those of the files that are read.
    Problems: images_path_missing, images_zip_broken, images_too_many, images_too_big, images_none, images_none_usable,
    images_all_doubles, images_no_domains.
    """
    paths = [Path(paths)] if isinstance(paths, str | os.PathLike) else [Path(path) for path in paths]
    found = _find(paths, limits)
    found = found if choose is None else list(choose(found))
    whole = len(paths) == 1
    read_well: list[tuple[Found, Photo]] = []
    skipped: list[Skipped] = []
    for done, file in enumerate(found, 1):
        name = file.name if whole else "/".join(file.parts)
        try:
            read_well.append((file, replace(_photo(file, "", "", limits), name=name)))
        except Problem as problem:
            values = {key: value for key, value in problem.values.items() if key != "name"}
            skipped.append(Skipped(name, problem.code, values))
        if progress is not None:
            progress(done, len(found))
    where = ", ".join(clean(str(path)) for path in paths[:3])
    photos = _labelled(read_well, domains, where if whole else None, skipped)
    images = ImageSet.of(photos, sorted(skipped, key=lambda file: _order(file.name)))
    if images.photos:
        return images
    if photos:
        raise Problem("images_all_doubles", path=where, photos=len(photos))
    if skipped:
        first = skipped[0]
        raise Problem("images_none_usable", **{**first.values, "path": where, "skipped": len(skipped), "first": first.name,
                                               "why": first.code})  # fmt: skip
    raise Problem("images_none", path=where)


def _labelled(files: Sequence[tuple[Found, Photo]], domains: bool, where: str | None, skipped: list[Skipped]) -> list[Photo]:
    """The photos with class and domain, in natural order of their names; those that lie in no class are added to `skipped`.

    where: the path of a single input, which must hold its domains itself; several inputs may be the domains.
    """
    inputs: defaultdict[int, list[tuple[Found, Photo]]] = defaultdict(list)
    for file, photo in files:
        inputs[file.root].append((file, photo))
    labelled = []
    for inside in inputs.values():
        places = _places([file.parts[:-1] for file, _ in inside], 1 + domains)
        if domains and where is not None and all(place is None or place.is_input for place in places):
            raise Problem("images_no_domains", path=where)
        for (_, photo), place in zip(inside, places, strict=True):
            if place is None:
                skipped.append(Skipped(photo.name, "image_no_domain" if domains else "image_no_class"))
            else:
                labelled.append(replace(photo, label=place.label, domain=place.domain))
    return sorted(labelled, key=lambda photo: _order(photo.name))


def _order(name: str) -> list[tuple]:
    return [natural(part) for part in name.split("/")]


def _find(paths: Sequence[Path], limits: Limits) -> list[Found]:
    """The files that may be photos, within the limits on their number and size."""
    found: list[Found] = []
    total = 0
    for file in _walk(paths, limits):
        found.append(file)
        total += file.size if file.size <= limits.file_bytes else 0
        if len(found) > limits.files:
            raise Problem("images_too_many", limit=limits.files)
        if total > limits.total_bytes:
            raise Problem("images_too_big", limit=round(limits.total_bytes / 2**30, 1))
    return found


def _walk(paths: Sequence[Path], limits: Limits) -> Iterator[Found]:
    """Files of each input; loose files of one folder count as one input named by it."""
    roots: dict[Path, int] = {}
    for path in dict.fromkeys(paths):
        if not path.exists():
            raise Problem("images_path_missing", path=clean(str(path)))
        if path.is_dir():
            yield from in_folder(path, roots.setdefault(path, len(roots)))
        elif is_zip(path):
            yield from in_zip(path, roots.setdefault(path, len(roots)), limits)
        else:
            folder = path.resolve().parent
            parts = (clean(folder.parent.name), clean(folder.name), clean(path.name))
            yield on_disk(path, parts, roots.setdefault(folder, len(roots)))


class _Place(NamedTuple):
    """Class and domain of a photo; is_input: the outermost of them is named by the input itself."""

    label: str
    domain: str
    is_input: bool


def _places(chains: Sequence[tuple[str, ...]], levels: int) -> list[_Place | None]:
    """Where photos below `chains` of folders belong, None for those too high up.

    levels: 1 class, 2 domain and class. The input's own name, and then a folder that wraps all the rest, are taken off while
    photos (of a wrapping folder: most of them) still lie deep enough without it.
    """
    off = 0
    while True:
        deep = [chain for chain in chains if len(chain) - off > levels]
        wraps = len({chain[off] for chain in chains if len(chain) > off}) == 1
        if not wraps or not deep or (off and 2 * len(deep) < len(chains)):
            break
        off += 1
    return [
        _Place(chain[off + levels - 1], chain[off] if levels == 2 else "", off == 0) if len(chain) >= off + levels else None
        for chain in chains
    ]
