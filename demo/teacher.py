"""The teacher's page of a lesson: one HTML page to print, without a script. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from itertools import accumulate
from typing import Any

from forget_me_not.demo import glossary
from forget_me_not.demo.lesson import HOUR, Lesson, Step, lessons
from forget_me_not.demo.words import LANGUAGES, fill, words

POLICY = "default-src 'none'; style-src 'unsafe-inline'; font-src 'self'"
STYLE = """
@font-face { font-family: "Figtree"; src: url("../lab/fonts/figtree.woff2") format("woff2"); font-weight: 300 900; }
@font-face { font-family: "Fraunces"; src: url("../lab/fonts/fraunces.woff2") format("woff2"); font-weight: 100 900; }
:root { color-scheme: light; --ink: #1d2236; --ink2: #545a70; --line: #e8e2d6; --strong: #938b7a; --brand: #4254ae; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 32px 20px 64px; max-width: 860px; background: #faf8f3; color: var(--ink);
       font: 16px/1.55 "Figtree", "Noto Sans JP", "Noto Sans CJK JP", "Hiragino Sans", "Yu Gothic", sans-serif; }
h1, h2 { font-family: "Fraunces", "Noto Sans JP", "Noto Sans CJK JP", "Hiragino Sans", sans-serif; font-weight: 560;
         line-height: 1.25; margin: 0; }
