"""Lessons and glossary: names that lead somewhere, words in both languages for every case, pages that are up to date."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from forget_me_not.demo import glossary, lesson, teacher
from forget_me_not.demo.client import Client
from forget_me_not.demo.server import application
from forget_me_not.demo.session import Session
from forget_me_not.demo.words import TEXT, words

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "demo" / "static"
ALL = lesson.lessons()


def named(file, table):
    """The keys of an object that a script exports: `export const TABLE = {` … `};` with one name a line."""
    text = (STATIC / "lazy" / file).read_text("utf-8")
    body = re.search(rf"^export const {table} = {{\n(.*?)^}};", text, re.S | re.M)[1]
    return set(re.findall(r"^  (?:async )?(\w+)(?::|\()", body, re.M))


@pytest.fixture
def client(tmp_path):
    return TestClient(application(Session(tmp_path, Client(tmp_path)), page=False))  # its worker is never started


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_every_name_of_a_lesson_leads_somewhere(one):
    tables = {"place": ("lesson_places.js", "PLACES"), "start": ("lesson_places.js", "STARTS"),
              "until": ("lesson_facts.js", "UNTIL"), "facts": ("lesson_facts.js", "FACTS")}  # fmt: skip
    for field, where in tables.items():
        assert {getattr(step, field) for step in one.steps} - {""} <= named(*where), field


def test_places_starts_conditions_and_facts_are_all_used():
    for field, where in {"place": ("lesson_places.js", "PLACES"), "start": ("lesson_places.js", "STARTS"),
                         "until": ("lesson_facts.js", "UNTIL"), "facts": ("lesson_facts.js", "FACTS")}.items():  # fmt: skip
        assert named(*where) == {getattr(step, field) for one in ALL for step in one.steps} - {""}, field


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_facts_tell_the_cases_that_have_words(one):
    """Every case a fact can come to is written in the lessons, and every blank of its words is among the fact's values."""
    source = (STATIC / "lazy" / "lesson_facts.js").read_text("utf-8")
    for step in one.steps:
        if not step.facts:
            continue
        body = re.search(rf"^  {step.facts}\(.*?^  }},\n", source, re.S | re.M)[0]
        assert all(f"'{case}'" in body for case in step.cases), (step.facts, step.cases)
        blanks = {b for case in step.cases for b in re.findall(r"{(\w+)}", words("en")[f"lesson.{one.name}.{step.name}.{case}"])}
        assert all(re.search(rf"\b{blank}\b", body) for blank in blanks), (step.facts, blanks)
        choices = next((s.choices for s in one.steps if s.name == step.answers and not s.right), ())
        assert all(f"'{choice}'" in body for choice in choices), (step.facts, choices)


def test_both_languages_say_every_step_and_nothing_else():
    needed = {key for one in ALL for key in lesson.keys(one)}
    for language in ("en", "ja"):
        own = json.loads((TEXT / "lessons" / f"{language}.json").read_text("utf-8"))
        assert {key for key in own if not key.startswith(("lessons.", "lesson.ui.", "lesson.teacher."))} == needed
        assert all(text.strip() for text in own.values())


def test_terms_that_sentences_mark_are_in_the_glossary():
    for language in ("en", "ja"):
        unknown = {(key, name) for key, text in words(language).items() for name in glossary.marked(text)
                   if name not in glossary.names()}  # fmt: skip
        assert not unknown


def test_both_languages_mark_the_same_terms():
    english, japanese = words("en"), words("ja")
    assert {key for key in english if sorted(glossary.marked(english[key])) != sorted(glossary.marked(japanese[key]))} == set()


def test_every_term_has_its_two_sentences_at_most():
    assert len(glossary.names()) >= 30
    for language, end in (("en", r"[.)](?:\s|$)"), ("ja", "。")):
        for name in glossary.names():
            said = glossary.meaning(name, words(language))
            assert glossary.title(name, words(language))
            assert 1 <= len(re.findall(end, said)) <= 3, (language, name)


