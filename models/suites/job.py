"""One measured run: what it is made of, and everything a table may want to know of it, as plain JSON."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forget_me_not.models.events import Evaluated, Failed, Finished
from forget_me_not.models.problem import Problem
from forget_me_not.models.suites.cut import Protocol, cut

if TYPE_CHECKING:
    from forget_me_not.models.encoder import Encoder
    from forget_me_not.models.images import ImageSet


@dataclass(frozen=True)
class Job:
    """One run of a suite: an entry (title, method, settings) under a protocol with a seed."""

    title: str
    method: str
    seed: int
    protocol: Protocol
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """The name of its result, unique in a suite and safe on every disk."""
        slug = re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")
        return f"{self.protocol.name}/{slug}/{self.seed:04d}.json"


def measure(job: Job, images: str, threads: int = 1, cache: str | None = None) -> dict[str, Any]:
    """The result of a job: metrics (see metrics.summary), routes, matrix of counts, times, versions, what it was run on.

    images: the suite's folder; cache: folder of shared activations. A run that fails says so under "failed" with its
    Problem. Plain arguments and a plain answer: a worker on another machine that sees the same folder gives the same.
    """
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    import torch

    from forget_me_not.models import experiment, metrics, registry, stream

    torch.set_num_threads(threads)
    protocol = job.protocol
    data, source = _source(protocol, images, cache)
    settings = registry.card(job.method).read(dict(job.settings))
    plan = cut(protocol, data, job.seed)
    wall, cpu, events, failed = time.perf_counter(), time.process_time(), [], None
    for event in experiment.conduct(stream.build(plan, source), job.method, settings, job.seed):
        if isinstance(event, Failed):
            failed = {"task": event.task, "code": event.code, "values": dict(event.values)}
        if event is not None:
            events.append(event)
    seen = [e for e in events if isinstance(e, Evaluated)]
    end = next((e for e in events if isinstance(e, Finished)), None)
    return {
        "title": job.title, "method": job.method, "settings": settings, "seed": job.seed, "protocol": asdict(protocol),
        "failed": failed,
        "metrics": metrics.summary(events) if end else {},
        "routes": {name: dict(route) for name, route in seen[-1].routes.items()} if end else {},
        "correct": [list(e.correct) for e in seen], "total": list(seen[-1].total) if seen else [],
        "wall_seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu,
        "photos": len(data), "photo_set": _set_of(data), "classes": len(plan.classes),
        "tasks": [list(t.classes) for t in plan.tasks],
        "fingerprint": source.vit.fingerprint, "threads": threads, "versions": experiment.versions(),
    }  # fmt: skip


@lru_cache(maxsize=2)
def _source(protocol: Protocol, images: str, cache: str | None) -> tuple[ImageSet, Encoder]:
    """The protocol's photos behind its backbone; a process that does many runs reads them once. Problem bench_absent."""
    import torch

    from forget_me_not.models import images as reader
    from forget_me_not.models.backbone import create, random_vit
    from forget_me_not.models.cache import Cache
    from forget_me_not.models.encoder import Encoder

    folder = Path(images) / protocol.folder / protocol.only
    if not folder.is_dir():
        raise Problem("bench_absent", name=protocol.name, folder=str(folder))
    if protocol.backbone == "random":
        vit = random_vit(patch=14 if protocol.size % 14 == 0 else 16, size=protocol.size)
    else:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        vit = create(protocol.backbone, size=protocol.size, neck_name=protocol.neck, device=device)
    data = reader.read([folder], domains=protocol.domains or protocol.split)
    return data, Encoder(vit, data, Cache(cache) if cache else None)


def _set_of(images: ImageSet) -> str:
    return hashlib.sha256("".join(sorted(p.sha for p in images.photos)).encode()).hexdigest()[:16]
