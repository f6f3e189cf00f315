"""My data and Train as a person grows into them: the queue, seeds, links with settings, a folder of this computer, the camera."""

import pytest

pytestmark = pytest.mark.browser
SLOW = {"tosca": {"epochs": 60, "batch": 2}}
"""Settings of a run that lasts long enough to be waited for."""


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
    choose(tab, settings=SLOW)
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
