"""A project in one .fmn file: a zip of its photos, classes, tasks, choices and finished runs, without any id that gives access.

    fmn.json                       {"format", "made_by", "files": {name: sha256 of its bytes}}
    project.json                   name, classes, tasks, photos, choices (see project.py)
    photos/<sha>.<ext>             the files as they were given
    runs/<key>/request.json run.json events.jsonl, state/NNN.safetensors, answers/NNN.safetensors

The same project gives the same bytes. Reading one back is in fmn_in.py.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from forget_me_not.demo.project import Project
from forget_me_not.demo.share.results import Shelf
from forget_me_not.models.problem import Problem

FORMAT = 1
TEXTS = ("request.json", "run.json", "events.jsonl")
EPOCH = (1980, 1, 1, 0, 0, 0)
OWN = ("id", "runs", "undo", "version")
"""What a project keeps to itself: ids that give access, and what only its own page needs."""


def key_of(rid: str) -> str:
    """What a run is called in a file: the same every time, and no way back to its id."""
    return hashlib.sha256(f"run {rid}".encode()).hexdigest()[:12]


def export(project: Project, shelf: Shelf, target: Path, made_by: str) -> None:
    """Nothing comes back; `target` holds the project. Problem image_gone where a photo's file is not there any more."""
    sums: dict[str, str] = {}
    with zipfile.ZipFile(target, "w", allowZip64=True) as archive:
        for name, data in contents(project, shelf):
            sums[name] = hashlib.sha256(data).hexdigest()
            _put(archive, name, data)
        _put(archive, "fmn.json", text({"format": FORMAT, "made_by": made_by, "files": sums}))


def contents(project: Project, shelf: Shelf) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of everything but the list of files, in order."""
    with project.lock:
        data = json.loads(json.dumps(project.data))
        runs = [result.id for result in shelf.of(data["runs"])]
    yield "project.json", text({k: v for k, v in data.items() if k not in OWN} | {"runs": [key_of(rid) for rid in runs]})
    photos = {(p["sha"], p["ext"]): p["name"] for p in data["photos"]}
    for sha, ext in sorted(photos):
        yield f"photos/{sha}.{ext}", photo_bytes(project, sha, ext, photos[sha, ext])
    for rid in runs:
        yield from run_contents(shelf.session.home / "runs" / rid, f"runs/{key_of(rid)}")


def photo_bytes(project: Project, sha: str, ext: str, name: str) -> bytes:
    """The file of a photo, whole; Problem("image_gone"), Problem("image_changed")."""
    try:
        data = project.path(sha, ext).read_bytes()
    except OSError:
        raise Problem("image_gone", name=name) from None
    if hashlib.sha256(data).hexdigest() != sha:
        raise Problem("image_changed", name=name)
    return data


def run_contents(folder: Path, inside: str) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of a finished run, without the ids of run, project and training."""
    try:
        for name in TEXTS[:2]:
            facts = json.loads((folder / name).read_bytes())
            yield f"{inside}/{name}", text({k: v for k, v in facts.items() if k not in ("project", "training")})
        yield f"{inside}/events.jsonl", (folder / "events.jsonl").read_bytes()
        for part in ("answers", "state"):
            for file in sorted((folder / part).glob("[0-9]*.safetensors")):
                yield f"{inside}/{part}/{file.name}", file.read_bytes()
    except (OSError, ValueError) as error:
        raise Problem("share_run_gone") from error


def size_of(project: Project, shelf: Shelf) -> dict[str, int]:
    """What an export would hold: bytes (before compression), photos, runs."""
    photos = {project.path(p["sha"], p["ext"]) for p in project.data["photos"]}
    runs = shelf.of(project.data["runs"])
    files = [*photos, *(f for r in runs for f in (shelf.session.home / "runs" / r.id).glob("*/[0-9]*.safetensors"))]
    total = 0
    for file in files:
        try:
            total += file.stat().st_size
        except OSError:
            continue
    return {"bytes": total, "photos": len(photos), "runs": len(runs)}


def text(data: Mapping[str, Any]) -> bytes:
    """Readable JSON, the same bytes for the same data."""
    return json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True).encode("utf-8", "replace") + b"\n"


def _put(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """An entry whose bytes depend on nothing but its content."""
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED if name.endswith((".json", ".jsonl")) else zipfile.ZIP_STORED
    entry.external_attr, entry.create_system = 0o644 << 16, 3
    archive.writestr(entry, data)
