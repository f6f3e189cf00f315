"""Our routes: ids and names that try to get out, uploads that lie, posts from other sites, and a page without torch."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

import photos_made as made
import psutil
import pytest
from starlette.testclient import TestClient

from forget_me_not.demo.client import Client
from forget_me_not.demo.guard import same_site
from forget_me_not.demo.server import application, listen, serve
from forget_me_not.demo.session import Session
from forget_me_not.models import events
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder

NOBODY = "0" * 32


@pytest.fixture
def session(tmp_path):
    return Session(tmp_path, Client(tmp_path))  # its worker is never started


@pytest.fixture
def web(session):
    with TestClient(application(session, page=False)) as client:
        yield client


@pytest.fixture
def pid(web):
    return web.post("/projects").json()["id"]


def put(web, pid, name, data, **query):
    return web.post(f"/projects/{pid}/photos", params={"name": name, **query}, content=data)


# Projects


def test_a_project_from_nothing_to_ready(web, pid):
    for label in ("apple", "brick"):
        for number in range(2):
            answer = put(web, pid, f"things/{label}/{number}.png", made.photo(label, number)).json()
            assert answer["added"] == 1
    project = web.get(f"/projects/{pid}").json()
    assert project == answer["project"]
    assert [(c["name"], c["count"], c["task"]) for c in project["classes"]] == [("apple", 2, 0), ("brick", 2, 0)]
    assert project["ready"] == {"ok": True, "reasons": []}
    edited = web.post(f"/projects/{pid}/edit", json={"do": "preset", "how": "1"}).json()
    assert [t["classes"] for t in edited["tasks"]] == [[1], [2]]


@pytest.mark.parametrize("path", [
    f"/projects/{NOBODY}", "/projects/..%2f..%2fetc", "/projects/" + "A" * 32, f"/projects/{NOBODY}/photos/{'0' * 64}",
    f"/runs/{NOBODY}", f"/runs/{NOBODY}/events", f"/runs/{NOBODY}/figures", f"/runs/{NOBODY}/inside", "/runs/%2e%2e/events",
    "/lab/..%2fserver.py", "/lab/../server.py", "/lab/%2e%2e/%2e%2e/pyproject.toml", "/lab/", "/lab/nothing.js",
    "/lab/text/fr.json", "/openapi.json", "/lab/%00",
])  # fmt: skip
def test_nothing_is_found_where_nothing_is_ours(web, path):
    answer = web.get(path)
    assert answer.status_code == 404


def test_problems_come_with_code_values_and_a_sentence(web, pid):
    web.post(f"/projects/{pid}/edit", json={"do": "add_class", "name": "owl"})
    answer = web.post(f"/projects/{pid}/edit", json={"do": "add_class", "name": "owl"})
    assert answer.status_code == 400
    problem = answer.json()["problem"]
    assert (problem["code"], problem["values"]) == ("class_exists", {"name": "owl"})
    assert "'owl'" in problem["sentence"]


def test_a_bad_file_is_left_out_by_name_and_is_no_bad_request(web, pid):
    photo = made.photo("egg", 1)
    for name, data, code in (("a/film.mov", b"\0\0\0\x18ftypqt  ", "image_type"), ("a/cut.png", photo[:900], "image_"),
                             ("loose.png", photo, "class_missing"), ("x.svg", b"<svg/>", "class_missing"),
                             ("a/none.png", b"", "upload_empty")):  # fmt: skip
        answer = put(web, pid, name, data)
        assert answer.status_code == 200
        (skipped,) = answer.json()["skipped"]
        assert answer.json()["added"] == 0
        assert skipped["code"].startswith(code)
        assert name.endswith(skipped["name"].rsplit("/", 1)[-1])


def test_bodies_that_are_no_objects_are_refused(web, pid):
    for body in (b"[]", b"{", b"\xff", b'"x"', b"[" * 100_000):
        answer = web.post(f"/projects/{pid}/edit", content=body)
        assert (answer.status_code, answer.json()["problem"]["code"]) == (400, "request_bad")
    assert web.post(f"/projects/{pid}/edit", content=b" " * (2**20 + 1)).json()["problem"]["code"] == "request_bad"


def test_names_stay_text(web, pid):
    name = "../../<img src=x onerror=alert(1)>/\u202e1.png"
    put(web, pid, name, made.photo("apple", 1))
    (shown,) = web.get(f"/projects/{pid}").json()["classes"]
    assert shown["name"] == "<img src=x onerror=alert(1)>"


def test_every_file_of_a_project_is_named_by_us(web, pid, session):
    put(web, pid, "../../../evil.png", made.photo("apple", 1), **{"class": "..%2f.."})
    sha = web.get(f"/projects/{pid}").json()["classes"][0]["photos"][0]
    web.get(f"/projects/{pid}/photos/{sha}")
    root = session.home / "projects" / pid
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert files == {"project.json", f"photos/{sha}.png", f"thumbs/{sha}.webp"}
    assert list((session.home / "incoming").iterdir()) == []


# Photos


def test_photos_are_served_as_renditions_of_ours_only(web, pid):
    data = made.photo("apple", 1, side=1600, kind="JPEG")
    put(web, pid, "a/apple.jpg", data)
    sha = web.get(f"/projects/{pid}").json()["classes"][0]["photos"][0]
    for size, side in (("thumb", 128), ("full", 1024)):
        answer = web.get(f"/projects/{pid}/photos/{sha}", params={"size": size})
        assert answer.headers["content-type"] == "image/webp"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "immutable" in answer.headers["cache-control"]
        assert _sides(answer.content) == (side, side)
    other = web.post("/projects").json()["id"]
    assert web.get(f"/projects/{other}/photos/{sha}").status_code == 404


def _sides(data):
    import io

    from PIL import Image

    return Image.open(io.BytesIO(data)).size


def test_a_zip_with_a_bad_file_loses_only_that(web, pid, tmp_path):
    root = made.folder(tmp_path / "in", {"apple": 2, "egg": 3})
    (root / "egg" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 nothing")
    answer = put(web, pid, "up.zip", made.zipped(root, tmp_path / "up.zip").read_bytes()).json()
    assert answer["added"] == 5
    assert [s["name"] for s in answer["skipped"]] == ["egg/broken.jpg"]
    assert put(web, pid, "b.zip", b"PK\x03\x04 not a zip").json()["skipped"][0]["code"] == "images_zip_broken"


def test_uploads_have_limits_and_say_so(web, pid, monkeypatch):
    monkeypatch.setattr("forget_me_not.demo.routes.IMAGE_BYTES", 1000)
    (skipped,) = put(web, pid, "a/big.png", b"\x89PNG" + b"0" * 2000).json()["skipped"]
    assert (skipped["name"], skipped["code"]) == ("big.png", "upload_big")
    monkeypatch.setattr("forget_me_not.demo.disk.SPARE", 2**60)
    answer = put(web, pid, "a/one.png", made.photo("apple", 1))
    assert (answer.status_code, answer.json()["problem"]["code"]) == (507, "disk_full")
    assert web.get(f"/projects/{pid}").json()["counts"]["photos"] == 0


# Other sites


@pytest.mark.parametrize(("headers", "good"), [
    ({}, True), ({"sec-fetch-site": "same-origin"}, True), ({"sec-fetch-site": "none"}, True),
    ({"sec-fetch-site": "cross-site"}, False), ({"sec-fetch-site": "same-site"}, False),
    ({"origin": "http://lab:7860", "host": "lab:7860"}, True), ({"origin": "http://evil", "host": "lab:7860"}, False),
    ({"origin": "null", "host": "lab:7860"}, False), ({"origin": "http://lab:7861", "host": "lab:7860"}, False),
    ({"origin": "https://lab.example", "host": "127.0.0.1:7860", "x-forwarded-host": "lab.example"}, True),
])  # fmt: skip
def test_only_our_own_page_may_post(web, headers, good):
    assert same_site(headers) is good
    answer = web.post("/projects", headers=headers or {"x-none": ""})
    assert (answer.status_code == 200) is good
    assert "access-control-allow-origin" not in answer.headers


# Runs


@pytest.fixture
def run(session):
    """A run on disk with 700 steps in its first task, as the worker writes it."""
    rid = "ab" * 16
    folder = session.home / "runs" / rid
    folder.mkdir(parents=True)
    asked = {"project": NOBODY, "training": "t", "created": 1.0, "method": "tosca", "settings": {}, "seed": 3, "kind": "class",
             "classes": [{"key": "a", "name": "ant"}, {"key": "b", "name": "bee"}],
             "tasks": [{"name": "Task 1", "classes": ["a", "b"]}],
             "photos": [{"sha": "1" * 64, "ext": "png", "name": "a/1", "class": "a", "domain": "", "phash": "0"}]}  # fmt: skip
    (folder / "request.json").write_text(json.dumps(asked))
    (folder / "status.json").write_text('{"status": "running"}')
    store = RunFolder.create(folder, {"method": "tosca"})
    store.append(events.RunStarted("tosca", 3, ("ant", "bee"), ("Task 1",), ((0, 1),), (4,), (2,)))
    store.append(events.TaskStarted(0, "Task 1", 4))
    for step in range(700):
        store.append(events.Step(0, step + 1, 700, 1.0 / (step + 1)))
    return rid, store


def test_a_run_and_its_events_in_portions(web, run):
    rid, store = run
    said = web.get(f"/runs/{rid}").json()
    assert (said["status"], said["method"], said["seed"], said["place"]) == ("running", "tosca", 3, 0)
    assert said["tasks"] == [{"name": "Task 1", "classes": ["ant", "bee"], "photo": "1" * 64}]
    seen = []
    while True:
        answer = web.get(f"/runs/{rid}/events", params={"since": len(seen)})
        assert len(answer.content) <= 64_000
        if not answer.json()["events"]:
            break
        seen += answer.json()["events"]
    assert [line["n"] for line in seen] == list(range(702))
    assert answer.json()["status"] == "running"
    again = web.get(f"/runs/{rid}/events", params={"since": len(seen)}, headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304
    store.append(events.Evaluated(0, (2,), (2,)))
    again = web.get(f"/runs/{rid}/events", params={"since": len(seen)}, headers={"If-None-Match": answer.headers["etag"]})
    assert again.json()["events"][0]["event"]["event"] == "Evaluated"


def test_figures_at_any_cursor_do_not_depend_on_what_was_asked_before(web, run):
    rid, store = run
    store.append(events.Evaluated(0, (1,), (2,)))
    late = web.get(f"/runs/{rid}/figures").json()
    early = web.get(f"/runs/{rid}/figures", params={"at": 10}).json()
    assert late["view"]["rows"] == [[[1, 2]]]
    assert early["view"]["rows"] == []
    assert web.get(f"/runs/{rid}/figures").json() == late
    assert web.get(f"/runs/{rid}/figures", params={"at": 10}).json() == early
    assert web.get(f"/runs/{rid}/figures", params={"lang": "ja"}).json()["say"] != late["say"]


def test_without_a_worker_the_page_says_so(web, pid, monkeypatch):
    monkeypatch.setattr(Client, "call", lambda self, *a, **k: (_ for _ in ()).throw(Problem("worker_away")))
    for label in ("apple", "brick"):
        for number in range(2):
            put(web, pid, f"{label}/{number}.png", made.photo(label, number))
    answer = web.post(f"/projects/{pid}/train", json={"methods": ["tosca"]})
    assert answer.status_code == 503
    assert web.get(f"/projects/{pid}").json()["runs"] == []
    assert web.get("/cards").status_code == 503
    status = web.get("/status").json()
    assert status["worker"] == "starting"
    assert status["local"] is True


def test_training_that_is_not_ready_is_refused_with_the_reason(web, pid):
    answer = web.post(f"/projects/{pid}/train", json={})
    assert (answer.status_code, answer.json()["problem"]["code"]) == (409, "no_photos")


def test_static_files_have_their_types(web):
    script = web.get("/lab/lab.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert web.get("/lab/text/ja.json").json().keys() >= {"problem.class_few"}
    assert web.get("/plotly.js").headers["content-type"].startswith("text/javascript")


# The process


def test_a_taken_port_gives_way_to_the_next():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with listen("127.0.0.1", port) as given:
            assert port < given.getsockname()[1] < port + 20
    with pytest.raises(Problem, match="address_bad"):
        listen("no.such.host.invalid", 1)
    for never in (-1, 65536):
        with pytest.raises(Problem, match="port_bad"):
            listen("127.0.0.1", never)


def test_a_lab_does_not_open_without_the_methods_it_was_given(tmp_path):
    with pytest.raises(Problem, match="plugin_missing"):
        serve("127.0.0.1", 0, home=tmp_path, plugins=[tmp_path / "nowhere.py"])


def test_importing_the_server_and_its_page_loads_no_torch():
    code = "import sys, forget_me_not.demo.server, forget_me_not.demo.lab; print({'torch', 'timm', 'sklearn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_gradio_makes_no_stubs_while_the_lab_opens():
    code = """if True:
        import ast, inspect
        from forget_me_not.demo import server
        made, segment, known = [], ast.get_source_segment, inspect.getfile
        ast.get_source_segment = lambda *a, **k: made.append(1) or segment(*a, **k)  # a stub begins with the class's source
        with server.no_stubs():
            import gradio
        print(len(made), inspect.getfile is known)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.split() == ["0", "True"]


def test_the_lab_opens_stays_small_and_closes(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = f"from forget_me_not.demo.server import serve; serve(port={port}, home={str(tmp_path)!r}, backbone='random')"
    lab = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert str(port) in lab.stdout.readline()
        base = f"http://127.0.0.1:{port}/"
        page = urllib.request.urlopen(base).read().decode()
        assert "lab/lab.js" in page
        end = time.monotonic() + 90
        while (said := json.load(urllib.request.urlopen(base + "status")))["backbone"]["state"] != "ready":
            assert time.monotonic() < end, said
            time.sleep(0.2)
        assert any(card["name"] == "tosca" for card in json.load(urllib.request.urlopen(base + "cards")))
        process = psutil.Process(lab.pid)
        assert process.memory_info().rss < 300 * 2**20
        (worker,) = [child for child in process.children() if "forget_me_not.demo.worker" in child.cmdline()]
        for path in ("gradio_api/file=/etc/passwd", "monitoring", "openapi.json"):
            with pytest.raises(urllib.error.HTTPError):
                urllib.request.urlopen(base + path)
        assert os.listdir(tmp_path / "data" / "logs") == ["worker.log"]
    finally:
        lab.terminate()
        lab.wait(30)
    worker.wait(20)
