"""Compare and share as a person has it: the leaderboard's numbers are the runs', files come out, and a project comes back."""

import io
import json
import re
import zipfile

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
TRAIN = """async ([pid, methods, seed]) => {
  const asked = {methods, seed, settings: {tosca: {epochs: 3}, finetune: {epochs: 3}}};
  const answer = await fetch(`projects/${pid}/train`, {method: 'POST', headers: {'content-type': 'application/json'},
                                                       body: JSON.stringify(asked)});
  return (await answer.json()).runs;
}"""
ROWS = """all => all.map(one => [one.dataset.method, Number(one.dataset.right), Number(one.dataset.total)])"""


@pytest.fixture(scope="module")
def zipped(made, tmp_path_factory):
    root = tmp_path_factory.mktemp("photos")
    counts = {"apple": 6, "brick": 6, "cloud": 6, "desk": 6}
    return made.zipped(made.folder(root / "in", counts), root / "photos.zip")


@pytest.fixture
def trained(lab, opened, zipped):
    """A tab whose project has four finished runs of three methods."""
    tab = opened(lab).open(tab="data")
    tab.upload(zipped)
    pid = tab.project()["id"]
    runs = [rid for seed in (0, 1) for rid in tab.page.evaluate(TRAIN, [pid, ["tosca", "finetune", "joint"][: 3 - seed], seed])]
    lab.until(lambda: all(lab.get(f"runs/{rid}")["status"] == "finished" for rid in runs), "the runs are finished")
    return tab


CROWDED = """() => {
  const read = one => [one.textContent, one.getBoundingClientRect()];
  const at = place => [...document.querySelectorAll(`#chart-plane ${place}`)].map(read);
  const boxes = at('.annotation-text'), names = boxes.filter(([text]) => !/^(learns|ends like)/.test(text));
  const on = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const others = [...boxes, ...at('.scatterlayer .point')];
  const found = names.flatMap(([name, box]) => others.filter(([other, its]) => other !== name && on(box, its)));
  return {names: names.map(([text]) => text), found};
}"""


@pytest.mark.parametrize("width", [1440, 390])
def test_labels_of_the_plane_lie_on_nothing_in_a_real_window(lab, opened, zipped, width):
    tab = opened(lab, viewport={"width": width, "height": 900}).open(tab="data")
    tab.upload(zipped)
    six = ["tosca", "finetune", "simplecil", "linear_probe", "aper", "ranpac"]
    runs = tab.page.evaluate(TRAIN, [tab.project()["id"], six, 0])
    lab.until(lambda: all(lab.get(f"runs/{rid}")["status"] == "finished" for rid in runs), "the runs are finished")
    with tab.page.expect_response(lambda said: "/compare?" in said.url and "width=0" not in said.url):
        tab.go("compare")
    tab.sees("document.querySelectorAll('#chart-plane .scatterlayer .point').length === 6")
    tab.lab.until(lambda: not tab.page.evaluate(CROWDED)["found"], "no label lies on another or on a mark", 20)
    assert len(tab.page.evaluate(CROWDED)["names"]) >= 2
    starts = tab.page.eval_on_selector_all("#leaderboard .spread", "all => all.map(one => one.getBoundingClientRect().left)")
    assert max(starts) - min(starts) < 1, "bars of the leaderboard begin below each other, however many digits follow"


def saved(tab, name):
    """(name, bytes) of the file a button saves."""
    with tab.page.expect_download() as download:
        tab.page.click(f"[data-save='{name}']")
    return download.value.suggested_filename, download.value.path().read_bytes()


def leaderboard(tab):
    tab.page.wait_for_selector("#leaderboard .board tbody tr")
    return tab.page.eval_on_selector_all("#leaderboard .board tbody tr", ROWS)


def test_a_project_is_compared_taken_away_and_brought_back(lab, opened, trained, tmp_path):
    tab = trained
    pid = tab.project()["id"]
    tab.go("compare")
    tab.sees("document.querySelectorAll('#leaderboard .board tbody tr').length === 3")
    shown = leaderboard(tab)
    said = lab.get(f"projects/{pid}/compare")
    assert shown == [[row["method"], row["right"], row["total"]] for row in said["rows"]]
    assert shown[0][0] == "joint"
    assert tab.text("#leaderboard .say") == said["say"]["board"]
    tab.sees("document.querySelectorAll('#chart-plane .scatterlayer .point').length >= 6")

    # by keyboard: a method is chosen, everywhere, and keeps the focus
    tab.page.focus("#leaderboard button.name >> nth=0")
    tab.page.keyboard.press("Enter")
    tab.sees("document.querySelector('#leaderboard tr.you button')?.getAttribute('aria-pressed') === 'true'")
    tab.sees("document.activeElement.matches('#leaderboard tr.you button.name')")
    tab.reads("#view-header .run", tab.text("#leaderboard tr.you button"))

    # a target on the plane: moved by keys, what is nearest is named, and what was never trained can be trained
    tab.page.click("#aim")
    tab.page.wait_for_selector("button.aim")
    tab.reads("#chart-plane .aimbox", "Hollow marks are estimates")
    before = tab.page.get_attribute("button.aim", "aria-label")
    tab.page.focus("button.aim")
    for _ in range(4):
        tab.page.keyboard.press("ArrowLeft")
    tab.sees(f"document.querySelector('button.aim').getAttribute('aria-label') !== {json.dumps(before)}")
    assert tab.text("#chart-plane .aimbox [role=status]")
    tab.page.click("#aim")
    tab.sees("!document.querySelector('button.aim')")

    # every file can be had
    name, project = saved(tab, "project.fmn")
    assert name.endswith(".fmn")
    with zipfile.ZipFile(io.BytesIO(project)) as archive:
        assert sum(entry.startswith("photos/") for entry in archive.namelist()) == 24
    assert saved(tab, "report.html")[1].startswith(b"<!doctype html>")
    assert len(json.loads(saved(tab, "numbers.json")[1])["runs"]) == 5
    assert saved(tab, "numbers.csv")[1].count(b"\n") == 1 + 5 * 3
    compile(saved(tab, "run.py")[1], "run.py", "exec")
    assert saved(tab, "weights.safetensors")[0].endswith(".safetensors")
    assert saved(tab, "chart.png")[1].startswith(b"\x89PNG")
    assert b"<svg" in saved(tab, "chart.svg")[1]

    # somebody else opens the file where they look first
    (tmp_path / "theirs.fmn").write_bytes(project)
    other = opened(lab).open(tab="data")
    with other.page.expect_file_chooser() as chooser:
        other.page.click("#view-data .empty [data-open]")
    chooser.value.set_files(str(tmp_path / "theirs.fmn"))
    other.page.wait_for_selector("#view-data article.class")
    assert other.project()["id"] != pid
    other.go("compare")
    assert leaderboard(other) == shown

    # what the target is nearest to was never trained here: one click trains it
    other.page.click("#aim")
    other.sees("document.querySelectorAll('#chart-plane .scatterlayer .point').length > 12")  # the estimates have come
    other.page.focus("button.aim")
    for way, most in (("ArrowLeft", 60), ("ArrowDown", 60)):
        for _ in range(most):
            if not other.page.locator("#chart-plane .aimbox .btn").is_visible():
                other.page.keyboard.press(way)
    runs = len(other.project()["runs"])
    other.page.click("#chart-plane .aimbox .btn")
    other.page.wait_for_selector("#view-train", state="visible")
    other.lab.until(lambda: len(other.project()["runs"]) == runs + 1, "the method is being trained")


def test_a_file_that_is_no_project_is_told_so_and_nothing_is_lost(lab, opened, zipped):
    tab = opened(lab).open(tab="compare")
    tab.page.wait_for_selector("#nothing-to-compare", state="visible")
    tab.forgiven = re.compile("400")
    with tab.page.expect_file_chooser() as chooser:
        tab.page.click("#share [data-open]")
    chooser.value.set_files(str(zipped))
    tab.reads(".toasts", "no .fmn project")
    assert tab.page.locator("#share [data-save='report.html']").is_disabled()
    tab.reads("#share", "Needs a finished run.")


def test_the_page_holds_on_a_phone_in_japanese(lab, opened, trained):
    tab = opened(lab, beside=trained)
    tab.page.set_viewport_size({"width": 390, "height": 844})
    tab.open("?lang=ja", "compare")
    assert leaderboard(tab)
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.reads("#share", "持ち帰る")
