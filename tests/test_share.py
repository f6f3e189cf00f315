"""Taking a project away and bringing it back: the same numbers under new ids, nothing secret, and nothing that gets out."""

import io
import json
import os
import re
import subprocess
import sys
import time
import zipfile
from html.parser import HTMLParser

import photos_made as made
import pytest
from starlette.testclient import TestClient

from forget_me_not.demo.cli.numbers import record
from forget_me_not.demo.server import application
from forget_me_not.demo.share import checks, fmn, fmn_in
from forget_me_not.demo.share.results import Shelf
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder

COUNTS = {"apple": 6, "brick": 6, "cloud": 6, "desk": 6}
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def project(session, tmp_path_factory):
    """Four classes in two tasks, learnt by three methods, one of them with two seeds; one class has a name that is markup."""
    root = tmp_path_factory.mktemp("photos")
    project = session.new_project()
    session.upload(project, made.zipped(made.folder(root / "in", COUNTS), root / "photos.zip"), "photos.zip", "", "")
    project.edit({"do": "rename_class", "class": project.data["classes"][0]["id"], "name": EVIL})
    project.edit({"do": "rename_project", "name": '果物 & "things"'})
    settings = {"tosca": {"epochs": 2}}
    runs = session.train(project, {"methods": ["tosca", "simplecil", "joint"], "seed": 0, "settings": settings})
    runs += session.train(project, {"methods": ["tosca"], "seed": 1, "settings": settings})
    end = time.monotonic() + 90
    while any(session.status(rid)["status"] != "finished" for rid in runs):
        assert time.monotonic() < end, [session.status(rid) for rid in runs]
        time.sleep(0.05)
    return project


@pytest.fixture(scope="module")
def web(session):
    with TestClient(application(session, page=False)) as client:
        yield client


@pytest.fixture(scope="module")
def saved(web, project):
    return web.get(f"/projects/{project.id}/share/project.fmn").content


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
        import hashlib

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


# There and back


def test_the_same_numbers_come_back_under_new_ids(web, session, project, saved):
    answer = web.post("/projects/import", content=saved).json()
    old, new = project.view(), answer["project"]
    assert answer["id"] == new["id"] != old["id"]
    for same in ("name", "kind", "classes", "tasks", "domains", "chosen", "counts", "ready", "preset"):
        assert new[same] == old[same], same
    assert len(new["runs"]) == len(old["runs"]) == 4
    assert not set(new["runs"]) & set(old["runs"])
    for before, after in zip(old["runs"], new["runs"], strict=True):
        assert numbers(session, after) == numbers(session, before)
        first, second = session.run(before), session.run(after)
        assert {k: v for k, v in second.items() if k in ("method", "seed", "tasks", "settings", "kind", "status")} == {
            k: v for k, v in first.items() if k in ("method", "seed", "tasks", "settings", "kind", "status")
        }
        folders = [RunFolder.open(session.home / "runs" / rid) for rid in (before, after)]
        states = [folder.state() for folder in folders]
        assert all((states[0][name] == states[1][name]).all() for name in states[0])
        assert [e for e in folders[0].events()] == [e for e in folders[1].events()]
    old_board, new_board = (web.get(f"/projects/{pid}/compare").json() for pid in (project.id, answer["id"]))
    for row, other in zip(old_board["rows"], new_board["rows"], strict=True):
        assert {k: v for k, v in row.items() if k not in ("run", "runs")} == {
            k: v for k, v in other.items() if k not in ("run", "runs")
        }
    assert new_board["say"] == old_board["say"]


def test_a_project_that_came_in_can_be_asked_trained_and_saved_again(web, session, saved):
    answer = web.post("/projects/import", content=saved).json()
    rid, sha = answer["project"]["runs"][0], answer["project"]["classes"][1]["photos"][0]
    assert web.post(f"/runs/{rid}/ask?photo={sha}").json()["says"] in (*COUNTS, EVIL)
    assert web.get(f"/projects/{answer['id']}/photos/{sha}").status_code == 200
    again = web.get(f"/projects/{answer['id']}/share/project.fmn").content
    with zipfile.ZipFile(io.BytesIO(saved)) as first, zipfile.ZipFile(io.BytesIO(again)) as second:
        photos = [[name for name in z.namelist() if name.startswith("photos/")] for z in (first, second)]
        assert photos[0] == photos[1]
        assert len(photos[0]) == 24
    (new,) = web.post(f"/projects/{answer['id']}/train", json={"methods": ["simplecil"], "seed": 0}).json()["runs"]
    end = time.monotonic() + 60
    while session.status(new)["status"] != "finished":
        assert time.monotonic() < end
        time.sleep(0.05)
    old = next(r for r in answer["project"]["runs"] if session.run(r)["method"] == "simplecil")
    assert numbers(session, new)["matrix"] == numbers(session, old)["matrix"]


