"""A lesson: the teacher's page shows the way in, phones follow the run, guess, and send photos to the class that is open."""

import re

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PHONE = {"viewport": {"width": 390, "height": 844}, "extra_http_headers": {"X-Forwarded-For": "192.168.77.21"}}
"""What a phone on the network looks like to the server; only who sits at its computer may say so."""
IDLE = "document.querySelectorAll('#lane-finetune .memo').length === 4"
AT = "Number(document.querySelector('.forget').dataset.position)"
STATE = "document.querySelector('.forget')?.dataset.state"
MEMOS = "all => all.map(one => one.dataset.state)"
WIDE = "document.documentElement.scrollWidth"


def reach(tab, what):
    """Waits until an expression is true in a page whose policy lets nobody evaluate text, the browser's driver included."""
    tab.lab.until(lambda: tab.page.evaluate(what), what)


@pytest.fixture
def follow(class_lab, opened):
    """follow(…) gives a phone that has opened the address of the QR code."""

    def new(**context):
        tab = opened(class_lab, **PHONE, **context)
        room = class_lab.get("class")
        assert room["join"]["link"] == f"{class_lab.address}join?room={room['code']}"
        tab.page.goto(room["join"]["link"])
        tab.page.wait_for_selector(".note:visible")
        return tab

    return new


def test_phones_follow_guess_and_learn_the_tally_with_the_verdict(class_lab, opened, follow):
    teacher = opened(class_lab).open()
    teacher.sees(IDLE)
    teacher.page.wait_for_selector(".classpanel .qr")
    assert f"127.0.0.1:{class_lab.port}/join" in teacher.text(".classpanel .address")
    first, second = follow(), follow(locale="ja-JP", color_scheme="dark", reduced_motion="reduce")
    for phone in (first, second):
        reach(phone, IDLE)
        assert phone.page.evaluate(WIDE) <= 390
        assert phone.page.locator("[data-do=start], #story, input[type=range]").count() == 0
    assert second.text("#lane-tosca figcaption") == "りんご"
    first.page.click(".num[data-value='4']")
    first.page.click(".num[data-value='1']")
    second.page.click(".num[data-value='0']")
    teacher.reads(".classpanel", "2 guesses so far")
    assert teacher.barriers() + first.barriers("light") + second.barriers("dark") == []
    teacher.page.click("[data-do=start]")
    reach(first, f"{STATE} === 'running' && {AT} > 1")
    behind = teacher.page.evaluate(AT) - first.page.evaluate(AT)
    assert abs(behind) < 1
    assert teacher.page.locator(".tally").count() == first.page.locator(".tally").count() == 0
    for tab in (first, second, teacher):
        reach(tab, f"{STATE} === 'ended'")
        tab.page.wait_for_selector(".tally")
    assert teacher.barriers("dark") + first.barriers() + second.barriers() == []
    training = class_lab.get("packs/latest")["training"]
    kept = class_lab.get(f"runs/{training['runs']['finetune']}/lane")["kept"]
    bars = first.page.locator(".tally li").all()
    votes = [[bar.get_attribute("data-votes"), (bar.get_attribute("class") or "").strip()] for bar in bars]
    assert votes == [[n, "right" if right == kept else ""] for right, n in enumerate("11000")]
    assert f"kept {kept} of 4" in first.text(".verdict .q")
    assert not first.page.locator(".ask").is_visible()
    seen = [tab.page.eval_on_selector_all("#lane-finetune .memo", MEMOS) for tab in (teacher, first)]
    assert seen[0] == seen[1]


def test_the_code_can_be_typed_and_a_wrong_one_is_said(class_lab, opened):
    phone = opened(class_lab, **PHONE)
    phone.forgiven = re.compile("404")
    phone.page.goto(class_lab.address)
    assert phone.page.url == f"{class_lab.address}join"
    phone.page.fill("#code", "WRONG2")
    phone.page.keyboard.press("Enter")
    phone.page.wait_for_url(re.compile("WRONG2"))
    phone.reads(".why", "No class has this code")
    assert phone.barriers("light") + phone.barriers("dark") == []
    phone.page.fill("#code", class_lab.get("class")["code"].lower())
    phone.page.keyboard.press("Enter")
    phone.page.wait_for_url(re.compile(class_lab.get("class")["code"]))
    phone.page.wait_for_selector(".note:visible")


def test_a_small_projector_shows_the_whole_wall_and_the_way_in(class_lab, opened):
    tab = opened(class_lab, viewport={"width": 1366, "height": 768})
    tab.page.goto(f"{class_lab.address}wall")
    tab.sees(f"{STATE} === 'ended'")
    code = class_lab.get("class")["code"]
    tab.reads(".walldoor", f"{code[:3]} {code[3:]}")
    bottom = "document.querySelector('.forget .verdict').getBoundingClientRect().bottom"
    assert tab.page.evaluate(bottom) <= 768
    assert tab.page.evaluate(WIDE) <= 1366
    tab.page.click(".walldoor button")
    tab.reads(".qrlarge .address", f"127.0.0.1:{class_lab.port}/join")


def test_photos_reach_the_open_class_and_the_teacher_deletes_one(class_lab, opened, follow, made, tmp_path):
    made.folder(tmp_path, {"leaf": 2, "stone": 3})
    teacher, phone = opened(class_lab).open(tab="data"), follow()
    teacher.upload(*sorted((tmp_path / "leaf").iterdir()))
    assert not phone.page.locator(".photos").is_visible()
    teacher.page.click("[data-do=open_class]")
    phone.page.wait_for_selector("[data-do=send]:visible")
    with phone.page.expect_file_chooser() as chooser:
        phone.page.click("[data-do=send]")
    chooser.value.set_files([str(file) for file in sorted((tmp_path / "stone").iterdir())])
    phone.reads(".photos", "3 photos have arrived")
    teacher.reads("article.class .count", "5 photos")
    assert teacher.barriers() + phone.barriers("light") + phone.barriers("dark") == []
    teacher.page.locator("article.class .thumb").last.hover()
    teacher.page.locator("article.class .thumb button").last.click()
    teacher.reads("article.class .count", "4 photos")
    teacher.page.click("[data-do=close_class]")
    phone.page.wait_for_selector(".photos", state="hidden")
