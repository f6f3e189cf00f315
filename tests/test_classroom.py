"""A class on phones: what they may ask and what not, one guess a device, photos into the one open class, and the way in."""

import io
import json
import re
import zipfile

import pytest
from PIL import Image
from starlette.testclient import TestClient

from forget_me_not.demo import classroom, lan, packs
from forget_me_not.demo.classroom import PHOTO_BYTES, PHOTOS_EACH, WITHIN, WRONG, Room
from forget_me_not.demo.client import Client
from forget_me_not.demo.disk import write_json
from forget_me_not.demo.server import application
from forget_me_not.demo.session import Session
from forget_me_not.models.problem import Problem

TRAINING, RUNS = "ab" * 8, {method: f"{n}" * 32 for n, method in enumerate(packs.METHODS, 1)}
PHONE, TEACHER = ("192.168.1.23", 50123), ("127.0.0.1", 50124)


class Clock:
    """Seconds that pass when a test says so."""

    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def room(tmp_path, clock):
    return Room(Session(tmp_path, Client(tmp_path)), clock)


@pytest.fixture
def app(room):
    return application(room.session, page=False, room=room, network="http://192.168.1.5:7860")


@pytest.fixture
def teacher(app):
    return TestClient(app, client=TEACHER)


@pytest.fixture
def phone(app, room):
    """A phone in the room."""
    return entered(app, room)


def entered(app, room, address=PHONE[0]):
    one = TestClient(app, client=(address, 1), follow_redirects=False)
    assert one.post(f"/class/{room.code}/enter").status_code == 200
    return one


def show(teacher, **values):
    said = {"do": "show", "page": "a", "pack": "toybox", "seed": 3, "training": None, "position": 0, "playing": False, **values}
    return teacher.post("/class", json=said)


def trained(session, home):
    """A training of the toy box that has finished: both lanes knew all four photos once, one lost two of them."""
    chosen = packs.pack("toybox")
    one = {"training": TRAINING, "pack": "toybox", "seed": 3, "created": 1.0, "runs": RUNS}
    write_json(home / "packs.json", [one])
    truth = [chosen.labels[p] for p in chosen.memory(chosen.plan(3))]
    for method, rid in RUNS.items():
        write_json(home / "runs" / rid / "request.json", packs.request(chosen, method, one))
        write_json(home / "runs" / rid / "status.json", {"status": "finished"})
        last = truth if method != "finetune" else [*truth[:2], "car", "cat"]
        marks = [{"task": t, "step": 1, "steps": 1, "right": 40 - 10 * t, "total": 40, "says": says, "truth": truth}
                 for t, says in enumerate((truth, truth, truth, last))]  # fmt: skip
        (home / "runs" / rid / "watch.jsonl").write_text("".join(json.dumps(mark) + "\n" for mark in marks))


def jpeg(seed=0, size=(640, 480), **kept):
    out = io.BytesIO()
    Image.effect_noise(size, 40 + seed).convert("RGB").save(out, "JPEG", **kept)
    return out.getvalue()


# Without a class


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


# Guesses


def test_one_guess_a_device_changed_until_the_answer_is_out(app, room, phone, teacher, tmp_path):
    trained(room.session, tmp_path)
    show(teacher)
    other, url = entered(app, room), f"/class/{room.code}/guess"
    for one, guesses in ((phone, (0, 4, 2)), (other, (3,))):
        for n in guesses:
            assert one.post(url, json={"guess": n, "round": 1}).json() == {"guess": n}
    assert teacher.get("/class").json()["answers"] == 2
    show(teacher, training=TRAINING, position=3.5, playing=True)
    assert teacher.get("/class").json()["tally"] is None
    assert other.get(f"/class/{room.code}/follow").json()["tally"] is None
    assert other.post(url, json={"guess": None, "round": 1}).json() == {"guess": None}
    assert other.post(url, json={"guess": 1, "round": 1}).status_code == 200
    said = show(teacher, training=TRAINING, position=4).json()
    assert (said["revealed"], said["tally"]) == (True, [0, 1, 1, 0, 0])
    late = phone.post(url, json={"guess": 1, "round": 1})
    assert (late.status_code, late.json()["problem"]["code"]) == (409, "guess_late")
    seen = phone.get(f"/class/{room.code}/follow").json()
    assert (seen["guess"], seen["tally"]) == (2, [0, 1, 1, 0, 0])
    assert seen["story"]["lanes"]["finetune"]["kept"] == 2
    show(teacher, seed=4)
    seen = phone.get(f"/class/{room.code}/follow").json()
    assert (seen["round"], seen["guess"], seen["tally"], seen["answers"]) == (2, None, None, 0)


