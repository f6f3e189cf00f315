"""A folder of the lab's own computer: who may open one, what is taken of a large one, and that photos arrive as uploads do."""

import time

import photos_made as made
import pytest
from starlette.testclient import TestClient

from forget_me_not.demo import openfolder
from forget_me_not.demo.client import Client
from forget_me_not.demo.openfolder import chosen, evenly
from forget_me_not.demo.routes_folder import at_home
from forget_me_not.demo.server import application
from forget_me_not.demo.session import Session
from forget_me_not.models.archive import Found, InMemory
from forget_me_not.models.images import read
from forget_me_not.models.problem import Problem

HERE = {"base_url": "http://localhost:7860", "client": ("127.0.0.1", 50000)}


@pytest.fixture
def session(tmp_path):
    (tmp_path / "home").mkdir()
    return Session(tmp_path / "home", Client(tmp_path / "home"))


@pytest.fixture
def web(session):
    with TestClient(application(session, page=False), **HERE) as client:
        yield client


@pytest.fixture
def pid(web):
    return web.post("/projects").json()["id"]


def ended(web, pid, seconds=30.0):
    end = time.monotonic() + seconds
    while (said := web.get(f"/projects/{pid}/folder").json())["state"] in ("listing", "reading", "storing"):
        assert time.monotonic() < end
        time.sleep(0.02)
    return said


def test_a_folder_comes_in_as_the_command_line_reads_it(web, pid, session, tmp_path):
    folder = made.folder(tmp_path / "pets", {"apple": 5, "brick": 4})
    (folder / "apple" / "notes.txt").write_text("no photo")
    assert web.post(f"/projects/{pid}/folder", json={"path": str(folder)}).json()["state"] != "none"
    said = ended(web, pid)
    assert (said["state"], said["added"], said["total"], said["found"]) == ("done", 9, 9, 9)
    assert [one["name"] for one in said["skipped"]] == ["apple/notes.txt"]
    mine, theirs = session.project(pid).images(), read(folder)
    assert [(p.name, p.label, p.sha, p.group) for p in mine.photos] == [(p.name, p.label, p.sha, p.group) for p in theirs.photos]
    (folder / "apple" / "0.png").unlink()  # what is in the project is its own
    assert session.project(pid).images().photos[0].open().size == (48, 48)


def test_styles_keep_their_names_and_splits_are_one_class(web, session, tmp_path):
    counts = {"apple": 3, "brick": 3}
    for at, names in enumerate((("photo", "sketch"), ("train", "val"))):
        root = tmp_path / f"set{at}"
        for name in names:
            made.folder(root, counts, above=name)
        pid = web.post("/projects").json()["id"]
        web.post(f"/projects/{pid}/folder", json={"path": str(root)})
        assert ended(web, pid)["state"] == "done"
        project = web.get(f"/projects/{pid}").json()
        assert [(c["name"], c["count"]) for c in project["classes"]] == [("apple", 6), ("brick", 6)]
        assert project["domains"] == (["photo", "sketch"] if at == 0 else [])


def test_of_a_large_folder_every_class_gives_the_same(web, pid, tmp_path, monkeypatch):
    monkeypatch.setattr(openfolder, "PHOTO_LIMIT", 11)
    folder = made.folder(tmp_path / "many", {"apple": 2, "brick": 12, "cloud": 12})
    web.post(f"/projects/{pid}/folder", json={"path": str(folder)})
    said = ended(web, pid)
    assert (said["found"], said["total"], said["added"]) == (26, 10, 10)
    assert [c["count"] for c in web.get(f"/projects/{pid}").json()["classes"]] == [2, 4, 4]
    monkeypatch.setattr(openfolder, "PHOTO_LIMIT", 10)
    web.post(f"/projects/{pid}/folder", json={"path": str(folder)})
    assert ended(web, pid)["problem"]["code"] == "photos_full"


def test_evenly_spaced_over_a_folder():
    names = [*(f"{n}.jpg" for n in range(10)), "x.txt"]
    files = [Found(("set", "a", name), InMemory(b""), 1) for name in names]
    assert [f.parts[-1] for f in evenly(files, 5)] == ["0.jpg", "2.jpg", "4.jpg", "6.jpg", "8.jpg"]
    assert evenly(files[:3], 5) == files[:3]
    many = [Found(("set", str(c), "1.jpg"), InMemory(b""), 1) for c in range(9)]
    assert len(evenly(many, 4)) == 4  # more classes than room


