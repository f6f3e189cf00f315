"""Moments at which the worker, the page or both are killed, as data: what sets each off and what a person was doing then.

Most are met inside the dying process, at the very file access that is named (see fuse.py); the others when a client sees
something over HTTP.
"""

from __future__ import annotations

from dataclasses import dataclass

from forget_me_not.demo.soak.fuse import Step

EVENTS, STATUS = r"/events\.jsonl$", r"runs/\w+/status\.json$"
STATE_0, STATE_1, LAST = (rf"runs/\w+/state/00{n}\.safetensors$" for n in range(3))
ANSWERS_1 = r"runs/\w+/answers/001\.safetensors$"
DRAFT_1 = r"runs/\w+/state/\.001\.safetensors\.\w+\.tmp$"


@dataclass(frozen=True)
class Moment:
    """One way to die. steps: met inside the process, in order. kill: who is killed from outside once `seen`.

    doing: "train", or "inside" (a run is looked into), "edit", "upload". seen: "submitted" (the request to train was answered)
    or "step" (a client has read of the first training step). methods: trained in one training. cold: nothing is encoded yet.
    rare: so near another one that only a long soak goes there.
    """

    name: str
    steps: tuple[Step, ...] = ()
    kill: tuple[str, ...] = ()
    seen: str = ""
    doing: str = "train"
    methods: tuple[str, ...] = ("tosca",)
    cold: bool = False
    rare: bool = False


def _rename(path: str, count: int = 1, kill: bool = True) -> Step:
    return Step("rename", path, count, kill=kill)


def _open(path: str, mode: str, count: int = 1, kill: bool = True) -> Step:
    return Step("open", path, count, mode, kill)


MOMENTS = (
    Moment("worker: while it takes the run", (_rename(STATUS),)),
    Moment("worker: as soon as the request to train is answered", kill=("worker",), seen="submitted"),
    Moment("worker: while the run's facts are written", (_rename(r"runs/\w+/run\.json$"),)),
    Moment("worker: at the first event", (_open(EVENTS, "a"),), rare=True),
    Moment("worker: while encoded photos are kept", (_rename(r"activations/\w{64}/\w+\.safetensors$"),), cold=True),
    Moment("worker: at the first training step a client sees", kill=("worker",), seen="step"),
    Moment("worker: in the middle of task 2", (_rename(STATE_0, kill=False), _open(EVENTS, "a", 12))),
    Moment("worker: while answers are saved", (_rename(ANSWERS_1),)),
    Moment("worker: between answers and state", (_open(DRAFT_1, "w"),)),
    Moment("worker: while the state is saved", (_rename(STATE_1),)),
    Moment("worker: between state and events", (_rename(STATE_1, kill=False), _open(EVENTS, "a"))),
    Moment("worker: between events and status", (_rename(STATE_1, kill=False), _rename(STATUS))),
    Moment("worker: while it goes on after a death", (_rename(STATE_1), _open(STATE_0, "r"))),
    Moment("worker: between the last event and the last status", (_rename(LAST, kill=False), _rename(STATUS, 2))),
    Moment("worker: while inside.json is written", (_rename(r"/inside\.json$"),), doing="inside"),
    Moment("worker: while the rest of inside.json is written", (_rename(r"/inside\.json$", 2),), doing="inside", rare=True),
    Moment("page: between two requests of one training", (_rename(r"/request\.json$", 2),), methods=("tosca", "simplecil")),
    Moment("page: as soon as the request to train is answered", kill=("page",), seen="submitted"),
    Moment("page: at the first training step a client sees", kill=("page",), seen="step"),
    Moment("page: while the project is written", (_rename(r"/project\.json$"),), doing="edit"),
    Moment("page: while an uploaded photo is kept", (_rename(r"/photos/\w{64}\.png$"),), doing="upload"),
    Moment("page and worker at once: at the first training step", kill=("page", "worker"), seen="step"),
)
