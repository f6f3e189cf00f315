"""See it forget as a person has it: no upload, one button, the fall on screen, and a verdict that is the run's own."""

import os
import time

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ENDED = "document.querySelector('.forget')?.dataset.state === 'ended'"
IDLE = "document.querySelectorAll('#lane-finetune .memo').length === 4"
FELL = """(() => {
  const right = Number(document.querySelector('#lane-finetune').dataset.right);
  window.best = Math.max(window.best ?? 0, right);
  return window.best - right >= .3 * 40;
})()"""
MEMOS = "all => all.map(one => [one.dataset.state, one.querySelector('figcaption').innerText.trim()])"
SIZE = "one => parseFloat(getComputedStyle(document.querySelector(one)).fontSize)"
SLOWER = float(os.environ.get("FMN_SLOWER", "1"))
"""How many times slower than a quiet machine this one is."""


def lanes(tab):
    """What the server knows of the run the page shows."""
    training = tab.lab.get("packs/latest")["training"]
    return {method: tab.lab.get(f"runs/{rid}/lane") for method, rid in training["runs"].items()}


def shown(tab, method):
    """[(state, caption)] of the memory photos of a lane."""
    return tab.page.eval_on_selector_all(f"#lane-{method} .memo", MEMOS)


def test_forgetting_is_on_screen_half_a_minute_after_the_click(lab, opened):
    tab = opened(lab).open()
    tab.sees(IDLE)
    tab.page.click(".num[data-value='2']")
    began = time.monotonic()
    tab.page.click("[data-do=start]")
    tab.sees(FELL)
    assert time.monotonic() - began < 30 * SLOWER
    tab.sees(ENDED)
    found = lanes(tab)
    for method in ("finetune", "tosca"):
        last, photos = found[method]["marks"][-1], shown(tab, method)
        assert [state for state, _ in photos] == [photo["state"] for photo in last["photos"]]
        assert tab.text(f"#lane-{method} output") == f"{int(100 * last['right'] / last['total'] + 0.5)}%"
        for photo, (_, caption) in zip(last["photos"], photos, strict=True):
            assert photo["says"] in caption
    naive, tosca = found["finetune"], found["tosca"]
    said = tab.text(".verdict .q")
    assert ("You were right" in said) == (naive["kept"] == 2)
    assert f"kept {naive['kept']} of {naive['of']}" in said
    assert f"TOSCA kept {tosca['kept']} of {tosca['of']}" in said
    assert f"{int(100 * naive['last'] + 0.5)}% in the end" in tab.text(".verdict .facts")


def test_a_reload_finds_the_same_round(lab, opened):
    tab = opened(lab).open()
    tab.sees(IDLE)
    tab.page.click("[data-do=start]")
    tab.sees(ENDED)
    said = tab.text(".verdict .q")
    tab.page.reload()
    tab.sees(ENDED)
    assert tab.text(".verdict .q") == said


def test_time_goes_back_by_keyboard_and_photos_come_back(lab, opened):
    tab = opened(lab, reduced_motion="reduce").open()
    tab.sees(IDLE)
    tab.page.focus("[data-do=start]")
    tab.page.keyboard.press("Enter")
    tab.sees(ENDED)
    assert "lost" in [state for state, _ in shown(tab, "finetune")]
    tab.page.focus("#tab-forget input[type=range]")
    tab.page.keyboard.press("Home")
    for _ in range(48):
        tab.page.keyboard.press("ArrowRight")
    tab.sees("document.querySelector('.forget').dataset.position === '1'")
    assert tab.page.get_attribute("#tab-forget input[type=range]", "aria-valuetext") == "Task 2: Animals"
    assert [state for state, _ in shown(tab, "finetune")] == ["right"] * 4
    tab.page.keyboard.press("End")
    for _ in range(8):
        tab.page.keyboard.press("ArrowLeft")  # into the last task, where the first has begun to fall
    tab.sees("document.querySelector('.forget').dataset.position < 4")
    naive, tosca = (after(lanes(tab)[method], 3) for method in ("finetune", "tosca"))
    said = f"After task 3: the naive learner has {naive} of the photos of Fruit right, TOSCA {tosca}."
    tab.reads("body > .hidden[aria-live]", said)