def test_the_same_project_gives_the_same_bytes(web, project, saved, session, tmp_path):
    assert web.get(f"/projects/{project.id}/share/project.fmn").content == saved
    fmn.export(project, Shelf(session), tmp_path / "p.fmn", "x")
    assert list((session.home / "incoming").iterdir()) == []


def test_no_id_that_gives_access_is_in_the_file(saved, project):
    with zipfile.ZipFile(io.BytesIO(saved)) as archive:
        everything = b"".join(name.encode() + archive.read(name) for name in archive.namelist())
    for secret in (project.id, *project.data["runs"]):
        assert secret.encode() not in everything
    assert b"/tmp" not in everything


def test_unknown_files_are_ignored(web, saved):
    more = {"photos/notes.txt": b"hello", "evil.sh": b"rm -rf /", "runs/x/y": b"", "photos/" + "0" * 64 + ".exe": b"MZ"}
    assert web.post("/projects/import", content=rewritten(saved, more=more)).status_code == 200


# Hostile files


@pytest.mark.parametrize("name", ["../../evil.txt", "/etc/passwd", "photos/../../x.png", "C:\\x.png", "..\\x.png", "a/../../b",
                                  "photos/..", "\\\\host\\x"])  # fmt: skip
def test_names_that_reach_outside_are_refused(web, session, saved, name):
    assert refused(web, session, rewritten(saved, more={name: b"x"})) == "fmn_unsafe"


def test_links_and_locked_entries_are_refused(web, session, saved):
    for mode, flag in ((0o120777, 0), (0o100644, 1)):
        out = io.BytesIO(saved)
        with zipfile.ZipFile(out, "a") as archive:
            entry = zipfile.ZipInfo("photos/link.png")
            entry.external_attr = mode << 16
            archive.writestr(entry, "/etc/passwd")
        data = bytearray(out.getvalue())
        at = data.rindex(b"PK\x01\x02")
        data[at + 8] |= flag
        assert refused(web, session, bytes(data)) == "fmn_unsafe"


def test_bombs_are_refused(web, session, saved, monkeypatch):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("fmn.json", b'{"format": 1, "files": {}}')
        archive.writestr("project.json", b" " * (40 * 2**20))
    assert refused(web, session, out.getvalue()) == "fmn_unsafe"
    monkeypatch.setattr(fmn_in, "ENTRIES", 10)
    assert refused(web, session, saved) == "fmn_big"
    monkeypatch.undo()
    monkeypatch.setattr(fmn_in, "TOTAL_BYTES", 1000)
    assert refused(web, session, saved) == "fmn_big"


def test_an_entry_that_is_larger_than_it_says_is_damaged(web, session, saved):
    """The size in the directory is a promise; the bytes behind it are what counts."""
    name = b"project.json"
    data = bytearray(saved)
    at = data.rindex(name, 0, data.rindex(b"PK\x05\x06")) - 46
    assert data[at : at + 4] == b"PK\x01\x02"
    data[at + 24 : at + 28] = (10).to_bytes(4, "little")
    assert refused(web, session, bytes(data)) == "fmn_damaged"


