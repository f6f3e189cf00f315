"""What a person meets in the first minutes: an empty lab, bad files, mistakes and their way back, interruptions, languages."""

import io
import os
import re
import signal
import zipfile

import pytest
from PIL import Image

pytestmark = pytest.mark.browser
SLOW = {"tosca": {"epochs": 100, "batch": 1}}
"""Settings of a run that lasts long enough to be interrupted."""


@pytest.fixture
def two(made, tmp_path):
    """A zip of two classes, four photos each."""
    return made.zipped(made.folder(tmp_path / "two", {"apple": 4, "brick": 4}), tmp_path / "two.zip")


@pytest.fixture
def four(made, tmp_path):
    """A zip of four classes, sixteen photos each."""
    counts = dict.fromkeys(("apple", "brick", "cloud", "desk"), 16)
    return made.zipped(made.folder(tmp_path / "four", counts), tmp_path / "four.zip")


def tasks(tab) -> list[list[str]]:
    """Names of the classes of every task, as the page lists them."""
    rows = tab.page.locator(".plan li:not(.add)")
    return [row.locator(".chip span").all_inner_texts() for row in rows.all()]


def begin(tab, zip_, methods=("tosca",), settings=None) -> list[str]:
    """Uploads, trains, and gives the ids of the runs."""
    tab.upload(zip_)
    project = tab.project()
    chosen = {"do": "choose", "methods": list(methods), "settings": settings or {}, "seed": 0}
    tab.page.evaluate("([path, asked]) => fetch(path, {method: 'POST', body: JSON.stringify(asked)})",
                      [f"projects/{project['id']}/edit", chosen])  # fmt: skip
    tab.page.reload()
    tab.go("train")
    tab.page.click("#start:not([disabled])")
    tab.page.wait_for_selector(".live[data-run]", state="visible")
    return tab.project()["runs"]


def status(tab, rid: str) -> str:
    return tab.lab.get(f"runs/{rid}")["status"]


def test_an_empty_lab_says_how_to_begin(lab, opened):
    tab = opened(lab).open(tab="data")
    tab.reads("#view-data .empty", "Drop photos here")
    assert tab.page.locator("#view-data article.class").count() == 0
    tab.go("train")
    tab.reads("#start-why", "Add photos under My data first.")
    assert tab.page.locator("#start").is_disabled()
    tab.go("inside")
    tab.reads("#view-inside", "Nothing to look into yet")


def test_bad_files_are_named_and_cost_nothing_else(lab, opened, made, tmp_path):
    with zipfile.ZipFile(tmp_path / "pets.zip", "w") as archive:
        for number in range(3):
            archive.writestr(f"cat/{number}.png", made.photo("apple", number))
            archive.writestr(f"dog/{number}.png", made.photo("brick", number))
        archive.writestr("cat/broken.jpg", made.photo("apple", 9, kind="JPEG")[:300])
        archive.writestr("dog/notes.txt", "not a photo")
    tab = opened(lab).open(tab="data")
    tab.upload(tmp_path / "pets.zip")
    tab.reads(".facts", "6 photos")
    tab.reads(".toasts", "left out")
    tab.reads(".toasts", "broken.jpg")
    (tmp_path / "letter.png").write_text("Dear sir or madam")
    tab.upload(tmp_path / "letter.png", button="#view-data .factrow button")
    tab.reads(".toasts", "letter.png")
    tab.page.keyboard.press("Escape")
    tab.sees("!document.querySelector('.toast')")
    tab.reads(".facts", "6 photos")


def test_a_class_with_one_photo_keeps_training_closed_and_says_why(lab, opened, made, tmp_path):
    counts = {"apple": 4, "brick": 4, "cloud": 1}
    tab = opened(lab).open(tab="data")
    tab.upload(made.zipped(made.folder(tmp_path / "in", counts), tmp_path / "in.zip"))
    assert tab.page.locator("#go-train").is_disabled()
    tab.reads("#why-not", "cloud")
    tab.go("train")
    assert tab.page.locator("#start").is_disabled()
    tab.reads("#start-why", "cloud")
    tab.page.click("#start-why .link")  # the repair that is offered
    tab.page.wait_for_selector("#start:not([disabled])")
    tab.go("data")
    tab.reads(".leftout", "cloud")
    assert sum(map(len, tasks(tab)), 0) == 2


def test_renaming_deleting_and_the_way_back(lab, opened, two):
    tab = opened(lab).open(tab="data")
    page = tab.page
    tab.upload(two)
    name = page.locator("article.class h3").first
    name.fill("red fruit")
    name.press("Enter")
    tab.lab.until(lambda: tab.project()["classes"][0]["name"] == "red fruit", "the class has its new name")
    tab.reads(".plan .chip", "red fruit")
    page.locator("article.class").first.locator("[data-do=delete], .acts button:last-child").last.click()
    tab.reads(".facts", "1 class")
    tab.reads(".toasts", "red fruit")
    page.click(".toasts .link")
    tab.reads(".facts", "2 classes")
    assert [c["name"] for c in tab.project()["classes"]] == ["red fruit", "brick"]
    page.locator("article.class .thumb").first.hover()
    page.locator("article.class .thumb button").first.click()
    tab.reads(".facts", "7 photos")
    page.click(".toasts .link")
    tab.reads(".facts", "8 photos")
    page.reload()
    tab.reads(".facts", "8 photos")
    assert page.locator("article.class h3").first.text_content() == "red fruit"


def test_classes_move_between_tasks_by_keys_alone(lab, opened, four):
    tab = opened(lab).open(tab="data")
    tab.upload(four)
    assert tasks(tab) == [["apple", "brick"], ["cloud", "desk"]]
    chip = tab.page.locator(".plan .chip", has_text="apple")
    chip.focus()
    tab.page.keyboard.press("Alt+ArrowDown")
    tab.lab.until(lambda: tasks(tab) == [["brick"], ["cloud", "desk", "apple"]], "apple is in the second task")
    assert tab.page.evaluate("document.activeElement.textContent") == "apple"  # the focus goes with it
    tab.page.keyboard.press("Alt+ArrowLeft")
    tab.lab.until(lambda: tasks(tab) == [["brick"], ["cloud", "apple", "desk"]], "apple is in the middle")
    tab.reads("body > .hidden[aria-live]", "apple is now in task 2, place 2")  # each move is said, quick ones too
    tab.page.keyboard.press("Delete")
    tab.reads(".leftout", "apple")
    tab.page.locator(".leftout .chip").focus()
    tab.page.keyboard.press("Alt+ArrowDown")
    tab.lab.until(lambda: tasks(tab) == [["brick", "apple"], ["cloud", "desk"]], "apple is back")
    tab.page.keyboard.press("Alt+ArrowUp")
    tab.reads(".leftout", "apple")


def test_a_run_pauses_steps_stops_and_goes_on(lab, opened, four):
    tab = opened(lab).open(tab="data")
    (rid,) = begin(tab, four, settings=SLOW)
    page = tab.page
    page.click("[data-focus='pace-live']")
    page.click("[data-do=pause]")
    tab.lab.until(lambda: status(tab, rid) == "paused", "the run is paused")
    tab.reads(".live", "paused")
    begun = lab.finished(rid)
    page.click("[data-do=step]")
    tab.lab.until(lambda: lab.finished(rid) == begun + 1, "one task more")
    tab.lab.until(lambda: status(tab, rid) == "paused", "and paused again")
    tab.reads(".live", "Finished tasks are kept.")
    page.click("[data-do=stop]")
    tab.lab.until(lambda: status(tab, rid) == "stopped", "the run is stopped")
    tab.reads(".live", "was stopped after")
    page.click("[data-do=resume]")
    tab.lab.until(lambda: status(tab, rid) == "finished", "the run has finished")
    tab.reads("#result", "At the end")
    tab.reads(".live", "has learnt 2 tasks")