def test_a_guess_is_a_number_of_photos(room, phone, teacher):
    show(teacher)
    for guess in (5, -1, True, "2", 1.5, [1], {}):
        assert phone.post(f"/class/{room.code}/guess", json={"guess": guess, "round": 1}).status_code == 400, guess
    assert teacher.get("/class").json()["answers"] == 0


def test_a_guess_of_another_round_or_of_nothing_is_late(room, phone, teacher):
    url = f"/class/{room.code}/guess"
    assert phone.post(url, json={"guess": 1, "round": 0}).status_code == 400  # nothing on show: nothing to count
    show(teacher)
    assert phone.post(url, json={"guess": 1, "round": 7}).status_code == 409
    assert phone.post(url, content=b"[" * 2**21).status_code == 400


# What phones are told


def test_phones_hear_the_story_once_and_no_id_by_which_to_ask(room, phone, teacher, tmp_path, clock):
    trained(room.session, tmp_path)
    show(teacher, training=TRAINING, position=1.5, playing=True)
    heard = phone.get(f"/class/{room.code}/follow")
    assert not re.search(r"[0-9a-f]{32}", heard.text.replace(heard.json()["tag"], ""))
    assert TRAINING not in heard.text
    assert [len(lane["marks"]) for lane in heard.json()["story"]["lanes"].values()] == [4, 4, 4]
    assert "story" not in phone.get(f"/class/{room.code}/follow?tag={heard.json()['tag']}").json()
    clock.now += 2
    assert phone.get(f"/class/{room.code}/follow").json()["position"] == pytest.approx(2)
    clock.now += 100
    assert phone.get(f"/class/{room.code}/follow").json()["position"] == 4


def test_one_page_of_the_teachers_rules_at_a_time(room, teacher, clock):
    show(teacher)
    assert show(teacher, page="b", seed=9).json()["round"] == 1
    assert show(teacher, page="b", seed=9, claim=True).json()["round"] == 2
    clock.now += 7
    assert show(teacher, page="a", seed=3).json()["round"] == 3


def test_what_a_page_shows_is_checked(room, teacher):
    for wrong in ({"pack": "nothing"}, {"pack": "../x"}, {"pack": None}, {"seed": -1}, {"seed": "0"}, {"training": "../../x"},
                  {"position": "1"}, {"position": None}, {"do": "else"}):  # fmt: skip
        assert show(teacher, **wrong).status_code in (400, 404), wrong
    assert room.stage.shown is None


# Photos


@pytest.fixture
def gate(room, teacher):
    """An open class "leaf" beside one that stays shut."""
    pid = teacher.post("/projects").json()["id"]
    for name in ("leaf", "shut"):
        classes = teacher.post(f"/projects/{pid}/edit", json={"do": "add_class", "name": name}).json()["classes"]
    leaf = next(c["id"] for c in classes if c["name"] == "leaf")
    assert teacher.post("/class", json={"do": "open", "project": pid, "class": leaf}).status_code == 200
    return pid, leaf


def counts(teacher, pid):
    return {c["name"]: c["count"] for c in teacher.get(f"/projects/{pid}").json()["classes"]}


def send(phone, room, data, **query):
    return phone.post(f"/class/{room.code}/photo", params=query, content=data)


