"""Lessons as data: demo/lessons/<name>.json holds steps without any language, demo/text/lessons their words. Read, checked.

A step is one of three kinds. predict: a question with choices. see: opens a tab, shows a place, may start something, and waits
until a condition is true. explain: a text with numbers of the person's own run; which of its cases is said, facts decide.
Places, starts, conditions and facts are names of static/lazy/lesson_places.js and lesson_facts.js.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from forget_me_not.demo import glossary

FOLDER = Path(__file__).with_name("lessons")
ORDER = ("forgetting", "modules", "balance", "honest", "photos", "plasticity")
"""The lessons in the order they are offered."""
KINDS = ("predict", "see", "explain")
TABS = ("forget", "data", "train", "inside", "compare", "plasticity")
HOUR = 45
"""Minutes of a teacher's plan."""


@dataclass(frozen=True)
class Step:
    """One step. right: the choice that is right whatever a run shows; answers: the predict step an explanation comes back to."""

    name: str
    kind: str
    tab: str
    place: str = ""
    choices: tuple[str, ...] = ()
    right: str = ""
    start: str = ""
    until: str = ""
    facts: str = ""
    cases: tuple[str, ...] = ()
    answers: str = ""


@dataclass(frozen=True)
class Lesson:
    """minutes: a student's time; plan: a teacher's minutes by part; needs, misconceptions: how many there are of each."""

    name: str
    minutes: int
    plan: tuple[int, ...]
    needs: int
    misconceptions: int
    terms: tuple[str, ...]
    steps: tuple[Step, ...]


def lessons() -> tuple[Lesson, ...]:
    """All lessons in order."""
    return tuple(load(name) for name in ORDER)


@cache
def load(name: str) -> Lesson:
    """The lesson `name` of ORDER; ValueError where its file breaks a rule."""
    return made(name, json.loads((FOLDER / f"{name}.json").read_text("utf-8")))


def made(name: str, data: Mapping[str, Any]) -> Lesson:
    """A checked lesson of plain data; ValueError says what is wrong with it."""
    steps = tuple(_built(Step, one, f"{name}, step {at + 1}") for at, one in enumerate(data["steps"]))
    lesson = _built(Lesson, {**data, "name": name, "steps": steps}, name)
    for wrong in _faults(lesson):
        raise ValueError(f"lesson {name}: {wrong}")
    return lesson


def _built(kind: type, data: Mapping[str, Any], where: str) -> Any:
    known = {f.name for f in fields(kind)}
    if unknown := set(data) - known:
        raise ValueError(f"lesson {where}: unknown {', '.join(sorted(unknown))}")
    try:
        return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in data.items()})
    except TypeError as error:
        raise ValueError(f"lesson {where}: {error}") from error


def _faults(lesson: Lesson) -> Iterator[str]:
    names = [step.name for step in lesson.steps]
    if len(set(names)) < len(names):
        yield "two steps have the same name"
    if sum(lesson.plan) != HOUR:
        yield f"its plan takes {sum(lesson.plan)} minutes, not {HOUR}"
    for term in lesson.terms:
        if term not in glossary.names():
            yield f"the glossary has no term {term}"
    asked: dict[str, Step] = {}
    for step in lesson.steps:
        yield from (f"step {step.name}: {wrong}" for wrong in _step_faults(step, asked))
        if step.kind == "predict":
            asked[step.name] = step


def _step_faults(step: Step, asked: Mapping[str, Step]) -> Iterator[str]:
    if step.kind not in KINDS or step.tab not in TABS:
        yield f"kind {step.kind} or tab {step.tab} is unknown"
    if (step.kind == "predict") != (len(step.choices) > 1):
        yield "a prediction, and only a prediction, has choices"
    if step.right and step.right not in step.choices:
        yield f"{step.right} is no choice"
    if (step.start or step.until) and step.kind != "see":
        yield "only what is seen can be started or waited for"
    if (step.facts or step.cases or step.answers) and step.kind != "explain":
        yield "only an explanation has facts, cases or an answer"
    if bool(step.facts) != (len(step.cases) > 1):
        yield "facts choose between two cases or more: what a run shows is never promised"
    if step.answers and step.answers not in asked:
        yield f"it answers {step.answers}, which was not asked before"


def keys(lesson: Lesson) -> list[str]:
    """Every key of text the lesson needs."""
    start = f"lesson.{lesson.name}."
    found = ["title", "line", "goal", "question", "answer"]
    found += [f"plan_{n + 1}" for n in range(len(lesson.plan))] + [f"need_{n + 1}" for n in range(lesson.needs)]
    found += [f"wrong_{n + 1}" for n in range(lesson.misconceptions)]
    for step in lesson.steps:
        found += [f"{step.name}.{one}" for one in (*step.choices, *step.cases)]
        found += [] if step.cases else [step.name]
    return [start + one for one in found] + [f"lesson.until.{s.until}" for s in lesson.steps if s.until] + [
        f"lesson.start.{s.start}" for s in lesson.steps if s.start]  # fmt: skip


def as_json(lesson: Lesson) -> dict[str, Any]:
    """A lesson as the page's panel gets it: what only a teacher needs is left out."""
    steps = [{f.name: getattr(step, f.name) for f in fields(Step) if getattr(step, f.name)} for step in lesson.steps]
    return {"name": lesson.name, "minutes": lesson.minutes, "terms": lesson.terms, "steps": steps}
