"""Runs the jobs of a suite that have no result yet, in as many processes as asked for, and keeps one JSON file a run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import joblib

from forget_me_not.models.disk import write_json, write_whole
from forget_me_not.models.problem import Problem
from forget_me_not.models.suites.job import Job, measure


def pending(jobs: Sequence[Job], out: Path) -> list[Job]:
    """The jobs without a result below `out`; a failed run counts as none and is tried again."""
    return [job for job in jobs if (known := result(out / job.file)) is None or known["failed"]]


def result(path: Path) -> dict[str, Any] | None:
    """The result in a file; None where there is none that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "metrics" in found else None


def results(out: Path) -> list[dict[str, Any]]:
    """Every result below a folder, or every line of a .jsonl file, in a fixed order."""
    if out.is_file():
        return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines() if line]
    return [found for path in sorted(out.rglob("*.json")) if (found := result(path))]


def pack(out: Path, file: Path) -> int:
    """Writes all results below `out` as lines of one file; how many."""
    lines = [json.dumps(one, sort_keys=True, ensure_ascii=False, separators=(",", ":")) for one in results(out)]
    write_whole(file, "".join(line + "\n" for line in lines).encode())
    return len(lines)


def run(jobs: Sequence[Job], images: Path, out: Path, *, workers: int = 1, backend: str = "local", address: str = "",
        cache: str | None = None) -> Iterator[tuple[Job, dict[str, Any]]]:  # fmt: skip
    """Runs what is pending, telling each job with its result once that is on disk; the order is that of completion.

    backend local: processes of this machine (workers of them, one thread each); ray, dask: the same calls go to a
    cluster that already runs at `address` and sees the same folders. Problems: bench_backend, bench_absent.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # a worker process inherits it before torch is imported there
    calls = [(job, str(images), cache) for job in pending(jobs, out)]
    clusters = {"dask": _dask, "ray": _ray}
    for job, found in clusters[backend](calls, address) if backend in clusters else _local(calls, workers):
        path = out / job.file
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, found)
        yield job, found


Call = tuple[Job, str, str | None]
Answers = Iterator[tuple[Job, dict[str, Any]]]


def _local(calls: Sequence[Call], workers: int) -> Answers:
    if workers == 1:
        yield from (_told(*call) for call in calls)
    else:
        yield from _parallel(calls, workers)


def _parallel(calls: Sequence[Call], workers: int) -> Answers:
    pool = joblib.Parallel(workers, return_as="generator_unordered", batch_size=1, pre_dispatch="all")
    yield from pool(joblib.delayed(_told)(*call) for call in calls)


def _dask(calls: Sequence[Call], address: str) -> Answers:
    try:
        from distributed import Client
    except ImportError as error:
        raise Problem("bench_backend", name="dask") from error
    with Client(address) as client, joblib.parallel_config(backend="dask", client=client):
        yield from _parallel(calls, -1)


def _ray(calls: Sequence[Call], address: str) -> Answers:
    """Ray's own calls: its backend for joblib cannot hand out answers one by one. A call whose worker dies is made again."""
    try:
        import ray
    except ImportError as error:
        raise Problem("bench_backend", name="ray") from error
    ray.init(address=address or "auto", ignore_reinit_error=True, logging_level="warning")
    told = ray.remote(_told)
    waiting = [told.remote(*call) for call in calls]
    while waiting:
        done, waiting = ray.wait(waiting)
        yield ray.get(done[0])


def _told(job: Job, images: str, cache: str | None) -> tuple[Job, dict[str, Any]]:
    return job, measure(job, images, cache=cache)
