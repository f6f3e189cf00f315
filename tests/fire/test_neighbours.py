"""Other people's ids, guessed sums, names that lead out, and Gradio's own ways to files: every route we have says 403 or 404.

The routes are read off the application: one that is new must be named here or is asked with every bad name.
"""

import json
import re

import pytest
from starlette.testclient import TestClient

from forget_me_not.demo.client import Client
from forget_me_not.demo.server import application
from forget_me_not.demo.session import Session
from forget_me_not.demo.soak.photos import photo

SECRET = "the-secret-of-another"
NOBODY, SHA = "0123456789abcdef" * 2, "0123456789abcdef" * 4
OUT = ("%2e%2e", "..%2f..%2f..%2fetc%2fpasswd", "..%5c..%5csecret.txt", "%2fetc%2fpasswd", "%00", "secret.txt", "%20", "~",
       "a" * 4000, "C:%5csecret.txt", "x%0d%0aSet-Cookie:%20a=b", "%ff%fe", "{pid}", "'%20or%201=1--")  # fmt: skip
NAMES = {
    "pid": (NOBODY, NOBODY.upper(), NOBODY[:-1], *OUT), "rid": (NOBODY, NOBODY.upper(), NOBODY + "0", *OUT),
    "tid": (NOBODY, *OUT),
    "sha": (SHA, SHA.upper(), SHA + ".webp", *OUT), "code": ("0000", "AAAAAA", *OUT), "name": ("nothing", "nothing.json", *OUT),
    "cid": OUT, "photo": ("999999", "-1", *OUT),
}  # fmt: skip
"""What a blank of a path may be filled with by somebody who means harm."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    root = tmp_path_factory.mktemp("neighbours")
    for path in (root / "secret.txt", root / "data" / "secret.txt", root / "data" / "projects" / "secret.txt"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET)
    return root / "data"


@pytest.fixture(scope="module")
def session(home):
    return Session(home, Client(home))


@pytest.fixture(scope="module")
def app(session):
    return application(session, page=True)


@pytest.fixture(scope="module")
def web(app):
    with TestClient(app, raise_server_exceptions=False, follow_redirects=False) as client:
        yield client


@pytest.fixture(scope="module")
def mine(web, home, session):
    """A project with a photo and a run of my own, and one of a neighbour: {"pid", "rid", "sha"} each."""
    found = []
    for number in (0, 1):
        pid = web.post("/projects").json()["id"]
        web.post(f"/projects/{pid}/photos", params={"name": "ant/1.png"}, content=photo(number, 0))
        sha = web.get(f"/projects/{pid}").json()["classes"][0]["photos"][0]
        rid = f"{number + 7:032x}"
        asked = {"format": 1, "project": pid, "training": f"{number:016x}", "created": 1.0, "method": "tosca", "settings": {},
                 "seed": 0, "kind": "class", "classes": [{"key": "a", "name": SECRET}],
                 "tasks": [{"name": "1", "classes": ["a"]}],
                 "photos": [{"sha": sha, "ext": "png", "name": "a/1", "class": "a", "domain": "", "phash": "0"}]}  # fmt: skip
        (home / "runs" / rid).mkdir(parents=True)
        (home / "runs" / rid / "request.json").write_text(json.dumps(asked))
        (home / "runs" / rid / "status.json").write_text('{"status": "finished"}')
        found.append({"pid": pid, "rid": rid, "sha": sha})
    return found


def ours(routes):
    """Every route of ours below an application, those of included routers too."""
    for route in routes:
        inner = getattr(getattr(route, "original_router", None), "routes", None)
        if inner is not None:
            yield from ours(inner)
        elif getattr(getattr(route, "endpoint", None), "__module__", "").startswith("forget_me_not."):
            yield route


def blanks(path):
    return re.findall(r"{(\w+)(?::\w+)?}", path)


def filled(path, values):
    return re.sub(r"{(\w+)(?::\w+)?}", lambda m: values[m[1]], path)


def asked(web, route, path):
    for method in sorted(route.methods - {"HEAD", "OPTIONS"}):
        yield method, web.request(method, path, params={"run": NOBODY}, content=b"{}" if method == "POST" else None)


def test_every_blank_of_every_route_is_known_here(session):
    found = list(ours(application(session, page=False).routes))
    assert len(found) > 40
    assert {name for route in found for name in blanks(route.path)} <= set(NAMES)


def test_bad_names_in_every_route(web, session, mine):
    me, count, wrong = mine[0], 0, []
    for route in ours(application(session, page=False).routes):
        for blank in blanks(route.path):
            for bad in NAMES[blank]:
                path = filled(route.path, {name: NAMES[name][0] for name in NAMES} | me | {blank: bad})
                for method, answer in asked(web, route, path):
                    count += 1
                    if answer.status_code not in (403, 404) or SECRET in answer.text or "root:" in answer.text:
                        wrong.append((method, path[:120], answer.status_code, answer.text[:100]))
    assert not wrong, "\n".join(map(str, wrong))
    assert count > 400


def test_what_is_a_neighbours_is_not_found_under_mine(web, mine):
    me, other = mine
    inside = ("photos/" + other["sha"], "share/run.py?run=" + other["rid"], "share/weights.safetensors?run=" + other["rid"])
    for path in (*(f"/projects/{me['pid']}/{part}" for part in inside), f"/projects/{me['rid']}", f"/runs/{me['pid']}",
                 f"/runs/{other['pid']}/events", f"/projects/{other['rid']}/share/project.fmn"):  # fmt: skip
        answer = web.get(path)
        assert answer.status_code == 404, path
        assert SECRET not in answer.text
    assert web.get(f"/projects/{other['pid']}").status_code == 200  # who knows the id may read: that is the rule


def test_no_route_lists_ids(web, session, mine):
    secrets = {value for one in mine for name, value in one.items() if name != "sha"}
    for route in ours(application(session, page=False).routes):
        if not blanks(route.path) and "GET" in route.methods:
            text = web.get(route.path).text
            assert not [secret for secret in secrets if secret in text], route.path


WAYS = ("file=", "file/", "file=/", "proxy=http://127.0.0.1:1/", "proxy=file://", "stream/", "deep_link?session_hash=",
        "file=http://127.0.0.1:1/", "component_server/")  # fmt: skip


@pytest.mark.parametrize("how", WAYS)
def test_gradios_own_ways_to_files_are_shut(web, home, mine, how):
    theirs = home / "projects" / mine[1]["pid"]
    for target in ("/etc/passwd", str(home / "secret.txt"), str(theirs / "project.json"), "../secret.txt", "%2e%2e/secret.txt",
                   str(theirs / "photos" / f"{mine[1]['sha']}.png"), "pyproject.toml", "app.py", "demo/server.py"):  # fmt: skip
        for root in ("/gradio_api/", "/"):
            answer = web.get(f"{root}{how}{target}")
            assert answer.status_code in (403, 404, 405), (root, how, target, answer.status_code)
            assert SECRET not in answer.text
            assert "root:" not in answer.text


def test_gradio_takes_no_files(web):
    answer = web.post("/gradio_api/upload", files={"files": ("evil.html", b"<script>alert(1)</script>", "text/html")})
    assert answer.status_code in (403, 404)


def test_gradio_parses_no_login_form(web):
    """Its form parser once ran before anyone was asked who they are."""
    for path in ("/login", "/login/", "/gradio_api/login"):
        answer = web.post(path, data={"username": "a", "password": "b"})
        assert (answer.status_code, answer.json()["problem"]["code"]) == (404, "file_unknown"), path


def test_bodies_no_answer_could_repeat_are_refused(web, mine):
    pid = mine[0]["pid"]
    for body in (b'{"do": "rename_project", "name": "\\ud800"}',
                 b'{"do": "\\udfff"}', b'{"do": NaN}', b'{"methods": ["\\ud800"]}',
                 b'{"seed": Infinity}'):  # fmt: skip
        for path in (f"/projects/{pid}/edit", f"/projects/{pid}/train", "/status", "/plasticity"):
            answer = web.post(path, content=body)
            assert (answer.status_code, answer.json()["problem"]["code"]) == (400, "request_bad"), (path, body)
