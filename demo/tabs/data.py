"""My data: photos in classes, classes in tasks, and what is still missing."""

from forget_me_not.demo.tabs.view import view

NAME = "data"


def build() -> None:
    """Class cards and the order of learning (static/data.js, plan.js)."""
    view("data")