@pytest.mark.parametrize(("path", "code"), [
    ("", "folder_path"), ("pets", "folder_path"), ("../..", "folder_path"), ("/", "folder_path"), (7, "folder_path"),
    ("/\0", "folder_path"), ("/no/such/place", "folder_missing"), ("~nobody_at_all/x", "folder_"), ("/" + "x" * 4090, "folder_"),
])  # fmt: skip
def test_other_paths_are_refused_with_a_sentence(web, pid, path, code):
    answer = web.post(f"/projects/{pid}/folder", json={"path": path})
    assert answer.status_code == 400
    assert answer.json()["problem"]["code"].startswith(code)
    assert len(answer.json()["problem"]["sentence"]) > 20


def test_a_file_and_the_labs_own_folder_are_no_folders_of_photos(session, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Problem, match="folder_missing"):
        chosen(str(tmp_path / "file"), session.home)
    with pytest.raises(Problem, match="folder_own"):
        chosen(str(session.home / "projects"), session.home)
    (tmp_path / "door").symlink_to(session.home)
    with pytest.raises(Problem, match="folder_own"):
        chosen(str(tmp_path / "door"), session.home)
    assert chosen(f' "{tmp_path}" ', session.home) == tmp_path


@pytest.mark.parametrize(("client", "headers", "good"), [
    ("127.0.0.1", {"host": "localhost:7860"}, True), ("::1", {"host": "[::1]:7860"}, True),
    ("127.0.0.1", {"host": "127.0.0.1"}, True),
    ("192.168.1.7", {"host": "localhost:7860"}, False), ("127.0.0.1", {"host": "lab.example.org"}, False),
    ("127.0.0.1", {"host": "localhost", "x-forwarded-for": "10.0.0.9"}, False), (None, {"host": "localhost"}, False),
    ("127.0.0.1", {"host": "localhost", "via": "1.1 proxy"}, False), ("127.0.0.1", {}, False),
])  # fmt: skip
def test_only_who_sits_at_this_computer_is_at_home(client, headers, good):
    assert at_home(client, headers) is good


def test_over_a_network_nothing_is_opened_or_told(session, tmp_path):
    folder = made.folder(tmp_path / "pets", {"apple": 2, "brick": 2})
    outside = ({"client": ("192.168.1.7", 5)}, {"base_url": "http://lab.example.org"},
               {"headers": {"x-forwarded-for": "10.0.0.9"}})  # fmt: skip
    for local, more in [(True, each) for each in outside] + [(False, {})]:
        with TestClient(application(session, local=local, page=False), **{**HERE, **more}) as web:
            pid = web.post("/projects").json()["id"]
            answer = web.post(f"/projects/{pid}/folder", json={"path": str(folder)})
            assert (answer.status_code, answer.json()["problem"]["code"]) == (403, "folder_remote")
            assert web.get(f"/projects/{pid}/folder").json() == {"state": "none", "allowed": False}
            assert web.get(f"/projects/{pid}").json()["classes"] == []
    answer = TestClient(application(session, page=False), **HERE).post(
        f"/projects/{pid}/folder", json={"path": str(folder)}, headers={"origin": "http://elsewhere.example"})  # fmt: skip
    assert answer.json()["problem"]["code"] == "other_site"


def test_stopping_keeps_what_is_there_and_a_second_folder_waits(web, pid, tmp_path, monkeypatch):
    monkeypatch.setattr(openfolder, "AT_A_TIME", 1)
    folder = made.folder(tmp_path / "pets", {"apple": 40, "brick": 40})
    web.post(f"/projects/{pid}/folder", json={"path": str(folder)})
    assert web.post(f"/projects/{pid}/folder", json={"path": str(folder)}).json()["problem"]["code"] == "folder_busy"
    web.post(f"/projects/{pid}/folder", json={"do": "stop"})
    said = ended(web, pid)
    assert said["state"] == "stopped"
    assert sum(c["count"] for c in web.get(f"/projects/{pid}").json()["classes"]) == said["added"] < 80
