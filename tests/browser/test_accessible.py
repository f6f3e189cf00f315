"""axe-core on every tab, with and without something on it, in both themes: nothing serious that is ours."""

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
TABS = ("forget", "data", "train", "inside", "compare", "plasticity")
IDLE = "document.querySelectorAll('#lane-finetune .memo').length === 4"
ENDED = "document.querySelector('.forget')?.dataset.state === 'ended'"
ONE_TITLE = "[...document.querySelectorAll('h1')].filter(one => one.offsetParent).length === 1"
THEMES = ("light", "dark")


def test_a_barrier_would_be_found(lab, opened):
    tab = opened(lab).open()
    tab.page.evaluate("document.querySelector('#view-header .bar').append(document.createElement('button'))")
    assert [said.split(":")[0] for said in tab.barriers()] == ["button-name"]


def test_tabs_with_nothing_on_them_yet(lab, opened):
    tab = opened(lab).open()
    tab.sees(IDLE)
    found = {}
    for name in TABS:
        tab.go(name)
        found[name] = tab.barriers()
        tab.sees(ONE_TITLE)
    assert {name: places for name, places in found.items() if places} == {}


def test_tabs_after_a_lesson_with_photos_and_runs(lab, opened, made, tmp_path):
    tab = opened(lab).open()
    tab.sees(IDLE)
    tab.page.click("[data-do=start]")
    tab.sees(ENDED)
    found = {f"forget {theme}": tab.barriers(theme) for theme in THEMES}
    tab.page.click("[data-do=why]")
    tab.page.wait_for_selector("#view-inside .stick", state="visible")
    tab.page.wait_for_selector("#chart-cloud .main-svg, #chart-cloud canvas")
    found |= {f"inside {theme}": tab.barriers(theme) for theme in THEMES}
    tab.go("data")
    folder = made.folder(tmp_path / "in", {"apple": 4, "brick": 4, "cloud": 4, "desk": 4})
    tab.upload(made.zipped(folder, tmp_path / "photos.zip"))
    for name in ("data", "train", "compare", "plasticity"):
        tab.go(name)
        found |= {f"{name} {theme}": tab.barriers(theme) for theme in THEMES}
    assert {name: places for name, places in found.items() if places} == {}
