"""What cards of methods and arms say in other languages: every sentence, and none whose English has changed since."""

import json
import re
import zlib
from pathlib import Path

import pytest

from forget_me_not.demo.words import LANGUAGES, SAME, TEXT, words
from forget_me_not.models import registry
from forget_me_not.models.plasticity.arms import ARMS

SEEN = json.loads(Path(__file__).with_name("cards_seen.json").read_text("utf-8"))
"""language -> key -> checksum of the English sentence when its translation was last looked at."""
OURS = [card for card in registry.cards().values() if card.learner.__module__.startswith("forget_me_not.models.methods.")]
TRANSLATED = LANGUAGES[1:]


def sentences():
    """key -> English, of all that a card says in words; a paper that is only an arXiv number says nothing."""
    found = {}
    for card in (*OURS, *ARMS.values()):
        own = {field: getattr(card, field, "") for field in ("line", "stores", "parameters")}
        own["paper"] = card.paper if card in OURS and not re.fullmatch(r"(arXiv:[\d.]+)?", card.paper) else ""
        own |= {f"deviation{n}": line for n, line in enumerate(card.deviations, 1)}
        found |= {f"method.{card.name}.{field}": line for field, line in own.items() if line}
    return found


def translations(language):
    files = (TEXT / f"{language}.json", *TEXT.glob(f"*/{language}.json"))
    every = {key: text for file in files for key, text in json.loads(file.read_text("utf-8")).items()}
    return {key: text for key, text in every.items() if key.startswith("method.") and not key.endswith(".title")}


def numbers(text):
    return {float(one.replace(",", "")) for one in re.findall(r"\d+(?:,\d{3})+|\d*\.?\d+", text)}


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_sentence_of_a_card_is_translated_and_no_other(language):
    said, english = translations(language), sentences()
    assert set(said) == set(english)
    kana = re.compile("[ぁ-んァ-ン一-龥]")
    assert [key for key, text in said.items() if not kana.search(text.removeprefix(SAME)) and not text.startswith(SAME)] == []
    assert [key for key, text in said.items() if text.startswith(SAME) and english[text[1:]] != english[key]] == []
    assert all(words(language)[f"method.{card.name}.title"] for card in (*OURS, *ARMS.values()))


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_translation_was_looked_at_after_its_english_last_changed(language):
    """Where this fails: read the sentence in this language, put it right, then take the line below into cards_seen.json."""
    now = {key: f"{zlib.crc32(line.encode()):08x}" for key, line in sentences().items()}
    changed = {key: mark for key, mark in now.items() if SEEN[language].get(key) != mark}
    assert changed == {}
    assert set(SEEN[language]) == set(now)


@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_keep_every_number_and_formula(language):
    """Words such as "two" may become a digit; nothing else is added, and nothing is lost."""
    said = words(language)
    for key, line in sentences().items():
        kept, told = numbers(line), numbers(said[key])
        assert kept <= told, key
        assert all(one <= 10 and one == int(one) for one in told - kept), key
        if key.endswith(".parameters"):
            terms = re.compile(r"\b[dMrtPKN]\b|d\^2")
            assert sorted(terms.findall(line)) == sorted(terms.findall(said[key])), key
