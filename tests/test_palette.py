"""Task colours as people with each kind of colour blindness see them (Machado, Oliveira & Fernandes 2009), in both themes."""

import itertools
import re

import numpy as np
import pytest

from forget_me_not.demo.early import STATIC

TOKENS = (STATIC / "tokens.css").read_text("utf-8")
TASKS = [f"t{n}" for n in range(1, 7)]
APART = 10.0
"""CIE76 distance that two tasks' colours must have at least.

2.3 is just noticeable between flat fields side by side (Mahy et al. 1994); marks that are small and lie apart want several times
that, and a projector takes its share. Colour is never alone all the same: every bead, bar and point carries its task's number.
"""
GRAPHICS = 3.0
"""WCAG 1.4.11: contrast of what one must see to understand against what is around it."""
TEXT = 4.5
SEEN = {
    "all cones": np.eye(3),
    "no red": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "no green": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "no blue": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}
"""Severity 1.0 of their table, for linear RGB."""
XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]])


def tokens(theme):
    """{name: "#RRGGBB"} of a theme; dark names only what differs."""
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9A-Fa-f]{6})", part)) for part in TOKENS.split(".dark {")[:2])
    return light | dark if theme == "dark" else light


def linear(colour):
    """Linear RGB in [0, 1] of "#RRGGBB"."""
    value = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE L*a*b* (D65) of linear RGB."""
    ratio = XYZ @ np.clip(rgb, 0, 1) / (XYZ @ np.ones(3))
    f = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def apart(one, other, eyes):
    return float(np.linalg.norm(lab(SEEN[eyes] @ linear(one)) - lab(SEEN[eyes] @ linear(other))))


def contrast(one, other):
    """WCAG 2's contrast ratio."""
    bright, dim = sorted((float(XYZ[1] @ linear(colour)) for colour in (one, other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def test_the_simulation_agrees_with_colours_worked_by_hand():
    assert lab(linear("#FFFFFF")) == pytest.approx([100, 0, 0], abs=0.01)
    assert lab(linear("#FF0000")) == pytest.approx([53.24, 80.09, 67.20], abs=0.02)
    assert lab(linear("#0000FF")) == pytest.approx([32.30, 79.19, -107.86], abs=0.02)
    assert contrast("#FFFFFF", "#000000") == pytest.approx(21)
    assert contrast("#767676", "#FFFFFF") == pytest.approx(4.54, abs=0.01)
    for eyes in SEEN:
        assert SEEN[eyes].sum(1) == pytest.approx([1, 1, 1], abs=1e-5)  # grey stays grey
    assert apart("#FF0000", "#00A000", "no green") < apart("#FF0000", "#00A000", "all cones") / 3


@pytest.mark.parametrize("eyes", SEEN)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_two_tasks_look_the_same(theme, eyes):
    known = tokens(theme)
    close = {f"{a} {b}": round(apart(known[a], known[b], eyes), 1) for a, b in itertools.combinations(TASKS, 2)}
    assert {pair: distance for pair, distance in close.items() if distance < APART} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_stand_out_and_numbers_on_them_can_be_read(theme):
    known = tokens(theme)
    faint = {(task, on): round(contrast(known[task], known[on]), 2) for task in TASKS for on in ("paper", "card")}
    assert {where: ratio for where, ratio in faint.items() if ratio < GRAPHICS} == {}
    small = {task: round(contrast(known[task], known[f"{task}-on"]), 2) for task in TASKS}
    assert {task: ratio for task, ratio in small.items() if ratio < TEXT} == {}
