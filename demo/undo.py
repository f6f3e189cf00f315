"""Taking back deletions: what was deleted lies on a short stack in the project until it is brought back or falls off its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forget_me_not.models.problem import Problem

DEPTH = 20
SIZES = ("1", "2", "4")
"""Presets that go on dealing new classes into tasks of this size until somebody moves one by hand."""

Data = dict[str, Any]


def remember(data: Data, code: str, values: Mapping[str, Any], kept: Mapping[str, Any]) -> None:
    """Puts one step on the undo stack, which forgets its oldest beyond 20."""
    data["undo"].append({"code": code, "values": dict(values), "kept": dict(kept)})
    del data["undo"][:-DEPTH]


def take_back(data: Data) -> None:
    """Undoes the latest deletion as far as what came after it allows; Problem("undo_nothing")."""
    if not data["undo"]:
        raise Problem("undo_nothing")
    kept = data["undo"].pop()["kept"]
    if "class" in kept:
        back = kept["class"]
        if find_class(data, back["name"]):
            back = {**back, "name": _free_name(data, back["name"])}
        if any(c["key"] == back["key"] for c in data["classes"]):
            back = {**back, "key": f"{back['key']}#{back['id']}"}
        data["classes"].insert(min(kept["at"], len(data["classes"])), back)
        if "task_name" in kept:
            at = min(kept["task"], len(data["tasks"]))
            data["tasks"].insert(at, {"name": kept["task_name"], "classes": [back["id"]]})
        elif 0 <= kept["task"] < len(data["tasks"]):
            data["tasks"][kept["task"]]["classes"].insert(kept["place"], back["id"])
    if "whole" in kept:
        known, placed = {c["id"] for c in data["classes"]}, {c for t in data["tasks"] for c in t["classes"]}
        task = {"name": kept["whole"]["name"], "classes": [c for c in kept["whole"]["classes"] if c in known - placed]}
        data["tasks"].insert(min(kept["task"], len(data["tasks"])), task)
        how = kept["preset"]
        if how in SIZES and dealt(data, how) == [t["classes"] for t in data["tasks"]]:  # nothing else was moved by hand
            data["preset"] = how
    there = {(p["sha"], p["class"], p["name"]) for p in data["photos"]}
    ids = {c["id"] for c in data["classes"]}
    data["photos"] += [p for p in kept.get("photos", ())
                       if p["class"] in ids and (p["sha"], p["class"], p["name"]) not in there]  # fmt: skip


def _free_name(data: Data, name: str) -> str:
    return next(n for n in (f"{name} ({k})" for k in range(2, 10_000)) if not find_class(data, n))


def find_class(data: Data, name: str) -> Data | None:
    """The class shown as `name`, or None."""
    return next((c for c in data["classes"] if c["name"] == name), None)


def dealt(data: Data, how: str) -> list[list[int]]:
    """The class ids of each task as `arrange` deals them."""
    order = [c["id"] for c in data["classes"] if not c.get("out")]
    return [order[i : i + int(how)] for i in range(0, len(order), int(how))]
