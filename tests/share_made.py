"""A shared project's content, its numbers, and .fmn files with one thing changed."""

import hashlib
import io
import json
import zipfile

from forget_me_not.demo.cli.numbers import record
from forget_me_not.models.store import RunFolder

COUNTS = {"apple": 6, "brick": 6, "cloud": 6, "desk": 6}
EVIL = "<img src=x onerror=alert(1)>"


def numbers(session, rid):
    return record(RunFolder.open(session.home / "runs" / rid))


def rewritten(saved, change=lambda name, data: data, more=(), fix=True):
    """The file with every entry changed; fix: with the list of sums put right again, as one who means harm would."""
    entries = {}
    with zipfile.ZipFile(io.BytesIO(saved)) as archive:
        for name in archive.namelist():
            data = change(name, archive.read(name))
            if data is not None:
                entries[name] = data
    entries |= dict(more)
    if fix and "fmn.json" in entries:
        about = json.loads(entries["fmn.json"])
        about["files"] = {name: hashlib.sha256(data).hexdigest() for name, data in entries.items() if name != "fmn.json"}
        entries["fmn.json"] = json.dumps(about).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return out.getvalue()


def edited(saved, ending, change):
    """The file in which the JSON of every entry that ends so has been changed in place."""

    def one(name, data):
        if not name.endswith(ending):
            return data
        said = json.loads(data)
        change(said)
        return json.dumps(said).encode()

    return rewritten(saved, one)


def refused(web, session, data):
    """The code of the problem; nothing may be left behind."""
    before = {part: sorted((session.home / part).iterdir()) for part in ("projects", "runs", "incoming")}
    answer = web.post("/projects/import", content=data)
    assert {part: sorted((session.home / part).iterdir()) for part in before} == before
    assert answer.status_code in (400, 413)
    problem = answer.json()["problem"]
    assert problem["sentence"] != problem["code"]
    assert "{" not in problem["sentence"]
    return problem["code"]


def event_lines(saved, change):
    def one(name, data):
        if not name.endswith("events.jsonl"):
            return data
        lines = [json.loads(line) for line in data.splitlines()]
        return b"".join(json.dumps(line).encode() + b"\n" for line in change(lines))

    return rewritten(saved, one)
