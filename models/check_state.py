"""Checks of what a run leaves behind: the same seed, resuming, stopping, states, events, the frozen network, and its turns."""

from __future__ import annotations

import json
from collections.abc import Iterator

from torch import Tensor

from forget_me_not.models.check_run import (
    Bench,
    Run,
    copied,
    difference,
    frozen_bytes,
    learn,
    tensors_of,
    through_disk,
    timeless,
)
from forget_me_not.models.check_streams import EASY
from forget_me_not.models.core import Log, parameter_count
from forget_me_not.models.events import Stopped, TaskFinished, from_json, to_json

LOOKS = 4
"""Reads of photos between two yields: tokens, feature, and two to spare."""
IDENTITY = 1e-5
"""How far, as a share of its length, an edit that changes nothing may move a feature by rounding."""


def same_seed_same_run(bench: Bench) -> Iterator[str]:
    """A second instance with the same seed gives the same events, states and answers, bit for bit."""
    second = learn(bench.easy, bench.learner(), upto=2)
    yield from _same_run(bench.reference[1], second, range(2), "A second run with the same seed")


def _same_run(first: Run, second: Run, tasks: range, what: str) -> Iterator[str]:
    for t in tasks:
        if t not in second.kept:
            yield f"{what} did not finish task {t + 1}."
            return
        kept = first.kept[t], second.kept[t]
        for part in ("state", "answers", "prediction"):
            a, b = (k.copy if part == "state" else getattr(k, part) for k in kept)
            if name := difference(a, b):
                yield f"{what} differs after task {t + 1} in '{name}' of its {part}."
                return
        if first.of(t) != second.of(t):
            a, b = next((a, b) for a, b in zip(first.of(t), second.of(t), strict=False) if a != b)
            yield f"{what} tells another story in task {t + 1}: {a} became {b}."
            return


def global_randomness_untouched(bench: Bench) -> Iterator[str]:
    """torch's, numpy's and Python's global generators are where they were."""
    bench.reference  # noqa: B018
    hints = {"torch": "nn.Linear, torch.rand without a generator, F.dropout and torch.manual_seed do that",
             "numpy": "use numpy.random.default_rng(…)", "random": "use random.Random(…)"}  # fmt: skip
    for name in bench.moved:
        yield f"Learning moved the global random state of {name} ({hints[name]}): draw from the generator `fit_task` is given."


def goes_on_where_it_stopped(bench: Bench) -> Iterator[str]:
    """From every task boundary a new instance with the saved state goes on as if nothing had happened, bit for bit."""
    run = bench.reference[1]
    for t in range(len(EASY)):
        learner, state = bench.learner(), through_disk(run.kept[t].copy)
        given = copied(state)
        learner.load_state_dict(state)
        learner.tasks = t + 1
        if name := difference(run.kept[t].prediction, tensors_of(learner.ask(bench.easy.tested(t + 1)))):
            yield f"Loaded after task {t + 1}, it gives other {name} than before saving: state_dict misses something."
            return
        if name := difference(run.kept[t].copy, copied(learner.state_dict())):
            yield f"Loaded after task {t + 1}, its state_dict has another '{name}' than what was loaded."
            return
        if t + 1 == len(EASY):
            return
        on = learn(bench.easy, learner, upto=t + 2, done=run.before(t + 1))
        flaws = list(_same_run(run, on, range(t + 1, t + 2), f"A run resumed after task {t + 1}"))
        if name := difference(given, state):
            flaws.append(f"Learning wrote into '{name}' of the state it was loaded with: clone it before training.")
        yield from flaws
        if flaws:
            return


def a_stop_leaves_no_trace(bench: Bench) -> Iterator[str]:
    """Stopped by flag or closed anywhere inside a task, it is as before that task, and learns it as if for the first time."""
    watched, run = bench.reference
    # counted in Logs: how often fit_task yields None may depend on what the cache already holds
    last = sum(turn.task == 0 and turn.log is not None for turn in watched.turns)
    learner = bench.learner()
    empty = copied(learner.state_dict())
    events = learn(bench.easy, learner, stop=lambda: sum(turn.log is not None for turn in learner.turns) >= last).events
    if not isinstance(events[-1], Stopped):
        yield "It could not be stopped inside the first task."
        return
    if name := difference(empty, copied(learner.state_dict())):
        yield f"Stopped inside the first task, '{name}' of its state is not as before: change self only after the last yield."
        return
    learner = bench.learner()
    learner.load_state_dict(through_disk(run.kept[0].copy))
    done = run.before(1)
    for when, close in (("while it was taught", learner.turns), ("while it was tested", learner.asked)):
        learner.turns.clear()
        learn(bench.easy, learner, upto=2, done=done, close=lambda close=close: bool(close))
        if name := difference(run.kept[0].copy, copied(learner.state_dict())):
            yield f"Closed {when} in the second task, '{name}' of its state is not as before."
            return
    yield from _same_run(run, learn(bench.easy, learner, upto=2, done=done), range(1, 2), "A task begun anew after a stop")


