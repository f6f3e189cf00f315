"""Compare and share: which method learns and keeps, and how to take it all away."""

from forget_me_not.demo.tabs.view import view

NAME = "compare"


def build() -> None:
    """The plane, the leaderboard and the files (static/compare.js, compare_share.js)."""
    view("compare")
