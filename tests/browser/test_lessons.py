"""Lessons as a person has them: a guess, a run, an explanation with that run's numbers; and a teacher's page in Japanese."""

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_student_predicts_sees_and_reads_the_runs_own_numbers(lab, opened):
    tab = opened(lab).open()
    tab.page.click("[data-do=first-lesson]")
    tab.page.click(".lesson .choice[data-value=half]")
    tab.page.click("[data-do=next]")
    assert tab.page.locator("[data-do=next]").is_disabled()
    tab.page.click("[data-start=forget]")
    tab.page.wait_for_selector(".lesson .wait[data-met=true]")
    tab.page.click("[data-do=next]")
    tab.reads(".lesson .guess", "You said “About half”")
    case = tab.page.get_attribute(".lesson .said", "data-case")
    assert case in ("fell", "held")
    assert tab.text("#lane-tosca output") in tab.text(".lesson .said")
    assert tab.text("#lane-finetune output") in tab.text(".lesson .said")
    assert "lesson=forgetting&step=3" in tab.page.url


def test_a_teachers_page_in_japanese(lab, opened):
    tab = opened(lab)
    tab.page.goto(f"{lab.address}lesson/forgetting?lang=ja")
    assert "忘れるとはどういうことか" in tab.text("h1")
    assert tab.page.locator("tbody tr").count() == 5
