"""A .fmn file -> a new project with its runs. Nothing in the file is believed: names, sizes, sums, pictures, numbers.

Nothing is unpacked by name: only entries of the form we write are read, each into memory within its limit, and what is kept is
written anew from the checked values. A file that lies is refused as a whole, with a sentence; files we do not know are ignored.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
import stat
import time
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forget_me_not.demo.disk import explained, room_for, write_bytes, write_json
from forget_me_not.demo.project import EXTENSIONS, PHOTO_LIMIT, Project
from forget_me_not.demo.session import Session
from forget_me_not.demo.share import checks
from forget_me_not.demo.share.fmn import FORMAT
from forget_me_not.demo.uploads import LIMITS
from forget_me_not.models.archive import clean
from forget_me_not.models.decode import HEAD, format_of
from forget_me_not.models.disk import Damaged, read_whole
from forget_me_not.models.images import photo_from_bytes
from forget_me_not.models.problem import Problem

ENTRIES = 60_000
TOTAL_BYTES = 4 * 2**30
TEXT_BYTES = 32 * 2**20
TENSOR_BYTES = 512 * 2**20
RATIO = 200
"""Uncompressed over compressed bytes of an entry beyond 1 MiB; our texts stay below 60."""
RUNS = 200
KNOWN = re.compile(r"fmn\.json|project\.json|photos/[0-9a-f]{64}\.[a-z]{3,4}"
                   r"|runs/[0-9a-f]{12}/(request\.json|run\.json|events\.jsonl|(state|answers)/\d{3,4}\.safetensors)")
BROKEN = (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError, ValueError)


class Box:
    """The entries of a .fmn file by name, checked before a byte of them is used. Problems: fmn_not, fmn_unsafe, fmn_big."""

    def __init__(self, archive: zipfile.ZipFile):
        self.archive = archive
        self.entries: dict[str, zipfile.ZipInfo] = {}
        listed = archive.infolist()
        if len(listed) > ENTRIES:
            raise Problem("fmn_big", limit=f"{ENTRIES:,}")
        for entry in listed:
            self._admit(entry)
        if sum(entry.file_size for entry in self.entries.values()) > TOTAL_BYTES:
            raise Problem("fmn_big", limit=f"{TOTAL_BYTES // 2**30} GB")
        if "fmn.json" not in self.entries or "project.json" not in self.entries:
            raise Problem("fmn_not")
        about = checks.an_object(self.json("fmn.json", summed=False))
        version = about.get("format")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise Problem("fmn_not")
        if version > FORMAT:
            raise Problem("fmn_newer")
        self.sums = checks.an_object(about.get("files"))

    def _admit(self, entry: zipfile.ZipInfo) -> None:
        name = entry.filename
        if name.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", name) or re.match(r"[A-Za-z]:", name) or "\0" in name:
            raise Problem("fmn_unsafe", name=clean(name)[:80])
        if stat.S_ISLNK(entry.external_attr >> 16) or entry.flag_bits & 0x1:
            raise Problem("fmn_unsafe", name=clean(name)[:80])
        if not KNOWN.fullmatch(name):
            return
        if name in self.entries:
            raise Problem("fmn_unsafe", name=name)
        if entry.file_size > 2**20 and entry.file_size > RATIO * max(1, entry.compress_size):
            raise Problem("fmn_unsafe", name=name)
        self.entries[name] = entry

    def read(self, name: str, most: int, summed: bool = True) -> bytes:
        """The bytes of an entry; Problem fmn_missing, fmn_damaged or fmn_big where they are not what the list of files says."""
        entry = self.entries.get(name)
        if entry is None:
            raise Problem("fmn_missing", name=name)
        if entry.file_size > most:
            raise Problem("fmn_big", limit=f"{most // 2**20} MB")
        try:
            with self.archive.open(entry) as file:
                data = file.read(most + 1)
        except BROKEN:
            raise Problem("fmn_damaged", name=name) from None
        if len(data) != entry.file_size or (summed and hashlib.sha256(data).hexdigest() != self.sums.get(name)):
            raise Problem("fmn_damaged", name=name)
        return data

    def json(self, name: str, summed: bool = True) -> Any:
        """What a text entry says."""
        try:
            return json.loads(self.read(name, TEXT_BYTES, summed), parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise Problem("fmn_damaged", name=name) from None


def open_file(session: Session, path: Path) -> Project:
    """The new project made of the .fmn file at `path`; nothing is left behind where it is refused."""
    try:
        archive = zipfile.ZipFile(path)
    except BROKEN:
        raise Problem("fmn_not") from None
    with archive:
        box = Box(archive)
        room_for(session.home, sum(entry.file_size for entry in box.entries.values()))
        pid, made = secrets.token_hex(16), []
        folder = session.home / "projects" / pid
        try:
            data = checks.project(box.json("project.json"), pid, PHOTO_LIMIT, set(EXTENSIONS.values()))
            _photos(box, data, folder)
            for key in data["runs"][:RUNS]:
                made.append(session.home / "runs" / secrets.token_hex(16))
                _run(box, key, made[-1], pid)
            data["runs"] = [run.name for run in made]
            write_json(folder / "project.json", data)
        except BaseException as error:
            for left in (folder, *made):
                shutil.rmtree(left, ignore_errors=True)
            if isinstance(error, OSError):
                raise explained(error, path) from error
            raise
    return session.project(pid)


def _photos(box: Box, data: Mapping[str, Any], folder: Path) -> None:
    """Writes every photo, each looked at as if it had been uploaded; its look and ending are told anew from its bytes."""
    looks: dict[str, tuple[str, str]] = {}
    for photo in data["photos"]:
        sha, name = photo["sha"], f"photos/{photo['sha']}.{photo['ext']}"
        if sha not in looks:
            content = box.read(name, LIMITS.file_bytes)
            if hashlib.sha256(content).hexdigest() != sha:
                raise Problem("fmn_damaged", name=name)
            seen = photo_from_bytes(content, photo["name"], "photo", limits=LIMITS)
            looks[sha] = EXTENSIONS[format_of(content[:HEAD])], f"{seen.phash:016x}"
            write_bytes(folder / "photos" / f"{sha}.{looks[sha][0]}", content, durable=False)
        photo["ext"], photo["phash"] = looks[sha]


def _run(box: Box, key: str, folder: Path, pid: str) -> None:
    """Writes one run; its request last, so that nobody sees half of one."""
    inside = f"runs/{key}"
    asked = checks.request(box.json(f"{inside}/request.json"), pid, set(EXTENSIONS.values()))
    facts = checks.facts(box.json(f"{inside}/run.json"), pid, asked)
    lines = checks.events(box.read(f"{inside}/events.jsonl", TEXT_BYTES), facts)
    folder.mkdir(parents=True)
    for part in ("state", "answers"):
        for task in range(len(facts["tasks"])):
            name = f"{part}/{task:03d}.safetensors"
            write_bytes(folder / name, box.read(f"{inside}/{name}", TENSOR_BYTES), durable=False)
            try:
                read_whole(folder / name)
            except (Damaged, OSError, ValueError, OverflowError):
                raise Problem("fmn_damaged", name=f"{inside}/{name}") from None
    write_bytes(folder / "events.jsonl", lines)
    write_json(folder / "run.json", facts)
    write_json(folder / "status.json", {"status": "finished", "problem": None, "restarted": False, "tries": 0, "t": time.time()})
    checks.readable(folder, asked)
    write_json(folder / "request.json", asked)


def _refuse_constant(name: str) -> None:
    raise ValueError(name)
