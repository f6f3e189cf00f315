"""`run`: learns a stream from photos with some methods and seeds; the same command goes on where it was stopped or killed."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forget_me_not.demo.cli import data, show
from forget_me_not.demo.cli.numbers import is_finished
from forget_me_not.demo.cli.progress import Watch
from forget_me_not.demo.cli.words import complain, sentence, tell
from forget_me_not.models.events import Failed, Stopped
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder

STOPPED = 130


@dataclass(frozen=True)
class Planned:
    """One run to be: its method, settings, seed, and its folder, made or found."""

    method: str
    settings: Mapping[str, Any]
    seed: int
    folder: RunFolder


def main(options: argparse.Namespace) -> int:
    """Learns everything asked for; 0 done, 2 where a method failed, 130 stopped."""
    seeds = data.seeds(options)
    import torch  # here: who mistypes an option should not wait for it

    from forget_me_not.models.cache import Cache
    from forget_me_not.models.encoder import Encoder
    from forget_me_not.models.folders import cache_folder
    from forget_me_not.models.stream import build

    torch.set_num_threads(max(1, options.threads))
    settings, code = chosen(options)
    images = data.photos(options.images, options.domains)
    plans = data.plans(options, images, seeds)
    vit = data.backbone(options, options.neck, options.device)
    runs = list(prepared(options, settings, code, plans, [photo.sha for photo in images.photos], vit.fingerprint))

    encoder = Encoder(vit, images, Cache(cache_folder() / "activations"))
    with interruptible() as stopped:
        for planned in runs:
            if is_finished(planned.folder):
                tell(f"{planned.method} seed {planned.seed} is finished already; read from {planned.folder.path}")
                continue
            last = learn(build(plans[planned.seed], encoder), planned, stopped)
            if isinstance(last, Failed):
                complain(sentence(last.code, last.values))
                return 2
            if isinstance(last, Stopped):
                where = f"task {last.task + 1} of {len(plans[planned.seed].tasks)}, {planned.method} seed {planned.seed}"
                complain(f"Stopped. The same command goes on at {where}.")
                return STOPPED
    data.note_problems(encoder.notes)
    folders = [planned.folder for planned in runs]
    for line in show.as_text(folders):
        (tell if options.json else print)(line)
    for line in show.as_json(folders) if options.json else ():
        print(line)
    return 0


def chosen(options: argparse.Namespace) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """method -> complete settings, and method -> hash of its file for those that come from plug-ins."""
    from forget_me_not.models import registry

    code = {name: data.code_of(path) for path in options.plugin for name in registry.load_plugin(path)}
    given: dict[str, dict[str, str]] = {}
    for name in options.method:
        if name in given:
            raise Problem("method_twice", name=name)
        given[name] = {}
        registry.card(name)
    for text in options.settings:
        name, equals, value = text.partition("=")
        method, dot, setting = name.partition(".")
        if not (equals and dot and setting):
            raise Problem("set_bad", text=text)
        if method not in given:
            raise Problem("set_elsewhere", text=text, methods=", ".join(given))
        given[method][setting] = value
    return {name: registry.card(name).read(values) for name, values in given.items()}, code


def prepared(options: argparse.Namespace, settings: Mapping[str, Mapping[str, Any]], code: Mapping[str, str], plans: Mapping,
             photos: list[str], fingerprint: str) -> Iterator[Planned]:  # fmt: skip
    """Every run with its folder, all of them checked before the first one learns. Problems run_differs, run_differs_in."""
    from forget_me_not.models.experiment import facts

    found = []
    for method, values in settings.items():
        for seed, plan in plans.items():
            more = {"code": code[method]} if method in code else {}
            # What was asked comes first, so that a difference is named as the person wrote it.
            about = {"options": data.asked(options), **facts(method, values, seed, plan, photos, fingerprint, **more)}
            path = Path(options.out) / f"{method}-seed{seed}"
            if not options.fresh:
                compare(path, about)
            found.append((method, values, seed, path, about))
    for method, values, seed, path, about in found:
        if options.fresh and path.is_dir():
            RunFolder(path, {}).delete()
        there = (path / "run.json").exists()
        yield Planned(method, values, seed, RunFolder.open(path) if there else RunFolder.create(path, about))


def compare(path: Path, about: Mapping[str, Any]) -> None:
    """Nothing where there is no run in `path` or one made the same way; else a Problem with the first difference."""
    if not (path / "run.json").exists():
        return
    run = RunFolder.open(path)
    name = run.same(about)
    if name is None:
        return
    before, now = _at(run.facts, name), _at(about, name)
    short = all(len(str(value)) <= 40 for value in (before, now))
    named = name.removeprefix("options.")
    if short and named != "code":
        raise Problem("run_differs", path=str(path), name=named, before=_said(before), now=_said(now))
    raise Problem("run_differs_in", path=str(path), name={"code": "code of the method"}.get(named, named))


def _at(facts: Mapping[str, Any], name: str) -> Any:
    """The fact called "settings.lr"; None where it is not there."""
    found: Any = facts
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _said(value: Any) -> str:
    return "not given" if value is None else str(value)


def learn(stream: Any, planned: Planned, stopped: Callable[[], bool]) -> Any:
    """The last event of the run: Finished, Stopped or Failed."""
    from forget_me_not.models.experiment import conduct

    last = None
    with Watch(f"{planned.method} seed {planned.seed}", len(stream.tasks)) as watch:
        for event in conduct(stream, planned.method, planned.settings, planned.seed, planned.folder, stopped):
            watch.see(event)
            last = event or last
    return last


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """A function that says whether Ctrl-C was pressed: the step is finished first. A second Ctrl-C ends at once."""
    pressed: Sequence[int] | list[int] = []

    def press(number: int, _: object) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)
        tell("Stopping after this step … (Ctrl-C again to stop at once)")

    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)
