"""One person's images, classes and tasks on disk: every change is saved at once, whole, under a new version number."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import threading
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from PIL import Image

from forget_me_not.demo import edits
from forget_me_not.demo.disk import read_json, room_for, write_bytes, write_json
from forget_me_not.demo.ready import notes, reasons
from forget_me_not.models.archive import natural
from forget_me_not.models.decode import HEAD, decode, format_of
from forget_me_not.models.images import ImageSet, OnDisk, Photo
from forget_me_not.models.problem import Problem

PHOTO_LIMIT = 2000
SHOWN = 60
"""Photos of a class the page gets; the rest are a number."""
THUMB, FULL = 128, 1024
"""Pixels on the long side of what we serve; the files people gave us are never served."""
EXTENSIONS = {"JPEG": "jpg", "PNG": "png", "WebP": "webp", "BMP": "bmp", "GIF": "gif", "TIFF": "tif", "HEIC": "heic"}


@dataclass(frozen=True)
class Incoming:
    """A checked photo on its way in: its bytes, and where it belongs."""

    photo: Photo
    label: str


class Project:
    """The project in `folder`. Use `lock` around anything that reads and then changes; every method here takes it itself."""

    def __init__(self, folder: Path):
        self.folder, self.lock = folder, threading.RLock()
        self._data: edits.Data | None = None
        self._stamp: tuple[int, int] | None = None
        self._images: tuple[Any, ImageSet] | None = None
        self._arriving: Counter[str] = Counter()

    @classmethod
    def create(cls, root: Path) -> Project:
        """A new empty project below `root`."""
        pid = secrets.token_hex(16)
        project = cls(root / pid)
        project.folder.mkdir(parents=True)
        write_json(project.folder / "project.json", edits.blank(pid))
        return project

    @property
    def id(self) -> str:
        """128 random bits in hex."""
        return self.folder.name

    @property
    def data(self) -> edits.Data:
        """What project.json holds; read again when someone else has written it."""
        with self.lock:
            try:
                status = (self.folder / "project.json").stat()
            except OSError:
                raise Problem("project_unknown") from None
            stamp = (status.st_mtime_ns, status.st_size)
            if self._data is None or stamp != self._stamp:
                data = read_json(self.folder / "project.json")
                if not isinstance(data, dict):
                    raise Problem("project_unknown")
                self._data, self._stamp, self._images = data, stamp, None
            return self._data

    def edit(self, edit: Mapping[str, Any]) -> None:
        """Does one edit and saves; Problem where it cannot be done, and nothing has changed then."""
        with self._changing() as data:
            edits.apply(data, edit)
        self.sweep()

    def add(self, incoming: Iterable[Incoming]) -> tuple[int, list[dict[str, Any]]]:
        """(photos added, those left out as {"name", "code", "values"}). Problem("photos_full") beyond 2,000."""
        incoming = list(incoming)
        with self.lock:
            self._arriving.update(item.photo.sha for item in incoming)
        try:
            endings = [self._keep(item.photo) for item in incoming[:PHOTO_LIMIT]]  # before the lock: a zip takes seconds
            return self._place(incoming, endings)
        finally:
            with self.lock:
                self._arriving -= Counter(item.photo.sha for item in incoming)

    def _place(self, incoming: Sequence[Incoming], endings: Sequence[str]) -> tuple[int, list[dict[str, Any]]]:
        """As `add`, for photos whose files are there."""
        added, skipped = 0, []
        with self._changing() as data:
            there = {(p["sha"], p["class"], p["name"]) for p in data["photos"]}
            for item, ext in zip_longest(incoming, endings):
                photo = item.photo
                if len(data["photos"]) >= PHOTO_LIMIT:
                    if not added:
                        raise Problem("photos_full", limit=PHOTO_LIMIT)
                    skipped.append({"name": photo.name, "code": "photos_full", "values": {"limit": PHOTO_LIMIT}})
                    continue
                label = edits.imported_class(data, item.label)
                if (photo.sha, label["id"], photo.name) in there:
                    skipped.append({"name": photo.name, "code": "photo_there", "values": {"class": label["name"]}})
                    continue
                data["photos"].append({"sha": photo.sha, "ext": ext, "name": photo.name, "class": label["id"],
                                       "domain": photo.domain, "phash": f"{photo.phash:016x}"})  # fmt: skip
                if photo.burst:
                    data["photos"][-1]["burst"] = photo.burst
                there.add((photo.sha, label["id"], photo.name))
                added += 1
        return added, skipped

    def remember_runs(self, runs: Sequence[str], chosen: Mapping[str, Any]) -> None:
        """Notes new runs and what was chosen for them."""
        with self._changing() as data:
            data["runs"] = [*data["runs"], *runs][-200:]
            data["chosen"] = {**data["chosen"], **chosen}

    def forget_runs(self, runs: Sequence[str]) -> None:
        """Takes back runs that could not be started."""
        with self._changing() as data:
            data["runs"] = [rid for rid in data["runs"] if rid not in runs]

    def images(self) -> ImageSet:
        """The photos of all classes in natural order, as `images.read` of the same files gives them; labels are class keys."""
        with self.lock:
            data = self.data
            known = [[c["id"], c["key"]] for c in data["classes"]], [(p["sha"], p["class"], p["name"]) for p in data["photos"]]
            if self._images is None or self._images[0] != known:  # moving a class leaves the photos as they are
                self._images = known, self.images_of({c["id"] for c in data["classes"]})
            return self._images[1]

    def images_of(self, classes: Container[int]) -> ImageSet:
        """As `images`, of the classes with these ids alone."""
        with self.lock:
            keys = {c["id"]: c["key"] for c in self.data["classes"]}
            return ImageSet.of(Photo(p["name"], keys[p["class"]], p["domain"], p["sha"], int(p["phash"], 16),
                                     OnDisk(self.path(p["sha"], p["ext"])), burst=p.get("burst", ""))
                               for p in ordered(self.data["photos"]) if p["class"] in classes)  # fmt: skip

    def path(self, sha: str, ext: str) -> Path:
        """Where the bytes of a photo lie; sha and ext are ours, never a client's."""
        return self.folder / "photos" / f"{sha}.{ext}"

    def rendition(self, sha: str, size: str) -> Path:
        """A WebP we made of the photo: "thumb" of 128 pixels or "full" of up to 1024; Problem("photo_unknown")."""
        side = {"thumb": THUMB, "full": FULL}.get(size, THUMB)
        known = next((p for p in self.data["photos"] + list(self._undone()) if p["sha"] == sha), None)
        if known is None:
            raise Problem("photo_unknown")
        made = self.folder / ("thumbs" if side == THUMB else "full") / f"{sha}.webp"
        if not made.is_file():
            try:
                data = self.path(sha, known["ext"]).read_bytes()
            except OSError:
                raise Problem("photo_unknown") from None
            write_bytes(made, rendered(decode(data, known["name"]), side), durable=False)
        return made

    def sweep(self) -> int:
        """Files removed: those of photos that have left the project and its undo stack, and that no unfinished run needs."""
        with self.lock:
            wanted = {p["sha"] for p in self.data["photos"]} | {p["sha"] for p in self._undone()} | self._pinned()
            wanted |= {sha for sha, times in self._arriving.items() if times > 0}
            gone = [path for part in ("photos", "thumbs", "full") for path in (self.folder / part).glob("[0-9a-f]*.*")
                    if path.stem not in wanted]  # fmt: skip
            for path in gone:
                path.unlink(missing_ok=True)
            return len(gone)

    def pin(self, runs: Iterable[str]) -> None:
        """Keeps the photos of runs that are not the project's own until they end; their requests follow under the same lock."""
        (self.folder / "pins").mkdir(exist_ok=True)
        for rid in runs:
            (self.folder / "pins" / rid).touch()

    def _pinned(self) -> set[str]:
        """Photos of runs that are still going on."""
        pinned: set[str] = set()
        pins = list(self.folder.glob("pins/*"))
        for rid in [*self.data["runs"], *(pin.name for pin in pins)]:
            if self._goes_on(rid):
                pinned |= {p["sha"] for p in read_json(self._run(rid) / "request.json", {}).get("photos", ())}
        for pin in pins:
            if not self._goes_on(pin.name):
                pin.unlink(missing_ok=True)
        return pinned

    def _goes_on(self, rid: str) -> bool:
        status = read_json(self._run(rid) / "status.json", {}).get("status", "queued")
        return status in ("queued", "running", "paused") and (self._run(rid) / "request.json").is_file()

    def _run(self, rid: str) -> Path:
        return self.folder.parent.parent / "runs" / rid

    def _undone(self) -> Iterable[Mapping[str, Any]]:
        return (photo for step in self.data["undo"] for photo in step["kept"].get("photos", ()))

    def _keep(self, photo: Photo) -> str:
        """The ending of the stored file, written if it is not there yet."""
        data = photo.read()
        ext = EXTENSIONS[format_of(data[:HEAD])]
        path = self.path(photo.sha, ext)
        if not path.is_file():
            room_for(self.folder, len(data))
            write_bytes(path, data, durable=False)  # its sha is checked at every reading
        return ext

    @contextlib.contextmanager
    def _changing(self):
        """The data to change; saved under the next version, or read again from disk where anything failed."""
        with self.lock:
            data = self.data
            try:
                yield data
                data["version"] += 1
                write_json(self.folder / "project.json", data)
                status = os.stat(self.folder / "project.json")
                self._stamp = (status.st_mtime_ns, status.st_size)
            except BaseException:
                self._data = None
                raise

    def view(self) -> dict[str, Any]:
        """The project as the page shows it."""
        with self.lock:
            return shown(self.data, self.images())


