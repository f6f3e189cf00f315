"""The words of the page: demo/text/<language>.json as flat dictionaries, and sentences filled with values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

TEXT = Path(__file__).with_name("text")
LANGUAGES = ("en", "ja")


@cache
def words(language: str = "en") -> Mapping[str, str]:
    """Every sentence by its key in `language`; English where a language lacks one, or is unknown."""
    english = json.loads((TEXT / "en.json").read_text("utf-8"))
    if language not in LANGUAGES[1:]:
        return english
    return english | json.loads((TEXT / f"{language}.json").read_text("utf-8"))


def fill(sentence: str, values: Mapping[str, Any]) -> str:
    """`sentence` with every {name} replaced by its value; blanks without a value stay as they are."""
    for name, value in values.items():
        sentence = sentence.replace("{" + name + "}", str(value))
    return sentence


def say(language: str, key: str, **values: Any) -> str:
    """The sentence `key` in `language`, filled; the key itself where no language has it."""
    return fill(words(language).get(key, key), values)
