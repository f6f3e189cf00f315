"""The page's address and the browser's Back and Forward: a tab somebody went to is an entry, everything else is not."""

import pytest

pytestmark = pytest.mark.browser
SHOWN = "() => document.querySelector('#story [role=tab][aria-selected=true]')?.dataset.tabId"


def at(tab, name: str) -> None:
    """Waits until a tab is in front and the address names it."""
    tab.sees(f"({SHOWN})() === '{name}' && location.hash.split('&')[0] === '#{name}'")


def length(tab) -> int:
    return tab.page.evaluate("history.length")


def picked(tab) -> list[str]:
    return [one.get_attribute("value") for one in tab.page.locator(".method input:checked").all()]


def test_back_and_forward_go_through_the_tabs_a_person_went_to(lab, opened):
    tab = opened(lab).open()
    tab.go("data")
    at(tab, "data")
    tab.page.keyboard.press("3")
    at(tab, "train")
    tab.page.click("#start-why .link")  # "Go to My data": a jump of the page's own
    at(tab, "data")
    for name in ("train", "data", "forget"):
        tab.page.go_back()
        at(tab, name)
    tab.page.go_forward()
    at(tab, "data")
    tab.page.reload()
    at(tab, "data")
    tab.page.go_forward()
    at(tab, "train")


def test_the_start_and_settings_changed_by_hand_are_no_entries_and_back_keeps_settings(lab, opened):
    tab = opened(lab).open(tab="method=finetune&seed=4")
    before = length(tab)
    at(tab, "train")
    tab.lab.until(lambda: picked(tab) == ["finetune"], "the link has chosen")
    tab.go("compare")
    at(tab, "compare")
    tab.go("train")
    at(tab, "train")
    tab.page.click(".method input[value=simplecil]")
    tab.lab.until(lambda: len(picked(tab)) == 2, "two methods")
    assert length(tab) == before + 2
    chosen = picked(tab)
    for name in ("compare", "train"):
        tab.page.go_back()
        at(tab, name)
    assert tab.page.evaluate("location.hash") == "#train"  # what the link said no longer is
    assert picked(tab) == chosen
    tab.page.evaluate("location.hash = 'train&method=joint'")  # typed by hand: taken whole
    tab.lab.until(lambda: picked(tab) == ["joint"], "the address typed anew")


def test_a_lesson_opened_by_its_address_is_no_entry_and_its_steps_are(lab, opened):
    tab = opened(lab).open(query="?lesson=forgetting", tab="compare")
    at(tab, "forget")
    before = length(tab)
    tab.page.click("[data-do=all-lessons]")
    tab.page.click("[data-lesson=balance]")
    first = tab.page.evaluate(SHOWN)
    assert first != "forget"
    at(tab, first)
    assert length(tab) == before + 1
    tab.page.go_back()
    at(tab, "forget")
    assert "lesson=balance" in tab.page.url  # the lesson that is open stays in the address
