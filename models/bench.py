"""Times: the ratios the project promises, measured side by side in one process on one thread. Yields rows, prints nothing.

Ratios, because seconds say more about the machine than about the code.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from forget_me_not.models import experiment, images, registry, stream
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.cache import Cache
from forget_me_not.models.core import Batch, Reads, Source
from forget_me_not.models.edit import Edit
from forget_me_not.models.encoder import CHUNK, Encoder
from forget_me_not.models.events import Finished
from forget_me_not.models.images import ImageSet

PER_TASK, TRAIN, TEST = 4, 20, 10


@dataclass(frozen=True)
class Row:
    """One figure. bar: what it must reach, e.g. ">= 0.86", or "" where it is only reported; passed: None without a bar."""

    name: str
    value: float
    bar: str = ""
    passed: bool | None = None
    detail: Mapping[str, float] = field(default_factory=dict)


def judged(name: str, value: float, bar: str = "", **detail: float) -> Row:
    """A row whose bar, "<= 3" or ">= .86", is held against its value."""
    if not bar:
        return Row(name, value, detail=detail)
    sign, limit = bar.split()
    return Row(name, value, bar, value <= float(limit) if sign == "<=" else value >= float(limit), detail)


def _run(source: Source, data: ImageSet, method: str, settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    events = experiment.conduct(stream.build(_plan(data, seed), source), method, registry.card(method).read(settings), seed)
    return next(dict(e.metrics) for e in events if isinstance(e, Finished))


def _plan(data: ImageSet, seed: int) -> stream.Plan:
    return stream.plan([p.label for p in data.photos], [p.group for p in data.photos], per_task=PER_TASK, seed=seed,
                       train_per_class=TRAIN, test_per_class=TEST)  # fmt: skip


def speed(vit: FrozenViT, folder: Path) -> Iterator[Row]:
    """The ratios of the README's speed table; `folder` holds class folders. Wants a machine with nothing else to do."""
    torch.set_num_threads(1)
    yield from _cold(vit, folder)
    data = images.read([folder])
    source = Encoder(vit, data)
    for _ in source.encode(torch.arange(len(data)), Reads().cut):
        pass
    seconds = [_seconds(lambda: _run(source, data, "tosca", {}, 1)) for _ in range(3)]
    yield judged("warm TOSCA, six tasks, seconds", statistics.median(seconds), "<= 3")
    yield _modules(vit, data, source)
    yield _beside_spinner(vit, data)
    yield from _masks(vit, data, source)


def _seconds(do: Callable[[], Any]) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


def _cold(vit: FrozenViT, folder: Path) -> Iterator[Row]:
    def ours() -> None:
        with TemporaryDirectory() as cache:
            data = images.read([folder])
            _run(Encoder(vit, data, Cache(cache)), data, "tosca", {}, 1)

    def bare() -> None:
        for part in torch.arange(len(files)).split(CHUNK):
            with torch.no_grad():
                vit.network(torch.stack([vit.preprocess(files[i].open()) for i in part.tolist()]))

    files = images.read([folder]).photos
    a, b = [], []
    for _ in range(3):  # interleaved, so that a slow minute hits both
        a.append(_seconds(ours))
        b.append(_seconds(bare))
    ratio = statistics.median(x / y for x, y in zip(a, b, strict=True))
    seconds = {"ours": statistics.median(a), "bare": statistics.median(b)}
    yield judged("cold run / bare timm forward with decoding", ratio, "<= 1.2", **seconds)


def _modules(vit: FrozenViT, data: ImageSet, warm: Encoder) -> Row:
    """Asking one photo of 50 modules against one module, from pixels to answer."""
    plan = stream.plan([p.label for p in data.photos], [p.group for p in data.photos], per_task=PER_TASK, seed=1)
    first = stream.build(plan, warm).tasks[0].task
    learners = {}
    for count in (1, 50):
        learner = registry.card("tosca").learner(vit, **registry.card("tosca").read({"epochs": 1}))
        for log in learner.fit_task(first, torch.Generator().manual_seed(0)):
            assert log is None or log.loss is None or log.loss >= 0
        learner.modules, learner.head = learner.modules * count, _repeated(learner.head, count)
        learners[count] = learner

    def ask(learner: Any, photos: torch.Tensor) -> None:
        with torch.no_grad():
            learner.predict(Batch(Encoder(vit, data), photos, learner.reads))

    ratios = []
    for i in range(12):
        photos = torch.arange(4) + 4 * i
        one, many = _seconds(lambda: ask(learners[1], photos)), _seconds(lambda: ask(learners[50], photos))  # noqa: B023
        ratios.append(many / one)
    return judged("predict with 50 modules / with 1, forward included", statistics.median(ratios), "<= 1.05")


def _repeated(head: Any, count: int) -> Any:
    classes = len(head.classes[0])
    return type(head)(head.rows * count, tuple(head.classes[0] + classes * t for t in range(count)))


def _beside_spinner(vit: FrozenViT, data: ImageSet) -> Row:
    """Photos a second beside a process that spins on the other core, over photos a second alone."""

    def encode() -> None:
        for _ in Encoder(vit, data).encode(torch.arange(120), Reads().cut):
            pass

    ratios = []
    for _ in range(3):
        alone = _seconds(encode)
        spinner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            ratios.append(alone / _seconds(encode))
        finally:
            spinner.kill()
            spinner.wait()
    return judged("encoding beside a spinning process / alone", statistics.median(ratios), ">= 0.8")


class Forgetful(Encoder):
    """Keeps nothing: every batch begins at its photos' files again."""

    def get(self, index: torch.Tensor, cut: int, edit: Edit | None = None) -> torch.Tensor:
        self._stores.clear()
        return super().get(index, cut, edit)

    def encode(self, index: torch.Tensor, cut: int, edit: Edit | None = None) -> Iterator[int]:
        yield len(index)


def _masks(vit: FrozenViT, data: ImageSet, warm: Encoder) -> Iterator[Row]:
    """Soft-TF's last block: training of six tasks from cached prefixes, and of the first beside the same without a cache."""

    def trained(source: Encoder, tasks: int | None) -> float:
        whole = stream.build(_plan(data, 1), source)
        events = experiment.conduct(replace(whole, tasks=whole.tasks[:tasks]), "softtf", registry.card("softtf").read({}), 1)
        return next(e.metrics["seconds"]["train"] for e in events if isinstance(e, Finished))

    trained(warm, 1)  # its prefixes are then in memory
    yield judged("Soft-TF, last block, training six tasks, seconds", statistics.median(trained(warm, None) for _ in range(3)),
                 "<= 20")  # fmt: skip
    cached, off = trained(warm, 1), trained(Forgetful(vit, data), 1)
    yield judged("the same, one task, over that without the cache", cached / off, "<= 0.1", cached=cached, off=off)


def about(vit: FrozenViT, data: ImageSet) -> dict[str, Any]:
    """What the figures were measured with."""
    machine = {"backbone": vit.name, "size": vit.size, "photos": len(data), "threads": torch.get_num_threads()}
    return {**machine, **experiment.versions()}
