"""Checks on what a person chose to train with, as it comes from a browser: plain data of the right kind or a Problem."""

from __future__ import annotations

import math
import re
from typing import Any

from forget_me_not.models.problem import Problem

METHOD = re.compile(r"[a-z][a-z0-9_]{0,60}")
BURST = re.compile(r"[0-9a-f]{8,32}")
MANY = 100
SEEDS = (1, 3)


def method_names(given: Any) -> list[str]:
    """A list of method names as text, each once; Problem where it is something else."""
    good = isinstance(given, list) and len(given) <= MANY and all(isinstance(m, str) and METHOD.fullmatch(m) for m in given)
    if not good:
        raise Problem("choice_bad", what="methods")
    return list(dict.fromkeys(given))


def settings(given: Any) -> dict[str, dict[str, Any]]:
    """{method: {name: plain value}}; Problem where it is something else."""

    def plain(value: Any) -> bool:
        if isinstance(value, float):
            return math.isfinite(value)
        return isinstance(value, bool | int | str) and len(str(value)) < MANY

    good = isinstance(given, dict) and len(given) <= MANY and all(
        isinstance(v, dict) and len(v) <= MANY and all(plain(x) for x in v.values()) for v in given.values())
    if not good:
        raise Problem("choice_bad", what="settings")
    return given


def seed(given: Any) -> int:
    """A seed between 0 and 2**31 - 1; Problem where it is none."""
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < 2**31:
        raise Problem("choice_bad", what="seed")
    return given


def seeds(given: Any) -> int:
    """How many seeds a training takes, from the chosen one on: 1, or 3 for a spread; Problem where it is another number."""
    if isinstance(given, bool) or given not in SEEDS:
        raise Problem("choice_bad", what="seeds")
    return int(given)


def burst(given: Any) -> str:
    """The mark of the camera burst a photo is of, "" for none; Problem where it is something else."""
    if given and not BURST.fullmatch(str(given)):
        raise Problem("choice_bad", what="burst")
    return str(given or "")
