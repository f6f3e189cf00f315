"""My data and Train as a person grows into them: the queue, seeds, links with settings, a folder of this computer, the camera."""

import importlib.util
import re
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("lab_conftest", Path(__file__).with_name("conftest.py"))
conftest = importlib.util.module_from_spec(spec)
spec.loader.exec_module(conftest)
CHROMIUM, FLAGS, Tab = conftest.CHROMIUM, conftest.FLAGS, conftest.Tab

pytestmark = pytest.mark.browser
SLOW = {"softtf": {"epochs": 100, "batch": 2, "layers": "all"}}
"""Settings of a run that lasts minutes on any machine: the test ends it, it never ends by itself."""


@pytest.fixture
def four(made, tmp_path):
    """A zip of four classes, eight photos each."""
    counts = dict.fromkeys(("apple", "brick", "cloud", "desk"), 8)
    return made.zipped(made.folder(tmp_path / "four", counts), tmp_path / "four.zip")


def choose(tab, methods=("tosca",), settings=None, **more) -> None:
    """What the person has chosen before, as the project keeps it; then the page in Train."""
    chosen = {"do": "choose", "methods": list(methods), "settings": settings or {}, "seed": 0, **more}
    tab.page.evaluate("([path, asked]) => fetch(path, {method: 'POST', body: JSON.stringify(asked)})",
                      [f"projects/{tab.project()['id']}/edit", chosen])  # fmt: skip
    tab.page.reload()
    tab.go("train")


def lines(tab) -> list[dict]:
    return tab.lab.get(f"projects/{tab.project()['id']}/runs")["runs"]


def test_a_second_training_waits_its_turn_and_can_be_taken_out(lab, opened, four):
    tab = opened(lab).open(tab="data")
    page = tab.page
    tab.upload(four)
    choose(tab, methods=SLOW, settings=SLOW)
    page.click("#start:not([disabled])")
    page.wait_for_selector(".live[data-run]", state="visible")
    first = page.get_attribute(".live", "data-run")
    tab.reads("#start", "Put it into the queue")
    page.fill("#seed", "7")
    page.press("#seed", "Tab")
    page.click("#start")
    tab.reads(".queue", "Seed 7.")
    tab.reads(".queue", "Starts")
    page.click(".queue [data-do=withdraw]")
    page.wait_for_selector(".queue", state="hidden")
    assert [one["seed"] for one in lines(tab)] == [0]
    page.click(".toasts .link")  # put it back
    tab.reads(".queue", "Seed 7.")
    assert page.get_attribute(".live", "data-run") == first  # what is being watched stays
    page.click("[data-do=stop]")
    tab.lab.until(lambda: lines(tab)[-1]["begun"], "the waiting training has begun")
    second = lines(tab)[-1]["id"]
    page.wait_for_selector(f".live[data-run='{second}']")
    page.wait_for_selector(".queue", state="hidden")


def test_the_second_click_of_a_double_click_starts_no_second_training(lab, opened, four):
    tab = opened(lab).open(tab="data")
    page = tab.page
    tab.upload(four)
    choose(tab, methods=SLOW, settings=SLOW)
    page.click("#start:not([disabled])")
    tab.reads("#start", "Put it into the queue")
    page.mouse.down(click_count=2)  # where the first click was
    page.mouse.up(click_count=2)
    page.wait_for_timeout(1000)
    assert len(lines(tab)) == 1
    page.click("#start")
    tab.lab.until(lambda: len(lines(tab)) == 2, "a click of its own puts another one into the queue")
    page.click("[data-do=withdraw]")
    page.click("[data-do=stop]")


def test_time_left_is_told_of_the_whole_training_whichever_method_is_shown(lab, opened, four):
    tab = opened(lab).open(tab="data")
    tab.upload(four)
    choose(tab, methods=("simplecil", "tosca", "softtf"), settings={"tosca": {"epochs": 40}, **SLOW})
    page = tab.page
    page.click("#start:not([disabled])")
    page.wait_for_selector(".live[data-run]", state="visible")
    page.click("[data-focus='pace-live']")
    of = {one["method"]: one["id"] for one in tab.lab.until(lambda: lines(tab), "the runs")}
    tab.reads(".live .eta", "left for the whole training")
    for method in ("simplecil", "tosca", "softtf"):  # the first has long ended
        page.click(f"[data-focus='other-{of[method]}'], .live[data-run='{of[method]}'] .progress")
        page.wait_for_selector(f".live[data-run='{of[method]}'] .eta b")
    assert tab.lab.get(f"runs/{of['simplecil']}")["status"] == "finished"
    left = [one["left"] for one in lines(tab) if one["status"] == "running"]
    assert left
    assert len(set(left)) == 1
    page.click(".live [data-do=stop]")
    tab.lab.until(lambda: not any(one["status"] == "running" for one in lines(tab)), "nothing is at work")
    tab.sees("!document.querySelector('.live .eta')")


