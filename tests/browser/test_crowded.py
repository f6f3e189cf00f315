"""Pages with more on them than they were drawn for: long names, and many reasons why training waits."""

import pytest

pytestmark = pytest.mark.browser
CUT = "all => all.map(one => (one.clientHeight / parseFloat(getComputedStyle(one).lineHeight)).toFixed(1))"
APART = """([left, right]) => {
  const [from, to] = [left, right].map(one => [one.getBoundingClientRect(), parseFloat(getComputedStyle(one).paddingLeft)]);
  return to[0].left + to[1] - from[0].right + from[1];
}"""


def test_long_names_are_cut_after_whole_lines_and_stand_apart(lab, opened, made, tmp_path):
    tab = opened(lab).open(tab="data")
    names = ("a name as long as the longest that anybody ever gave to a class", "日本語のとても長いクラス名がここに入ります")
    tab.upload(made.zipped(made.folder(tmp_path / "in", dict.fromkeys(names, 4)), tmp_path / "in.zip"))
    tab.page.click("[data-preset='1']")
    tab.sees("document.querySelectorAll('.timeline em').length === 2")
    assert tab.page.eval_on_selector_all("article.class h3", CUT) == ["2.0", "2.0"]  # lines, and no sliver of the third
    assert tab.page.eval_on_selector_all(".timeline em", APART) >= 8


COVERED = "[document.querySelector('#view-data .planfoot').offsetHeight, document.querySelector('#view-data .side').clientHeight]"


def test_many_reasons_why_training_waits_leave_the_plan_in_sight(lab, opened, made, tmp_path):
    tab = opened(lab).open(tab="data")
    counts = {"class " + "x" * n: 1 for n in range(1, 13)}  # names of one length would give one photo
    tab.upload(made.zipped(made.folder(tmp_path / "in", counts), tmp_path / "in.zip"))
    tab.sees("document.querySelectorAll('#why-not .link').length === 12")
    foot, side = tab.page.evaluate(COVERED)
    assert foot < 0.7 * side, (foot, side)
    tab.page.locator("#why-not .link").last.click()  # the last reason is reached too
    tab.sees("document.querySelectorAll('#why-not .link').length === 11")
