"""Runs of the plasticity track in the worker: one job an arm, each a network trained on pixels, so no backbone is needed.

What a step takes cannot be read from a run's wall clock, as arms take turns: beside the events a line a task is written to
cost.jsonl, with the CPU seconds of that task's training steps alone.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forget_me_not.demo.request import Request
from forget_me_not.models.core import PIXELS
from forget_me_not.models.events import Encoded, Event, Finished, TaskStarted
from forget_me_not.models.problem import Problem

if TYPE_CHECKING:
    from torch import Tensor

    from forget_me_not.models.core import Source, Stream
    from forget_me_not.models.plasticity.arms import Arm
    from forget_me_not.models.plasticity.streams import Study
    from forget_me_not.models.store import RunFolder

HEAD_START = 0.012
"""Seconds for each of a task's steps an arm begins ahead of the next one: the first point takes one arm's task, not all arms'."""
SHOWN_TASKS, SHOWN_DIGITS = 3, 8
"""Digits the page shows to say what a task is."""


@dataclass(frozen=True)
class PlasticRequest(Request):
    """An arm (`method`) on `count` tasks of the study called `study`, `epochs` passes each; `place`: its rank in the start.

    Class groups have `per_task` classes a task and their photos in the project `photos_of`.
    """

    study: str = ""
    count: int = 0
    epochs: int = 0
    place: int = 0
    per_task: int = 0
    photos_of: str = ""

    @property
    def owner(self) -> str:
        """Nobody's: whoever looks starts one, and none waits for another's."""
        return self.training

    @property
    def needs_backbone(self) -> bool:
        """It trains a network of its own."""
        return False

    @property
    def behind(self) -> float:
        """Seconds of turns it counts as used up at its start."""
        first = self.whole.stream.tasks[0].task
        return HEAD_START * self.place * self.epochs * math.ceil(len(first.train) / self.whole.batch)

    @property
    def photos_key(self) -> str:
        """The same for all arms of one start."""
        return super().photos_key if self.photos_of else f"{self.study} {self.count} {self.seed} {self.epochs}"

    @property
    def shelf(self) -> Path:
        """The folder the photos lie in."""
        return self.folder.parent.parent / "projects" / self.photos_of / "photos"

    @cached_property
    def arm(self) -> Arm:
        """Problem("arm_unknown")."""
        from forget_me_not.models.plasticity.arms import arm

        return arm(self.method)

    @cached_property
    def whole(self) -> Study:
        """The study; Problem where it cannot be made."""
        return self.over(None)

    def over(self, source: Source | None) -> Study:
        """The study; photos whose pixels `source` has are not decoded again."""
        from forget_me_not.models.plasticity.streams import class_groups

        if not self.photos_of:
            return study(self.study, self.count, self.seed, self.epochs)
        return class_groups(self.images, self.count, self.per_task, self.seed, epochs=self.epochs, shown=self.shown,
                            source=source)  # fmt: skip

    def source(self, vit: Callable[[], Any], cache: Any) -> Source:
        """The digits or the photos' pixels; no backbone is asked for."""
        return self.whole.stream.tasks[0].test.source

    def stream(self, source: Source) -> Stream:
        """The study's tasks."""
        return self.over(source).stream

    def record(self, vit: Any) -> dict[str, Any]:
        """What run.json holds."""
        from forget_me_not.models.plasticity.arms import facts

        return {**facts(self.arm, self.whole, self.seed), "project": self.project}

    def events(self, stream: Stream, folder: RunFolder, stop: Callable[[], bool]) -> Iterator[Event | None]:
        """The run's events, each in the folder before anyone hears of it."""
        yield from learnt(self.arm, self.over(stream.tasks[0].test.source), self.seed, folder, stop)

    def check(self) -> None:
        """Nothing, or the Problem that starting would run into."""
        _ = self.arm
        try:
            _ = self.whole
        except Problem as problem:
            raise self.named(problem) from None


