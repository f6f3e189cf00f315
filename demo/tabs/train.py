"""Train: methods and settings, then the run as it learns and forgets."""

from forget_me_not.demo.marks import DASHES, GLYPHS, MARKERS
from forget_me_not.demo.tabs.view import view

NAME = "train"


def build() -> None:
    """Methods, status strip and the three charts (static/train.js, methods.js); the glyphs are those of marks.py."""
    view("train", {"glyphs": GLYPHS, "dashes": DASHES, "markers": MARKERS})
