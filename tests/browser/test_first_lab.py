"""The first lab from end to end: real photos, six tasks, two methods, a reload, a killed worker; the command line's numbers."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = [pytest.mark.browser, pytest.mark.photos, pytest.mark.starter, pytest.mark.slow]
SEED = 3
PATIENCE = 180.0
METHODS = ("finetune", "tosca")
ZOOM = "Plotly.relayout(document.querySelector('#chart-curves .plot'), {'yaxis.range[0]': 0.25, 'yaxis.range[1]': 0.75})"
ZOOMED = "document.querySelector('#chart-curves .plot').layout.yaxis.range.join() === '0.25,0.75'"


@pytest.fixture(scope="module")
def caltech(real_photos: Path, tmp_path_factory) -> Path:
    """caltech24 as one zip with a folder a class."""
    target = tmp_path_factory.mktemp("upload") / "caltech24.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted((real_photos / "caltech24").rglob("*.jpg")):
            archive.write(file, str(file.relative_to(real_photos / "caltech24")))
    return target


def on_page(tab, run: dict) -> dict:
    """The final numbers of a run as the page shows them: every cell of the matrix, and the large number."""
    tab.page.click(f"#chart-curves [data-value='{run['id']}']")
    tab.page.wait_for_selector(f".live[data-run='{run['id']}']")
    tab.lab.until(lambda: len(cells(tab)) == 21, "the whole matrix is on the page")
    tab.sees("document.querySelector('#result [data-metric=average_accuracy]')")
    return {"rows": cells(tab), "accuracy": tab.text("#result [data-metric=accuracy]")}


def cells(tab) -> dict:
    """{(after, task): (right, total)} of the table below the matrix."""
    found = tab.page.eval_on_selector_all("#chart-matrix td[data-cell]", "all => all.map(one => ({...one.dataset}))")
    return {tuple(map(int, one["cell"].split(","))): (int(one["right"]), int(one["total"])) for one in found if int(one["total"])}


def by_command(zip_: Path, project: dict, out: Path, home: Path) -> dict:
    """{method: numbers} of the command line for the same photos, tasks and seed."""
    names = {one["id"]: one["name"] for one in project["classes"]}
    tasks = [part for task in project["tasks"] for part in ("--task", ",".join(names[c] for c in task["classes"]))]
    methods = [part for name in METHODS for part in ("--method", name)]
    command = [sys.executable, str(ROOT / "app.py"), "run", "--images", str(zip_), *tasks, *methods, "--seed", str(SEED)]
    done = subprocess.run([*command, "--json", "--out", str(out)], capture_output=True, text=True, check=True,
                          env={**os.environ, "FORGET_ME_NOT_HOME": str(home)})  # fmt: skip
    return {one["method"]: one for one in map(json.loads, done.stdout.splitlines())}


def test_a_first_lab_ends_with_the_numbers_of_the_command_line(starter_lab, opened, caltech, tmp_path):
    tab = opened(starter_lab).open(tab="data")
    page = tab.page
    tab.upload(caltech)
    tab.reads(".facts", "24 classes")
    tab.reads(".facts", "720 photos")
    page.click("[data-preset='4']")
    tab.reads("[data-quality]", "6 tasks, 24 classes, 720 photos")
    page.click("#go-train")

    page.wait_for_selector("#start:not([disabled])")
    assert {one.get_attribute("value") for one in page.locator(".method input:checked").all()} == set(METHODS)
    page.fill("#seed", str(SEED))
    page.press("#seed", "Tab")
    page.click("#start")
    page.click("[data-focus='pace-live']")

    # Both runs are under way; the curves chart is one node with one zoom until the end.
    page.wait_for_selector("#chart-curves .main-svg")
    page.evaluate("document.querySelector('#chart-curves .plot').marked = 'the first node'")
    tab.lab.until(lambda: len(tab.project()["runs"]) == 2, "two runs")
    runs = {run["method"]: run for run in (starter_lab.get(f"runs/{rid}") for rid in tab.project()["runs"])}
    assert set(runs) == set(METHODS)

    tab.lab.until(lambda: starter_lab.finished(runs["tosca"]["id"]) >= 2, "two tasks learnt")
    page.evaluate(ZOOM)
    starter_lab.worker.kill()
    tab.reads(".toasts", "starting again")

    tab.lab.until(lambda: starter_lab.finished(runs["tosca"]["id"]) >= 4, "two more tasks after the restart")
    tab.sees(ZOOMED)
    assert page.evaluate("document.querySelector('#chart-curves .plot').marked") == "the first node"
    page.reload()  # in the middle
    page.wait_for_selector("#chart-curves .main-svg")
    page.evaluate("document.querySelector('#chart-curves .plot').marked = 'after the reload'")
    page.evaluate(ZOOM)

    for run in runs.values():
        path, what = f"runs/{run['id']}", f"{run['method']} has finished"
        tab.lab.until(lambda path=path: starter_lab.get(path)["status"] == "finished", what, 2 * PATIENCE)
    shown = page.get_attribute(".live", "data-run")
    tab.sees("document.querySelector('.live').dataset.mode === 'recorded'")
    tab.sees(ZOOMED)
    assert page.evaluate("document.querySelector('#chart-curves .plot').marked") == "after the reload"
    assert shown in {run["id"] for run in runs.values()}

    page.click("#chart-matrix .link.quiet")  # show as table
    on = {method: on_page(tab, run) for method, run in runs.items()}
    said = by_command(caltech, tab.project(), tmp_path / "runs", starter_lab.home)
    for method in METHODS:
        matrix = {(after, task): share for after, row in enumerate(said[method]["matrix"])
                  for task, share in enumerate(row) if task <= after}  # fmt: skip
        assert {cell: right / total for cell, (right, total) in on[method]["rows"].items()} == matrix, method
        assert on[method]["accuracy"] == f"{100 * said[method]['last_accuracy']:.1f}%"
    assert on["tosca"]["accuracy"] != on["finetune"]["accuracy"]
