"""A ready-made experiment as a person has it: one click, four runs of one method side by side, rows, a sentence, and Compare."""

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
TRIAL = "#experiments [data-experiment=parts]"
ROWS = "all => all.map(one => [one.querySelector('th').textContent, Number(one.dataset.right), Number(one.dataset.total)])"


def test_one_click_and_what_came_out(lab, opened, made, tmp_path):
    zipped = made.zipped(made.folder(tmp_path / "in", {"apple": 6, "brick": 6, "cloud": 6, "desk": 6}), tmp_path / "photos.zip")
    tab = opened(lab).open(tab="data")
    tab.upload(zipped)
    tab.go("train")
    tab.page.wait_for_selector(f"{TRIAL} [data-run=parts]:not([disabled])")
    tab.page.click(f"{TRIAL} [data-run=parts]")
    tab.sees(f"document.querySelector('{TRIAL}').dataset.state === 'finished'")
    shown = tab.page.eval_on_selector_all(f"{TRIAL} tbody tr", ROWS)
    pid = tab.project()["id"]
    last = next(one for one in lab.get(f"projects/{pid}/experiments")["experiments"] if one["name"] == "parts")["last"]
    assert shown == [[row["label"], row["right"], row["total"]] for row in last["rows"]]
    assert len(shown) == 4
    assert tab.text(f"{TRIAL} .say") == last["say"]

    names = tab.page.eval_on_selector_all("#view-train .which [role=radio]", "all => all.map(one => one.textContent)")
    assert names == [f"TOSCA · {row['label']}" for row in last["rows"]]
    tab.page.click("#view-train .which [role=radio] >> nth=2")
    tab.sees("document.querySelectorAll('#view-train .which [role=radio]')[2].getAttribute('aria-checked') === 'true'")

    tab.page.click(f"{TRIAL} [data-focus=trial-see]")
    tab.sees("document.querySelectorAll('#leaderboard .board tbody tr').length === 4")
    notes = tab.page.eval_on_selector_all("#leaderboard .board tbody th .sub", "all => all.map(one => one.textContent)")
    assert sorted(note.split(" · ")[0] for note in notes) == ["parts adapter", "parts both", "parts calibrator", "parts parallel"]
    tab.clean()