def test_photos_come_redrawn_into_the_open_class_alone(room, phone, teacher, gate, tmp_path):
    pid, _ = gate
    exif = Image.Exif()
    exif[0x010F], exif[0x0112] = "SecretPhone", 6
    assert send(phone, room, jpeg(exif=exif), **{"name": "../../shut/x.jpg", "class": "shut"}).json() == {"sent": 1}
    assert counts(teacher, pid) == {"leaf": 1, "shut": 0}
    kept = next((tmp_path / "projects" / pid / "photos").glob("*.jpg")).read_bytes()
    assert b"SecretPhone" not in kept
    assert Image.open(io.BytesIO(kept)).size == (480, 640)
    sha = teacher.get(f"/projects/{pid}").json()["classes"][0]["photos"][0]
    left = teacher.post(f"/projects/{pid}/edit", json={"do": "delete_photo", "class": gate[1], "sha": sha}).json()
    assert [c["count"] for c in left["classes"]] == [0, 0]


def zipped():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("shut/a.jpg", jpeg())
    return out.getvalue()


@pytest.mark.parametrize(("data", "code"), [
    (zipped(), "image_archive"), (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image_type"), (b"", "upload_empty"),
    (jpeg()[:900], "image_truncated"), (b"GIF89a" + bytes(40), "image_broken"),
])  # fmt: skip
def test_what_is_no_photo_is_refused_and_does_not_count(room, phone, teacher, gate, data, code):
    answer = send(phone, room, data)
    assert answer.status_code == 400
    assert answer.json()["problem"]["code"] == code
    assert counts(teacher, gate[0]) == {"leaf": 0, "shut": 0}
    assert (phone.get(f"/class/{room.code}/follow").json()["sent"], room.photos) == (0, 0)
    assert list((room.session.home / "incoming").iterdir()) == []


def test_a_body_beyond_the_limit_is_cut_off(room, phone, gate):
    parts = (bytes(2**20) for _ in range(PHOTO_BYTES // 2**20 + 2))
    assert send(phone, room, parts).status_code == 413
    assert list((room.session.home / "incoming").iterdir()) == []


def test_a_phone_has_its_share_and_the_room_too(app, room, phone, teacher, gate, monkeypatch):
    said = [send(phone, room, jpeg(n, (80, 60))).status_code for n in range(PHOTOS_EACH + 1)]
    assert said == [200] * PHOTOS_EACH + [403]
    monkeypatch.setattr(classroom, "PHOTOS_ALL", PHOTOS_EACH + 1)
    other = entered(app, room)
    assert [send(other, room, jpeg(50 + n, (80, 60))).status_code for n in range(2)] == [200, 403]
    assert counts(teacher, gate[0])["leaf"] == PHOTOS_EACH + 1


def test_nothing_is_taken_while_no_class_is_open(app, room, phone, teacher, gate):
    pid, leaf = gate
    assert phone.get(f"/class/{room.code}/follow").json()["open"] == {"class": "leaf"}
    assert send(TestClient(app, client=PHONE), room, jpeg()).json()["problem"]["code"] == "phone_unknown"
    teacher.post(f"/projects/{pid}/edit", json={"do": "rename_class", "class": leaf, "name": "tree"})
    assert send(phone, room, jpeg(1)).status_code == 200
    assert counts(teacher, pid) == {"tree": 1, "shut": 0}
    teacher.post(f"/projects/{pid}/edit", json={"do": "delete_class", "class": leaf})
    assert send(phone, room, jpeg(2)).json()["problem"]["code"] == "class_closed"
    assert teacher.post("/class", json={"do": "open", "project": pid, "class": leaf}).status_code == 403
    assert teacher.post("/class", json={"do": "close"}).json()["open"] is None
    assert phone.get(f"/class/{room.code}/follow").json()["open"] is None


def test_a_class_that_never_opened_is_shut(room, phone):
    assert send(phone, room, jpeg()).json()["problem"]["code"] == "class_closed"


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


def test_a_project_of_another_shape_is_not_opened(room, teacher):
    for pid in ("x", "0" * 32, None, 5):
        assert teacher.post("/class", json={"do": "open", "project": pid, "class": 1}).status_code in (400, 404)
    with pytest.raises(Problem):
        room.open("0" * 32, True)