def test_three_seeds_show_the_first_and_the_spread(lab, opened, four):
    tab = opened(lab).open(tab="data")
    page = tab.page
    tab.upload(four)
    choose(tab, methods=("simplecil",))
    page.click("#seeds [data-value='3']")
    tab.reads("#seeds", "with seeds 0, 1, 2")
    tab.lab.until(lambda: tab.project()["chosen"]["seeds"] == 3, "the choice is kept")
    page.click("#start:not([disabled])")
    page.click("[data-focus='pace-live']")
    tab.reads("#result", "At the end")
    tab.reads("#result", "Over 3 seeds:")
    assert [(one["seed"], one["status"]) for one in lines(tab)] == [(seed, "finished") for seed in range(3)]
    assert page.get_attribute(".live", "data-run") == lines(tab)[0]["id"]  # the first seed
    shares = [float(one) for one in page.get_attribute("[data-spread]", "data-spread").split(",")]
    ends = [tab.lab.get(f"runs/{one['id']}/figures")["view"]["accuracy"] for one in lines(tab)]
    assert shares == pytest.approx(ends)
    tab.go("compare")
    tab.reads("#leaderboard", "3 seeds")


CAMERA = ["--use-fake-device-for-media-stream=device-count=2", "--use-fake-ui-for-media-stream"]
"""Chromium's own moving test picture in place of two cameras, allowed without asking."""