def test_the_glossary_page_is_up_to_date():
    told = subprocess.run([sys.executable, "-m", "forget_me_not.app", "glossary"], capture_output=True, text=True, check=True)
    assert (ROOT / "assets" / "GLOSSARY.md").read_text("utf-8") == told.stdout, f"bring it up to date with: {glossary.COMMAND}"


def test_marks_are_split_from_their_sentence():
    assert list(glossary.pieces("A [module|module] learns.")) == [("A ", None), ("module", "module"), (" learns.", None)]
    assert list(glossary.pieces("[a|x][b|y]")) == [("a", "x"), ("b", "y")]
    assert list(glossary.pieces("R[t][j] stays")) == [("R[t][j] stays", None)]


def sound(**changes):
    """A lesson that keeps all rules, with changes."""
    steps = [
        {"name": "guess", "kind": "predict", "tab": "forget", "choices": ["a", "b"]},
        {"name": "look", "kind": "see", "tab": "forget", "until": "x"},
        {"name": "say", "kind": "explain", "tab": "forget", "facts": "f", "cases": ["yes", "no"], "answers": "guess"},
    ]
    return {"minutes": 5, "plan": [20, 25], "needs": 1, "misconceptions": 1, "terms": ["task"], "steps": steps, **changes}


@pytest.mark.parametrize(
    ("step", "change", "wrong"),
    [
        (0, {"choices": ["a"]}, "has choices"),
        (0, {"right": "c"}, "c is no choice"),
        (1, {"tab": "moon"}, "unknown"),
        (1, {"facts": "f"}, "only an explanation"),
        (2, {"cases": ["yes"]}, "never promised"),
        (2, {"answers": "look"}, "not asked before"),
        (2, {"name": "look"}, "the same name"),
        (2, {"colour": "red"}, "unknown colour"),
    ],
)
def test_a_lesson_that_breaks_a_rule_is_refused(step, change, wrong):
    assert lesson.made("good", sound()).steps[2].cases == ("yes", "no")
    data = sound()
    data["steps"][step] |= change
    with pytest.raises(ValueError, match=wrong):
        lesson.made("bad", data)


@pytest.mark.parametrize(("change", "wrong"), [({"plan": [20, 20]}, "40 minutes, not 45"), ({"terms": ["moon"]}, "no term moon")])
def test_a_plan_fills_the_hour_and_terms_exist(change, wrong):
    with pytest.raises(ValueError, match=wrong):
        lesson.made("bad", sound(**change))


def test_the_panel_gets_the_steps_and_the_teacher_a_page(client):
    given = client.get("lessons").json()
    assert [one["name"] for one in given] == list(lesson.ORDER)
    assert "plan" not in given[0]
    assert client.get("lesson/moon").status_code == 404
    page = client.get("lesson/forgetting?lang=ja")
    assert page.headers["content-type"].startswith("text/html")
    assert "script-src" not in page.headers["content-security-policy"]
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert '<html lang="ja">' in page.text
    assert words("ja")["lesson.forgetting.goal"] in page.text


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_a_teachers_page_is_whole(one, language):
    page = teacher.page(one, language)
    assert "<script" not in page
    minutes = re.findall(r"<tr><td>(\d+)\D+(\d+)</td>", page)
    assert [int(b) - int(a) for a, b in minutes] == list(one.plan)
    assert minutes[-1][1] == "45"
    anchors = set(re.findall(r'id="(term-\w+)"', page))
    assert set(re.findall(r'href="#(term-\w+)"', page)) <= anchors
    assert {f"term-{name}" for name in one.terms} <= anchors
    assert not re.search(r"\{\w+\}|\|\w+\]|lesson\.\w+\.", page.split("</style>")[1])
    for tag in ("ul", "ol", "li", "p", "table", "div", "dl", "a"):
        assert len(re.findall(rf"<{tag}\b", page)) == page.count(f"</{tag}>"), tag


def test_names_are_escaped_on_a_teachers_page():
    assert teacher.prose("a < b & [c > d|task]") == 'a &lt; b &amp; <a class="term" href="#term-task">c &gt; d</a>'
    assert teacher.prose("{n} of {of}") == "… of …"
