"""Cards of methods in Japanese: fetched when the first is opened, every sentence; what nobody translated says it is English."""

import importlib.util
import re
from pathlib import Path

import pytest

from forget_me_not.demo import measured
from forget_me_not.models import registry

spec = importlib.util.spec_from_file_location("lab_conftest", Path(__file__).with_name("conftest.py"))
conftest = importlib.util.module_from_spec(spec)
spec.loader.exec_module(conftest)

pytestmark = pytest.mark.browser
PLUGIN = '''
from forget_me_not.models.methods.simplecil import SimpleCIL
from forget_me_not.models.registry import register


@register("borrowed", title="Borrowed", family="Prototypes", line="Means.", stores="What nobody has put into other words",
          parameters="d a class", deviations=("It was made up for a test.",))
class Borrowed(SimpleCIL):
    """Prototypes under another name."""
'''
ENGLISH = """() => [...document.querySelectorAll('.methodcard')].flatMap(card => {
  const walk = document.createTreeWalker(card, NodeFilter.SHOW_TEXT), found = [];
  while (walk.nextNode()) {
    const {data, parentElement} = walk.currentNode;
    if (/[A-Za-z][a-z'-]+,? [a-z'-]+,? [a-z'-]+/.test(data)) found.push([card.id, parentElement.closest('[lang]').lang, data]);
  }
  return found;
})"""
"""Three words of English in a row (names are written large, formulas have no words): the card, the language said, the text."""
WIDER = """() => [...document.querySelectorAll('.methodcard, .methodcard *')]
  .filter(one => one.clientWidth && one.scrollWidth > one.clientWidth + 1).map(one => one.textContent)"""


@pytest.fixture(scope="module")
def lab(browser, tmp_path_factory):
    """A lab with a method of somebody else's beside ours."""
    home = tmp_path_factory.mktemp("lab")
    plugin = home / "borrowed.py"
    plugin.write_text(PLUGIN)
    lab = conftest.Lab(home, "random", options=("--plugin", str(plugin)))
    try:
        lab.start()
        yield lab
    finally:
        lab.stop()


@pytest.mark.parametrize("width", [1440, 390])
def test_every_card_speaks_japanese_and_says_where_it_does_not(lab, opened, width):
    tab = opened(lab, viewport={"width": width, "height": 900}, locale="ja-JP")
    asked = []
    tab.page.on("request", lambda request: asked.append(request.url.removeprefix(lab.address)))
    tab.open(tab="train")
    tab.page.wait_for_selector("[data-card=tosca]", state="visible")
    assert "lab/text/cards/ja.json" not in asked
    ours = "forget_me_not.models.methods."
    names = [name for name, card in registry.cards().items() if card.learner.__module__.startswith(ours)]
    assert len(names) >= 23
    for name in (*names, "borrowed"):
        tab.page.click(f"[data-card={name}]")
        tab.page.wait_for_selector(f"#card-{name}")
    assert asked.count("lab/text/cards/ja.json") == 1
    found = tab.page.evaluate(ENGLISH)
    assert [one for one in found if one[1] != "en"] == []
    assert {one[0] for one in found} == {"card-borrowed"}
    assert {one[2] for one in found} >= {"What nobody has put into other words", "It was made up for a test."}
    tab.reads("#card-tosca li", "写真1枚ごとに選びます。")
    assert tab.page.evaluate(WIDER) == []
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    if width == 390:
        assert tab.barriers("light") == []
        assert tab.barriers("dark") == []


def test_in_english_a_card_asks_for_no_words(lab, opened):
    tab = opened(lab)
    asked = []
    tab.page.on("request", lambda request: asked.append(request.url))
    tab.open(tab="train")
    tab.page.click("[data-card=tosca]")
    tab.reads("#card-tosca li", registry.card("tosca").deviations[0])
    assert not [url for url in asked if "text/cards" in url]


def test_a_card_tells_what_was_measured_and_where_the_papers_settings_lie_apart(lab, opened):
    tab = opened(lab).open(tab="train")
    known = {name: one for name in registry.cards() if (one := measured.of_method(name)) and "preset" in one}
    assert any(abs(one["preset"]["less"]) > 0.03 for one in known.values())
    for name, one in known.items():
        tab.page.click(f"[data-card={name}]")
        said = tab.page.text_content(f"#card-{name}")
        assert float(re.search(r"([\d.]+) % right after six tasks", said)[1]) == pytest.approx(100 * one["accuracy"], abs=0.051)
        apart = re.search(r"lies ([\d.]+) points", said)
        assert bool(apart) == (abs(one["preset"]["less"]) > 0.03)
        assert not apart or float(apart[1]) == pytest.approx(abs(100 * one["preset"]["less"]), abs=0.051)
    tab.page.click("[data-card=borrowed]")
    assert "Measured" not in tab.page.text_content("#card-borrowed")
