"""Lessons and terms as a person has them: a guess, a run, what that run shows; words that explain themselves."""

import json
import re
import urllib.request

import pytest

from forget_me_not.demo import glossary, lesson
from forget_me_not.demo.words import LANGUAGES, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PLACE = "name => import('/lab/lazy/lesson_places.js').then(({PLACES}) => Boolean(document.querySelector(PLACES[name])))"
LIT = """() => {
  const box = document.querySelector('.lesson-lit')?.getBoundingClientRect();
  const panel = document.querySelector('.lesson').getBoundingClientRect();
  return box && {seen: box.top < innerHeight && box.bottom > 0, free: box.right <= panel.left};
}"""


@pytest.fixture(scope="module")
def trained(lab, made, tmp_path_factory):
    """What the browser of somebody with a trained project remembers: three methods on four classes in two tasks."""
    root = tmp_path_factory.mktemp("photos")
    counts = dict.fromkeys(("apple", "brick", "cloud", "desk"), 12)
    photos = made.zipped(made.folder(root / "in", counts), root / "in.zip")
    pid = post(lab, "projects", b"{}")["id"]
    post(lab, f"projects/{pid}/photos?name=in.zip", photos.read_bytes(), "application/octet-stream")
    methods = ("finetune", "tosca", "joint")
    asked = {"methods": methods, "settings": {name: {"epochs": 2} for name in methods}}
    runs = post(lab, f"projects/{pid}/train", json.dumps(asked).encode())["runs"]
    lab.until(lambda: all(lab.get(f"runs/{rid}")["status"] == "finished" for rid in runs), "the runs are finished")
    memory = [{"name": "fmn.project", "value": pid}, {"name": "fmn.speed", "value": "live"}]
    return {"cookies": [], "origins": [{"origin": lab.address.rstrip("/"), "localStorage": memory}]}


def post(lab, path, body, kind="application/json"):
    asked = urllib.request.Request(lab.address + path, body, {"content-type": kind})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)


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


def test_how_tosca_chooses_is_walked_from_the_first_step_to_the_last(lab, opened, trained):
    tab = opened(lab, storage_state=trained, reduced_motion="reduce").open("?lesson=modules")
    page = tab.page
    page.click(".lesson .choice[data-value=newest]")
    page.click("[data-do=next]")
    page.click("[data-start=inside_tosca]")
    page.wait_for_selector(".lesson .wait[data-met=true]")
    page.click("[data-do=next]")
    page.click("[data-start=ask]")
    page.wait_for_selector("#ask-one .bars .win")
    page.click("[data-do=next]:not([disabled])")
    tab.reads(".lesson .guess", "You said “The newest module”. It is “The one that is surest”.")
    least = page.eval_on_selector_all("#ask-one .bars li", "all => all.map(one => Number(one.dataset.entropy))")
    assert f"Module {1 + least.index(min(least))} had least doubt, {min(least):.2f}" in tab.text(".lesson .said")
    page.wait_for_selector("#ask-one .lesson-lit .bars")
    page.click("[data-do=next]")
    page.click(".lesson .choice[data-value=nearly]")
    page.click("[data-do=next]")
    page.wait_for_selector("#chart-modules.lesson-lit .own")
    routing, right, wrong, accuracy = terms(lab, tab)
    assert float(page.get_attribute("#chart-modules .equation", "data-accuracy")) == accuracy
    assert (page.get_attribute(".lesson .said", "data-case") == "always") == (wrong is None)
    said = [routing, accuracy] if wrong is None else [routing, right, wrong, accuracy]
    assert page.locator(".lesson .said b").all_inner_texts()[: len(said)] == [f"{100 * one:.1f}%" for one in said]
    page.click("[data-do=next]")
    tab.reads(".lesson", "Lesson finished")
    page.click(".lessonfoot [data-lesson=balance]")
    tab.reads(".lesson h2", "Stability against plasticity")


def test_a_step_opened_by_its_address_shows_what_it_speaks_of(lab, opened, trained):
    tab = opened(lab, storage_state=trained, reduced_motion="reduce").open("?lesson=honest&step=3#inside")
    tab.page.click("#view-inside .which button:has-text('Naive fine-tuning')")
    tab.sees("!document.querySelector('#view-inside .switch button')?.offsetWidth")
    tab.page.click("[data-start=published]")
    tab.page.wait_for_selector(".lesson .wait[data-met=true]")
    assert "TOSCA" in tab.text("#view-inside .which [aria-checked=true], #view-inside .which [aria-pressed=true]")


