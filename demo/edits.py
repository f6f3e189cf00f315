"""What a person can do to a project's classes, tasks and choices: pure functions over the project's plain data.

A project is a dict: classes in display order (id stable, name free; key = the name it came with, from which the split of its
photos is drawn, so renaming a class changes no number), tasks as lists of class ids (a class in no task is left out), photos,
choices, and a short undo stack.
Every function checks first and changes then, so a refused edit leaves no trace.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from forget_me_not.demo import choices, undo
from forget_me_not.models.archive import clean as clean_name, natural
from forget_me_not.models.problem import Problem

NAME_LENGTH = 60
CLASS_LIMIT = 500
KINDS = ("class", "domain", "task")

Data = undo.Data


def blank(pid: str) -> Data:
    """A new project with nothing in it."""
    return {"format": 1, "id": pid, "name": "", "version": 0, "kind": "class", "next_id": 1, "preset": "2", "classes": [],
            "tasks": [], "domain_order": [], "photos": [], "runs": [], "undo": [],
            "chosen": {"methods": ["tosca", "finetune"], "settings": {}, "seed": 0, "seeds": 1}}


def clean(name: Any) -> str:
    """`name` as display text of at most 60 characters: NFC, no control or direction characters; nothing stays nothing."""
    text = str(name or "")[:1000].encode("utf-8", "replace").decode()
    kept = clean_name(text)
    return "" if kept == "?" and "?" not in text else kept[:NAME_LENGTH].strip()


def apply(data: Data, edit: Mapping[str, Any]) -> None:
    """Does one edit ({"do": name, …}) in place; Problem where it cannot be done."""
    action = EDITS.get(str(edit.get("do")))
    if action is None:
        raise Problem("edit_unknown", do=str(edit.get("do"))[:40])
    action(data, edit)
    if data["preset"] in undo.SIZES and edit["do"] in ("add_class", "delete_class", "undo"):
        arrange(data, data["preset"])


def imported_class(data: Data, name: str) -> Data:
    """The class called `name`, made where it is missing, at its natural place among the classes that came with photos."""
    name = clean(name)
    found = undo.find_class(data, name)
    if found:
        return found
    later = (i for i, c in enumerate(data["classes"]) if c["imported"] and natural(c["key"]) > natural(name))
    return _new_class(data, name, next(later, len(data["classes"])), imported=True)


def arrange(data: Data, how: str) -> None:
    """Puts all classes that are not left out into tasks of "1", "2" or "4", keeping the names of tasks by position."""
    names = [t["name"] for t in data["tasks"]]
    data["tasks"] = [{"name": names[i] if i < len(names) else "", "classes": g} for i, g in enumerate(undo.dealt(data, how))]


def task_of(data: Data, class_id: int) -> int:
    """The index of the task that teaches the class, -1 where it is left out."""
    return next((i for i, t in enumerate(data["tasks"]) if class_id in t["classes"]), -1)


def domains(data: Data) -> list[str]:
    """The styles the photos come in, in the order of learning: as arranged, new ones in natural order after them."""
    there = {p["domain"] for p in data["photos"] if p["domain"]}
    kept = [d for d in data["domain_order"] if d in there]
    return kept + sorted(there - set(kept), key=natural)


def _new_class(data: Data, name: str, at: int, imported: bool) -> Data:
    if not name:
        raise Problem("name_empty")
    if len(data["classes"]) >= CLASS_LIMIT:
        raise Problem("classes_full", limit=CLASS_LIMIT)
    key = f"{name}#{data['next_id']}" if any(c["key"] == name for c in data["classes"]) else name
    made = {"id": data["next_id"], "name": name, "key": key, "imported": imported}
    data["next_id"] += 1
    data["classes"].insert(at, made)
    if data["preset"] in undo.SIZES:
        arrange(data, data["preset"])
    elif data["tasks"] and not data["tasks"][-1]["classes"]:
        data["tasks"][-1]["classes"].append(made["id"])
    else:
        data["tasks"].append({"name": "", "classes": [made["id"]]})
    return made


def _class(data: Data, edit: Mapping[str, Any]) -> Data:
    found = next((c for c in data["classes"] if c["id"] == edit.get("class")), None)
    if found is None:
        raise Problem("class_gone")
    return found


def _task(data: Data, edit: Mapping[str, Any]) -> int:
    index = edit.get("task")
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(data["tasks"]):
        raise Problem("task_unknown")
    return index


def _add_class(data: Data, edit: Mapping[str, Any]) -> None:
    name = clean(edit.get("name"))
    if undo.find_class(data, name):
        raise Problem("class_exists", name=name)
    _new_class(data, name, len(data["classes"]), imported=False)


def _rename_class(data: Data, edit: Mapping[str, Any]) -> None:
    found, name = _class(data, edit), clean(edit.get("name"))
    if not name:
        raise Problem("name_empty")
    if undo.find_class(data, name) not in (None, found):
        raise Problem("class_exists", name=name)
    found["name"] = name


def _delete_class(data: Data, edit: Mapping[str, Any]) -> None:
    found = _class(data, edit)
    photos = [p for p in data["photos"] if p["class"] == found["id"]]
    task = task_of(data, found["id"])
    place = data["tasks"][task]["classes"].index(found["id"]) if task >= 0 else 0
    undo.remember(data, "undo_class", {"name": found["name"], "count": len(photos)},
             {"class": found, "at": data["classes"].index(found), "photos": photos, "task": task, "place": place})
    data["classes"].remove(found)
    data["photos"] = [p for p in data["photos"] if p["class"] != found["id"]]
    if task >= 0:
        data["tasks"][task]["classes"].remove(found["id"])
        if not data["tasks"][task]["classes"]:
            data["undo"][-1]["kept"]["task_name"] = data["tasks"].pop(task)["name"]


def _delete_photo(data: Data, edit: Mapping[str, Any]) -> None:
    inside = edit.get("class")
    found = [p for p in data["photos"] if p["sha"] == edit.get("sha") and inside in (None, p["class"])]
    if not found:
        raise Problem("photo_unknown")
    name = next(c["name"] for c in data["classes"] if c["id"] == found[0]["class"])
    undo.remember(data, "undo_photo", {"name": name}, {"photos": found})
    data["photos"] = [p for p in data["photos"] if p not in found]


def _empty_class(data: Data, edit: Mapping[str, Any]) -> None:
    found = _class(data, edit)
    photos = [p for p in data["photos"] if p["class"] == found["id"]]
    if not photos:
        raise Problem("photo_unknown")
    undo.remember(data, "undo_photos", {"name": found["name"], "count": len(photos)}, {"photos": photos})
    data["photos"] = [p for p in data["photos"] if p["class"] != found["id"]]


def _delete_task(data: Data, edit: Mapping[str, Any]) -> None:
    index = _task(data, edit)
    task = data["tasks"].pop(index)
    kept = {"task": index, "whole": task, "preset": data["preset"]}
    undo.remember(data, "undo_task", {"name": task["name"], "number": index + 1}, kept)
    _by_hand(data)


def _undo(data: Data, edit: Mapping[str, Any]) -> None:
    undo.take_back(data)


def _by_hand(data: Data) -> None:
    data["preset"] = ""


def _add_task(data: Data, edit: Mapping[str, Any]) -> None:
    data["tasks"].append({"name": "", "classes": []})
    _by_hand(data)


def _rename_task(data: Data, edit: Mapping[str, Any]) -> None:
    data["tasks"][_task(data, edit)]["name"] = clean(edit.get("name"))


def _move_class(data: Data, edit: Mapping[str, Any]) -> None:
    found, target, at = _class(data, edit), edit.get("task"), edit.get("at")
    if not isinstance(target, int) or isinstance(target, bool) or not -1 <= target <= len(data["tasks"]):
        raise Problem("task_unknown")
    source = task_of(data, found["id"])
    if target == len(data["tasks"]):
        data["tasks"].append({"name": "", "classes": []})
    goal = data["tasks"][target]["classes"] if target >= 0 else None
    if source >= 0:
        data["tasks"][source]["classes"].remove(found["id"])
    if goal is not None:
        place = at if isinstance(at, int) and at >= 0 else len(goal)
        goal.insert(min(place, len(goal)), found["id"])
    if source >= 0 and not data["tasks"][source]["classes"]:  # a task that lost its last class goes with it
        del data["tasks"][source]
    found["out"] = target < 0
    if target >= 0:
        _by_hand(data)


def _move_task(data: Data, edit: Mapping[str, Any]) -> None:
    names, at = domains(data), edit.get("at")
    if not isinstance(at, int) or isinstance(at, bool):
        raise Problem("task_unknown")
    if data["kind"] == "domain":
        index = edit.get("task")
        if not isinstance(index, int) or not 0 <= index < len(names):
            raise Problem("task_unknown")
        names.insert(max(0, at), names.pop(index))
        data["domain_order"] = names
    else:
        data["tasks"].insert(max(0, at), data["tasks"].pop(_task(data, edit)))
        _by_hand(data)


def _preset(data: Data, edit: Mapping[str, Any]) -> None:
    how = str(edit.get("how"))
    if how in undo.SIZES:
        arrange(data, how)
        data["preset"] = how
    elif how == "shuffle":
        _shuffle(data, edit.get("seed"))
    elif how == "folders":
        _by_folders(data)
    else:
        raise Problem("edit_unknown", do=f"preset {how}"[:40])


def _shuffle(data: Data, seed: Any) -> None:
    """The same task sizes, the classes dealt anew."""
    order = [c for t in data["tasks"] for c in t["classes"]]
    before = list(order)
    rng = random.Random(seed if isinstance(seed, int) else None)
    while len(order) > 1 and order == before:
        rng.shuffle(order)
    for task in data["tasks"]:
        size = len(task["classes"])
        task["classes"], order = order[:size], order[size:]
        task["name"] = ""
    _by_hand(data)


def _by_folders(data: Data) -> None:
    """One task for each folder the class folders lay in; Problem where all came from one place."""
    above: dict[int, str] = {}
    for photo in data["photos"]:
        above.setdefault(photo["class"], photo["domain"])
    groups: dict[str, list[int]] = {}
    for c in data["classes"]:
        if not c.get("out"):
            groups.setdefault(above.get(c["id"], ""), []).append(c["id"])
    if len(groups) < 2:
        raise Problem("folders_one")
    data["tasks"] = [{"name": clean(g), "classes": groups[g]} for g in sorted(groups, key=natural)]
    _by_hand(data)


def _kind(data: Data, edit: Mapping[str, Any]) -> None:
    if edit.get("kind") not in KINDS:
        raise Problem("edit_unknown", do="kind")
    data["kind"] = edit["kind"]


def _choose(data: Data, edit: Mapping[str, Any]) -> None:
    chosen = dict(data["chosen"])
    if "methods" in edit:
        chosen["methods"] = choices.method_names(edit["methods"])
    if "settings" in edit:
        chosen["settings"] = choices.settings(edit["settings"])
    if "seed" in edit:
        chosen["seed"] = choices.seed(edit["seed"])
    if "seeds" in edit:
        chosen["seeds"] = choices.seeds(edit["seeds"])
    data["chosen"] = chosen


def _rename_project(data: Data, edit: Mapping[str, Any]) -> None:
    data["name"] = clean(edit.get("name"))


EDITS: dict[str, Callable[[Data, Mapping[str, Any]], None]] = {
    "add_class": _add_class, "rename_class": _rename_class, "delete_class": _delete_class, "delete_photo": _delete_photo,
    "empty_class": _empty_class,
    "undo": _undo, "add_task": _add_task, "delete_task": _delete_task, "rename_task": _rename_task, "move_class": _move_class,
    "move_task": _move_task, "preset": _preset, "kind": _kind, "choose": _choose, "rename_project": _rename_project,
}
