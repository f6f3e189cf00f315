"""Class groups of a project's own photos: what its first tasks are, and what a run of them is asked for with. No torch.

Whoever knows the project's id may ask; a start keeps the id to itself, so that who watches one does not learn it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from forget_me_not.demo import edits
from forget_me_not.demo.project import Project, ordered
from forget_me_not.demo.ready import NEEDS
from forget_me_not.models.images import ImageSet
from forget_me_not.models.plasticity.groups import Groups, groups, title
from forget_me_not.models.problem import Problem

STUDY = "class_groups"
PER_TASK = (2, 5)
"""Fewest and most classes a task."""
SHOWN_TASKS, SHOWN_PHOTOS = 3, 8
"""Photos the page shows to say what a task is."""


def taught(project: Project) -> tuple[ImageSet, dict[str, str]]:
    """The photos of all classes that are not left out, and what these classes are called: key -> name."""
    data = project.data
    inside = {c["id"] for c in data["classes"] if edits.task_of(data, c["id"]) >= 0}
    names = {c["key"]: c["name"] for c in data["classes"] if c["id"] in inside}
    return project.images() if len(names) == len(data["classes"]) else project.images_of(inside), names


def made(project: Project, tasks: int, per_task: int, seed: int) -> tuple[Groups, ImageSet, dict[str, str]]:
    """The tasks with photos and names of their classes; Problems groups_none, groups_few, class_few and those of groups."""
    images, names = taught(project)
    counts, needs = Counter(photo.label for photo in images.photos), per_task + 1  # fewer would be the same task again and again
    if not counts:
        raise Problem("groups_none", needs=needs)
    if len(counts) < needs:
        raise Problem("groups_few", classes=len(counts), per_task=per_task, needs=needs)
    few = next((key for key, count in counts.items() if count < NEEDS), None)
    if few is not None:
        raise Problem("class_few", **{"class": names[few], "count": counts[few], "needs": NEEDS})
    return groups(images, tasks, per_task, seed), images, names


def preview(project: Project, per_task: int, seed: int) -> dict[str, Any]:
    """The first tasks: {"classes", "steps": steps a pass, "tasks": [{"task", "names", "photos": [[class's number, sha], …]}]}.

    The photos are some the task is taught with, its classes in turn.
    """
    with project.lock:
        plan, images, names = made(project, SHOWN_TASKS, per_task, seed)
    steps = [math.ceil(sum(len(plan.sides[c][0]) for c in task) / plan.batch) for task in plan.tasks]
    shown = []
    for t, task in enumerate(plan.tasks):
        turns = [(number, plan.sides[c][0][turn]) for turn in range(SHOWN_PHOTOS) for number, c in enumerate(task)
                 if turn < len(plan.sides[c][0])][:SHOWN_PHOTOS]  # fmt: skip
        shown.append({"task": t, "names": [names[plan.classes[c]] for c in task],
                      "photos": [[number, images.photos[p].sha] for number, p in sorted(turns)]})  # fmt: skip
    return {"classes": len(plan.classes), "steps": round(sum(steps) / len(steps)), "tasks": shown}


def asked_for(project: Project, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What requests of such a start hold of its photos, classes and tasks (see plasticjobs.PlasticRequest)."""
    plan, _, names = made(project, asked["tasks"], asked["per_task"], asked["seed"])
    keys = {c["id"]: c["key"] for c in project.data["classes"]}
    return {
        "kind": "task", "per_task": asked["per_task"], "photos_of": project.id,
        "classes": [{"key": key, "name": names[key]} for key in plan.classes],
        "tasks": [{"name": title([names[plan.classes[c]] for c in task]), "classes": [plan.classes[c] for c in task]}
                  for task in plan.tasks],
        "photos": [{**p, "class": keys[p["class"]]} for p in ordered(project.data["photos"]) if keys[p["class"]] in names],
    }  # fmt: skip