def ordered(photos: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Photos in natural order of their names, the order in which a folder or zip of them is read."""
    return sorted(photos, key=lambda p: ([natural(part) for part in p["name"].split("/")], p["sha"], p["class"]))


def rendered(image: Image.Image, side: int) -> bytes:
    """WebP bytes of an upright RGB picture, at most `side` pixels long, nothing of the original file in it."""
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.save(out, "WEBP", quality=82, method=2)
    return out.getvalue()


def tasks_of(data: edits.Data) -> list[dict[str, Any]]:
    """The tasks as learnt: {"name", "classes": ids} and, for domains, "domain": one a style with the classes that are in it."""
    if data["kind"] != "domain":
        return [{"name": task["name"], "classes": list(task["classes"])} for task in data["tasks"]]
    inside = {c for task in data["tasks"] for c in task["classes"]}
    there = {(p["domain"], p["class"]) for p in data["photos"]}
    order = [c["id"] for c in data["classes"] if c["id"] in inside]
    return [{"name": d, "domain": d, "classes": [c for c in order if (d, c) in there]} for d in edits.domains(data)]


def shown(data: edits.Data, images: ImageSet) -> dict[str, Any]:
    """PROJECT: what GET projects/<id> answers."""
    photos: defaultdict[int, list[str]] = defaultdict(list)
    for photo in data["photos"]:
        photos[photo["class"]].append(photo["sha"])
    groups: defaultdict[str, set[int]] = defaultdict(set)
    members = Counter(p.group for p in images.photos if not p.burst)
    for photo in images.photos:
        groups[photo.label].add(photo.group)
    classes = [{"id": c["id"], "name": c["name"], "count": len(photos[c["id"]]), "photos": photos[c["id"]][:SHOWN],
                "groups": len(groups[c["key"]]), "task": edits.task_of(data, c["id"]),
                "notes": notes(data, images, c)} for c in data["classes"]]  # fmt: skip
    undo = data["undo"][-1] if data["undo"] else None
    found = reasons(data, images)
    return {
        "id": data["id"], "name": data["name"], "version": data["version"], "kind": data["kind"], "preset": data["preset"],
        "classes": classes, "tasks": tasks_of(data), "domains": edits.domains(data), "chosen": dict(data["chosen"]),
        "runs": list(data["runs"]), "undo": undo and {"code": undo["code"], "values": undo["values"]},
        "ready": {"ok": not found, "reasons": found},
        "counts": {"photos": len(data["photos"]), "classes": len(classes), "doubles": sum(d.exact for d in images.doubles),
                   "near": sum(n for n in members.values() if n > 1)},
    }  # fmt: skip


def request(project: Project, method: str, settings: Mapping[str, Any], seed: int, training: str,
            created: float) -> dict[str, Any]:  # fmt: skip
    """What a run is asked for with, frozen at this moment (see jobs.Request)."""
    with project.lock:
        data = project.data
        keys = {c["id"]: c["key"] for c in data["classes"]}
        tasks = [t for t in tasks_of(data) if t["classes"]]
        photos = [p for p in ordered(data["photos"])]
        if data["kind"] == "domain":
            inside = {c for t in tasks for c in t["classes"]}
            photos = [p for p in photos if p["class"] in inside and p["domain"]]
        return {
            "format": 1, "project": data["id"], "training": training, "created": created, "method": method,
            "settings": dict(settings), "seed": seed, "kind": data["kind"],
            "classes": [{"key": c["key"], "name": c["name"]} for c in data["classes"]],
            "tasks": [{**{k: v for k, v in t.items() if k == "domain"}, "name": t["name"] or f"Task {n}",
                       "classes": [keys[c] for c in t["classes"]]} for n, t in enumerate(tasks, 1)],
            "photos": [{**p, "class": keys[p["class"]]} for p in photos],
        }  # fmt: skip
