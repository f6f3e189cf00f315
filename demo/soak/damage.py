"""What may happen to files while nobody looks, as data: name -> what is done to a run after one task, or to the cache."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

Hurt = Callable[[Path, Path], None]
"""(the run's folder, the folder of activations) -> nothing; the files are worse than before."""


def _garbage(file: Path) -> None:
    file.write_bytes(random.Random(0).randbytes(file.stat().st_size))


def _cut(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])


def _state(run: Path) -> Path:
    return run / "state" / "000.safetensors"


def _torn(run: Path, cache: Path) -> None:
    with open(run / "events.jsonl", "ab") as file:
        file.write(b'{"n": 99, "t": 17')


def _spoilt(run: Path, cache: Path) -> None:
    data = bytearray((run / "events.jsonl").read_bytes())
    middle = len(data) // 2
    data[middle : middle + 40] = b"\xff" * 40
    (run / "events.jsonl").write_bytes(data)


def _drafts(run: Path, cache: Path) -> None:
    for name in ("state/.001.safetensors.0.tmp", "answers/.001.safetensors.0.tmp", ".run.json.0.tmp", ".status.json.0.part"):
        (run / name).write_bytes(b"half of it")


def _shards(do: Callable[[Path], None]) -> Hurt:
    def hurt(run: Path, cache: Path) -> None:
        for shard in cache.glob("*/*.safetensors"):
            do(shard)

    return hurt


def _no_folder(run: Path, cache: Path) -> None:
    cache.rename(cache.with_name("was"))
    cache.write_bytes(b"a file where a folder should be")


RUNS: dict[str, Hurt] = {
    "the last event is torn": _torn,
    "the middle of the events is garbage": _spoilt,
    "the events are gone": lambda run, cache: (run / "events.jsonl").unlink(),
    "the state is garbage": lambda run, cache: _garbage(_state(run)),
    "the state is cut short": lambda run, cache: _cut(_state(run)),
    "the state is empty": lambda run, cache: _state(run).write_bytes(b""),
    "the state is gone": lambda run, cache: _state(run).unlink(),
    "the answers are garbage": lambda run, cache: _garbage(run / "answers" / "000.safetensors"),
    "where it stands is torn": lambda run, cache: _cut(run / "status.json"),
    "where it stands is gone": lambda run, cache: (run / "status.json").unlink(),
    "drafts are left behind": _drafts,
}
CACHE: dict[str, Hurt] = {
    "encoded photos are garbage": _shards(_garbage),
    "encoded photos are cut short": _shards(_cut),
    "the cache cannot be written": _no_folder,
}
DAMAGE = RUNS | CACHE