def test_twice_the_same_name_is_refused(web, session, saved):
    out = io.BytesIO(saved)
    with zipfile.ZipFile(out, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("project.json", b"{}")
    assert refused(web, session, out.getvalue()) == "fmn_unsafe"


@pytest.mark.parametrize("data", [b"", b"hello", b"PK", b"PK\x03\x04 and then nothing", made.photo("apple", 1)])
def test_what_is_no_project_is_told_so(web, session, data):
    assert refused(web, session, data) == "fmn_not"


def test_a_zip_of_photos_is_no_project(web, session, tmp_path):
    zipped = made.zipped(made.folder(tmp_path / "in", {"apple": 2}), tmp_path / "x.zip")
    assert refused(web, session, zipped.read_bytes()) == "fmn_not"


def test_a_newer_format_asks_for_an_update(web, session, saved):
    assert refused(web, session, edited(saved, "fmn.json", lambda said: said.update(format=2))) == "fmn_newer"


@pytest.mark.parametrize("ending", [".png", "project.json", "request.json", "run.json", "events.jsonl", "000.safetensors"])
def test_changed_and_missing_bytes_are_noticed(web, session, saved, ending):
    flipped = rewritten(saved, lambda n, d: d[:-2] + bytes([d[-2] ^ 1]) + d[-1:] if n.endswith(ending) else d, fix=False)
    assert refused(web, session, flipped) == "fmn_damaged"
    missing = rewritten(saved, lambda n, d: None if n.endswith(ending) else d, fix=False)
    assert refused(web, session, missing) in ("fmn_missing", "fmn_not")


def test_a_photo_under_a_false_sha_is_refused_though_the_list_agrees(web, session, saved):
    swapped = rewritten(saved, lambda n, d: made.photo("egg", 5) if n.endswith(".png") else d)
    assert refused(web, session, swapped) == "fmn_damaged"


def test_photos_are_looked_at_as_if_they_were_uploaded(web, session, saved):
    import hashlib

    script = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    sha = hashlib.sha256(script).hexdigest()
    with zipfile.ZipFile(io.BytesIO(saved)) as archive:
        said = json.loads(archive.read("project.json"))
    said["photos"][0]["sha"] = sha
    more = {"project.json": json.dumps(said).encode(), f"photos/{sha}.png": script}
    assert refused(web, session, rewritten(saved, more=more)).startswith("image_")


def test_weights_that_lie_about_their_size_are_refused(web, session, saved):
    def grown(name, data):
        if not name.endswith("state/000.safetensors"):
            return data
        return data.replace(b'"shape":[', b'"shape":[9', 1)

    assert refused(web, session, rewritten(saved, grown)) == "fmn_damaged"


PROJECT_LIES = {
    "photos": [5, {}, [{"sha": "../x"}], ["x"], None], "classes": [{}, [{"id": "1"}], [1], None], "tasks": ["x", [{"name": 1}]],
    "kind": ["other", 3, ["class"], {}], "name": [5, ["x"]], "runs": [["../../x"], 5, [7]], "preset": [1, "9"],
    "chosen": [[], {"methods": "tosca"}, {"methods": ["../x"]}, {"seed": -1}, {"settings": {"tosca": {"lr": [1]}}}],
    "domain_order": [5, [5]],
}  # fmt: skip


@pytest.mark.parametrize(("key", "value"), [(k, v) for k, values in PROJECT_LIES.items() for v in values])
def test_values_of_another_kind_are_refused(web, session, saved, key, value):
    data = edited(saved, "project.json", lambda said: said.update({key: value}))
    assert refused(web, session, data) in ("fmn_wrong", "choice_bad")


RUN_LIES = [
    ("request.json", {"method": "../x"}), ("request.json", {"seed": "0"}), ("request.json", {"photos": [{"sha": "x"}]}),
    ("request.json", {"experiment": "../x"}), ("request.json", {"variant": 1}),
    ("request.json", {"tasks": []}), ("request.json", {"classes": [{"key": 1}]}), ("request.json", {"created": 1e300}),
    ("run.json", {"method": "finetune_x"}), ("run.json", {"tasks": [{"name": "a", "classes": [99], "train": [], "test": []}]}),
    ("run.json", {"photos": ["/etc/passwd"]}), ("run.json", {"fingerprint": 5}), ("run.json", {"settings": []}),
    ("run.json", {"versions": {"x": {}}}), ("run.json", {"format": 7}),
]  # fmt: skip


@pytest.mark.parametrize(("file", "lie"), RUN_LIES)
def test_runs_that_lie_are_refused(web, session, saved, file, lie):
    assert refused(web, session, edited(saved, file, lambda said: said.update(lie))) in ("fmn_wrong", "choice_bad")


def event_lines(saved, change):
    def one(name, data):
        if not name.endswith("events.jsonl"):
            return data
        lines = [json.loads(line) for line in data.splitlines()]
        return b"".join(json.dumps(line).encode() + b"\n" for line in change(lines))

    return rewritten(saved, one)


def each(kind, **values):
    return lambda lines: [{**x, "event": {**x["event"], **values}} if x["event"]["event"] == kind else x for x in lines]


@pytest.mark.parametrize("change", [
    lambda lines: lines[:-1], lambda lines: lines[1:], lambda lines: [], lambda lines: [5], lambda lines: [{"event": "x"}],
    each("Evaluated", correct="x"), each("Evaluated", correct=[10**30]), each("Evaluated", correct=[1] * 400, total=[1] * 400),
    each("Evaluated", task=10**9), each("Step", task=10**9), each("Step", loss="x"), each("Step", step="1"),
    each("TaskFinished", seconds={"train": "long"}), each("RunStarted", classes=[1]), each("RunStarted", tasks="x"),
    each("Finished", metrics=[1]), each("Evaluated", routes={"answer": 5}), each("TaskFinished", parameters=None),
    lambda lines: [x for x in lines if x["event"]["event"] != "Evaluated"],
])  # fmt: skip
def test_events_that_lie_are_refused(web, session, saved, change):
    assert refused(web, session, event_lines(saved, change)) == "fmn_wrong"


def test_json_that_is_too_deep_or_no_json_is_refused(web, session, saved):
    for text in (b"[" * 100_000, b"{", b"[]", b"NaN", b'"x"', b'{"format": NaN}', b"\xff"):
        for name in ("project.json", "fmn.json"):
            assert refused(web, session, rewritten(saved, more={name: text}, fix=name != "fmn.json")).startswith("fmn_")


def test_what_the_checks_do_not_know_is_left_out():
    given = {
        "classes": [],
        "tasks": [],
        "photos": [],
        "kind": "class",
        "evil": 1,
        "id": "x",
        "undo": [{"kept": {}}],
        "version": 9,
    }
    found = checks.project(given, "0" * 32, 10, {"png"})
    assert (found["id"], found["undo"], found["version"]) == ("0" * 32, [], 0)
    assert "evil" not in found


def test_an_import_from_another_site_is_refused(web, saved):
    answer = web.post("/projects/import", content=saved, headers={"origin": "https://evil.example"})
    assert answer.status_code == 403


# The leaderboard's route


def test_the_leaderboard_of_real_runs(web, project):
    said = web.get(f"/projects/{project.id}/compare").json()
    assert said["rows"][0]["method"] == "joint"
    assert said["rows"][0]["bound"]
    rows = {row["method"]: row for row in said["rows"]}
    assert rows["tosca"]["seeds"] == [0, 1]
    assert rows["tosca"]["routing_accuracy"] is not None
    assert rows["tosca"]["batch_vote_accuracy"] is not None
    assert rows["simplecil"]["routing_accuracy"] is None
    assert (said["photos"], said["runs"], said["unfinished"]) == (24, 4, 0)
    assert len(said["streams"]) == 1
    assert said["figure"]["data"]
    japanese = web.get(f"/projects/{project.id}/compare?lang=ja").json()
    assert japanese["say"]["board"] != said["say"]["board"]


def test_a_project_without_runs_has_nothing_to_compare(web):
    pid = web.post("/projects").json()["id"]
    said = web.get(f"/projects/{pid}/compare").json()
    assert (said["rows"], said["figure"]) == ([], None)
    for path in ("report.html", "numbers.csv", "numbers.json"):
        assert web.get(f"/projects/{pid}/share/{path}").json()["problem"]["code"] == "share_none"
    assert web.get(f"/projects/{pid}/share/project.fmn").status_code == 200


def test_only_runs_of_the_project_are_given_away(web, session, project):
    pid = web.post("/projects").json()["id"]
    for path in ("run.py", "weights.safetensors"):
        for rid in (project.data["runs"][0], "0" * 32, "../../x"):
            answer = web.get(f"/projects/{pid}/share/{path}", params={"run": rid})
            assert (answer.status_code, answer.json()["problem"]["code"]) == (404, "run_unknown")


# Files


def test_the_weights_are_the_learners_state(web, session, project):
    from safetensors import safe_open
    from safetensors.torch import load

    for rid in project.data["runs"]:
        answer = web.get(f"/projects/{project.id}/share/weights.safetensors", params={"run": rid})
        found, state = load(answer.content), RunFolder.open(session.home / "runs" / rid).state()
        assert set(found) == set(state)
        assert all(found[name].dtype == state[name].dtype and (found[name] == state[name]).all() for name in state)
    target = session.home.parent / "w.safetensors"
    target.write_bytes(answer.content)
    with safe_open(target, "pt") as file:
        about = file.metadata()
    assert (about["method"], about["seed"]) == ("tosca", "1")
    assert json.loads(about["settings"])["epochs"] == 2


def run_script(folder):
    env = {**os.environ, "OMP_NUM_THREADS": "1", "FORGET_ME_NOT_HOME": str(folder)}
    call = [sys.executable, "run.py", "project.fmn"]
    return subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True, timeout=200)


