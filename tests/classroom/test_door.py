"""The door of a class: what phones may ask and what not, who sits at this computer, the code and the way in."""

import re

import pytest
from class_made import PHONE, entered
from starlette.testclient import TestClient

from forget_me_not.demo import classroom, lan
from forget_me_not.demo.classroom import WITHIN, WRONG
from forget_me_not.demo.server import application


def test_without_a_class_there_is_no_such_page(room):
    web = TestClient(application(room.session, page=False))
    asked = [("get", "/join"), ("get", "/class"), ("post", "/class"), ("get", "/class/ABCDEF/follow"),
             ("post", "/class/ABCDEF/enter"), ("post", "/class/ABCDEF/guess"), ("post", "/class/ABCDEF/photo")]  # fmt: skip
    assert [(verb, path) for verb, path in asked if getattr(web, verb)(path).status_code != 404] == []
    assert web.get("/status").json()["classroom"] is False


# The door


CLOSED = [
    ("get", "/status"), ("get", "/cards"), ("get", "/packs"), ("get", "/packs/latest"), ("get", "/packs/toybox"),
    ("get", "/wall"),
    ("get", "/class"), ("post", "/class"), ("post", "/projects"), ("get", "/plotly.js"), ("get", "/runs/" + "1" * 32),
    ("get", "/runs/" + "1" * 32 + "/lane"), ("get", "/openapi.json"), ("get", "/config"), ("get", "/gradio_api/info"),
    ("post", "/packs/toybox/train"), ("get", "/lab/../projects"), ("get", "/class/"), ("put", "/class"), ("delete", "/join"),
    ("post", "/status"), ("get", "/class/X/photo"), ("get", "/packs/toybox/photos/" + "0" * 64),
]  # fmt: skip


def test_a_phone_finds_nothing_but_the_class(phone):
    assert [(verb, path) for verb, path in CLOSED if getattr(phone, verb)(path).status_code != 404] == []


def test_a_phone_that_knows_an_id_still_gets_nothing(app, room, phone, teacher):
    pid = teacher.post("/projects").json()["id"]
    assert teacher.get(f"/projects/{pid}").status_code == 200
    assert phone.get(f"/projects/{pid}").status_code == 404
    assert phone.post(f"/projects/{pid}/edit", json={"do": "add_class", "name": "x"}).status_code == 404
    assert phone.post(f"/projects/{pid}/train", json={}).status_code == 404
    assert phone.get(f"/projects/{pid}/photos/{'0' * 64}").status_code == 404
    assert teacher.get(f"/projects/{pid}").json()["classes"] == []


def test_a_phone_at_the_front_door_is_shown_to_the_class(app):
    visitor = TestClient(app, client=PHONE, follow_redirects=False)
    answer = visitor.get("/")
    assert (answer.status_code, answer.headers["location"]) == (307, "join")
    page = visitor.get("/join")
    assert page.status_code == 200
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert all(visitor.get(f"/{link}").status_code == 200 for link in re.findall(r'(?:href|src)="(lab/[^"]+)"', page.text))


@pytest.mark.parametrize(("client", "server", "here"), [
    ("127.0.0.1", "127.0.0.1", True), ("127.3.2.1", "127.0.0.1", True), ("::1", "::1", True), ("::ffff:127.0.0.1", "::", True),
    ("192.168.1.5", "192.168.1.5", True), ("192.168.1.6", "192.168.1.5", False), ("::ffff:10.0.0.4", "::", False),
    (None, "127.0.0.1", False), ("testclient", "testserver", False), ("", "", False),
])  # fmt: skip
def test_who_sits_at_this_computer(client, server, here):
    assert lan.is_here(client, server) is here


# The code


def test_the_code_opens_and_is_read_kindly(app, room):
    visitor = TestClient(app, client=PHONE)
    assert re.fullmatch(r"[2-9A-HJ-NP-Z]{6}", room.code)
    assert visitor.post("/class/ABCDE/enter").status_code == 404
    assert visitor.get(f"/class/{room.code}/follow").json()["problem"]["code"] == "phone_unknown"
    assert visitor.post(f"/class/{room.code[:3].lower()} {room.code[3:]}/enter").status_code == 200
    assert visitor.get(f"/class/{room.code}/follow").json()["tag"] == ""


def test_guessing_the_code_is_slow(app, room, clock):
    thief = TestClient(app, client=PHONE)
    assert [thief.post("/class/WRONG2/enter").status_code for _ in range(WRONG)] == [404] * WRONG
    assert thief.post(f"/class/{room.code}/enter").status_code == 429
    assert entered(app, room, "192.168.1.24")
    clock.now += WITHIN + 1
    assert thief.post(f"/class/{room.code}/enter").status_code == 200


def test_a_full_room_makes_place_for_who_has_left(app, room, clock, monkeypatch):
    monkeypatch.setattr(classroom, "PHONES", 2)
    entered(app, room), entered(app, room)
    assert TestClient(app, client=PHONE).post(f"/class/{room.code}/enter").status_code == 429
    clock.now += classroom.GONE + 1
    assert entered(app, room)


# The way in


def test_the_code_drawn_three_ways_is_the_same_code(teacher):
    said = teacher.get("/class").json()
    link = said["join"]["link"]
    assert link == f"http://192.168.1.5:7860/join?room={said['code']}"
    code = lan.modules(link)
    assert len(code) == said["join"]["side"]
    corner = ["".join(".#"[dark] for dark in row[:7]) for row in code[:7]]
    assert corner == ["#######", "#.....#", "#.###.#", "#.###.#", "#.###.#", "#.....#", "#######"]
    runs = re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", said["join"]["path"])
    drawn = {(int(x) + i, int(y)) for x, y, wide in runs for i in range(int(wide))}
    assert drawn == {(x, y) for y, row in enumerate(code) for x, dark in enumerate(row) if dark}
    for coloured in (True, False):
        lines = lan.blocks(code, coloured).replace(lan.BLACK_ON_WHITE, "").replace(lan.PLAIN, "").split("\n")
        halves = {" ": (0, 0), "▄": (0, 1), "▀": (1, 0), "█": (1, 1)}
        cells = {(x - lan.QUIET, 2 * y + half - lan.QUIET) for y, line in enumerate(lines) for x, sign in enumerate(line)
                 for half in (0, 1) if halves[sign][half] == coloured}  # fmt: skip
        assert cells == drawn


def test_a_terminal_without_blocks_gets_the_address_alone():
    assert lan.terminal("http://x", "ascii", True) == ""
    assert "█" in lan.terminal("http://x", "utf-8", False)


def test_the_address_others_reach():
    assert lan.network_address("192.168.7.1") == "192.168.7.1"
    found = lan.network_address("0.0.0.0")
    assert found is None or not found.startswith(("127.", "0."))
