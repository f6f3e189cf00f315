"""What still keeps a project from training, each with the edit that repairs it, and what is worth knowing about a class."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from forget_me_not.demo import edits
from forget_me_not.models.images import ImageSet

NEEDS = 2
"""Photos of a class in a task: one to learn from, one to test."""
GOOD = 10
"""Photos below which a class is worth a note."""
UNEVEN = 4
"""Times fewer photos than the largest class, from which a class is worth a note."""

Reason = dict[str, Any]


def reasons(data: edits.Data, images: ImageSet) -> list[Reason]:
    """Everything that keeps the project from training; empty when it may start."""
    taught = {c for task in data["tasks"] for c in task["classes"]}
    if not data["photos"]:
        return [_reason("no_photos")]
    if len(taught) < 2:
        repair = {"do": "preset", "how": "2"} if sum(not c.get("out") for c in data["classes"]) > 1 else None
        return [_reason("few_classes", {"count": len(taught)}, repair)]
    found = [_few(c, count, place) for c in data["classes"] if c["id"] in taught
             for place, count in _counts(data, images, c) if count < NEEDS]  # fmt: skip
    if data["kind"] == "domain":
        if len(edits.domains(data)) < 2:
            found.append(_reason("one_domain", {}, {"do": "kind", "kind": "class"}))
    else:
        found += [_reason("task_bare", {"number": i + 1, "name": t["name"]}, {"do": "delete_task", "task": i})
                  for i, t in enumerate(data["tasks"]) if not t["classes"]]  # fmt: skip
    if not data["chosen"]["methods"]:
        found.append(_reason("no_methods"))
    return found


def notes(data: edits.Data, images: ImageSet, cls: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is worth knowing about one class: few photos, one burst only, look-alikes, photos also in another class."""
    mine = [p for p in images.photos if p.label == cls["key"]]
    sizes = Counter(p.label for p in images.photos)
    found = []
    if len(mine) < NEEDS:
        found.append({"code": "note_needs", "values": {"count": NEEDS - len(mine)}})
    elif len(mine) < GOOD:
        found.append({"code": "note_few", "values": {"count": len(mine), "good": GOOD}})
    elif len(mine) * UNEVEN < max(sizes.values()):
        found.append({"code": "note_uneven", "values": {"count": len(mine), "most": max(sizes.values())}})
    bursts, groups = {p.burst for p in mine if p.burst}, {p.group for p in mine}
    if len(mine) >= NEEDS and len(groups) == 1:
        found.append({"code": "note_one_group", "values": {"count": len(mine)}})
    elif bursts:
        found.append({"code": "note_bursts", "values": {"count": sum(bool(p.burst) for p in mine), "bursts": len(bursts)}})
    alike = sum(n for n in Counter(p.group for p in mine if not p.burst).values() if n > 1) if len(groups) > 1 else 0
    if alike:
        found.append({"code": "note_alike", "values": {"count": alike}})
    torn = sum(cls["key"] in double.classes for double in images.doubles if double.exact)
    if torn:
        found.append({"code": "note_torn", "values": {"count": torn}})
    bare = sum(not p.domain for p in mine) if data["kind"] == "domain" else 0
    if bare:
        found.append({"code": "note_no_style", "values": {"count": bare}})
    return found


def _counts(data: edits.Data, images: ImageSet, cls: Mapping[str, Any]) -> list[tuple[str, int]]:
    """(style, usable photos) of a class in each place it is taught."""
    count: defaultdict[str, int] = defaultdict(int)
    for photo in images.photos:
        if photo.label == cls["key"] and (photo.domain or data["kind"] != "domain"):
            count[photo.domain if data["kind"] == "domain" else ""] += 1
    return sorted(count.items()) or [("", 0)]


def _few(cls: Mapping[str, Any], count: int, place: str) -> Reason:
    repair = {"do": "move_class", "class": cls["id"], "task": -1}
    values = {"class": cls["name"], "count": count, "needs": NEEDS}
    return _reason("class_few_style", {**values, "style": place}, repair) if place else _reason("class_few", values, repair)


def _reason(code: str, values: Mapping[str, Any] | None = None, repair: Mapping[str, Any] | None = None) -> Reason:
    return {"code": code, "values": dict(values or {}), "repair": dict(repair) if repair else None}
