"""What the command line says to a person: sentences of problems and notes, on standard error."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from forget_me_not.demo.words import fill, words

SHOWN = 3
"""Sentences of one kind before the rest is only counted."""


def sentence(code: str, values: Mapping[str, Any], kind: str = "problem") -> str:
    """The English sentence of a code, filled; the bare code and values where it has none.

    A value `why` is itself a code: of what ails the file `first`.
    """
    known = words("en").get(f"{kind}.{code}")
    if values.get("why"):
        values = {**values, "why": sentence(values["why"], {**values, "name": values["first"], "why": ""})}
    return fill(known, values) if known else f"{code} {dict(values) or ''}".strip()


def tell(line: str = "") -> None:
    """A line on standard error: for the person, not for the next program in a pipe."""
    print(line, file=sys.stderr, flush=True)


def complain(line: str) -> None:
    """One sentence about what went wrong, on standard error."""
    tell(" ".join(line.split()))


def tell_some(codes: Iterable[tuple[str, Mapping[str, Any]]], kind: str = "problem") -> None:
    """The first few sentences of each code, then how many more there are like them."""
    grouped: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for code, values in codes:
        grouped[code].append(values)
    for code, found in grouped.items():
        for values in found[:SHOWN]:
            tell(sentence(code, values, kind))
        if len(found) > SHOWN:
            tell(f"… and {len(found) - SHOWN} more like it.")


def listed(names: Sequence[str], most: int = 4) -> str:
    """A few names as text: "a, b, c, d and 3 more"."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
