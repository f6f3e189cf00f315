"""The words of the page: demo/text/<language>.json as flat dictionaries, and sentences filled with values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

TEXT = Path(__file__).with_name("text")
LANGUAGES = ("en", "ja")
SAME = "@"
"""A sentence "@other.key" says what other.key says: what is defined once is written once."""
PARTS = {"lessons": re.compile(r"lesson\."), "cards": re.compile(r"method\.\w+\.(stores|parameters|deviation\d+)")}
"""Keys the page asks for when somebody opens a lesson or a card, not when the page opens. English is in the cards themselves."""


@cache
def words(language: str = "en") -> Mapping[str, str]:
    """Every sentence by its key in `language`; English where a language lacks one, or is unknown."""
    english = _read("en")
    merged = english | _read(language) if language in LANGUAGES[1:] else english
    return {key: merged[text[1:]] if text.startswith(SAME) else text for key, text in merged.items()}


@cache
def page_words(language: str, part: str = "") -> Mapping[str, str]:
    """The sentences a browser gets at the start, or those of one of PARTS instead."""
    return {key: text for key, text in words(language).items()
            if part == next((name for name, keys in PARTS.items() if keys.match(key)), "")}  # fmt: skip


def _read(language: str) -> dict[str, str]:
    """The page's words and, in folders of their own, those of single parts: problems and notes, tabs, lessons."""
    files = (TEXT / f"{language}.json", *sorted(TEXT.glob(f"*/{language}.json")))
    return {key: sentence for file in files for key, sentence in json.loads(file.read_text("utf-8")).items()}


def fill(sentence: str, values: Mapping[str, Any]) -> str:
    """`sentence` with every {name} replaced by its value; blanks without a value stay as they are."""
    for name, value in values.items():
        sentence = sentence.replace("{" + name + "}", str(value))
    return sentence


def say(language: str, key: str, **values: Any) -> str:
    """The sentence `key` in `language`, filled; the key itself where no language has it."""
    return fill(words(language).get(key, key), values)