@pytest.fixture
def with_camera(browser, lab):
    """A person's tab in a browser that has two cameras; what it asks for outside and what goes wrong is seen to."""
    chromium = browser.browser_type.launch(executable_path=CHROMIUM, args=[*FLAGS, *CAMERA])
    tab = Tab(lab, chromium.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB").new_page())
    yield tab
    chromium.close()
    tab.clean()


def photos(tab) -> dict[str, int]:
    return {one["name"]: one["count"] for one in tab.project()["classes"]}


def test_holding_records_bursts_by_pointer_and_by_key(with_camera):
    tab, page = with_camera, with_camera.page
    tab.open(tab="data")
    page.click("#view-data .empty [data-do=camera]")
    shutter = page.locator("dialog.camera [data-do=shoot]:not([disabled])")
    shutter.wait_for()
    assert page.locator("dialog.camera video").evaluate("one => getComputedStyle(one).transform") == "matrix(-1, 0, 0, 1, 0, 0)"
    shutter.hover()
    page.mouse.down()
    tab.reads("dialog.camera", "3 photos taken")
    page.mouse.up()
    page.wait_for_timeout(300)
    held = int(page.locator("dialog.camera > .sub").inner_text().split()[0])
    page.wait_for_timeout(500)
    assert int(page.locator("dialog.camera > .sub").inner_text().split()[0]) == held  # let go is let go
    page.click("dialog.camera [data-do=switch]")
    shutter.wait_for()
    page.keyboard.down("Space")
    tab.lab.until(lambda: int(page.locator("dialog.camera > .sub").inner_text().split()[0]) >= held + 2, "two more by the key")
    page.keyboard.up("Space")
    page.evaluate("window.stream = document.querySelector('dialog.camera video').srcObject")
    page.click("dialog.camera [data-do=camera-done]")
    page.wait_for_selector("dialog.camera", state="detached")
    assert page.evaluate("window.stream.getTracks().map(one => one.readyState)") == ["ended"]
    page.wait_for_selector("#view-data .uploading", state="hidden")
    tab.lab.until(lambda: photos(tab).get("My photos", 0) >= held + 2, "all are in one class")
    stored = tab.lab.get(f"projects/{tab.project()['id']}")["classes"][0]
    assert [note["code"] for note in stored["notes"]][-1] in ("note_bursts", "note_one_group")  # the test picture moves little
    tab.reads("#view-data article.class", "My photos")


def test_one_photo_of_the_camera_is_asked_about_and_kept_nowhere(with_camera, four):
    tab, page = with_camera, with_camera.page
    tab.open(tab="data")
    tab.upload(four)
    choose(tab)
    page.click("#start:not([disabled])")
    tab.lab.until(lambda: [one["status"] for one in lines(tab)] == ["finished"], "the run is finished")
    before = photos(tab)
    tab.go("inside")
    page.click("#ask-one [data-do=ask-camera]")
    shutter = page.locator("dialog.camera [data-do=shoot]:not([disabled])")
    shutter.wait_for()
    tab.reads("dialog.camera .shutter", "Take the photo")
    assert page.locator("dialog.camera [data-do=camera-done]").count() == 0  # one photo ends it
    page.evaluate("window.stream = document.querySelector('dialog.camera video').srcObject")
    page.keyboard.press("Enter")  # the shutter has the focus
    page.wait_for_selector("dialog.camera", state="detached")
    assert page.evaluate("window.stream.getTracks().map(one => one.readyState)") == ["ended"]
    tab.reads("#ask-one figcaption", "Your photo")
    page.wait_for_selector("#ask-one .bars .win")
    assert page.eval_on_selector("#ask-one figure img", "one => one.src.startsWith('blob:') && one.naturalWidth") == 640
    said = {one.split()[0] for one in page.locator("#ask-one .bars .vote > span:first-child").all_inner_texts()}
    assert said <= {"apple", "brick", "cloud", "desk"}
    assert photos(tab) == before  # it was asked about, not added


def picked(tab) -> set[str]:
    return set(tab.page.eval_on_selector_all(".method input:checked", "all => all.map(one => one.value)"))


def test_a_link_brings_methods_settings_and_seed_and_leaves_out_what_is_not_known(lab, opened):
    asked = "method=simplecil,tosca,<b>magic</b>&lambda=0.01&epochs=9999&tosca.lr=0.5&seed=7&seeds=3&hide=expert,moon"
    tab = opened(lab).open(tab=f"train&{asked}")
    page = tab.page
    page.wait_for_selector("#set-tosca-sparsity")
    assert picked(tab) == {"simplecil", "tosca"}
    assert [page.input_value(f"#set-tosca-{name}") for name in ("sparsity", "epochs", "lr")] == ["0.01", "20", "0.5"]
    assert page.input_value("#seed") == "7"
    assert page.locator("#seeds [aria-checked=true]").get_attribute("data-value") == "3"
    tab.reads(".toasts", "There is no method <b>magic</b> here.")
    tab.reads(".toasts", "epochs cannot be 9999; it takes 1 to 100.")
    assert page.locator(".toasts b b").count() == 0
    page.wait_for_selector(".expert", state="hidden")
    tab.go("data")
    said = "#data&method=simplecil,tosca,"  # tab and settings live in one address
    tab.lab.until(lambda: page.evaluate("location.hash").startswith(said), "the address names the tab")
    tab.go("train")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("[data-do=copy-link]")
    tab.reads(".toasts", "Link copied")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.split("#")[1] == "train&method=tosca,simplecil&tosca.lambda=0.01&tosca.lr=0.5&seed=7&seeds=3&hide=expert,moon"
    page.fill("#seed", "9")  # changed by hand: the link no longer says what is chosen
    page.press("#seed", "Tab")
    assert page.evaluate("location.hash") == "#train&hide=expert,moon"
    page.evaluate("location.hash = 'train&method=finetune&seed=4'")
    tab.lab.until(lambda: picked(tab) == {"finetune"}, "the address typed anew")
    other = opened(lab).open(tab=link.split("#")[1])
    other.page.wait_for_selector("#set-tosca-sparsity")
    assert other.page.input_value("#set-tosca-sparsity") == "0.01"
    assert other.page.input_value("#seed") == "7"


def test_a_link_names_the_starter_pack(lab, opened):
    tab = opened(lab).open(tab="pack=digits&seed=5")
    tab.page.wait_for_selector("#view-forget [role=radio][data-value=digits][aria-checked=true]")
    tab.reads("#view-forget", "seed 5")
    wrong = opened(lab).open(tab="pack=nothing")
    wrong.reads(".toasts", "There is no starter pack nothing here.")


def test_a_folder_of_this_computer_is_opened_by_its_path(lab, opened, made, tmp_path):
    folder = made.folder(tmp_path / "pets", {"apple": 6, "brick": 6})
    tab = opened(lab).open(tab="data")
    page = tab.page
    tab.forgiven = re.compile(r"400 \(Bad Request\).*/folder")  # the browser's own word on the refusal
    page.click(".openfolder summary")
    page.fill("#folder-path", "pets")
    page.press("#folder-path", "Enter")
    tab.reads(".toasts", "Write the whole path of a folder")
    page.fill("#folder-path", str(folder))
    page.click("[data-do=open-folder]")
    tab.reads(".toasts", "12 photos of pets are in")
    tab.reads(".facts", "2 classes")
    tab.reads(".facts", "12 photos")


def test_one_task_says_that_nothing_can_be_forgotten_and_splits_itself(lab, opened, four):
    tab = opened(lab).open(tab="data")
    page = tab.page
    tab.upload(four)
    assert page.locator("[data-alone]").count() == 0
    page.click("[data-preset='4']")
    tab.reads("#view-data [data-alone]", "nothing can be forgotten")
    tab.go("train")
    tab.reads("#view-train [data-alone]", "Make at least two tasks")
    assert page.locator("#start").is_enabled()
    page.click("#view-train [data-alone] .link")
    tab.sees("!document.querySelector('[data-alone]')")
    assert [len(task["classes"]) for task in tab.project()["tasks"]] == [2, 2]


def test_a_large_class_shows_a_dozen_all_on_request_and_can_be_emptied(lab, opened, made, tmp_path):
    tab = opened(lab).open(tab="data")
    page = tab.page
    tab.upload(made.zipped(made.folder(tmp_path / "in", {"apple": 130, "brick": 3}), tmp_path / "in.zip"))
    card = page.locator("article.class").first
    card.locator(".rest").wait_for()
    assert (card.locator(".thumb").count(), card.locator(".rest").inner_text()) == (12, "+118")
    card.locator(".rest").click()
    tab.lab.until(lambda: card.locator(".thumb").count() == 96, "the first screens")
    card.locator(".thumbs").evaluate("one => one.scrollTo(0, one.scrollHeight)")
    tab.lab.until(lambda: card.locator(".thumb").count() == 130, "and the rest when scrolled to")
    card.locator(".thumb").nth(120).hover()
    card.locator(".thumb button").nth(120).click()
    tab.reads(".facts", "132 photos")
    card.locator("[data-do=empty]").click()
    tab.reads(".facts", "3 photos")
    tab.reads(".toasts", "129 photos of apple deleted")
    page.click(".toasts .link")
    tab.reads(".facts", "132 photos")
    tab.lab.until(lambda: card.locator(".thumb").count() == 12, "a dozen again")


def test_what_keeps_training_closed_offers_its_repair_and_cards_say_what_a_method_is(lab, opened, four):
    tab = opened(lab).open(tab="train")
    page = tab.page
    page.click("#start-why .link")  # no photos yet: the way to them
    page.wait_for_selector("#view-data .empty", state="visible")
    tab.upload(four)
    tab.reads(".plan + *, .side", "Or by hand")
    page.click("[data-preset='1']")
    tab.sees("document.querySelectorAll('.plan li:not(.add)').length === 4")
    page.locator(".plan .chip").first.focus()
    page.keyboard.press("Alt+ArrowDown")
    tab.reads(".side", "Arranged by hand")
    tab.go("train")
    page.wait_for_selector("#start:not([disabled])")
    for name in picked(tab):
        page.uncheck(f".method input[value={name}]", force=True)
    tab.reads("#start-why", "Choose at least one method.")
    page.click("#start-why .link")
    page.wait_for_selector("#start:not([disabled])")
    assert picked(tab) == {"finetune", "tosca"}
    page.click("[data-card=tosca]")
    tab.reads("#card-tosca", "arXiv:2502.14762")
    tab.reads("#card-tosca", "How ours differs from the paper")
    tab.reads("#card-tosca", "claims of its paper")
    page.keyboard.press("Enter")  # the focus has stayed on the button
    page.wait_for_selector("#card-tosca", state="detached")
