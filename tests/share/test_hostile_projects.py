"""Project files of somebody who means harm, or of a bad disk: refused by name, and nothing is left behind."""

import hashlib
import io
import json
import zipfile

import photos_made as made
import pytest
from share_made import edited, event_lines, refused, rewritten

from forget_me_not.demo.share import checks, fmn_in


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
