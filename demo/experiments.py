"""Ready-made experiments: what each compares, what it will cost, and bytes that are made equal. Data and formulas; no torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forget_me_not.models.problem import Problem


@dataclass(frozen=True)
class Shape:
    """The backbone's: width d and depth. By default the starter's."""

    width: int = 384
    depth: int = 12


@dataclass(frozen=True)
class Variant:
    """One run of an experiment. name: its word is "experiments.<experiment>.<name>"."""

    name: str
    method: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """Runs that differ in one thing, the first being what the others are held against.

    routes: one run that reports every router's choice; its routers are compared instead of runs.
    """

    name: str
    make: Callable[[Shape], tuple[Variant, ...]]
    routes: bool = False


FLOAT = 4
SOFT = {"gradient": False}
"""Soft-TF without asking gradient id, which costs a backward pass a photo and has an experiment of its own."""
FEWER, SOME = 5, 10
"""Epochs where some variant goes through all blocks, so that it ends within minutes; the same for all variants."""


def _soft(**settings: Any) -> dict[str, Any]:
    return {**SOFT, **settings}


def lora_rank(width: int) -> int:
    """The rank at which LoRA's 8 d r numbers are the 4 d^2 of a masked block: d / 2."""
    return max(1, round(width / 2))


def adapter_rank(width: int) -> int:
    """The bottleneck at which an adapter's 2 d r + r + d numbers come nearest the 4 d^2 of a masked block: about 2 d."""
    return max(1, round((4 * width**2 - width) / (2 * width + 1)))


EXPERIMENTS = (
    Experiment("init", lambda shape: tuple(
        Variant(name, "softtf", _soft(init=value)) for name, value in (
            ("one", "one"), ("zero", "near zero"), ("xavier", "xavier"), ("kaiming", "kaiming")))),
    Experiment("layers", lambda shape: tuple(
        Variant(name, "softtf", _soft(layers=value, epochs=FEWER)) for name, value in (
            ("last", "last"), ("three", "last three"), ("first", "first three"), ("all", "all")))),
    Experiment("matrices", lambda shape: tuple(
        Variant(name, "softtf", _soft(matrices=value)) for name, value in (("proj", "qkv+proj"), ("qkv", "qkv")))),
    Experiment("router", lambda shape: (Variant("all", "softtf", {"gradient": True}),), routes=True),
    Experiment("bytes", lambda shape: (
        Variant("masks", "softtf", _soft(router="prototype")),
        Variant("lora", "lora_tasks", {"blocks": 1, "rank": lora_rank(shape.width)}),
        Variant("adapter", "adapter_tasks", {"blocks": 1, "rank": adapter_rank(shape.width)}))),
    Experiment("parts", lambda shape: tuple(
        Variant(name, "tosca", {"parts": value}) for name, value in (
            ("full", "both"), ("adapter", "adapter"), ("calibrator", "calibrator"), ("parallel", "parallel")))),
    Experiment("where", lambda shape: (
        Variant("cls", "tosca", {"epochs": SOME}),
        Variant("three", "luca_layers", {"blocks": 3, "epochs": SOME}),
        Variant("every", "luca_layers", {"blocks": shape.depth, "epochs": SOME}))),
)  # fmt: skip


def named(name: Any) -> Experiment:
    """The experiment called `name`; Problem("experiment_unknown")."""
    found = next((one for one in EXPERIMENTS if one.name == name), None)
    if found is None:
        raise Problem("experiment_unknown", name=str(name)[:40])
    return found


MASKED = {"last": (-1, None), "last two": (-2, None), "last three": (-3, None), "last four": (-4, None), "first three": (0, 3),
          "third to fifth": (2, 5), "all": (0, None)}  # fmt: skip
MASK_NUMBERS = {"qkv": 3, "qkv+proj": 4, "qkv+proj+mlp": 12}
LUCA_NUMBERS = {"both": (4, 1, 3), "adapter": (2, 1, 3), "calibrator": (2, 0, 0), "parallel": (4, 1, 3)}
"""(a, b, c): a module holds a d r + b r + c d numbers; TOSCA's bottleneck is r = d / 16."""


def blocks_of(variant: Variant, shape: Shape) -> range:
    """The blocks a variant changes; none where it stays on the [CLS] feature."""
    match variant.method:
        case "softtf":
            start, stop = MASKED[variant.settings.get("layers", "last")]
            return range(shape.depth)[slice(start if start >= 0 else max(0, shape.depth + start), stop)]
        case "tosca":
            return range(0)
    return range(max(0, shape.depth - variant.settings["blocks"]), shape.depth)


def module_bytes(variant: Variant, shape: Shape) -> int:
    """Bytes one task's module takes, keys and head rows apart: those are the same in all variants of an experiment."""
    d, given, blocks = shape.width, variant.settings, len(blocks_of(variant, shape))
    match variant.method:
        case "softtf":
            numbers = MASK_NUMBERS[given.get("matrices", "qkv+proj")] * d * d * blocks
        case "tosca":
            a, b, c = LUCA_NUMBERS[given.get("parts", "both")]
            r = max(1, d // 16)
            numbers = a * d * r + b * r + c * d
        case "lora_tasks":
            numbers = 8 * d * given["rank"] * blocks
        case "adapter_tasks":
            numbers = (2 * d * given["rank"] + given["rank"] + d) * blocks
        case _:
            numbers = 4 * d * given.get("rank", 24) * blocks
    return FLOAT * numbers


BLOCK_SECONDS = 0.002
"""One photo through one block of the starter (d = 384, 112 pixels) on one core; a block read at [CLS] alone costs a fifth."""
STEP_SECONDS = 0.00012
"""One photo through one LuCA module, forward and backward."""
CLS_ONLY = 0.8
EPOCHS = {"softtf": 20, "tosca": 20, "lora_tasks": 20, "adapter_tasks": 20, "luca_layers": 20}


def seconds(variants: Sequence[Variant], shape: Shape, train: Sequence[int], test: Sequence[int]) -> float:
    """About how long the runs take together on one core, of the photos learnt and tested in each task; encoding comes once.

    Training is three passes through the blocks from the first one changed on. Frozen parts are run once a photo and module,
    masks again after every task.
    """
    block = BLOCK_SECONDS * (shape.width / 384) ** 2
    total = block * shape.depth * (sum(train) + sum(test))
    seen = [sum(test[: t + 1]) for t in range(len(test))]
    for one in variants:
        blocks, epochs = blocks_of(one, shape), one.settings.get("epochs", EPOCHS[one.method])
        if not len(blocks):
            total += STEP_SECONDS * sum(train) * epochs
            continue
        through = block * (shape.depth - blocks[0] - CLS_ONLY)
        again = sum((t + 1) * n for t, n in enumerate(seen)) if one.method == "softtf" else len(test) * sum(test)
        total += through * (3 * sum(train) * epochs + again * (4 if one.settings.get("gradient") else 1))
    return total
