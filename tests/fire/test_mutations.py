"""Hypothesis on what people bring: .fmn files and pictures changed at random are read, or refused with a sentence."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from PIL import Image

from forget_me_not.demo.client import Client
from forget_me_not.demo.session import Session
from forget_me_not.demo.share import fmn, fmn_in
from forget_me_not.demo.share.results import Shelf
from forget_me_not.demo.soak.photos import photo, zipped
from forget_me_not.demo.words import words
from forget_me_not.models import events
from forget_me_not.models.decode import decode
from forget_me_not.models.images import photo_from_bytes
from forget_me_not.models.problem import Problem

QUICK = settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


# Projects


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    home = tmp_path_factory.mktemp("mutations") / "data"
    home.mkdir()
    return Session(home, Client(home))


@pytest.fixture(scope="module")
def saved(session, tmp_path_factory):
    """The entries of a good .fmn file: a project with photos and a finished run of one task."""
    project = session.new_project()
    path = session.home.parent / "photos.zip"
    path.write_bytes(zipped(each=2))
    session.upload(project, path, "photos.zip", "", "")
    _run(session, project)
    target = session.home.parent / "good.fmn"
    fmn.export(project, Shelf(session), target, "test")
    with zipfile.ZipFile(target) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    assert sum(name.startswith("runs/") for name in found) == 5
    return found


def _run(session, project):
    """A finished run as it lies on disk, small and without a worker."""
    import torch

    from forget_me_not.demo.disk import write_json
    from forget_me_not.demo.project import request
    from forget_me_not.models.store import RunFolder

    rid = "5" * 32
    asked = request(project, "simplecil", {}, 0, "0" * 16, 1.0)
    asked["tasks"] = [{"name": "Task 1", "classes": [c["key"] for c in asked["classes"]]}]
    folder = session.home / "runs" / rid
    write_json(folder / "request.json", asked)
    write_json(folder / "status.json", {"status": "finished"})
    classes = [c["name"] for c in asked["classes"]]
    shas = [p["sha"] for p in asked["photos"]]
    task = {"name": "Task 1", "classes": list(range(len(classes))), "train": [0, 1], "test": [2, 3]}
    store = RunFolder.create(folder, {"method": "simplecil", "settings": {}, "seed": 0, "kind": "class", "classes": classes,
                                      "tasks": [task], "photos": shas, "fingerprint": "f", "versions": {}, "backbone": "random",
                                      "size": 32, "project": project.id})  # fmt: skip
    known = tuple(classes)
    store.append(events.RunStarted("simplecil", 0, known, ("Task 1",), (tuple(range(len(known))),), (2,), (2,)))
    store.append(events.TaskStarted(0, "Task 1", 2))
    answers = {"photo": torch.tensor([2, 3]), "label": torch.tensor([0, 1]), "task": torch.tensor([0, 0]),
               "class": torch.tensor([0, 0]), "confidence": torch.ones(2)}  # fmt: skip
    store.save(0, {"rows": torch.ones(2, 4)}, answers)
    store.append(events.Evaluated(0, (1,), (2,)))
    store.append(events.TaskFinished(0, {"train": 1.0}, 8, 32))
    from forget_me_not.models.metrics import summary

    found = summary(store.told())
    store.append(events.Finished(found | {"matrix": tuple(map(tuple, found["matrix"]))}))
    project.remember_runs([rid], {})


def brought(session, data):
    """What became of a file: "in", or the code of its Problem. Nothing else may happen, and nothing may be left behind."""
    path = session.home / "incoming" / "x"
    path.write_bytes(data)
    before = {part: set((session.home / part).iterdir()) for part in ("projects", "runs")}
    outside = set(session.home.parent.iterdir())
    try:
        project = fmn_in.open_file(session, path)
    except Problem as problem:
        code = problem.code
    else:
        code = "in"
        project.view()  # what came in can be shown
    assert set(session.home.parent.iterdir()) == outside
    path.unlink()
    if code != "in":
        assert f"problem.{code}" in words("en"), code
        assert {part: set((session.home / part).iterdir()) for part in before} == before
        return code
    new = [p for part in before for p in set((session.home / part).iterdir()) - before[part]]
    assert all(p.is_relative_to(session.home) for top in new for p in top.rglob("*"))
    return "in"


def packed(entries, sums=True):
    """A .fmn of these entries; sums: with the list of files put right, as somebody who means harm would."""
    import hashlib

    if sums:
        files = {name: hashlib.sha256(data).hexdigest() for name, data in entries.items() if name != "fmn.json"}
        entries = entries | {"fmn.json": json.dumps({"format": 1, "made_by": "x", "files": files}).encode()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return out.getvalue()


def test_the_good_file_comes_in(session, saved):
    assert brought(session, packed(saved)) == "in"


patches = st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=8)), min_size=1, max_size=6)


def patched(data, changes, cut=1.0):
    data = bytearray(data)
    for where, new in changes:
        at = int(where * max(0, len(data) - len(new)))
        data[at : at + len(new)] = new
    return bytes(data[: max(1, int(cut * len(data)))])


@QUICK
@given(changes=patches, cut=st.sampled_from([1.0, 1.0, 0.99, 0.5, 0.1]))
def test_bytes_of_a_project_changed_anywhere(session, saved, changes, cut):
    brought(session, patched(packed(saved), changes, cut))


@QUICK
@given(data=st.data())
def test_bytes_of_an_entry_changed_though_the_sums_agree(session, saved, data):
    name = data.draw(st.sampled_from(sorted(saved)))
    brought(session, packed(saved | {name: patched(saved[name], data.draw(patches))}))


odd = st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=20), st.just([]),
                st.just({}), st.just([[[[[]]]]]), st.just("../../x"), st.just("\ud800"),
                st.lists(st.integers(), max_size=3))  # fmt: skip


def places(value, path=()):
    """Every place inside a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield (*path, key)
        yield from places(one, (*path, key))


