"""A run on disk that a kill at any moment leaves whole up to a task boundary.

    run.json                 the facts of the run: method, settings, seed, classes, tasks, fingerprint, versions, …
    events.jsonl             lines {"n": 0, "t": unix seconds, "event": {…}}; n counts up, t is for people only
    answers/NNN.safetensors  what was answered after task NNN, per test photo judged (below)
    state/NNN.safetensors    tensors new or replaced since the task before; metadata "where": every name -> its task

A task is finished once its TaskFinished is in events.jsonl and its state file is whole; answers and state are written
before that line. Facts and events are read without torch. No pickle anywhere.

answers: "photo" (n,) index into the ImageSet, "label", "task" (true), "class" (answered) int64, "confidence" (n,) float32
softmax of the answer; with modules "module" (n,), "entropy" (n, T) float32 / log C, "vote" (n, T); "route.<name>" (n,).
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forget_me_not.models.disk import TEMPORARY, Damaged, read_whole, remove, write_json, write_whole, writing
from forget_me_not.models.events import Evaluated, Event, Failed, Finished, Resumed, Stopped, TaskFinished
from forget_me_not.models.journal import Journal
from forget_me_not.models.problem import Problem

if TYPE_CHECKING:  # torch is imported where tensors are read or written, so that others start fast
    from torch import Tensor

FORMAT = 1
FREE = ("format", "created", "versions")
"""Facts that may differ when a run is continued."""

_OURS = re.compile(r"\d{3,}\.safetensors")


class RunFolder:
    """One run on disk, written by one process at a time. Make it with `create` or `open`.

    Attributes: path; facts: the content of run.json.
    """

    def __init__(self, path: Path, facts: Mapping[str, Any]):
        self.path, self.facts = path, facts
        self._journal = Journal(path / "events.jsonl")
        self._kept: dict[str, Tensor] = {}  # as of the last task saved or read: the very tensors
        self._where: dict[str, int] = {}
        self._whole: dict[int, tuple[Any, dict[str, int]]] = {}

    @classmethod
    def create(cls, path: Path | str, facts: Mapping[str, Any]) -> RunFolder:
        """A new run in `path` (made if need be). Problems: run_exists, disk_full, run_unwritable."""
        path = Path(path)
        if (path / "run.json").exists():
            raise Problem("run_exists", path=str(path))
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
            remove(_files(path))  # what a run removed half-way left behind
            write_json(path / "run.json", {"format": FORMAT, "created": time.time(), **_plain(facts)})
        return cls.open(path)

    @classmethod
    def open(cls, path: Path | str) -> RunFolder:
        """The run in `path`. Problems: run_missing, run_broken, run_newer."""
        path = Path(path)
        try:
            facts = json.loads((path / "run.json").read_bytes())
            if not isinstance(facts, dict) or not isinstance(facts["format"], int):
                raise ValueError("not a run")
        except FileNotFoundError:
            raise Problem("run_missing", path=str(path)) from None
        except (OSError, ValueError, KeyError) as error:
            raise Problem("run_broken", path=str(path), file="run.json") from error
        if facts["format"] > FORMAT:
            raise Problem("run_newer", path=str(path))
        return cls(path, facts)

    def delete(self) -> None:
        """Removes the run and nothing else that may be in its folder."""
        remove([self.path / "run.json"])  # first: a kill from here on leaves no half run
        remove(_files(self.path))
        for folder in (self.path / "state", self.path / "answers", self.path):
            with contextlib.suppress(OSError):  # something else is in it
                folder.rmdir()

    def same(self, facts: Mapping[str, Any]) -> str | None:
        """Name of the first fact ("settings.lr") in which `facts` differ from this run's; None where it may go on.

        Problem fingerprint_mismatch when all settings agree but the backbone's numbers do not.
        """
        mine = {k: v for k, v in self.facts.items() if k not in (*FREE, "fingerprint")}
        theirs = {k: v for k, v in _plain(facts).items() if k not in (*FREE, "fingerprint")}
        different = _difference(theirs, mine)
        if different is None and "fingerprint" in facts:
            self.expect(facts["fingerprint"])
        return different

    def expect(self, fingerprint: str) -> None:
        """Problem fingerprint_mismatch unless the run was made with this backbone."""
        if fingerprint != self.facts.get("fingerprint"):
            raise Problem("fingerprint_mismatch", path=str(self.path))

    # Events

    def append(self, event: Event) -> int:
        """The number of the line `event` became. Problems: disk_full, run_unwritable; run_in_use: someone else writes too."""
        return self._journal.append(event)

    def lines(self, since: int = 0) -> Iterator[dict[str, Any]]:
        """The lines {"n", "t", "event"} with n >= since."""
        return self._journal.lines(since)

    def events(self) -> list[Event]:
        """Every event so far, taken back or not."""
        return self._journal.events()

    def told(self) -> list[Event]:
        """The events of whole tasks, as `engine.run(done=…)` wants them: nothing of a task that is to be learnt (again)."""
        tasks, told = self.finished(), []
        for event in self.events():
            if isinstance(event, Resumed):
                told = [e for e in told if event.task and getattr(e, "task", -1) < event.task]
            elif not isinstance(event, (Stopped, Failed, Finished)):
                told.append(event)
        return [e for e in told if tasks and getattr(e, "task", -1) < tasks]

    def finished(self) -> int:
        """How many tasks, from the first on, are whole: their TaskFinished was written and so was their state."""
        done = 0
        for event in self.events():
            if isinstance(event, TaskFinished) and event.task == done:
                done += 1
            elif isinstance(event, Resumed):
                done = min(done, event.task)
        whole = 0
        while whole < done and self._places(whole) is not None:
            whole += 1
        return whole

    def matrix(self) -> list[Evaluated]:
        """What was known after each whole task: correct[j] of total[j] photos of task j (the rows of R)."""
        return [event for event in self.told() if isinstance(event, Evaluated)]

    # Tensors

    def save(self, task: int, state: Mapping[str, Tensor], answers: Mapping[str, Tensor]) -> None:
        """Writes what is new after `task`; a tensor that is the very one of an earlier task is not written again.

        Problems: disk_full, run_unwritable; what was saved before is untouched.
        """
        from forget_me_not.models.packed import pack

        def known(name: str, tensor: Tensor) -> bool:
            return self._kept.get(name) is tensor and self._where[name] < task

        where = {name: self._where[name] if known(name, tensor) else task for name, tensor in state.items()}
        new = {name: tensor for name, tensor in state.items() if where[name] == task}
        for folder, tensors, metadata in (
            ("answers", answers, {}),
            ("state", new, {"where": json.dumps(where)}),  # last: with it the task can count
        ):
            file = self.path / folder / f"{task:03d}.safetensors"
            with writing(file):
                file.parent.mkdir(exist_ok=True)
                remove(file.parent.glob(f".*{TEMPORARY}"))
                write_whole(file, *pack(tensors, metadata))
        self._kept, self._where = dict(state), where

    def state(self, upto: int | None = None) -> dict[str, Tensor]:
        """All tensors as they were after task `upto`, by default the last whole one; {} before any.

        Problem run_broken when a file it needs is damaged.
        """
        task = self.finished() - 1 if upto is None else upto
        if task < 0:
            return {}
        where = self._places(task)
        if where is None:
            raise Problem("run_broken", path=str(self.path), file=f"state/{task:03d}.safetensors")
        files = {t: self._tensors("state", t) for t in sorted(set(where.values()))}
        try:
            self._kept = {name: files[t][name] for name, t in where.items()}
        except KeyError as error:
            raise Problem("run_broken", path=str(self.path), file="state") from error
        self._where = where
        return dict(self._kept)

    def answers(self, task: int) -> dict[str, Tensor]:
        """What was answered after `task` (names above). Problem run_broken when it is not there or damaged."""
        return self._tensors("answers", task)

    def _tensors(self, folder: str, task: int) -> dict[str, Tensor]:
        from forget_me_not.models.packed import unpack

        file = self.path / folder / f"{task:03d}.safetensors"
        try:
            return unpack(file)[0]
        except (OSError, Damaged) as error:
            raise Problem("run_broken", path=str(self.path), file=f"{folder}/{file.name}") from error

    def _places(self, task: int) -> dict[str, int] | None:
        """Name -> task whose file holds the tensor, after `task`; None unless that file of state is whole."""
        file = self.path / "state" / f"{task:03d}.safetensors"
        try:
            stamp = (file.stat().st_mtime_ns, file.stat().st_size)
            if self._whole.get(task, (None,))[0] != stamp:  # its checksum is computed once
                self._whole[task] = (stamp, json.loads(read_whole(file)[0].metadata["where"]))
        except (OSError, Damaged, KeyError):
            return None
        return self._whole[task][1]


def list_runs(root: Path | str) -> list[RunFolder]:
    """The runs in `root`, in its folders and in theirs, the newest first; what is not a readable run is passed over."""
    root, runs = Path(root), []
    for pattern in ("run.json", "*/run.json", "*/*/run.json"):
        for file in root.glob(pattern):
            with contextlib.suppress(Problem, OSError):
                runs.append(RunFolder.open(file.parent))
    return sorted(runs, key=_created, reverse=True)


def _created(run: RunFolder) -> tuple[float, str]:
    created = run.facts.get("created")
    return (float(created) if isinstance(created, (int, float)) else 0.0, run.path.name)


def _files(path: Path) -> Iterator[Path]:
    """Everything a run writes, run.json apart."""
    yield path / "events.jsonl"
    yield from path.glob(f".*{TEMPORARY}")
    for folder in ("state", "answers"):
        yield from (file for file in path.glob(f"{folder}/*.safetensors") if _OURS.fullmatch(file.name))
        yield from path.glob(f"{folder}/.*{TEMPORARY}")


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON gives it back: tuples are lists, keys are strings."""
    return json.loads(json.dumps(facts))


def _difference(theirs: Any, mine: Any, name: str = "") -> str | None:
    if isinstance(theirs, dict) and isinstance(mine, dict):
        for key in dict.fromkeys([*theirs, *mine]):
            if key not in theirs or key not in mine:
                return f"{name}{key}"
            if (found := _difference(theirs[key], mine[key], f"{name}{key}.")) is not None:
                return found
        return None
    return None if theirs == mine else name.removesuffix(".")
