"""What the figures of the plasticity track say in sentences, and the finding of a start, from its own numbers alone. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forget_me_not.demo.figures_plasticity import brief, change, title_of
from forget_me_not.demo.plasticity import LEAST, ArmRun, finding
from forget_me_not.demo.sentences import percent
from forget_me_not.demo.words import fill

SAME = 0.05
"""A smaller relative change of a measure is called none."""


def say_curves(arms: Sequence[ArmRun], words: Mapping[str, str]) -> str:
    """First and latest accuracy of every arm."""
    known = [arm for arm in arms if arm.accuracy]
    if not known:
        return words["plastic.curves_none"]
    parts = [fill(words["plastic.curves_arm" if len(arm.accuracy) > 1 else "plastic.curves_first"],
                  {"arm": title_of(arm, words), "first": percent(arm.accuracy[0]), "now": percent(arm.accuracy[-1]),
                   "task": len(arm.accuracy)}) for arm in known]  # fmt: skip
    return words["plastic.curves_say"] + words["plastic.comma"].join(parts) + words["say.stop"]


def say_heat(arm: ArmRun, measure: str, side: str, words: Mapping[str, str]) -> str:
    """Where a side's mean went."""
    name = words[f"plastic.measure_{measure}"]
    if measure == "active" and side == "attention":
        return words["plastic.heat_no_units"]
    if (ends := change(arm, measure, side)) is None:
        return words["plastic.heat_soon"]
    first, last = ends
    way = "same" if abs(last - first) <= SAME * abs(first) else "fell" if last < first else "grew"
    values = {"arm": title_of(arm, words), "measure": name, "first": brief(first), "last": brief(last)}
    return fill(words[f"plastic.heat_{way}"], values)


def verdict(arms: Sequence[ArmRun], words: Mapping[str, str]) -> dict[str, Any] | None:
    """{"head", "lines", "end"}: what the last tasks came to. None before all arms have learnt two tasks.

    found: "gap", "no_gap" or "better" of the first plain way beside a fresh network, None without one; closed, tried, helped:
    the lines of the other ways beside a plain one, how many there are, and how many of them did clearly better.
    """
    found = finding(arms)
    if found is None:
        return None
    titles = {arm.name: title_of(arm, words) for arm in arms}
    numbers = {"count": found.count, "tasks": found.tasks}
    over = {"over": fill(words["plastic.over_many" if found.count > 1 else "plastic.over_one"], numbers)}
    lines, kinds, closed = [], [], []
    for plain, fresh, gap in found.gaps:
        key = "gap" if gap >= found.least else "better" if gap <= -found.least else "no_gap"
        kinds.append(key)
        lines.append(fill(words[f"plastic.found_{key}"], {
            **over, "plain": titles[plain], "fresh": titles[fresh], "late": percent(found.late[plain]),
            "held": percent(found.late[fresh]), "points": points(abs(gap)), "least": points(found.least)}))  # fmt: skip
    gap_of = {plain: gap for plain, _, gap in found.gaps}
    for arm, plain, gain, share in found.closed:
        shown = {"arm": titles[arm], "plain": titles[plain], "points": points(abs(gain)), "late": percent(found.late[arm])}
        if gain <= 0:
            key = "closed_none" if gap_of.get(plain, 0.0) >= found.least else "closed_below"
        elif share is None:
            key = "closed_plain"
        else:
            key, shown["share"] = "closed_all" if share >= 1 else "closed_share", percent(share)
        closed.append(fill(words[f"plastic.{key}"], shown))
    lines += closed
    if not lines:
        lines = [fill(words["plastic.found_arm"], {**over, "arm": titles[name], "late": percent(late)})
                 for name, late in found.late.items()]  # fmt: skip
    if found.least > LEAST and len(arms) > 1:
        lines.append(fill(words["plastic.few_tested"], {"images": found.judged, "least": points(found.least)}))
    if not found.gaps:
        lines.append(words["plastic.no_reference"])
    groups = {arm.card["group"] for arm in arms}
    if "arrow" in groups and "control" not in groups:
        lines.append(words["plastic.no_control"])
    helped = sum(gain >= found.least for _, _, gain, _ in found.closed)
    return {"head": lines[0], "lines": lines[1:], "end": words["plastic.one_seed"], "found": kinds[0] if kinds else None,
            "closed": closed, "tried": len(found.closed), "helped": helped, **numbers}  # fmt: skip


def points(value: float) -> str:
    """A difference of shares in percentage points."""
    return f"{100 * value:.1f}".removesuffix(".0")