@QUICK
@given(data=st.data())
def test_json_changed_anywhere_though_the_sums_agree(session, saved, data):
    name = data.draw(st.sampled_from([n for n in sorted(saved) if n.endswith((".json", ".jsonl"))]))
    lines = saved[name].split(b"\n") if name.endswith("l") else [saved[name]]
    at = data.draw(st.integers(0, max(0, len(lines) - 2)))
    said = json.loads(lines[at])
    *way, last = data.draw(st.sampled_from(list(places(said))))
    inner = said
    for key in way:
        inner = inner[key]
    if data.draw(st.booleans()):
        inner[last] = data.draw(odd)
    elif isinstance(inner, dict):
        del inner[last]
    else:
        inner.append(inner[last])
    lines[at] = json.dumps(said).encode()
    brought(session, packed(saved | {name: b"\n".join(lines)}, sums=name != "fmn.json"))


@pytest.mark.parametrize(("ending", "way"), [
    ("run.json", ("backbone",)), ("run.json", ("fingerprint",)), ("request.json", ("classes", 0, "key")),
    ("project.json", ("name",)), ("project.json", ("photos", 0, "name")), ("request.json", ("tasks", 0, "name")),
    ("run.json", ("classes", 0)),
])  # fmt: skip
def test_half_a_character_is_refused(session, saved, ending, way):
    name = next(n for n in saved if n.endswith(ending))
    said = json.loads(saved[name])
    inner = said
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = "cat\ud800"
    assert brought(session, packed(saved | {name: json.dumps(said).encode()})) in ("fmn_wrong", "choice_bad")


# Pictures


def pictures():
    plain = [(kind, {}) for kind in ("PNG", "JPEG", "GIF", "WebP", "BMP", "TIFF")]
    for kind, more in (*plain, ("JPEG", {"progressive": True}), ("TIFF", {"compression": "tiff_lzw"})):
        out = io.BytesIO()
        Image.open(io.BytesIO(photo(1, 1))).save(out, kind, **more)
        yield out.getvalue()


def code_of(read):
    """The code of the Problem, "image_read" where there is none; anything else is not caught."""
    try:
        read()
    except Problem as problem:
        return problem.code
    return "image_read"


@settings(QUICK, max_examples=400)
@given(data=st.sampled_from(list(pictures())), head=patches, anywhere=patches, cut=st.sampled_from([1.0, 1.0, 0.9, 0.3]))
def test_headers_of_real_pictures_changed(data, head, anywhere, cut):
    """Most changes fall on the first 200 bytes, where sizes, tables and offsets are."""
    changed = patched(data[:200], head) + data[200:]
    changed = patched(changed, anywhere[:1], cut)
    for read in (lambda: decode(changed, "x.png"), lambda: photo_from_bytes(changed, "x.png", "cat")):
        assert code_of(read).startswith("image_")


@pytest.mark.photos
@settings(QUICK, max_examples=60)
@given(changes=patches, cut=st.sampled_from([1.0, 0.7]), which=st.integers(0, 9))
def test_photographs_changed(real_photos, changes, cut, which):
    file = sorted(Path(real_photos).glob("caltech24/*/*"))[which]
    data = patched(patched(file.read_bytes()[:600], changes) + file.read_bytes()[600:], [], cut)
    assert code_of(lambda: decode(data, file.name)).startswith("image_")
