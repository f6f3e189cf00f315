"""The words of the page: both languages whole, every key used, every key in use there, blanks the same."""

import json
import re
from pathlib import Path

import pytest

from forget_me_not.demo.words import SAME, TEXT, fill, page_words, say, words
from forget_me_not.models import registry
from forget_me_not.models.check_streams import ground
from forget_me_not.models.engine import run
from forget_me_not.models.events import Evaluated

DEMO = TEXT.parent
CODE = [*DEMO.glob("static/**/*.js"), *DEMO.rglob("*.py"), DEMO.parent / "app.py"]
SOURCE = "\n".join(path.read_text("utf-8") for path in CODE if path.exists())
ENGLISH = words("en")
JAPANESE = {
    key: text for file in (TEXT / "ja.json", *TEXT.glob("*/ja.json")) for key, text in json.loads(file.read_text("utf-8")).items()
}
OPTIONAL = ("method.", "setting.", "hint.")
"""Cards carry their own English; a language may translate them."""
CODES = ("problem.", "note.")
"""Found by the code of a Problem or note, which is raised in models/ or demo/."""
KEY = r"[a-z_0-9]+(?:\.[a-z_0-9]+)+"


def blanks(sentence):
    return set(re.findall(r"\{(\w+)\}", sentence))


def used_keys():
    """Keys named in full in the code: t('a.b'), rich('a.b'), words["a.b"], say("en", "a.b"), and plurals by count()."""
    found = set(re.findall(rf"\b(?:t|rich|boldly)\(\s*'({KEY})'", SOURCE)) | set(re.findall(rf'words\["({KEY})"\]', SOURCE))
    found |= set(re.findall(rf'\bsay\("\w+", "({KEY})"', SOURCE))
    for stem in re.findall(rf"\b(?:count|richCount)\('({KEY})'", SOURCE):
        found |= {f"{stem}.one", f"{stem}.many"}
    return found


def stems():
    """What keys that are put together begin with: `do.${name}`, 'strip.stage_' + …, f"tab.{tab.NAME}"."""
    return set(re.findall(r"[`'\"]([a-z_]+\.[a-z_]*)(?:\$\{|' \+|\{|\" \+)", SOURCE))


def test_both_languages_have_the_same_keys():
    needed = [{key for key in language if not key.startswith(OPTIONAL)} for language in (ENGLISH, JAPANESE)]
    assert needed[0] == needed[1]


def test_every_key_the_code_names_exists():
    missing = used_keys() - set(ENGLISH)
    assert not missing


def test_every_key_is_used():
    quoted = set(re.findall(rf"['\"`]({KEY})['\"`]", SOURCE))
    used = used_keys() | quoted | {f"{key}_help" for key in quoted}
    free = CODES + OPTIONAL + tuple(stems())
    assert [key for key in ENGLISH if key not in used and not key.startswith(free)] == []


def test_both_languages_fill_the_same_blanks():
    assert [key for key in ENGLISH if key in JAPANESE and not blanks(JAPANESE[key]) <= blanks(ENGLISH[key])] == []
    assert [key for key, text in JAPANESE.items() if not text] == ["say.gap"]


def test_japanese_is_japanese():
    same = {
        "inside.tsne",
        "inside.pca",
        "pace.x1",
        "pace.x4",
        "header.other",
        "header.other_code",
        "upload.skipped_line",
        "say.gap",
        "say.stop",
        "plan.quality",
        "term.lora",
        "term.tsne",
        "term.pca",
    }
    kana = re.compile(r"[\u3001-\u30ff\u4e00-\u9fff]")
    own = {key: text for key, text in JAPANESE.items() if key not in same and not text.startswith(SAME)}
    assert [key for key, text in own.items() if not key.endswith(".title") and not kana.search(text)] == []


def test_what_is_defined_once_is_written_once():
    for language in (ENGLISH, words("ja")):
        assert language["compare.keeps_help"] == language["term.stability.is"]
        assert not [key for key, text in language.items() if text.startswith(SAME)]


def test_words_of_lessons_and_cards_come_later():
    for language in ("en", "ja"):
        now, lessons, cards = (page_words(language, part) for part in ("", "lessons", "cards"))
        assert now | lessons | cards == dict(words(language))
        assert len(now) + len(lessons) + len(cards) == len(words(language))
        assert all(key.startswith("lesson.") for key in lessons)
        assert lessons
        assert bool(cards) == (language != "en")  # in English a card speaks for itself


def test_the_languages_of_the_page_are_reached_by_name():
    assert say("ja", "tab.data") == "自分のデータ"
    assert say("fr", "tab.data") == say("en", "tab.data") == "My data"
    assert fill("{a} and {b}", {"a": "{b}"}).startswith("{b}")


def test_names_from_people_never_become_markup():
    scripts = "\n".join(path.read_text("utf-8") for path in Path(DEMO / "static").rglob("*.js"))
    assert not re.search(r"innerHTML|insertAdjacentHTML|outerHTML|document\.write", re.sub(r"/\*.*?\*/", "", scripts, flags=re.S))


@pytest.mark.parametrize("method", ["tosca", "router_ridge_product", "lora_tasks", "mos", "norga", "dualprompt", "softtf"])
def test_every_router_a_method_reports_has_a_name(method):
    on, card = ground(((0, 1), (2, 3)), patch=16, layer_scale=1.0), registry.card(method)
    few = {name: 1 for name in ("epochs", "blocks") if name in {s.name for s in card.settings}}
    *_, last = (e for e in run(on.stream, card.learner(on.vit, **card.read(few))) if isinstance(e, Evaluated))
    assert last.routes
    for language in ("en", "ja"):
        assert {f"route.{name}" for name in last.routes} <= set(words(language))
