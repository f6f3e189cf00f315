"""One run from facts to events: what the page's worker, the command line, tests and replays all call."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from forget_me_not.models import engine, registry
from forget_me_not.models.core import Method, Stream
from forget_me_not.models.events import Event, Finished, Resumed
from forget_me_not.models.store import RunFolder
from forget_me_not.models.stream import Plan

PACKAGES = ("forget-me-not", "torch", "torchvision", "timm", "pillow", "numpy")


def versions() -> dict[str, str]:
    """Versions of everything a number depends on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def facts(method: str, settings: Mapping[str, Any], seed: int, plan: Plan, photos: list[str], fingerprint: str,
          **more: Any) -> dict[str, Any]:  # fmt: skip
    """What run.json holds: enough to know whether a run may be continued, and to make it again.

    settings: complete, as Card.read gives them; photos: content hash of every photo of the data set, in order; more:
    whatever else identifies the run (backbone, size, project).
    """
    tasks = [{"name": t.name, "classes": list(t.classes), "train": list(t.train), "test": list(t.test)} for t in plan.tasks]
    return {"method": method, "settings": dict(settings), "seed": seed, "kind": plan.kind, "classes": list(plan.classes),
            "tasks": tasks, "photos": photos, "fingerprint": fingerprint, "versions": versions(), **more}  # fmt: skip


def conduct(stream: Stream, method: str, settings: Mapping[str, Any], seed: int, folder: RunFolder | None = None,
            stop: Callable[[], bool] = engine.never) -> Iterator[Event | None]:  # fmt: skip
    """Events of a run, or None where others may have a turn; with a folder each event is on disk before it is told.

    A folder that holds whole tasks goes on behind them (Resumed), and one that is finished has nothing to say.
    """
    learner = registry.card(method).learner(stream.tasks[0].test.source.vit, **settings)
    yield from follow(stream, learner, method, seed, folder, stop)


def follow(stream: Stream, learner: Method, name: str, seed: int, folder: RunFolder | None = None,
           stop: Callable[[], bool] = engine.never, evaluate: str = "seen") -> Iterator[Event | None]:  # fmt: skip
    """`conduct` for a learner that is already made, fresh, and called `name`."""
    if folder is None:
        yield from engine.run(stream, learner, seed=seed, name=name, evaluate=evaluate, stop=stop)
        return
    before = folder.events()
    if before and isinstance(before[-1], Finished):
        return
    finished = folder.finished()
    if finished:
        learner.load_state_dict(folder.state())
    if before:
        yield _kept(folder, Resumed(finished))
    done = folder.told() if finished else []
    for event in engine.run(stream, learner, seed=seed, name=name, done=done, evaluate=evaluate, stop=stop, save=folder.save):
        yield event if event is None else _kept(folder, event)


def _kept(folder: RunFolder, event: Event) -> Event:
    folder.append(event)
    return event