def test_a_forgotten_photo_is_offered_only_where_one_was_forgotten(lab, opened, trained):
    tab = opened(lab, storage_state=trained).open(tab="inside")
    offered = {}
    for rid in tab.project()["runs"]:
        tab.page.click(f"#view-inside .which [data-value='{rid}']")
        found = lab.until(lambda rid=rid: (data := lab.get(f"runs/{rid}/inside")).get("frames") and data, "its map is drawn")
        says = [[found["classes"][one] for one in frame["class"]] for frame in found["frames"]]
        lost = any(says[-1][at] != one["class"] == says[one["task"]][at] for at, one in enumerate(found["points"]))
        tab.reads("#ask-one [data-do=ask-any]", "Show one that was forgotten" if lost else "None was forgotten: show any")
        offered[lab.get(f"runs/{rid}")["method"]] = lost
    assert offered["finetune"], "naive fine-tuning forgets"


def terms(lab, tab):
    """Share of the right module, accuracy where it was chosen and where not, and in all, as the server computes them."""
    (rid,) = [rid for rid in tab.project()["runs"] if lab.get(f"runs/{rid}")["method"] == "tosca"]
    own = lab.get(f"runs/{rid}/inside/figures")["frames"][-1]["photo"]["terms"][0]
    return [own[name] for name in ("routing", "right", "wrong", "accuracy")]


@pytest.mark.parametrize("name", lesson.ORDER)
def test_every_step_has_its_place_and_its_button_and_no_lesson_holds_anybody(lab, opened, trained, name):
    tab = opened(lab, storage_state=trained, reduced_motion="reduce").open(f"?lesson={name}")
    page = tab.page
    for number, step in enumerate(lesson.load(name).steps, 1):
        page.wait_for_selector(f".lessonbar li:nth-child({number}).now")
        tab.sees(f"document.querySelector('#story [role=tab][aria-selected=true]').dataset.tabId === '{step.tab}'")
        assert tab.text(".lesson .said")
        assert page.locator(".lesson .choice").count() == len(step.choices)
        if step.place:
            tab.lab.until(lambda place=step.place: page.evaluate(PLACE, place), f"{step.place} is on the page")
        if step.start and page.get_attribute(".lesson .wait", "data-met") == "false":
            assert page.locator(f".lesson [data-start={step.start}]").is_enabled()
        if page.locator(".lesson-lit").count():
            tab.lab.until(lambda: page.evaluate(LIT) in (None, {"seen": True, "free": True}), f"{step.place} is in sight")
        page.locator("[data-do=skip], [data-do=next]:not([disabled])").first.click()
    tab.reads(".lesson", "Lesson finished")


PARTS = {"routing", "a_right", "a_wrong", "oracle"}
"""What the accuracy is made of: explained wherever it is told."""
SHOWN = "all => all.filter(one => one.offsetWidth).map(one => one.dataset.term)"


@pytest.mark.parametrize(
    ("where", "door", "first", "names"),
    [
        ("compare", "#leaderboard summary", "#leaderboard th .term",
         PARTS | {"plasticity", "stability", "last_accuracy", "forgetting", "joint", "interval", "batch_vote"}),
        ("inside", ".which button:has-text('TOSCA')", "#chart-modules th .term",
         PARTS | {"tsne", "pca", "perplexity", "accuracy_matrix", "entropy", "module", "lambda"}),
    ],
)  # fmt: skip
def test_terms_explain_themselves_by_keyboard(lab, opened, trained, where, door, first, names):
    tab = opened(lab, storage_state=trained, viewport={"width": 1440, "height": 500}).open(tab=where)
    page = tab.page
    page.locator(f"#view-{where} {door}").first.click()
    tab.lab.until(lambda: names <= set(page.eval_on_selector_all(f"#view-{where} .term", SHOWN)), "all are there")
    page.mouse.move(1, 1)
    page.locator(first).first.focus()
    for _ in range(2):  # the card follows the word the page scrolls to
        name = page.evaluate("document.activeElement.dataset.term")
        tab.reads(".termcard p", glossary.meaning(name, words("en")))
        assert page.evaluate("document.activeElement.getAttribute('aria-describedby')") == "termcard"
        page.wait_for_timeout(300)
        assert page.locator(".termcard").is_visible()
        page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    assert page.locator(".termcard").is_hidden()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_teachers_page_prints_on_two_sheets(lab, opened, language):
    page = opened(lab).page
    for name in lesson.ORDER:
        page.goto(f"{lab.address}lesson/{name}?lang={language}")
        assert words(language)[f"lesson.{name}.title"] in page.locator("h1").inner_text()
        assert page.locator("tbody tr").count() == len(lesson.load(name).plan)
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) == 2, name
