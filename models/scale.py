"""How the lab bears a large stream: many tasks, classes and photos, drawn at random, through the paths a real one takes."""

from __future__ import annotations

import hashlib
import io
import random
import statistics
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import torch
from PIL import Image

from forget_me_not.models import experiment, registry
from forget_me_not.models.archive import InMemory
from forget_me_not.models.bench import Row, judged
from forget_me_not.models.core import Method, Samples, Stream
from forget_me_not.models.encoder import FeatureTable
from forget_me_not.models.events import TaskFinished
from forget_me_not.models.images import ImageSet, Photo, read
from forget_me_not.models.store import RunFolder
from forget_me_not.models.stream import build, plan

WIDTH = 384
"""Numbers of a feature: the starter backbone's."""
TESTED = 5
"""Test photos of a class."""
ASKED = 512
"""Test photos that are answered at the end, at most: every module and class has its say on each."""


def rows(photos: int = 50_000, classes: int = 1_000, tasks: int = 100, files: int = 2_000) -> Iterator[Row]:
    """Seconds and bytes of a stream of that size; bars where the project promises one. files: photos drawn and read as files."""
    began = time.perf_counter()
    images = ImageSet.of(_photo(n, n % classes) for n in range(photos))
    yield judged(f"index of {photos:,} photos, seconds", time.perf_counter() - began)
    yield from _learnt(images, tasks)
    yield from _read(files)
    yield judged("most memory, GB", peak() / 1e9, "<= 2")


def _photo(number: int, label: int) -> Photo:
    """A photo that is never opened: a name, a sum and a look of its own."""
    look = random.Random(number).getrandbits(64)
    sha = hashlib.sha256(number.to_bytes(8, "little")).hexdigest()
    return Photo(f"c{label:04d}/{number}.png", f"c{label:04d}", "", sha, look, InMemory(b""))


def _learnt(images: ImageSet, tasks: int) -> Iterator[Row]:
    """TOSCA over drawn features, kept on disk like every run, and taken up from there once.

    Modules of earlier tasks cost a new one nothing; its loss, as published, is over all classes seen, and they grow tenfold
    between the first tenth and the last. Over the task's own classes alone the cost of a task is flat.
    """
    labels, groups = [p.label for p in images.photos], [p.group for p in images.photos]
    began = time.perf_counter()
    asked = plan(labels, groups, per_task=-(-len(images.classes) // tasks), test_per_class=TESTED)
    yield judged("plan of the tasks, seconds", time.perf_counter() - began, tasks=len(asked.tasks))
    source = FeatureTable(_features(torch.tensor(asked.labels)))
    settings = registry.card("tosca").read({})
    facts = experiment.facts("tosca", settings, 0, asked, [p.sha for p in images.photos], source.vit.fingerprint)
    stream, learner = build(asked, source), registry.card("tosca").learner(source.vit, **settings)
    with tempfile.TemporaryDirectory() as kept:
        folder = RunFolder.create(Path(kept) / "run", facts)
        train = _seconds(stream, learner, folder)
        began = time.perf_counter()
        whole = len(RunFolder.open(folder.path).state())
        yield judged("the run taken up again, seconds", time.perf_counter() - began, tensors=whole)
        yield judged("the run on disk, MB", sum(f.stat().st_size for f in folder.path.rglob("*") if f.is_file()) / 1e6)
    yield judged("training of a task, seconds", statistics.median(train), first=train[0], last=train[-1])
    yield judged("training of the last tenth / the first", growth(train), "<= 2.5", slope=slope(train))
    own = _seconds(stream, registry.card("tosca").learner(source.vit, loss="masked"))
    detail = {"slope": slope(own), "first": own[0], "last": own[-1]}
    yield judged("the same, loss over the task's own classes", growth(own), "<= 1.25", **detail)
    asked_of = Samples.union([tested.test for tested in stream.tasks]).reading(learner.reads)
    asked_of = asked_of.pick(torch.arange(0, len(asked_of), -(-len(asked_of) // ASKED)))
    began = time.perf_counter()
    with torch.no_grad():
        right = sum(int((learner.predict(b.unlabelled()).logits.argmax(-1) == b.y).sum()) for b in asked_of.batches(64))
    spent = time.perf_counter() - began
    yield judged("an answer after the last task, ms", spent / len(asked_of) * 1000, right=right / len(asked_of))


def _seconds(stream: Stream, learner: Method, folder: RunFolder | None = None) -> list[float]:
    """Seconds each task trained."""
    run = experiment.follow(stream, learner, "tosca", 0, folder, evaluate="new")
    return [event.seconds["train"] for event in run if isinstance(event, TaskFinished)]


def _features(labels: torch.Tensor) -> torch.Tensor:
    """(N, D) a mean for each class and noise around it."""
    draw = torch.Generator().manual_seed(0)
    means = torch.randn(int(labels.max()) + 1, WIDTH, generator=draw)
    return means[labels].add_(torch.randn(len(labels), WIDTH, generator=draw), alpha=0.7)


def growth(seconds: list[float]) -> float:
    """Median of the last tenth over that of the first, the very first task left out: it warms up."""
    tenth = max(1, len(seconds) // 10)
    return statistics.median(seconds[-tenth:]) / statistics.median(seconds[1 : 1 + tenth])


def slope(seconds: list[float]) -> float:
    """Share of a task's median seconds that every further task adds, least squares."""
    return statistics.linear_regression(range(len(seconds)), seconds).slope / statistics.median(seconds)


def _read(files: int) -> Iterator[Row]:
    """Drawn pictures in a zip, read, checked and compared as an upload's."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "photos.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for number in range(files):
                archive.writestr(f"c{number % 20:02d}/{number}.jpg", _jpeg(number))
        began = time.perf_counter()
        found = read(path)
        yield judged("reading a photo, ms", (time.perf_counter() - began) / files * 1000, photos=len(found))


def _jpeg(number: int) -> bytes:
    cells = np.random.default_rng(number).integers(0, 255, (16, 16, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(cells).resize((320, 320)).save(out, "JPEG", quality=80)
    return out.getvalue()


def peak() -> int:
    """The most bytes this process has held, or holds now where the system does not say."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage counts what the process that started this one held
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
    try:
        import resource
    except ImportError:
        memory = psutil.Process().memory_info()
        return getattr(memory, "peak_wset", memory.rss)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