def test_what_still_trains_is_stopped_beside_a_run_that_is_done(lab, opened, four):
    tab = opened(lab).open(tab="data")
    runs = begin(tab, four, methods=("simplecil", "softtf"), settings={"softtf": {"epochs": 100, "batch": 1}})
    page, of = tab.page, {lab.get(f"runs/{rid}")["method"]: rid for rid in runs}
    page.click("[data-focus='pace-live']")
    page.click(f"[data-focus='other-{of['simplecil']}'], .live[data-run='{of['simplecil']}'] .progress")
    tab.sees("document.querySelector('.live').dataset.mode === 'recorded'")
    assert status(tab, of["softtf"]) in ("queued", "running")
    page.click(".live [data-do=stop]")
    tab.lab.until(lambda: status(tab, of["softtf"]) == "stopped", "the other run is stopped")
    tab.sees("!document.querySelector('.live [data-do=stop]')")


def test_a_second_tab_and_a_new_server_find_project_and_run(lab, opened, four):
    tab = opened(lab).open(tab="data")
    tab.forgiven = re.compile("ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE")  # while there is no server
    (rid,) = begin(tab, four, settings=SLOW)
    second = opened(lab, beside=tab).open(tab="train")
    second.forgiven = tab.forgiven
    second.page.wait_for_selector(f".live[data-run='{rid}']", state="visible")
    tab.lab.until(lambda: lab.finished(rid) >= 1, "one task learnt")
    lab.stop()
    tab.reads("#view-header .status", "does not answer")
    lab.start()
    tab.lab.until(lambda: status(tab, rid) == "finished", "the run went on and finished")
    for one in (tab, second):
        one.page.bring_to_front()
        one.sees("document.querySelector('.live').dataset.status === 'finished'")
        one.sees("document.querySelector('#view-header .status').hidden")
    assert [c["name"] for c in tab.project()["classes"]] == ["apple", "brick", "cloud", "desk"]


def test_a_worker_that_dies_is_said_and_the_run_goes_on(lab, opened, four):
    tab = opened(lab).open(tab="data")
    (rid,) = begin(tab, four, settings=SLOW)
    tab.lab.until(lambda: lab.finished(rid) >= 1, "one task learnt")
    os.kill(lab.worker.pid, signal.SIGKILL)
    tab.reads(".toasts", "The learning part stopped and is starting again")
    tab.reads(".toasts", "Finished tasks are kept.")
    tab.lab.until(lambda: status(tab, rid) == "finished", "the run has finished")
    assert tab.lab.get(f"runs/{rid}")["restarted"]


@pytest.mark.parametrize(("language", "words"), ids=("ja", "en"), argvalues=[("ja", "写真"), ("en", "Your photos")])
def test_the_page_speaks_one_language_and_keeps_it(lab, opened, two, language, words):
    tab = opened(lab).open("?lang=" + language, tab="data")
    tab.upload(two)
    tab.reads("#view-data h2", words)
    assert tab.page.get_attribute("html", "lang") == language
    left = tab.page.evaluate("[...document.body.innerText.matchAll(/\\b[a-z]+\\.[a-z_]+(\\.[a-z_]+)?\\b/g)].map(one => one[0])")
    assert [key for key in left if key.split(".")[0] in ("data", "plan", "problem", "start", "methods", "note", "strip")] == []


def test_other_language_by_the_button(lab, opened, two):
    tab = opened(lab).open(tab="data")
    tab.upload(two)
    tab.page.click("[data-do=language]")
    tab.sees("document.documentElement?.lang === 'ja'")
    tab.page.wait_for_selector("#view-data article.class")
    tab.page.goto(lab.address)  # without the language in the address
    tab.sees("document.documentElement?.lang === 'ja'")


