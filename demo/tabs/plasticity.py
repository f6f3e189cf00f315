"""Keep learning: the same network trained on and on, ways to keep it able to learn, and what wears out inside."""

from forget_me_not.demo.figures_plasticity import GLYPHS
from forget_me_not.demo.marks import DASHES, MARKERS
from forget_me_not.demo.tabs.view import view

NAME = "plasticity"


def build() -> None:
    """Arms to choose, their accuracies side by side, maps of what wears out, and the finding (static/plasticity*.js)."""
    view("plasticity", {"glyphs": GLYPHS, "dashes": DASHES, "markers": MARKERS})
