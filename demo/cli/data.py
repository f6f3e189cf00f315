"""From the run command's options to photos, plans and the backbone, with what there is to say about them."""

from __future__ import annotations

import argparse
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forget_me_not.demo.cli.progress import bar
from forget_me_not.demo.cli.words import listed, sentence, tell, tell_some
from forget_me_not.models.images import ImageSet, read
from forget_me_not.models.problem import Problem
from forget_me_not.models.stream import Plan, plan

if TYPE_CHECKING:
    from forget_me_not.models.backbone import FrozenViT


def seeds(options: argparse.Namespace) -> list[int]:
    """The seeds asked for: `--seed 3`, `--seeds 1-20` or `--seeds 1,2,5`. Problem seeds_bad."""
    return [options.seed] if options.seeds is None else seeds_of(options.seeds)


def seeds_of(text: str) -> list[int]:
    """The numbers in "1-20" or "1,2,5-7", each once."""
    found: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:\s*-\s*(\d+))?\s*", part)
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise Problem("seeds_bad", text=text)
        found |= dict.fromkeys(range(int(match[1]), int(match[2] or match[1]) + 1))
    return list(found)


def photos(paths: Sequence[str], domains: bool = False) -> ImageSet:
    """The photos below `paths`; says how many there are and what was left out."""
    with bar("reading photos") as heard:
        images = read(paths, domains=domains, progress=heard)
    tell(f"{len(images):,} photos of {len(images.classes)} classes: {listed(images.classes, 8)}")
    tell_some((skipped.code, {"name": skipped.name, **skipped.values}) for skipped in images.skipped)
    for exact, what in ((True, "left out: the same file lies in"), (False, "kept together: near copies in")):
        doubles = [double for double in images.doubles if double.exact == exact]
        for double in doubles[:3]:
            tell(f"{listed(double.names, 2)} {what} {listed(double.classes)}.")
        if len(doubles) > 3:
            tell(f"… and {len(doubles) - 3} more like it.")
    return images


def plans(options: argparse.Namespace, images: ImageSet, of: Sequence[int]) -> dict[int, Plan]:
    """The stream of each seed; says what there is to say about the first."""
    tasks = options.task and [[name.strip() for name in text.split(",") if name.strip()] for text in options.task]
    shots = images.photos
    found = {
        seed: plan(
            [photo.label for photo in shots], [photo.group for photo in shots],
            domains=[photo.domain for photo in shots] if options.domains else None,
            tasks=tasks, per_task=options.per_task, by_domain=options.domains, kind=options.kind, seed=seed,
            train_per_class=options.train_per_class, test_per_class=options.test_per_class,
        )
        for seed in of
    }  # fmt: skip
    first = found[of[0]]
    tell_some(((note.code, note.values) for note in first.notes), "note")
    for number, task in enumerate(first.tasks, 1):
        tell(f"task {number}: {listed([first.classes[c] for c in task.classes], 8)} "
             f"({len(task.train)} photos to learn from, {len(task.test)} to test)")  # fmt: skip
    return found


def backbone(options: argparse.Namespace, neck: str = "auto", device: str = "auto") -> FrozenViT:
    """The backbone asked for; fetching it the first time shows its progress. "random" is a toy with drawn weights."""
    from forget_me_not.models.backbone import create, random_vit

    if options.backbone == "random":
        patch = 14 if options.size % 14 == 0 else 16
        if options.size % patch or options.size < 2 * patch:
            raise Problem("size_bad", size=options.size, patch="14 or 16", near=max(2, round(options.size / 14)) * 14)
        return random_vit(patch=patch, size=options.size)
    with bar(f"preparing the backbone {options.backbone}") as heard:
        return create(options.backbone, size=options.size, neck_name=neck, device=device, progress=heard)


def asked(options: argparse.Namespace) -> dict[str, Any]:
    """The options a run's numbers depend on, by the name they have on the command line."""
    names = ("backbone", "size", "neck", "domains", "kind", "task", "per_task", "train_per_class", "test_per_class")
    return {f"--{name.replace('_', '-')}": getattr(options, name) for name in names}


def code_of(path: str) -> str:
    """A short hash of a plug-in's file: a run is not continued with other code."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


def note_problems(found: Sequence[Problem]) -> None:
    """Says what did not work out though the run went on."""
    for problem in found:
        tell(sentence(problem.code, problem.values))