def test_dark_by_the_button_and_after_a_reload(lab, opened, two):
    tab = opened(lab).open(tab="data")
    tab.upload(two)
    light = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    tab.page.click("[data-do=theme]")
    dark = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, dark[4:-1].split(","))) < 200 < sum(map(int, light[4:-1].split(",")))
    tab.page.reload()
    tab.page.wait_for_selector("#view-data article.class")
    tab.sees(f"getComputedStyle(document.body).backgroundColor === '{dark}'")


def test_a_phone_never_scrolls_sideways(lab, opened, four):
    tab = opened(lab, viewport={"width": 390, "height": 844}, has_touch=True).open(tab="data")
    wide = "Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth"
    assert tab.page.evaluate(wide) <= 0
    begin(tab, four)
    tab.reads("#result", "At the end")
    for name in ("train", "data", "inside"):
        tab.go(name)
        assert tab.page.evaluate(wide) <= 0, name
    tab.go("train")
    tab.page.locator(".method").first.evaluate("one => one.scrollIntoView()")
    tab.page.wait_for_function(START_SHOWS)
    assert tab.page.evaluate("document.querySelector('#experiments').offsetTop > document.querySelector('#start').offsetTop")


START_SHOWS = "(({top, bottom}) => top > 0 && bottom <= innerHeight)(document.querySelector('#start').getBoundingClientRect())"
"""Start stays in reach while one chooses."""


def test_names_of_classes_are_text_and_nothing_else(lab, opened, made, tmp_path):
    names = ["<script>alert(1)</script>", "<img src=x onerror=alert(2)>", "abc\u202egnp", "x" * 90]
    with zipfile.ZipFile(tmp_path / "names.zip", "w") as archive:
        for at, name in enumerate(names):
            for number in range(3):
                folder = name.replace("/", "\u2215")
                archive.writestr(f"{folder}/{number}.png", made.photo("apple", 10 * at + number))
    tab = opened(lab).open(tab="data")
    alerts = []
    tab.page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    begin(tab, tmp_path / "names.zip", methods=("simplecil",))
    tab.reads("#result", "At the end")
    tab.page.locator("#chart-curves .main-svg").first.hover()
    tab.go("data")
    found = " ".join(tab.page.locator("article.class h3").all_text_contents())
    assert "<script>" in found
    assert "<img src=x" in found
    assert "\u202e" not in tab.page.content()
    side = "(one => one.scrollWidth - one.clientWidth)(document.querySelector('#view-data aside'))"
    assert tab.page.evaluate(side) <= 0  # a long name is cut, the column keeps its width
    assert tab.page.locator("#view-data script, #view-train script, img[onerror]").count() == 0
    assert alerts == []


def test_an_uploaded_photo_gets_an_answer(lab, opened, made, four, tmp_path):
    tab = opened(lab).open(tab="data")
    begin(tab, four)
    tab.reads("#result", "At the end")
    tab.go("inside")
    (tmp_path / "new.png").write_bytes(made.photo("cloud", 77))
    tab.reads("#view-inside", "Ask one photo")
    with tab.page.expect_file_chooser() as chooser:
        tab.page.get_by_role("button", name="Ask your own photo").click()
    chooser.value.set_files([str(tmp_path / "new.png")])
    tab.reads("#view-inside .askrow", "Your photo")
    tab.reads("#view-inside .askrow", "answers")


def test_a_picture_from_the_clipboard_becomes_a_photo(lab, opened, two):
    tab = opened(lab).open(tab="data")
    tab.upload(two)
    out = io.BytesIO()
    Image.new("RGB", (64, 48), (90, 30, 60)).save(out, "PNG")
    tab.page.locator("article.class").nth(1).focus()
    tab.page.evaluate("""bytes => {
      const carried = new DataTransfer();
      carried.items.add(new File([new Uint8Array(bytes)], 'image.png', {type: 'image/png'}));
      const event = new ClipboardEvent('paste', {clipboardData: carried, bubbles: true, cancelable: true});
      document.activeElement.dispatchEvent(event);
    }""", list(out.getvalue()))  # fmt: skip
    tab.reads(".facts", "9 photos")
    assert [c["count"] for c in tab.project()["classes"]] == [4, 5]
