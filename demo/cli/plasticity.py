"""`plasticity`: one network trained on and on, in several ways; the runs of the tab "Keep learning" without a browser."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forget_me_not.demo.cli import data
from forget_me_not.demo.cli.numbers import is_finished
from forget_me_not.demo.cli.progress import Watch
from forget_me_not.demo.cli.run import STOPPED, compare, interruptible
from forget_me_not.demo.cli.tables import aligned, share
from forget_me_not.demo.cli.words import complain, sentence, tell
from forget_me_not.demo.plasticity import costs, last_tasks, mean_of_last
from forget_me_not.models.events import Failed, Stopped
from forget_me_not.models.plasticity import summary
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder

if TYPE_CHECKING:
    from forget_me_not.models.plasticity.arms import Arm
    from forget_me_not.models.plasticity.streams import Study

OF_GROUPS = ("per_task", "train_per_class")
"""Options that only streams of class groups have."""
FOLDER = {"class_groups": "images", "cifar100": "folder"}


def main(options: argparse.Namespace) -> int:
    """Learns with every arm; 0 done, 2 where one failed, 130 stopped."""
    import torch  # here: who mistypes an option should not wait for it

    from forget_me_not.demo.plasticjobs import learnt
    from forget_me_not.models.plasticity.arms import SIX, arm

    torch.set_num_threads(1)  # as on the page: the same bits
    chosen = [arm(name) for name in dict.fromkeys(options.arm or SIX)]
    made = study(options)
    runs = list(prepared(options, chosen, made))
    with interruptible() as stopped:
        for one, folder in zip(chosen, runs, strict=True):
            if is_finished(folder):
                tell(f"{one.name} is finished already; read from {folder.path}")
                continue
            last = None
            with Watch(one.name, len(made.stream.tasks), "the new task's test images") as watch:
                for event in learnt(one, made, options.seed, folder, stopped):
                    watch.see(event)
                    last = event or last
            if isinstance(last, Failed):
                complain(sentence(last.code, last.values))
                return 2
            if isinstance(last, Stopped):
                complain(f"Stopped. The same command goes on at task {last.task + 1} of {len(made.stream.tasks)}, {one.name}.")
                return STOPPED
    found = list(numbers(chosen, runs, options))
    for line in table(found):
        (tell if options.json else print)(line)
    for one in found if options.json else ():
        print(json.dumps(one, ensure_ascii=False))
    return 0


def study(options: argparse.Namespace) -> Study:
    """The stream asked for; Problems option_elsewhere, images_needed and those of streams.py."""
    from forget_me_not.models.plasticity import streams

    given = {name: getattr(options, name) for name in ("epochs", *OF_GROUPS) if getattr(options, name) is not None}
    grouped = options.stream in FOLDER
    for name in ("images", *OF_GROUPS):
        if not grouped and getattr(options, name) is not None:
            raise Problem("option_elsewhere", option=f"--{name.replace('_', '-')}", stream=options.stream)
    if grouped and not options.images:
        raise Problem("images_needed", stream=options.stream)
    for name, value in given.items():
        if value < 1:
            raise Problem("count_bad", name=f"--{name.replace('_', '-')}", value=value)
    make = getattr(streams, options.stream)
    if not grouped:
        return make(options.tasks, options.seed, **given)
    source = options.images[0] if options.stream == "cifar100" else data.photos(options.images)
    return make(source, options.tasks, seed=options.seed, **given)


def prepared(options: argparse.Namespace, chosen: Sequence[Arm], made: Study) -> Iterator[RunFolder]:
    """Every run's folder, all of them checked before the first one learns. Problems run_differs, run_differs_in."""
    from forget_me_not.models.plasticity.arms import facts

    asked = {f"--{name.replace('_', '-')}": getattr(options, name) for name in ("stream", "tasks", "epochs", *OF_GROUPS)}
    found = [(Path(options.out) / f"{one.name}-seed{options.seed}", {"options": asked, **facts(one, made, options.seed)})
             for one in chosen]  # fmt: skip
    for path, about in found if not options.fresh else ():
        compare(path, about)
    for path, about in found:
        if options.fresh and path.is_dir():
            RunFolder(path, {}).delete()
            (path / "cost.jsonl").unlink(missing_ok=True)
        there = (path / "run.json").exists()
        yield RunFolder.open(path) if there else RunFolder.create(path, about)


def numbers(chosen: Sequence[Arm], runs: Sequence[RunFolder], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """An object an arm: accuracy on each new task, AAT, the mean of the last tasks, what a fresh network has more, step time."""
    from forget_me_not.demo.plasticjobs import card

    accuracy = {one.name: summary.new_task_accuracy(run.events()) for one, run in zip(chosen, runs, strict=True)}
    count = last_tasks(options.tasks)
    late = {name: mean_of_last(values, count) for name, values in accuracy.items()}
    base = {one.name: card(one)["base"] for one in chosen}
    fresh = {base[one.name]: one.name for one in chosen if card(one)["group"] == "fresh"}
    for one, run in zip(chosen, runs, strict=True):
        held, step = fresh.get(base[one.name], next(iter(fresh.values()), None)), costs(run.path)
        yield {"arm": one.name, "stream": options.stream, "seed": options.seed, "accuracy": accuracy[one.name],
               "average": summary.average(accuracy[one.name]), "last": late[one.name], "last_tasks": count, "fresh": held,
               "fresh_minus": late[held] - late[one.name] if held else None,
               "step_ms": None if step is None else 1000 * step}  # fmt: skip


def table(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The arms side by side."""
    rows = [["in %", "AAT", f"last {found[0]['last_tasks']} tasks", "fresh minus it", "step ms"]]
    for one in found:
        step = "-" if one["step_ms"] is None else f"{one['step_ms']:.1f}"
        rows.append([one["arm"], share(one["average"]), share(one["last"]), share(one["fresh_minus"]), step])
    yield from aligned(rows)
    yield "AAT: mean over tasks of the accuracy on each right after it was learnt. One seed: read it as an example."
