"""Runs the jobs of a suite that have no result yet, in as many processes as asked for, and keeps one JSON file a run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import joblib

from forget_me_not.models.disk import write_json, write_whole
from forget_me_not.models.problem import Problem
from forget_me_not.models.suites.job import Job, measure

BACKENDS = ("local", "ray", "dask")


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
    todo = pending(jobs, out)
    alone = backend == "local" and workers == 1
    with _cluster(backend, address):
        calls = (joblib.delayed(_told)(job, str(images), cache) for job in todo)
        pool = joblib.Parallel(workers if backend == "local" else -1, return_as="generator_unordered", batch_size=1,
                               pre_dispatch="all")  # fmt: skip
        for job, found in (call(*args) for call, args, _ in calls) if alone else pool(calls):
            path = out / job.file
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, found)
            yield job, found


def _told(job: Job, images: str, cache: str | None) -> tuple[Job, dict[str, Any]]:
    return job, measure(job, images, cache=cache)


def _cluster(backend: str, address: str) -> AbstractContextManager[Any]:
    """joblib's context for a backend."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # a worker process inherits it before torch is imported there
    if backend == "local":
        return nullcontext()
    try:
        if backend == "dask":
            from distributed import Client

            return joblib.parallel_config(backend="dask", client=Client(address))
        import ray
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise Problem("bench_backend", name=backend) from error
    ray.init(address=address or "auto", ignore_reinit_error=True, logging_level="warning")
    register_ray()
    return joblib.parallel_config(backend="ray")
