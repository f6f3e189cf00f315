"""Classes of a project: photos put into them, and what the view says of them."""

import photos_made as made

from forget_me_not.demo.project import Incoming
from forget_me_not.models.images import photo_from_bytes


def put(project, name, numbers):
    project.add([Incoming(photo_from_bytes(made.photo(name, n), f"{name}/{n}.png", name), name) for n in numbers])


def names(project):
    view = project.view()
    shown = {c["id"]: c["name"] for c in view["classes"]}
    return [[shown[c] for c in task["classes"]] for task in view["tasks"]]


def of(project, name):
    return next(c for c in project.view()["classes"] if c["name"] == name)