def learnt(arm: Arm, study: Study, seed: int, folder: RunFolder, stop: Callable[[], bool]) -> Iterator[Event | None]:
    """Events of a run, with what its steps take. Finished, it keeps events and answers and lets go of each task's weights."""
    from forget_me_not.models.plasticity.arms import conduct

    for event in timed(conduct(arm, study, seed, folder, stop), folder):
        if isinstance(event, Finished):
            for file in (folder.path / "state").glob("*.safetensors"):
                file.unlink(missing_ok=True)  # 2 to 4 MB a task, and nobody asks such a network about photos
        yield event


def timed(events: Iterator[Event | None], folder: RunFolder) -> Iterator[Event | None]:
    """The same events; cost.jsonl gets {"task", "steps", "cpu"} when a task's training steps are over.

    A turn between the last look at the task's images and its first measure is one step: all but the slowest tenth count, as
    those also measure or write.
    """
    task, turns = None, []
    while True:
        began = time.thread_time()
        event = next(events, END)
        spent = time.thread_time() - began
        if event is END:
            return
        if isinstance(event, TaskStarted):
            task, turns = event.task, []
        elif event is None or type(event).__name__ == "Step":
            turns.append(spent)
        elif not isinstance(event, Encoded) and task is not None and turns:
            kept = sorted(turns)[: max(1, len(turns) * 9 // 10)]
            with open(folder.path / "cost.jsonl", "a", encoding="utf-8") as file:
                file.write(json.dumps({"task": task, "steps": len(kept), "cpu": sum(kept)}) + "\n")
            task = None
        yield event


END = object()


def study(name: str, tasks: int, seed: int, epochs: int) -> Study:
    """The study called `name`; Problem("choice_bad") for another name."""
    from forget_me_not.models.plasticity.streams import permuted_digits, random_labels

    known = {"permuted_digits": permuted_digits, "random_labels": random_labels}
    if name not in known:
        raise Problem("choice_bad", what="study")
    return known[name](tasks, seed, epochs=epochs)


def command(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Every arm as the page shows it, and the first digits of each study's first tasks. The libraries are then loaded."""
    from forget_me_not.models.plasticity import arms
    from forget_me_not.models.plasticity.vit import small_vit

    network = small_vit()
    studies = {name: shown(study(name, SHOWN_TASKS, 0, 1)) for name in ("permuted_digits", "random_labels")}
    return {"arms": [card(one) for one in arms.ARMS.values()], "blocks": len(network.blocks), "studies": studies}


def card(arm: Arm) -> dict[str, Any]:
    """An arm as plain data. base: the optimiser it shares with its plain and fresh counterparts; group: its part of the list."""
    base = "adam" if arm.optimiser == "adamw" or arm.settings.get("base") == "adam" else "sgd"
    own = arm.optimiser != "arrow" and not arm.settings.get("weight_decay")
    group = ("control" if arm.control else "fresh" if arm.remedy == "fresh" else "arrow" if arm.optimiser == "arrow"
             else "plain" if arm.remedy == "nothing" else "remedy")  # fmt: skip
    return {"name": arm.name, "title": arm.title, "line": arm.line, "paper": arm.paper, "deviations": list(arm.deviations),
            "group": group, "base": base, "plain": group == "plain" and own}  # fmt: skip


def shown(study: Study) -> list[dict[str, Any]]:
    """A few digits as they are (task None) and as each of the first tasks shows them: [{"task", "pixels", "labels"}].

    pixels: 64 numbers from 0 to 16 by digit.
    """
    from forget_me_not.models.plasticity.streams import digits

    first = study.stream.tasks[0].test
    chosen = first.index[:SHOWN_DIGITS] % len(digits()[0])
    found = [{"task": None, "pixels": grey(digits()[0][chosen]), "labels": digits()[1][chosen].tolist()}]
    for t, tested in enumerate(study.stream.tasks):
        samples = tested.test
        pixels = samples.source.get(samples.index[:SHOWN_DIGITS], PIXELS)
        found.append({"task": t, "pixels": grey(pixels), "labels": samples.labels[:SHOWN_DIGITS].tolist()})
    return found


def grey(pixels: Tensor) -> list[list[int]]:
    """Images (B, 1, S, S) as S * S whole numbers from 0 to 16 each."""
    flat = pixels.flatten(1)
    low, high = float(flat.min()), float(flat.max())
    return ((flat - low) / (high - low) * 16).round().int().tolist()
