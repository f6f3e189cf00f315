"""A folder of the lab's own computer, opened by its path: class folders, or class folders below styles; read in the background.

The photos go the way of every upload: checked, hashed, stored in the project. Of a folder with more of them than a project
holds, every class gets the same number, spread evenly over its files.
"""

from __future__ import annotations

import dataclasses
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from forget_me_not.demo import edits
from forget_me_not.demo.disk import explained
from forget_me_not.demo.project import PHOTO_LIMIT, Incoming, Project
from forget_me_not.demo.uploads import IMAGE_BYTES, SKIPPED_TOLD, are_styles
from forget_me_not.models.archive import Found, Limits, clean, in_folder, natural
from forget_me_not.models.images import ImageSet, Photo, read
from forget_me_not.models.problem import Problem

FILES = 150_000
"""Files looked at below a folder; CIFAR-100 has 60,000."""
LIMITS = Limits(files=FILES, file_bytes=IMAGE_BYTES, total_bytes=2**44)
ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".heic", ".heif")
SPLITS = {"train", "val", "test", "valid", "validation", "training", "testing"}
"""Folders above the class folders that say nothing of style: the lab draws its own split."""
AT_A_TIME = 40
"""Photos stored in one change of the project."""
LONGEST = 4096


class StoppedError(Exception):
    """The person has stopped the reading."""


def chosen(text: Any, own: Path) -> Path:
    """The folder a person named; Problems folder_path, folder_missing, folder_denied, folder_own. own: the lab's data folder."""
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST or "\0" in text:
        raise Problem("folder_path")
    try:
        path = Path(text.strip().strip("\"'")).expanduser()
        if not path.is_absolute() or path == Path(path.anchor):
            raise Problem("folder_path")
        if not path.is_dir():
            raise Problem("folder_missing", path=clean(str(path)))
        next(path.iterdir(), None)
        if path.resolve().is_relative_to(own.resolve()):
            raise Problem("folder_own")
    except (OSError, RuntimeError, ValueError) as error:
        raise Problem("folder_denied", path=clean(text), reason=getattr(error, "strerror", None) or "no such path") from None
    return path


def evenly(files: Sequence[Found], room: int) -> list[Found]:
    """At most `room` of the files: all of them, or of each folder the same number, evenly spaced in natural order."""
    if len(files) <= room:
        return list(files)
    folders: defaultdict[tuple[str, ...], list[Found]] = defaultdict(list)
    for file in files:
        if file.parts[-1].lower().endswith(ENDINGS):
            folders[file.parts[:-1]].append(file)
    sizes = [len(inside) for inside in folders.values()]
    each = max((k for k in range(1, room + 1) if sum(min(k, n) for n in sizes) <= room), default=1) if sizes else 0
    taken = []
    for inside in folders.values():
        inside.sort(key=lambda file: [natural(part) for part in file.parts])
        count = min(each, len(inside))
        taken += [inside[i * len(inside) // count] for i in range(count)]
    return taken[:room]


class Opening:
    """One folder on its way into a project. state: "listing", "reading", "storing", "done", "stopped" or "failed"."""

    def __init__(self, project: Project, path: Path):
        self.project, self.path = project, path
        self.state, self.done, self.total, self.found, self.added = "listing", 0, 0, 0, 0
        self.skipped: list[Mapping[str, Any]] = []
        self.problem: Problem | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="open-folder", daemon=True)

    def start(self) -> None:
        """Begins; returns at once."""
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether it is still at it."""
        return self.state in ("listing", "reading", "storing")

    def stop(self) -> None:
        """Ends it soon; what is stored already stays."""
        self._stop.set()

    def view(self) -> dict[str, Any]:
        """What the page shows of it. found: files that may be photos; total: of them, those taken."""
        problem = self.problem and {"code": self.problem.code, "values": {k: str(v) for k, v in self.problem.values.items()}}
        return {"state": self.state, "name": clean(self.path.name), "done": self.done, "total": self.total, "found": self.found,
                "added": self.added, "skipped": self.skipped[:SKIPPED_TOLD], "problem": problem}  # fmt: skip

    def _run(self) -> None:
        try:
            self._store(self._read())
            self.state = "done"
        except StoppedError:
            self.state = "stopped"
        except Problem as problem:
            self.problem, self.state = problem, "failed"
        except OSError as error:
            full = explained(error, self.path)
            reason = {"path": clean(str(self.path)), "reason": error.strerror or "?"}
            self.problem, self.state = full if isinstance(full, Problem) else Problem("folder_denied", **reason), "failed"

    def _read(self) -> ImageSet:
        listed = list(islice(in_folder(self.path, 0), FILES + 1))
        if len(listed) > FILES:
            raise Problem("images_too_many", limit=FILES)
        self.found = sum(file.parts[-1].lower().endswith(ENDINGS) for file in listed)
        chains = [file.parts[1:-1] for file in listed if file.parts[-1].lower().endswith(ENDINGS)]
        styles = bool(chains) and are_styles(chains)
        room = PHOTO_LIMIT - len(self.project.data["photos"])
        if room < 1:
            raise Problem("photos_full", limit=PHOTO_LIMIT)
        self.state = "reading"
        images = read(self.path, domains=styles, limits=LIMITS, progress=self._counted, choose=lambda files: evenly(files, room))
        self.skipped = [{"name": s.name, "code": s.code, "values": dict(s.values)} for s in images.skipped]
        return images

    def _counted(self, done: int, total: int) -> None:
        if self._stop.is_set():
            raise StoppedError
        self.done, self.total = done, total

    def _store(self, images: ImageSet) -> None:
        split = {photo.domain.lower() for photo in images.photos} <= SPLITS | {""}
        self.state, self.done, self.total = "storing", 0, len(images)
        for part in _parts(images.photos):
            if self._stop.is_set():
                raise StoppedError
            added, refused = self.project.add([_placed(photo, "" if split else photo.domain) for photo in part])
            self.added += added
            self.done += len(part)
            self.skipped += refused


def _placed(photo: Photo, domain: str) -> Incoming:
    label = edits.clean(photo.label)
    shown = photo.name if "/" in photo.name else f"{label}/{photo.name}"
    return Incoming(dataclasses.replace(photo, name=shown, domain=edits.clean(domain)), label)


def _parts(photos: Sequence[Photo]) -> Iterator[Sequence[Photo]]:
    return (photos[at : at + AT_A_TIME] for at in range(0, len(photos), AT_A_TIME))


class Openings:
    """The folders that are being opened, one a project at a time; the last of each is remembered. own: the lab's data folder."""

    def __init__(self, own: Path):
        self.own = own
        self._lock = threading.Lock()
        self._of: dict[str, Opening] = {}

    def open(self, project: Project, text: Any) -> Opening:
        """Begins with the folder named; Problem("folder_busy") while another one is on its way into this project."""
        path = chosen(text, self.own)
        with self._lock:
            if project.id in self._of and self._of[project.id].busy:
                raise Problem("folder_busy")
            self._of[project.id] = Opening(project, path)
            self._of[project.id].start()
            return self._of[project.id]

    def of(self, project: Project) -> Opening | None:
        """The last one of this project."""
        return self._of.get(project.id)
