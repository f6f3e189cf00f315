"""Taking a project away and bringing it back: the same numbers under new ids, and nothing secret."""

import io
import time
import zipfile

from share_made import COUNTS, EVIL, numbers, rewritten

from forget_me_not.demo.share import fmn
from forget_me_not.demo.share.results import Shelf
from forget_me_not.models.store import RunFolder


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
