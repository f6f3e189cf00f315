"""See it forget: a starter pack, a guess, and two learners side by side. No upload, no download, one button."""

from forget_me_not.demo.marks import DASHES, GLYPHS, MARKERS
from forget_me_not.demo.tabs.view import view

NAME = "forget"


def build() -> None:
    """Question, packs, guess, two lanes, scrubber and verdict (static/forget.js, forget_run.js, forget_lane.js)."""
    view("forget", {"glyphs": GLYPHS, "dashes": DASHES, "markers": MARKERS})