def states_are_never_written_into(bench: Bench) -> Iterator[str]:
    """A tensor once handed out by state_dict keeps its numbers: learning makes new ones."""
    for t, kept in bench.reference[1].kept.items():
        if name := difference(kept.copy, kept.state):
            yield f"'{name}', handed out by state_dict after task {t + 1}, was written into later: clone it before training."


def state_is_plain(bench: Bench) -> Iterator[str]:
    """The state is tensors by name, what a task adds carries its number, and the engine counts its bytes and parameters."""
    run = bench.reference[1]
    ends = {e.task: e for e in run.events if isinstance(e, TaskFinished)}
    for t, kept in run.kept.items():
        for name, value in kept.state.items():
            if not isinstance(name, str) or not isinstance(value, Tensor):
                yield f"state_dict holds {name!r}: {type(value).__name__}; it has to be names and tensors."
            elif value.requires_grad:
                yield f"'{name}' of the state still asks for gradients: hand out detached tensors."
            elif t and name not in run.kept[t - 1].state and f"{t:03d}" not in name.split("."):
                yield f"'{name}' is new after task {t + 1}, so its name has to carry the task, as in 'module.{t:03d}.down'."
        size = sum(v.numel() * v.element_size() for v in kept.copy.values())
        if (ends[t].bytes, ends[t].parameters) != (size, parameter_count(kept.copy)):
            yield f"After task {t + 1} the run reports {ends[t].bytes} bytes, but the state has {size}."


def events_survive_json(bench: Bench) -> Iterator[str]:
    """Every event comes back from JSON as it was; every number is finite or None."""
    for event in bench.reference[1].events:
        try:
            back = from_json(json.loads(json.dumps(to_json(event), allow_nan=False)))
        except (TypeError, ValueError) as error:
            yield f"{timeless(event)} cannot be written as JSON ({error}): yield plain finite numbers."
            continue
        if back != event:
            yield f"{timeless(event)} comes back from JSON as {back}: yield plain numbers."


def frozen_stays_frozen(bench: Bench) -> Iterator[str]:
    """The ViT's bytes, its mode and its refusal of gradients are as before."""
    bench.reference  # noqa: B018
    network = bench.easy.vit.network
    if name := difference(bench.frozen, frozen_bytes(bench.easy)):
        yield f"It changed '{name}' of the frozen ViT, which all methods share: use an Edit."
    if any(p.requires_grad for p in network.parameters()) or network.training:
        yield "It left the frozen ViT in training mode or asking for gradients."


def starts_as_the_frozen_network(bench: Bench) -> Iterator[str]:
    """Where the card says identity: the first edit it uses, before any step, gives the frozen feature."""
    bench.reference  # noqa: B018
    moved = bench.easy.vit.first_move
    if not bench.card.identity:
        return
    if moved is None:
        yield "Its card says identity, but no edit ever reached the ViT."
    elif moved > IDENTITY:
        yield f"Its card says identity, but its first edit moves the feature by {moved:.2g} of its length before any step."


def lets_others_breathe(bench: Bench) -> Iterator[str]:
    """It yields at least once a training step, and its Logs count 1, 2, … up to their `steps`."""
    for t in range(len(EASY)):
        turns = [turn for turn in bench.reference[0].turns if turn.task == t]
        steps, looks = max(turn.steps for turn in turns), max(turn.looks for turn in turns)
        if len(turns) < 2:
            yield f"fit_task never yielded in task {t + 1}."
        if steps > 1:
            yield f"{steps} training steps passed between two yields in task {t + 1}: yield a Log after every step."
        if looks > LOOKS:
            yield f"Photos were read {looks} times between two yields in task {t + 1}: yield None after every batch."
        logs = [turn.log for turn in turns if isinstance(turn.log, Log) and turn.log.steps]
        if [log.step for log in logs] != list(range(1, len(logs) + 1)) or any(log.steps != len(logs) for log in logs):
            told = f"{logs[0].step} of {logs[0].steps} … {logs[-1].step} of {logs[-1].steps}"
            yield f"The Logs of task {t + 1} count {told} in {len(logs)} Logs: count 1, 2, … up to steps."
        if any(not isinstance(turn.log, Log | None) for turn in turns):
            yield "fit_task yields something that is neither a Log nor None."