def after(lane, task):
    """Share of task 1 that was right when `task` had been learnt."""
    mark = [mark for mark in lane["marks"] if mark["at"] <= task + 1e-6][-1]
    return f"{int(100 * mark['right'] / mark['total'] + 0.5)}%"


@pytest.mark.parametrize("locale", ["en-GB", "ja-JP"])
def test_the_wall_shows_lanes_scrubber_and_verdict_alone(lab, opened, locale):
    tab = opened(lab, viewport={"width": 1920, "height": 1080}, locale=locale)
    tab.page.goto(f"{lab.address}wall")
    tab.sees(ENDED)
    assert tab.page.locator("#view-forget").locator(".hero, .ask, .btn").count() == 0
    assert not tab.page.locator("#story [role=tab]").first.is_visible()
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 1920
    assert min(tab.page.evaluate(SIZE, place) for place in (".memo figcaption", ".verdict .q", ".lane h2")) >= 24


def test_in_japanese_on_a_phone(lab, opened):
    tab = opened(lab, viewport={"width": 390, "height": 844}, locale="ja-JP").open()
    tab.sees(IDLE)
    assert "忘れる" in tab.text("h1")
    assert shown(tab, "tosca")[0][1] == "りんご"
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_why_leads_to_the_run_inside(lab, opened):
    tab = opened(lab).open()
    tab.sees(IDLE)
    tab.page.click("[data-do=start]")
    tab.sees(ENDED)
    tab.page.click("[data-do=why]")
    tab.page.wait_for_selector("#view-inside .stick", state="visible")
    assert "Toy box" in tab.text("#view-header .run")


def test_runs_of_a_pack_stay_apart_from_ones_own_from_the_start(lab, opened, made, tmp_path):
    tab = opened(lab).open(tab="data")
    page = tab.page
    tab.upload(made.zipped(made.folder(tmp_path / "in", {"apple": 6, "brick": 6}), tmp_path / "in.zip"))
    page.click("#go-train")
    page.click("#start:not([disabled])")
    page.wait_for_selector(".live[data-mode=recorded]")
    own = set(tab.project()["runs"])
    tab.go("inside")
    tab.reads("#view-inside .stick .now", "After task 1")  # of one
    tab.go("forget")
    page.click("[data-do=start]")
    tab.sees(ENDED)
    page.click("[data-do=why]")
    page.wait_for_selector("#view-inside .stick", state="visible")
    groups = page.locator("#view-inside .which .group").all()
    assert [one.locator(".label").inner_text() for one in groups] == ["Method shown", "Toy box"]
    assert {one.get_attribute("data-value") for one in groups[0].locator("[role=radio]").all()} == own
    assert all("Toy box" not in one for one in groups[1].locator("[role=radio]").all_inner_texts())  # said once, before them
    tab.reads("#view-inside .stick .now", "After task 4")
    for name in ("train", "compare"):
        tab.go(name)
        tab.lab.until(lambda: "Toy box" not in tab.text("#view-header .run"), "the header shows an own run")
    tab.go("train")
    assert page.get_attribute(".live", "data-run") in own
    assert "Toy box" not in tab.text("#view-train .traincols")
    tab.go("inside")  # which still shows what was asked for
    tab.reads("#view-header .run", "Toy box")


@pytest.mark.parametrize("locale", ["en-US", "ja-JP"])
def test_the_page_is_light_before_the_first_run(lab, opened, locale):
    tab = opened(lab, locale=locale)
    session, sizes, asked = tab.page.context.new_cdp_session(tab.page), [], {}
    session.send("Network.enable")
    session.on("Network.responseReceived", lambda said: asked.update({said["requestId"]: said["response"]["url"]}))
    session.on("Network.loadingFinished", lambda said: sizes.append(said["encodedDataLength"]))  # headers with it
    tab.open()
    tab.sees(IDLE)
    tab.page.wait_for_load_state("networkidle")
    assert not [url for url in asked.values() if "plotly" in url]
    assert 100_000 < sum(sizes) <= 450_000
    painted = tab.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert painted <= 1000 * SLOWER
