"""The glossary: terms and what they mean in both languages, from demo/text/glossary, the one place where that is written. Pure.

A sentence marks a term as [the words shown|term], with the term's name in the glossary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from forget_me_not.demo.words import LANGUAGES, words

START, END = "term.", ".is"
MARK = re.compile(r"\[([^\[\]|]+)\|([a-z_0-9]+)\]")
BLANK = re.compile(r"\{\w+\}")
COMMAND = "python app.py glossary > assets/GLOSSARY.md"


def names() -> list[str]:
    """The terms in the order of the file."""
    return [key.removeprefix(START) for key in words("en") if key.startswith(START) and not key.endswith(END)]


def title(name: str, said: Mapping[str, str]) -> str:
    """What the term is called."""
    return said[START + name]


def meaning(name: str, said: Mapping[str, str]) -> str:
    """Its definition, two sentences at most."""
    return said[START + name + END]


def pieces(sentence: str) -> Iterator[tuple[str, str | None]]:
    """(text, term or None) in order: "a [module|module]." gives ("a ", None), ("module", "module"), (".", None)."""
    at = 0
    for found in MARK.finditer(sentence):
        if found.start() > at:
            yield sentence[at : found.start()], None
        yield found[1], found[2]
        at = found.end()
    if at < len(sentence):
        yield sentence[at:], None


def marked(sentence: str) -> list[str]:
    """The names of the terms a sentence marks."""
    return [name for _, name in pieces(sentence) if name is not None]


def markdown() -> list[str]:
    """The lines of assets/GLOSSARY.md: every term in both languages."""
    english, japanese = (words(language) for language in LANGUAGES)
    lines = ["# Glossary", "", f"Made by `{COMMAND}` from `demo/text/glossary`, which the page's tooltips,",
             "the lessons and the teacher's pages read, too.", "",
             "| term | what it means | 用語 | 意味 |", "|---|---|---|---|"]  # fmt: skip
    for name in names():
        cells = (title(name, english), meaning(name, english), title(name, japanese), meaning(name, japanese))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines
