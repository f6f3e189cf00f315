"""Streams that take a network's plasticity away, with the network they are for and held-out images to measure it on.

    permuted_digits   real labels, new pixel order in every task; tested on 400 other images (Goodfellow et al. 2014,
                      arXiv:1312.6211, with 8 x 8 digits): does it still learn what generalises? The primary stream
    random_labels     the same images, new labels drawn for every task; "tested" on the very images trained on (Lyle et al.
                      2023, arXiv:2303.01486): can it still fit at all?
    class_groups      a few classes of an image folder in each task, task told at test (the paper's setting)
    cifar100          the paper's data, from a local copy

A network trained throughout sees one task at a time and is tested on the newest: engine.run(evaluate="new").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from sklearn.datasets import load_digits
from torch import Tensor

from forget_me_not.models.core import PIXELS, Reads, Samples, Source, Stream, Task, TestedTask, rng_for
from forget_me_not.models.plasticity.groups import TEST_PER_CLASS, TRAIN_PER_CLASS, batch_of, company, groups, title
from forget_me_not.models.plasticity.pixels import PhotoPixels, PixelTable
from forget_me_not.models.problem import Problem

if TYPE_CHECKING:
    from forget_me_not.models.images import ImageSet

TRAINED, TESTED, PROBED = 160, 400, 256
"""Digits a task trains on; the last TESTED of the 1797 are the test images, the PROBED before them only measure ranks."""

_DRAWS = 3_000_000


@dataclass(frozen=True)
class Study:
    """A stream, the shape of the network it is for (arguments of small_vit), passes over a task, and images to measure on.

    probe(task) -> pixels (N, c, S, S) as that task shows them; probe(0) is the reference.
    """

    name: str
    stream: Stream
    network: Mapping[str, Any]
    probe: Callable[[int], Tensor]
    epochs: int = 40
    batch: int = 40
    facts: Mapping[str, Any] = field(default_factory=dict)


@lru_cache(1)
def digits() -> tuple[Tensor, Tensor]:
    """(1797, 1, 8, 8) standardised grey digits and their labels (1797,), which come with scikit-learn."""
    found = load_digits()
    images = torch.from_numpy(found.images).float()[:, None]
    pool = images[: -TESTED - PROBED]
    return (images - pool.mean()) / pool.std(), torch.from_numpy(found.target).long()


def permuted_digits(tasks: int = 20, seed: int = 0, train: int = TRAINED, epochs: int = 40) -> Study:
    """Every task shows `train` digits drawn anew in a pixel order of its own; the first too has one."""
    images, labels = digits()
    N, pool = len(images), len(images) - TESTED - PROBED
    _check(tasks, train, pool)

    def view(task: int) -> Tensor:
        return torch.randperm(images[0].numel(), generator=rng_for(seed, _DRAWS + task))

    source, made = PixelTable(images, view, "digits, permuted"), []
    test = torch.arange(N - TESTED, N)
    for t in range(tasks):
        chosen = torch.randperm(pool, generator=rng_for(seed, 2 * _DRAWS + t))[:train]
        made.append(_task(source, t, f"order {t + 1}", tuple(range(10)), (t * N + chosen, labels[chosen]),
                          (t * N + test, labels[test])))  # fmt: skip
    held = torch.arange(pool, pool + PROBED)
    stream = Stream(tuple(made), tuple(map(str, range(10))), "domain")
    return Study("permuted digits", stream, {"size": 8, "channels": 1, "classes": 10, "patch": 4},
                 lambda t: source.get(t * N + held, PIXELS), epochs,
                 facts={"stream": "permuted digits", "tasks": tasks, "seed": seed, "train": train})  # fmt: skip


def random_labels(tasks: int = 20, seed: int = 0, train: int = TRAINED, epochs: int = 40) -> Study:
    """The same `train` digits with labels drawn for each task; its accuracy is that on the images trained on."""
    images, _ = digits()
    pool = len(images) - TESTED - PROBED
    _check(tasks, train, pool)
    chosen, source, made = torch.randperm(pool, generator=rng_for(seed, _DRAWS))[:train], PixelTable(images, name="digits"), []
    for t in range(tasks):
        labels = torch.randint(10, (train,), generator=rng_for(seed, 2 * _DRAWS + t))
        made.append(_task(source, t, f"labels {t + 1}", tuple(range(10)), (chosen, labels), (chosen, labels)))
    held = images[pool : pool + PROBED]
    return Study("random labels", Stream(tuple(made), tuple(map(str, range(10))), "domain"),
                 {"size": 8, "channels": 1, "classes": 10, "patch": 4}, lambda t: held, epochs,
                 facts={"stream": "random labels", "tasks": tasks, "seed": seed, "train": train})  # fmt: skip


def class_groups(images: ImageSet, tasks: int = 20, per_task: int = 2, seed: int = 0, size: int = 32, epochs: int = 20,
                 train_per_class: int | None = TRAIN_PER_CLASS, test_per_class: int | None = TEST_PER_CLASS,
                 shown: Mapping[str, str] | None = None, source: Source | None = None) -> Study:  # fmt: skip
    """`per_task` classes of a folder in each task (see groups.py), photos at `size` pixels.

    shown: what classes are called instead of their labels. source: pixels of these photos that are there already. Ranks are
    measured on training images of the task: a folder has none to spare. Problems: those of groups.groups.
    """
    made = groups(images, tasks, per_task, seed, train_per_class, test_per_class)
    sides = [(torch.tensor(train), torch.tensor(test)) for train, test in made.sides]
    names = [(shown or {}).get(label, label) for label in made.classes]
    found = _grouped("class groups", source or PhotoPixels(images.photos, size), names, sides, made.tasks, seed, epochs,
                     {"size": size, "channels": 3, "patch": size // 4})  # fmt: skip
    return replace(found, facts={**found.facts, "photos": [photo.sha for photo in images.photos]})


def cifar100(folder: Path | str, tasks: int = 20, per_task: int = 5, seed: int = 0, epochs: int = 20,
             train_per_class: int | None = None) -> Study:  # fmt: skip
    """The paper's class groups from a local copy of CIFAR-100's binary version: train.bin, test.bin, fine_label_names.txt.

    3074 bytes an image: coarse label, fine label, 32 x 32 pixels, colour by colour. The pickled version is not read.
    Problems: cifar_missing, cifar_broken, group_too_large.
    """
    folder = Path(folder)
    parts = [_cifar(folder / name) for name in ("train.bin", "test.bin")]
    pixels, labels = torch.cat([p for p, _ in parts]), torch.cat([y for _, y in parts])
    trained, sides = len(parts[0][1]), []
    for c in range(100):
        of = (labels == c).nonzero()[:, 0]
        sides.append((of[of < trained][:train_per_class], of[of >= trained]))
    names = tuple((folder / "fine_label_names.txt").read_text().split())
    return _grouped("cifar100", PixelTable(pixels, name="cifar100"), names, sides, company(100, tasks, per_task, seed), seed,
                    epochs, {"size": 32, "channels": 3, "patch": 8})  # fmt: skip


def _cifar(file: Path) -> tuple[Tensor, Tensor]:
    """(N, 3, 32, 32) uint8 pixels and (N,) fine labels."""
    if not file.is_file() or not (file.parent / "fine_label_names.txt").is_file():
        raise Problem("cifar_missing", path=str(file.parent))
    content = file.read_bytes()
    if not content or len(content) % 3074:
        raise Problem("cifar_broken", path=str(file))
    records = torch.frombuffer(bytearray(content), dtype=torch.uint8).view(-1, 3074)
    return records[:, 2:].reshape(-1, 3, 32, 32), records[:, 1].long()


def _grouped(name: str, source: Source, names: Sequence[str], sides: Sequence[tuple[Tensor, Tensor]],
             tasks: Sequence[tuple[int, ...]], seed: int, epochs: int, network: Mapping[str, Any]) -> Study:  # fmt: skip
    """Tasks of the classes named in `tasks`; sides: training and test images of each class."""
    made: list[TestedTask] = []
    for t, classes in enumerate(tasks):
        train, test = (
            (torch.cat([sides[c][side] for c in classes]),
             torch.cat([torch.full((len(sides[c][side]),), c) for c in classes])) for side in (0, 1)
        )  # fmt: skip
        made.append(_task(source, t, title([names[c] for c in classes]), classes, train, test))
    return Study(name, Stream(tuple(made), tuple(names), "task"), {**network, "classes": len(names)},
                 partial(_trained_on, made), epochs, batch_of([len(t.task.train) for t in made]),
                 facts={"stream": name, "tasks": len(tasks), "per_task": len(tasks[0]), "seed": seed})  # fmt: skip


def _trained_on(tasks: Sequence[TestedTask], task: int) -> Tensor:
    samples = tasks[task].task.train
    spread = torch.linspace(0, len(samples) - 1, min(PROBED, len(samples))).long()
    return samples.source.get(samples.index[spread], PIXELS)


def _task(source: Source, t: int, name: str, classes: tuple[int, ...], train: tuple[Tensor, Tensor],
          test: tuple[Tensor, Tensor]) -> TestedTask:  # fmt: skip
    return TestedTask(Task(t, name, classes, Samples(source, *train, Reads(PIXELS))), Samples(source, *test, Reads(PIXELS)))


def _check(tasks: int, train: int, most: int) -> None:
    if tasks < 1:
        raise Problem("count_bad", name="tasks", value=tasks)
    if not 1 <= train <= most:
        raise Problem("digits_count", most=most, train=train)
