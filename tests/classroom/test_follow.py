"""What a class follows: one guess a device until the answer is out, and the story told once."""

import re

import pytest
from class_made import TRAINING, entered, show, trained


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