def test_the_script_repeats_the_matrix(web, session, project, saved, tmp_path):
    (tmp_path / "project.fmn").write_bytes(saved)
    rid = project.data["runs"][0]
    answer = web.get(f"/projects/{project.id}/share/run.py", params={"run": rid})
    (tmp_path / "run.py").write_bytes(answer.content)
    env = {**os.environ, "OMP_NUM_THREADS": "1", "FORGET_ME_NOT_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "run.py", "project.fmn"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    assert "every number is the same" in done.stdout
    for row in RunFolder.open(session.home / "runs" / rid).matrix():
        assert "  ".join(f"{c}/{n}" for c, n in zip(row.correct, row.total, strict=True)) in done.stdout
    assert EVIL not in answer.text
    compile(answer.text, "run.py", "exec")


def test_the_script_says_when_numbers_differ(web, project, saved, tmp_path):
    (tmp_path / "project.fmn").write_bytes(saved)
    text = web.get(f"/projects/{project.id}/share/run.py", params={"run": project.data["runs"][1]}).text
    (tmp_path / "run.py").write_text(re.sub(r"FOUND = \[\[\d+\]", "FOUND = [[99]", text))
    env = {**os.environ, "OMP_NUM_THREADS": "1", "FORGET_ME_NOT_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "run.py", "project.fmn"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 1, done.stderr
    assert "found: [99]" in done.stdout


def test_no_script_for_photos_that_have_left(web, session, saved):
    answer = web.post("/projects/import", content=saved).json()
    web.post(f"/projects/{answer['id']}/edit", json={"do": "delete_class", "class": answer["project"]["classes"][0]["id"]})
    said = web.get(f"/projects/{answer['id']}/share/run.py", params={"run": answer["project"]["runs"][0]}).json()
    assert (said["problem"]["code"], said["problem"]["values"]) == ("share_photos_gone", {"n": 6})


def test_csv_and_json_hold_every_cell(web, session, project):
    import csv

    said = web.get(f"/projects/{project.id}/share/numbers.json").json()
    for one, rid in zip(said["runs"], project.data["runs"], strict=True):
        assert {k: one[k] for k in ("method", "seed", "matrix", "forgetting")} == {
            k: numbers(session, rid)[k] for k in ("method", "seed", "matrix", "forgetting")
        }
    text = web.get(f"/projects/{project.id}/share/numbers.csv").content.decode("utf-8-sig")
    lines = list(csv.DictReader(io.StringIO(text)))
    assert len(lines) == 4 * 3
    first = said["runs"][0]
    assert float(lines[1]["accuracy"]) == first["matrix"][1][0]
    assert float(lines[0]["forgetting"]) == first["forgetting"]


def test_a_spreadsheet_gets_no_formula():
    from forget_me_not.demo.share.tables import _safe

    assert [_safe(v) for v in ("=1+1", "@x", "+1", "-1", "plain", None, -0.5)] == [
        "'=1+1",
        "'@x",
        "'+1",
        "'-1",
        "plain",
        "",
        -0.5,
    ]


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [
            (tag, n, v) for n, v in attributes if n in ("src", "href", "action", "srcset", "data") or n.startswith("on")
        ]

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_report_needs_nothing_and_believes_no_name(web, project, lang):
    answer = web.get(f"/projects/{project.id}/share/report.html", params={"lang": lang})
    page = Page(answer.text)
    assert page.links == []
    assert not {"script", "img", "link", "iframe", "object"} & set(page.tags)
    assert not re.search(r"url\(|@import|https?://", answer.text)
    assert EVIL in "".join(page.text)
    assert project.data["name"] in "".join(page.text)
    assert "{" not in re.sub(r"<style>.*?</style>", "", answer.text, flags=re.S)
    assert page.tags.count("section") == 4
    assert page.tags.count("svg") == 1
    assert "sandbox" in answer.headers["content-security-policy"]
    name = answer.headers["content-disposition"]
    assert name.startswith("attachment; ")
    assert "%E6%9E%9C" in name
    assert name.encode("ascii")


def test_files_are_named_after_the_project_and_nothing_else(web):
    pid = web.post("/projects").json()["id"]
    web.post(f"/projects/{pid}/edit", json={"do": "rename_project", "name": 'a"; filename="x.exe/../b'})
    name = web.get(f"/projects/{pid}/share/project.fmn").headers["content-disposition"]
    assert name.count('"') == 2
    assert "/" not in name


def test_a_photo_that_is_gone_is_named(session, project, tmp_path):
    photo = project.data["photos"][0]
    path = project.path(photo["sha"], photo["ext"])
    data = path.read_bytes()
    path.unlink()
    try:
        with pytest.raises(Problem) as problem:
            fmn.export(project, Shelf(session), tmp_path / "x.fmn", "x")
        assert (problem.value.code, problem.value.values["name"]) == ("image_gone", photo["name"])
    finally:
        path.write_bytes(data)
