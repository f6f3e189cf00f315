"""Look inside: what a person has asked stays while methods are compared."""

import pytest

pytestmark = pytest.mark.browser
METHODS = ("finetune", "tosca")


@pytest.fixture
def looked(lab, opened, made, tmp_path):
    """A tab in Look inside of two finished methods."""
    counts = dict.fromkeys(("apple", "brick", "cloud", "desk"), 8)
    tab = opened(lab).open(tab="data")
    tab.upload(made.zipped(made.folder(tmp_path / "in", counts), tmp_path / "in.zip"))
    asked = {"methods": METHODS, "settings": {name: {"epochs": 2} for name in METHODS}}
    tab.page.evaluate("([path, asked]) => fetch(path, {method: 'POST', body: JSON.stringify(asked)})",
                      [f"projects/{tab.project()['id']}/train", asked])  # fmt: skip
    runs = tab.lab.until(lambda: tab.project()["runs"], "the runs")
    lab.until(lambda: all(lab.get(f"runs/{rid}")["status"] == "finished" for rid in runs), "the runs are finished")
    tab.page.reload()
    tab.go("inside")
    return tab, {lab.get(f"runs/{rid}")["method"]: rid for rid in runs}


def test_the_photo_asked_about_stays_and_is_asked_of_the_method_shown_next(looked, made, tmp_path):
    tab, runs = looked
    page = tab.page

    def show(method: str) -> None:
        page.click(f"[data-value='{runs[method]}']:visible")
        page.wait_for_selector("#ask-one .bars" if method == "tosca" else "#ask-one .nomodules")

    page.click(f"[data-value='{runs['tosca']}']:visible")
    page.click("#ask-one [data-do=ask-any]")
    page.wait_for_selector("#ask-one .bars .win")
    photo = page.get_attribute("#ask-one figure img", "src")
    with page.expect_response(lambda said: f"runs/{runs['finetune']}/ask?photo=" in said.url) as answer:
        show("finetune")
    assert answer.value.json()["says"] in tab.text("#ask-one .nomodules")
    assert page.get_attribute("#ask-one figure img", "src") == photo

    (tmp_path / "mine.png").write_bytes(made.photo("brick", 77))
    with page.expect_file_chooser() as chooser:
        page.click("#ask-one [data-do=ask]")
    chooser.value.set_files(str(tmp_path / "mine.png"))
    tab.reads("#ask-one figcaption", "Your photo")
    with page.expect_response(lambda said: f"runs/{runs['tosca']}/ask?name=mine.png" in said.url):
        show("tosca")
    tab.reads("#ask-one figcaption", "Your photo")
    page.wait_for_selector("#ask-one .bars .win")

    second = page.locator("#view-inside .which [role=radio]").last.get_attribute("data-value")  # unasked, the first is shown
    page.click(f"[data-value='{second}']:visible")
    page.reload()
    page.wait_for_selector(f"#view-inside [data-value='{second}'][aria-checked=true]:visible")


PLACES = """() => {
  const box = one => one.getBoundingClientRect(), range = document.querySelector('#view-inside .stick input');
  const segments = document.querySelector('#view-inside .segs'), {left, width} = box(segments);
  const ends = [...segments.children].map(one => (box(one).right - left) / width);
  return {handle: range.value / (range.max - range.min), end: ends[range.value - 1]};
}"""


def test_the_handle_of_time_stands_where_the_task_of_that_moment_ends(looked):
    page = looked[0].page
    page.wait_for_selector("#view-inside .stick input")
    for key, task in (("End", "2"), ("Home", "1"), ("ArrowLeft", "1"), ("ArrowRight", "2")):
        page.focus("#view-inside .stick input")
        page.keyboard.press(key)
        looked[0].reads("#view-inside .stick .now", f"After task {task}")
        place = page.evaluate(PLACES)
        assert abs(place["handle"] - place["end"]) < 0.01, (key, place)
