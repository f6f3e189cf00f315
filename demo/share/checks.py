"""What a .fmn file says, rebuilt value by value from what we know: types, lengths and references, or Problem("fmn_wrong").

Anything we do not know is left out, so nothing of the file reaches the lab but what these functions name.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from forget_me_not.demo import choices, edits
from forget_me_not.demo.share import results
from forget_me_not.demo.view import replay
from forget_me_not.models.archive import clean
from forget_me_not.models.events import KINDS, Finished, RunStarted, from_json, to_json
from forget_me_not.models.metrics import summary
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder

SHA, PHASH, KEY = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{16}"), re.compile(r"[0-9a-f]{12}")
TASKS, LINES, NAME = 500, 200_000, 400
PRESETS = ("", "1", "2", "4")


def wrong(what: str) -> Problem:
    return Problem("fmn_wrong", what=what)


def an_object(value: Any, what: str = "fmn.json") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise wrong(what)
    return value


def a_list(value: Any, most: int, what: str) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise wrong(what)
    return value


def a_text(value: Any, what: str, most: int = NAME, shape: re.Pattern[str] | None = None) -> str:
    if not isinstance(value, str) or len(value) > most or (shape is not None and not shape.fullmatch(value)):
        raise wrong(what)
    if any("\ud800" <= c <= "\udfff" for c in value):  # half of a pair: JSON may say it, no file can hold it
        raise wrong(what)
    return value


def a_name(value: Any, what: str) -> str:
    """Text without control or direction characters; "" stays ""."""
    return clean(a_text(value, what)) if value else a_text(value, what)


def an_int(value: Any, what: str, least: int = 0, most: int = 2**53) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise wrong(what)
    return value


def a_number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or abs(value) > 1e15:
        raise wrong(what)
    return value


def one_of(value: Any, allowed: Collection[Any], what: str) -> Any:
    if not isinstance(value, str) or value not in allowed:
        raise wrong(what)
    return value


def each_once(values: list[Any], what: str) -> list[Any]:
    if len(set(values)) != len(values):
        raise wrong(what)
    return values


def project(given: Any, pid: str, photo_limit: int, endings: Collection[str]) -> dict[str, Any]:
    """project.json as edits.blank lays it out; "runs" still holds the keys of the file."""
    given = an_object(given, "project")
    classes = [_class(c) for c in a_list(given.get("classes"), edits.CLASS_LIMIT, "classes")]
    ids = set(each_once([c["id"] for c in classes], "classes"))
    each_once([c["key"] for c in classes], "classes")
    tasks = [{"name": edits.clean(a_name(an_object(t, "tasks").get("name"), "tasks")),
              "classes": [an_int(c, "tasks") for c in a_list(t.get("classes"), edits.CLASS_LIMIT, "tasks")]}
             for t in a_list(given.get("tasks"), TASKS, "tasks")]  # fmt: skip
    placed = each_once([c for t in tasks for c in t["classes"]], "tasks")
    photos = [_photo(p, endings, lambda c: an_int(c, "photos")) for p in a_list(given.get("photos"), photo_limit, "photos")]
    if not ids >= {p["class"] for p in photos} | set(placed):
        raise wrong("classes")
    chosen = an_object(given.get("chosen", {}), "chosen")
    return edits.blank(pid) | {
        "name": edits.clean(a_name(given.get("name", ""), "name")),
        "kind": one_of(given.get("kind"), edits.KINDS, "kind"),
        "preset": one_of(given.get("preset", ""), PRESETS, "preset"),
        "next_id": max(ids, default=0) + 1,
        "classes": classes,
        "tasks": tasks,
        "photos": photos,
        "domain_order": [a_name(d, "domains") for d in a_list(given.get("domain_order", []), TASKS, "domains")],
        "chosen": {"methods": choices.method_names(chosen.get("methods", [])), "seed": choices.seed(chosen.get("seed", 0)),
                   "settings": choices.settings(chosen.get("settings", {})), "seeds": choices.seeds(chosen.get("seeds", 1))},
        "runs": each_once([a_text(k, "runs", 12, KEY) for k in a_list(given.get("runs", []), 200, "runs")], "runs"),
    }  # fmt: skip


def _class(given: Any) -> dict[str, Any]:
    given = an_object(given, "classes")
    name, key = edits.clean(a_name(given.get("name"), "classes")), a_name(given.get("key"), "classes")
    if not name or not key or not isinstance(given.get("imported", False), bool):
        raise wrong("classes")
    return {"id": an_int(given.get("id"), "classes", 1, 10**9), "name": name, "key": key,
            "imported": given.get("imported", False)}  # fmt: skip


def _photo(given: Any, endings: Collection[str], label: Callable[[Any], Any]) -> dict[str, Any]:
    given = an_object(given, "photos")
    burst = {"burst": a_text(given["burst"], "photos", 32, choices.BURST)} if "burst" in given else {}
    return {"sha": a_text(given.get("sha"), "photos", 64, SHA), "ext": one_of(given.get("ext"), endings, "photos"),
            "name": clean(a_text(given.get("name"), "photos", 2000)), "class": label(given.get("class")),
            "domain": a_name(given.get("domain", ""), "photos"),
            "phash": a_text(given.get("phash"), "photos", 16, PHASH), **burst}  # fmt: skip


def request(given: Any, pid: str, endings: Collection[str]) -> dict[str, Any]:
    """request.json of a run, as project.request writes it."""
    given = an_object(given, "request")
    classes = [{"key": a_name(an_object(c, "request").get("key"), "request"), "name": a_name(c.get("name"), "request")}
               for c in a_list(given.get("classes"), edits.CLASS_LIMIT, "request")]  # fmt: skip
    keys = {c["key"] for c in classes}
    tasks = []
    for task in a_list(given.get("tasks"), TASKS, "request"):
        named = {"name": a_name(an_object(task, "request").get("name"), "request"),
                 "classes": [one_of(c, keys, "request") for c in a_list(task.get("classes"), edits.CLASS_LIMIT, "request")]}
        tasks.append(named | ({"domain": a_name(task["domain"], "request")} if "domain" in task else {}))
    if not tasks or not all(t["classes"] for t in tasks):
        raise wrong("request")
    method = choices.method_names([given.get("method")])[0]
    created = a_number(given.get("created", 0.0), "request")
    parts = {key: a_text(given[key], "request", 60, choices.METHOD) for key in ("experiment", "variant") if key in given}
    return {"format": 1, "project": pid, "training": f"{an_int(round(created * 1000), 'request'):016x}"[-16:], "created": created,
            "method": method, "settings": choices.settings({method: an_object(given.get("settings"), "request")})[method],
            "seed": choices.seed(given.get("seed")), "kind": one_of(given.get("kind"), edits.KINDS, "request"),
            "classes": classes, "tasks": tasks,
            "photos": [_photo(p, endings, lambda c: one_of(c, keys, "photos"))
                       for p in a_list(given.get("photos"), 2000, "photos")], **parts}  # fmt: skip


def facts(given: Any, pid: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """run.json of a run, as experiment.facts writes it; it must be the run that was asked for."""
    given = an_object(given, "run")
    photos = [a_text(p, "run", 64, SHA) for p in a_list(given.get("photos"), 2000, "run")]
    classes = [a_name(c, "run") for c in a_list(given.get("classes"), edits.CLASS_LIMIT, "run")]
    tasks = []
    for task in a_list(given.get("tasks"), TASKS, "run"):
        named = {"name": a_name(an_object(task, "run").get("name"), "run")}
        named["classes"] = [an_int(c, "run", 0, len(classes) - 1) for c in a_list(task.get("classes"), 500, "run")]
        for side in ("train", "test"):
            named[side] = [an_int(i, "run", 0, len(photos) - 1) for i in a_list(task.get(side), 2000, "run")]
        tasks.append(named)
    same = [(name, given.get(name) == asked[name]) for name in ("method", "seed", "kind")]
    if not all(equal for _, equal in same) or len(tasks) != len(asked["tasks"]):
        raise wrong("run")
    versions = {a_text(k, "run", 60): a_text(v, "run", 60) for k, v in an_object(given.get("versions", {}), "run").items()}
    settings = choices.settings({asked["method"]: an_object(given.get("settings"), "run")})[asked["method"]]
    return {"format": an_int(given.get("format"), "run", 1, 1), "created": a_number(given.get("created", 0.0), "run"),
            "method": asked["method"], "settings": settings, "seed": asked["seed"], "kind": asked["kind"], "classes": classes,
            "tasks": tasks, "photos": photos, "fingerprint": a_text(given.get("fingerprint"), "run"), "versions": versions,
            "backbone": a_text(given.get("backbone", ""), "run"), "size": an_int(given.get("size", 0), "run", 0, 4096),
            "project": pid}  # fmt: skip


INTS = ("task", "done", "total", "step", "steps", "photos", "parameters", "bytes", "seed")


def events(data: bytes, about: Mapping[str, Any]) -> bytes:
    """events.jsonl written anew: known events with fields of the kinds we write, and in the end the run is finished."""
    lines, known = [], []
    raw = data.split(b"\n")
    if len(raw) > LINES:
        raise wrong("events")
    for text in raw[:-1]:
        try:
            line = an_object(json.loads(text), "events")
            event = an_object(line.get("event"), "events")
            t = a_number(line.get("t", 0), "events")
            if event.get("event") in KINDS:
                _event(event, len(about["tasks"]))
                known.append(from_json(event))
                whole = {"n": len(lines), "t": t, "event": to_json(known[-1])}
                lines.append(json.dumps(whole, ensure_ascii=False, allow_nan=False))
        except (ValueError, TypeError, KeyError, RecursionError):
            raise wrong("events") from None
    if not known or not isinstance(known[-1], Finished) or not isinstance(known[0], RunStarted):
        raise wrong("events")
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _event(event: Mapping[str, Any], tasks: int) -> None:
    """Nothing, or Problem where a field is of another kind than we write: numbers, texts, and lists and tables of them."""
    for name, value in event.items():
        if name in INTS and not (name == "total" and isinstance(value, list)):
            an_int(value, "events")
        elif name in ("method", "kind", "evaluate", "stage", "name", "code", "event"):
            a_text(value, "events")
        elif name in ("classes", "names"):
            [a_text(v, "events") for v in a_list(value, edits.CLASS_LIMIT, "events")]
        elif name in ("correct", "total", "trained", "tested"):
            [an_int(v, "events") for v in a_list(value, TASKS, "events")]
        elif name in ("tasks", "entropy", "chosen"):
            for row in a_list(value, TASKS, "events"):
                [v is None or a_number(v, "events") for v in a_list(row, TASKS, "events")]
        elif name in ("seconds", "measures"):
            [a_number(v, "events") for v in an_object(value, "events").values()]
        elif name == "routes":
            for route in an_object(value, "events").values():
                [v is None or a_number(v, "events") for v in an_object(route, "events").values()]
        elif name in ("loss", "oracle", "batch_vote"):
            value is None or a_number(value, "events")
        elif name in ("metrics", "values"):
            _plain(an_object(value, "events"))
    if event["event"] not in ("RunStarted", "Finished") and "task" in event:
        an_int(event["task"], "events", 0, tasks)
    if event["event"] == "Evaluated" and not len(event["correct"]) == len(event["total"]) <= tasks:
        raise wrong("events")


def _plain(value: Any, depth: int = 0) -> None:
    if depth > 4 or (isinstance(value, str) and len(value) > NAME) or (isinstance(value, float) and not math.isfinite(value)):
        raise wrong("events")
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not isinstance(value, dict | list | str | bool | int | float | type(None)) or len(inside) > TASKS:
        raise wrong("events")
    for one in inside:
        _plain(one, depth + 1)


def readable(folder: Path, asked: Mapping[str, Any]) -> None:
    """Nothing where all that the lab does with a finished run can be done with this one."""
    try:
        run = RunFolder.open(folder)
        replay(run.events())
        summary(run.told())
        found = results.result(folder.name, run, asked)
    except (Problem, KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError, OverflowError):
        raise wrong("run") from None
    if found is None or run.finished() != len(run.facts["tasks"]):
        raise wrong("run")
