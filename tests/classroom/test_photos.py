"""Photos of phones: redrawn, counted, and only into the one open class."""

import io
import zipfile

import pytest
from class_made import PHONE, entered, jpeg
from PIL import Image
from starlette.testclient import TestClient

from forget_me_not.demo import classroom
from forget_me_not.demo.classroom import PHOTO_BYTES, PHOTOS_EACH
from forget_me_not.models.problem import Problem


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


def test_a_project_of_another_shape_is_not_opened(room, teacher):
    for pid in ("x", "0" * 32, None, 5):
        assert teacher.post("/class", json={"do": "open", "project": pid, "class": 1}).status_code in (400, 404)
    with pytest.raises(Problem):
        room.open("0" * 32, True)