:lang(ja) { word-break: auto-phrase; } :lang(ja) h1, :lang(ja) h2 { font-weight: 700; }
h1 { font-size: 34px; } h2 { font-size: 21px; margin: 28px 0 8px; break-after: avoid; }
p, ul, ol { margin: 0 0 10px; } ul, ol { padding-left: 1.3em; } li { margin: 4px 0; }
.sub { color: var(--ink2); } .kind { color: var(--brand); font-weight: 650; margin-bottom: 4px; }
.ask { font-size: 19px; line-height: 1.45; padding: 14px 18px; background: #fff; border-left: 4px solid var(--brand); }
a { color: var(--brand); text-underline-offset: 3px; } a.term { color: inherit; text-decoration: underline dotted; }
nav { display: flex; flex-wrap: wrap; gap: 8px 20px; margin: 0 0 20px; }
table { border-collapse: collapse; width: 100%; } caption { text-align: left; color: var(--ink2); padding-bottom: 4px; }
th, td { padding: 8px 10px; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; font-weight: 400; }
thead th { color: var(--ink2); } td:first-child { white-space: nowrap; width: 88px; font-variant-numeric: tabular-nums; }
tr, li, dl > div { break-inside: avoid; }
.steps b { font-weight: 650; } .steps li { margin: 8px 0; } .steps small { display: block; font-size: 15px; color: var(--ink2); }
dl { margin: 0; } dt { font-weight: 650; } dd { margin: 0 0 8px; color: var(--ink2); }
@page { margin: 16mm 15mm; }
@media print { nav, .screen { display: none; }
  body { background: #fff; padding: 0; max-width: none; font-size: 10.5pt; line-height: 1.35; }
  h1 { font-size: 21pt; } h2 { font-size: 13pt; margin-top: 14pt; } .ask { font-size: 12.5pt; } .steps small { font-size: 9.5pt; }
  th, td { padding: 4px 8px; } li, .steps li { margin: 2px 0; } }
"""


def page(lesson: Lesson, language: str) -> str:
    """The page in `language` (English where it is unknown); every word is escaped, and its policy forbids scripts."""
    language = language if language in LANGUAGES else "en"
    said, own = words(language), f"lesson.{lesson.name}."
    say = lambda key, **values: escape(fill(said[f"lesson.teacher.{key}"], values))  # noqa: E731
    text = lambda key: prose(said[own + key])  # noqa: E731
    parts = [
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(said[own + 'title'])} · Forget-Me-Not</title>\n<style>{STYLE}</style>\n</head>\n<body>",
        f'<nav><a href="../?lang={language}&amp;lesson={lesson.name}">{say("open")}</a>{_languages(lesson, language, said)}'
        f'<span class="sub">{say("print")}</span></nav>',
        f'<p class="kind">{say("kind", n=HOUR)}</p>\n<h1>{text("title")}</h1>\n<p class="sub">{text("line")}</p>',
        f"<h2>{say('goal')}</h2>\n<p>{text('goal')}</p>",
        f"<h2>{say('question')}</h2>\n<p class='ask'>{text('question')}</p>",
        f"<h2>{say('needs')}</h2>\n{_list(text(f'need_{n + 1}') for n in range(lesson.needs))}",
        f"<h2>{say('plan')}</h2>\n{_plan(lesson, said)}",
        f"<h2>{say('answer')}</h2>\n<p>{text('answer')}</p>",
        f"<h2>{say('wrong')}</h2>\n{_list(text(f'wrong_{n + 1}') for n in range(lesson.misconceptions))}",
        f"<h2>{say('steps')}</h2>\n<ol class='steps'>{''.join(_step(lesson, step, said) for step in lesson.steps)}</ol>",
        f"<h2>{say('terms')}</h2>\n<dl>{''.join(_term(name, said) for name in named(lesson, said))}</dl>",
        f'<div class="screen"><h2>{say("others")}</h2>',
        _list(_link(one, language, said) for one in lessons() if one != lesson) + "</div>",
        "</body>\n</html>\n",
    ]  # fmt: skip
    return "\n".join(parts)


def prose(sentence: str) -> str:
    """A sentence as HTML: terms lead to their definition below, blanks become dots."""
    made = []
    for shown, name in glossary.pieces(sentence):
        shown = escape(glossary.BLANK.sub("…", shown))
        made.append(f'<a class="term" href="#term-{name}">{shown}</a>' if name else shown)
    return "".join(made)


def named(lesson: Lesson, said: Mapping[str, str]) -> list[str]:
    """The terms of a lesson: its own, then others its sentences mark."""
    inside = (name for key, text in said.items() if key.startswith(f"lesson.{lesson.name}.") for name in glossary.marked(text))
    return list(dict.fromkeys((*lesson.terms, *inside)))


def _plan(lesson: Lesson, said: Mapping[str, str]) -> str:
    ends = list(accumulate(lesson.plan))
    rows = []
    for n, (end, minutes) in enumerate(zip(ends, lesson.plan, strict=True)):
        when = fill(said["lesson.teacher.from_to"], {"a": end - minutes, "b": end})
        rows.append(f"<tr><td>{escape(when)}</td><td>{prose(said[f'lesson.{lesson.name}.plan_{n + 1}'])}</td></tr>")
    head = "".join(f"<th scope='col'>{escape(said[f'lesson.teacher.{key}'])}</th>" for key in ("minutes", "what"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _step(lesson: Lesson, step: Step, said: Mapping[str, str]) -> str:
    own = f"lesson.{lesson.name}.{step.name}"
    kind = f"<b>{escape(said[f'lesson.ui.{step.kind}'])}</b> "
    if step.choices:
        listed = " / ".join(said[f"{own}.{choice}"] for choice in step.choices)
        choices = escape(fill(said["lesson.teacher.choices"], {"choices": listed}))
        return f"<li>{kind}{prose(said[own])} <small>{choices}</small></li>"
    if step.cases:
        cases = "".join(f"<small>{prose(said[f'{own}.{case}'])}</small>" for case in step.cases)
        return f"<li>{kind}{escape(said['lesson.teacher.cases'])} {cases}</li>"
    return f"<li>{kind}{prose(said[own])}</li>"


def _term(name: str, said: Mapping[str, str]) -> str:
    title, meaning = glossary.title(name, said), glossary.meaning(name, said)
    return f'<div><dt id="term-{name}">{escape(title)}</dt><dd>{escape(meaning)}</dd></div>'


def _languages(lesson: Lesson, language: str, said: Mapping[str, str]) -> str:
    other = next(one for one in LANGUAGES if one != language)
    return f'<a href="{lesson.name}?lang={other}" lang="{other}">{escape(said["header.other"])}</a>'


def _link(lesson: Lesson, language: str, said: Mapping[str, str]) -> str:
    title, line = (escape(said[f"lesson.{lesson.name}.{key}"]) for key in ("title", "line"))
    return f'<a href="{lesson.name}?lang={language}">{title}</a> <span class="sub">{line}</span>'


def _list(items: Iterable[Any]) -> str:
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"
