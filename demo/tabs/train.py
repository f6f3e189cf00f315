"""Train: methods and settings, then the run as it learns and forgets."""

from forget_me_not.demo.figures import DASHES, GLYPHS, MARKERS
from forget_me_not.demo.tabs.view import view

NAME = "train"


def build() -> None:
    """Methods, status strip and the three charts (static/train.js, methods.js); the glyphs are those of figures.py."""
    view("train", {"glyphs": GLYPHS, "dashes": DASHES, "markers": MARKERS})
