"""Look inside: where the photos lie, and what every module says of one."""

from forget_me_not.demo.tabs.view import view

NAME = "inside"


def build() -> None:
    """Time scrubber, cloud of photos, and one photo asked (static/inside.js, ask.js)."""
    view("inside")
