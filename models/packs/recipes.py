"""What each pack is made of and called: pictures, tasks, words in English and Japanese, split, origin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from PIL import Image

from forget_me_not.models.packs import digits, toybox

Words = Mapping[str, str]


@dataclass(frozen=True)
class Recipe:
    """A pack before it is built. pictures() yields (class, RGB image) class after class, always the same ones.

    tasks: (name, title, classes). thumb, quality: side in pixels and WebP quality of the shipped pictures.
    """

    pictures: Callable[[], Iterator[tuple[str, Image.Image]]]
    title: Words
    line: Words
    tasks: Sequence[tuple[str, Words, Sequence[str]]]
    captions: Mapping[str, Words]
    train_per_class: int
    test_per_class: int
    license: str
    origin: str
    thumb: int = 112
    quality: int = 80
    seed: int = 0


def _words(en: str, ja: str) -> Words:
    return {"en": en, "ja": ja}


_TOYS = {
    "apple": "りんご", "pear": "洋なし", "lemon": "レモン", "strawberry": "いちご",
    "cat": "ねこ", "dog": "いぬ", "rabbit": "うさぎ", "bear": "くま",
    "car": "自動車", "bus": "バス", "truck": "トラック", "train": "汽車",
    "cup": "カップ", "teapot": "ティーポット", "vase": "花びん", "lamp": "ランプ",
}  # fmt: skip
_SHELVES = {
    "fruit": _words("Fruit", "くだもの"),
    "animals": _words("Animals", "動物"),
    "vehicles": _words("Vehicles", "乗り物"),
    "household": _words("Household", "家の物"),
}

RECIPES: dict[str, Recipe] = {
    "toybox": Recipe(
        pictures=toybox.pictures,
        title=_words("Toy box", "おもちゃ箱"),
        line=_words("Sixteen toys in four tasks, drawn for this lab.", "このラボのために描いた16種類のおもちゃ。課題は4つ。"),
        tasks=[(name, _SHELVES[name], list(kinds)) for name, kinds in toybox.TASKS.items()],
        captions={en: _words(en, ja) for en, ja in _TOYS.items()},
        train_per_class=20,
        test_per_class=10,
        license="CC0-1.0",
        origin="Drawn by forget_me_not.models.packs.toybox from a seed.",
        thumb=128,
        quality=84,
    ),
    "digits": Recipe(
        pictures=digits.pictures,
        title=_words("Handwritten digits", "手書き数字"),
        line=_words("Ten digits in five tasks, scanned from paper.", "紙からスキャンした10個の数字。課題は5つ。"),
        tasks=[(f"{a} and {b}", _words(f"{a} and {b}", f"{a}と{b}"), [a, b]) for a, b in digits.TASKS],
        captions={str(d): _words(str(d), str(d)) for d in range(10)},
        train_per_class=40,
        test_per_class=20,
        license="CC-BY-4.0",
        origin="E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits, UCI 1998, test half; from scikit-learn.",
    ),
}
