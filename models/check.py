"""Is this class a method? A suite of checks for ours and for everybody's own, with a sentence for whatever is wrong.

`check_method(card)` runs the method on two small streams of drawn photos through the engine that runs real ones; it takes
seconds and needs no weights. Each check is a generator of flaws: no flaw, passed.
"""

from __future__ import annotations

import inspect
import json
import math
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from forget_me_not.models import metrics
from forget_me_not.models.check_run import (
    Observed,
    Run,
    copied,
    difference,
    learn,
    own_randomness,
    tensors_of,
    through_disk,
    timeless,
)
from forget_me_not.models.check_streams import EASY, RETURNING, Ground, ground, line_in
from forget_me_not.models.core import Log, Prediction, Problem, Reads, parameter_count
from forget_me_not.models.events import Evaluated, Finished, Stopped, TaskFinished, from_json, to_json
from forget_me_not.models.registry import Card, Setting

ENOUGH = 0.9
"""Learning accuracy a sane learner reaches on well separated classes."""
LOOKS = 4
"""Reads of photos between two yields: tokens, feature, and two to spare."""
CLOSE = 1e-4
"""Rounding: matrix products of another shape may differ by this share of the largest logit."""
TIE = 1e-5
SHOWN = 3
"""Flaws a result tells of at most."""


@dataclass(frozen=True)
class Result:
    """One check: what a method has to do, whether it did, and where not, a sentence on what went wrong."""

    name: str
    passed: bool
    detail: str = ""


class Bench:
    """A method with its settings on the easy stream, and what was observed there.

    moved: global random states that learning moved.
    """

    def __init__(self, card: Card, settings: Mapping[str, Any] | None, device: str):
        self.card, self.device, self.settings = card, device, card.read(settings or {})
        self.file = inspect.getsourcefile(card.learner) or ""
        self.easy = self.ground(EASY, patch=16, layer_scale=1.0)
        self.frozen = _frozen(self.easy)
        self.moved: list[str] = []

    def ground(self, tasks: tuple[tuple[int, ...], ...], patch: int, layer_scale: float | None) -> Ground:
        """A fresh stream for this method."""
        return ground(tasks, patch=patch, layer_scale=layer_scale, device=self.device, file=self.file)

    def learner(self, on: Ground | None = None) -> Observed:
        """A new instance of the method."""
        on = on or self.easy
        return Observed(self.card.learner(on.vit, **self.settings), on)

    @cached_property
    def reference(self) -> tuple[Observed, Run]:
        """The learner and the run all others are compared with."""
        with own_randomness() as moved:
            learner = self.learner()
            run = learn(self.easy, learner)
        self.moved = moved
        return learner, run


def check_method(card: Card, settings: Mapping[str, Any] | None = None, device: str = "cpu") -> Iterator[Result]:
    """Results of all checks, one by one. settings: text or values over the defaults; device: where the ViT lives.

    When the method cannot even be run, the checks that need a run are left out. Problem: setting_bad, setting_unknown.
    """
    bench = Bench(card, settings, device)
    for name, judge in CHECKS.items():
        try:
            with own_randomness():
                flaws = list(islice(judge(bench), SHOWN))
        except Exception as error:  # a person's own class may do anything
            flaws = [_told(error, bench)]
        yield Result(name, not flaws, " ".join(flaws))
        if flaws and judge is runs:
            return


def _told(error: Exception, bench: Bench) -> str:
    what = error.code if isinstance(error, Problem) else type(error).__name__
    return f"It stopped with {what}{line_in(bench.file, traceback.extract_tb(error.__traceback__))}: {error}."


def settings_are_sound(bench: Bench) -> Iterator[str]:
    """Defaults in their range, everything read back from text, presets that exist, and choices a learner can be made with."""
    for s in bench.card.settings:
        yield from _setting(s)
    known = {s.name: s for s in bench.card.settings}
    tried: list[dict[str, Any]] = [{s.name: c} for s in bench.card.settings for c in _choices(s)]
    for preset, values in bench.card.presets.items():
        for name, value in values.items():
            if name not in known:
                yield f"Preset '{preset}' sets '{name}', which is no setting; there are {', '.join(known) or 'none'}."
            elif not _reads_as(known[name], value):
                yield f"Preset '{preset}' sets {name} to {value!r}, which that setting does not take."
        tried.append({"preset": preset})
    for given in tried:
        try:
            bench.card.learner(bench.easy.vit, **bench.card.read(given))
        except Exception as error:
            yield f"With {', '.join(f'{k} = {v}' for k, v in given.items())} no learner can be made. {_told(error, bench)}"


def _setting(s: Setting) -> Iterator[str]:
    if not _reads_as(s, s.default):
        wanted = ", ".join(map(str, s.choices)) if s.kind == "choice" else f"{s.low} to {s.high}"
        yield f"The default of {s.name}, {s.default!r}, is not what its range allows ({wanted})."
    if s.kind in ("int", "float") and not (s.low < s.high and (s.low > 0 or not s.log)):
        yield f"The slider of {s.name} goes from {s.low} to {s.high}{', on a log scale' if s.log else ''}: it cannot be drawn."
    if not s.help:
        yield f"{s.name} has no help: add the line '    {s.name}: what it does' under 'Args:' in the class docstring."


def _choices(s: Setting) -> tuple[Any, ...]:
    return s.choices if s.kind == "choice" else (True, False) if s.kind == "bool" else ()


def _reads_as(s: Setting, value: Any) -> bool:
    try:
        read = s.read(str(value))
    except Problem:
        return False
    return read == value and type(read) is type(s.default)


def only_a_bound_sees_all(bench: Bench) -> Iterator[str]:
    """A learner that is given the photos of old tasks again is a bound, and its card says so."""
    if bench.card.sees not in ("task", "all so far"):
        yield f"`sees` is {bench.card.sees!r}; it can be 'task' or, for a bound, 'all so far'."
    if bench.card.sees == "all so far" and not bench.card.bound:
        yield "It asks for the photos of all tasks so far, so it is a bound and no learner: register it with bound=True."


def runs(bench: Bench) -> Iterator[str]:
    """It learns three tasks of one, two and three classes, uneven in photos, and is tested after each."""
    learner, run = bench.reference
    if not isinstance(learner.reads, Reads) or not -1 <= learner.reads.cut <= bench.easy.vit.depth:
        yield f"`reads` is {learner.reads!r}; it has to be a Reads with a cut from -1 to the number of blocks."
    if run.failed:
        yield f"It gave up in task {run.failed.task + 1} with the problem '{run.failed.code}' {dict(run.failed.values)}."
    elif not isinstance(run.events[-1], Finished):
        yield f"The run ended with {type(run.events[-1]).__name__} instead of Finished."


def learns(bench: Bench) -> Iterator[str]:
    """Right after each task it knows that task's photos, of all classes so far."""
    yield from _learns(bench.reference[1])


def learns_returning_classes(bench: Bench) -> Iterator[str]:
    """The same where classes come back in another light, on a ViT of another patch size without layer scale."""
    on = bench.ground(RETURNING, patch=14, layer_scale=None)
    learner = bench.learner(on)
    run = learn(on, learner)
    if run.failed:
        yield f"It gave up in task {run.failed.task + 1} with the problem '{run.failed.code}' {dict(run.failed.values)}."
        return
    yield from _learns(run)
    yield from islice(_answer_flaws(learner, on), 1)


def _learns(run: Run) -> Iterator[str]:
    rows = [e for e in run.events if isinstance(e, Evaluated)]
    R = metrics.matrix([e.correct for e in rows], [e.total for e in rows])
    if (accuracy := metrics.learning_accuracy(R)) is None or accuracy < ENOUGH:
        each = ", ".join(f"{R[t][t]:.0%}" for t in range(len(R)))
        yield f"Right after learning them it knows {each} of the photos of tasks 1 to {len(R)}, on average {accuracy:.0%};"
        yield f"the classes are easy to tell apart, so {ENOUGH:.0%} is the least to expect."


def answers_are_well_formed(bench: Bench) -> Iterator[str]:
    """Logits (B, C) over the classes seen so far; modules, answers and routes of the shapes core.Prediction names."""
    yield from _answer_flaws(bench.reference[0], bench.easy)


def _answer_flaws(learner: Observed, on: Ground) -> Iterator[str]:
    told = set()
    for tasks, prediction, photos in learner.asked:
        for flaw in _prediction(prediction, photos, on.seen(tasks), tasks):
            if flaw not in told:
                told.add(flaw)
                yield f"After task {tasks}: {flaw}"


def _prediction(p: Prediction, B: int, seen: Tensor, T: int) -> Iterator[str]:
    C = int(seen.max()) + 1
    if tuple(p.logits.shape) != (B, C):
        yield f"logits have the shape {tuple(p.logits.shape)}; {B} photos and {C} classes seen so far make ({B}, {C})."
    elif not p.logits.is_floating_point():
        yield f"logits are {p.logits.dtype}; they have to be floating point."
    elif p.logits.isnan().any() or p.logits.eq(math.inf).any():
        yield "logits hold NaN or infinity."
    elif p.logits.eq(-math.inf).all(-1).any():
        yield "some photo has -inf for every class."
    if p.answers is not None and tuple(p.answers.shape) != (B, T, C):
        yield f"answers have the shape {tuple(p.answers.shape)}; {B} photos, {T} tasks and {C} classes make ({B}, {T}, {C})."
    elif p.answers is not None and p.answers.isnan().any():
        yield "answers hold NaN."
    for name, module in ({"module": p.module} | {f"routes['{n}']": m for n, m in p.routes.items()}).items():
        if module is None:
            continue
        if tuple(module.shape) != (B,) or module.dtype != torch.long:
            yield f"{name} is {module.dtype} of shape {tuple(module.shape)}; it has to be int64 of shape ({B},)."
        elif module.min() < 0 or module.max() >= T:
            yield f"{name} holds {int(module.min())} to {int(module.max())}; modules are numbered 0 to {T - 1}."


def neighbours_do_not_matter(bench: Bench) -> Iterator[str]:
    """A photo gets the same answer alone, beside photos of its class, and beside any others."""
    learner, photos = bench.reference[0], bench.easy.tested(len(EASY))
    order = torch.randperm(len(photos), generator=torch.Generator().manual_seed(5))
    whole = tensors_of(learner.ask(photos))
    alone = [tensors_of(learner.ask(photos[i : i + 1])) for i in range(len(photos))]
    views = {
        "alone": {k: torch.cat([a[k] for a in alone]) for k in whole},
        "in shuffled batches": {k: v[order.argsort()] for k, v in tensors_of(learner.ask(photos[order])).items()},
    }
    for view, other in views.items():
        for name in ("logits", "answers"):
            if name in whole and (changed := int(_changed(whole[name], other[name]).sum())):
                yield (
                    f"{changed} of {len(photos)} photos get other {name} {view} than in one batch sorted by class: "
                    "an answer must not depend on the photos beside it."
                )


def _changed(a: Tensor, b: Tensor) -> Tensor:
    """(B,) photos whose numbers (B, …, C) differ by more than rounding, or whose class differs though it is no tie."""
    finite = torch.where(a.isfinite(), a, 0).abs().flatten(1)
    apart = (torch.where(a == b, 0, (a - b).abs()).flatten(1) > CLOSE * finite.amax(1, keepdim=True)).any(1)
    if a.ndim > 2 or a.shape[1] < 2:
        return apart
    first, second = a.topk(2).values.unbind(1)
    return apart | ((a.argmax(1) != b.argmax(1)) & (first - second > TIE * first.abs()))


def asking_changes_nothing(bench: Bench) -> Iterator[str]:
    """Asked twice it says the same to the last bit, and its state is what it was."""
    learner, photos = bench.reference[0], bench.easy.tested(len(EASY))
    before = copied(learner.state_dict())
    first, second = tensors_of(learner.ask(photos)), tensors_of(learner.ask(photos))
    if name := difference(first, second):
        yield f"Asked about the same photos twice, it gave other {name} the second time: predict must not draw or change."
    if name := difference(before, copied(learner.state_dict())):
        yield f"predict changed '{name}' of the state."


def keeps_to_its_photos(bench: Bench) -> Iterator[str]:
    """Learning looks at the photos of its own task only, answering at those it is asked about: test photos are never seen."""
    bench.reference  # noqa: B018 - what it did was noted then
    for who, photos, line in dict.fromkeys(bench.easy.source.trespasses):
        yield f"{who} looked at {photos} photos that are not its own, test photos or photos of another task{line}."


def same_seed_same_run(bench: Bench) -> Iterator[str]:
    """A second instance with the same seed gives the same events, states and answers, bit for bit."""
    first, second = bench.reference[1], learn(bench.easy, bench.learner())
    yield from _same_run(first, second, range(len(EASY)), "A second run with the same seed")
    a, b = (Finished({**r.events[-1].metrics, "seconds": None}) for r in (first, second))
    if a != b:
        yield "A second run with the same seed ended with other metrics: draw from the generator `fit_task` is given."


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
    run = bench.reference[1]
    last = sum(turn.task == 1 for turn in bench.reference[0].turns) - 1  # yields of fit_task in task 2
    learner = bench.learner()
    empty = copied(learner.state_dict())
    learn(bench.easy, learner, close=lambda: len(learner.turns) == 1)
    if name := difference(empty, copied(learner.state_dict())):
        yield f"Closed inside the first task, '{name}' of its state is not as before: change self only after the last yield."
        return
    learner = bench.learner()
    learner.load_state_dict(through_disk(run.kept[0].copy))
    done = run.before(1)
    for how, told in (
        ("Stopped by flag", {"stop": lambda: len(learner.turns) >= last}),
        ("Closed while it was tested", {"close": lambda: bool(learner.asked)}),
    ):
        learner.turns.clear()
        learner.asked.clear()
        events = learn(bench.easy, learner, upto=2, done=done, **told).events
        if how == "Stopped by flag" and not isinstance(events[-1], Stopped):
            yield "It could not be stopped inside the second task."
            return
        if name := difference(run.kept[0].copy, copied(learner.state_dict())):
            yield f"{how} in the second task, '{name}' of its state is not as before."
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
    if name := difference(bench.frozen, _frozen(bench.easy)):
        yield f"It changed '{name}' of the frozen ViT, which all methods share: use an Edit."
    if any(p.requires_grad for p in network.parameters()) or network.training:
        yield "It left the frozen ViT in training mode or asking for gradients."


def _frozen(on: Ground) -> dict[str, Tensor]:
    neck = {} if on.vit.neck is None else {"neck.weight": on.vit.neck[0], "neck.bias": on.vit.neck[1]}
    return copied(on.vit.network.state_dict() | neck)


def starts_as_the_frozen_network(bench: Bench) -> Iterator[str]:
    """Where the card says identity: the first edit it uses, before any step, gives the frozen feature."""
    bench.reference  # noqa: B018
    moved = bench.easy.vit.first_move
    if not bench.card.identity:
        return
    if moved is None:
        yield "Its card says identity, but no edit ever reached the ViT."
    elif moved > TIE:
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


CHECKS: dict[str, Callable[[Bench], Iterator[str]]] = {
    "settings are sound": settings_are_sound,
    "only a bound sees old photos": only_a_bound_sees_all,
    "runs from the first task to the last": runs,
    "learns easy classes": learns,
    "learns classes that come back": learns_returning_classes,
    "answers are well formed": answers_are_well_formed,
    "answers ignore the photos beside": neighbours_do_not_matter,
    "asking changes nothing": asking_changes_nothing,
    "looks at its own photos only": keeps_to_its_photos,
    "same seed, same run": same_seed_same_run,
    "global randomness is left alone": global_randomness_untouched,
    "goes on where it stopped": goes_on_where_it_stopped,
    "a stop leaves no trace": a_stop_leaves_no_trace,
    "states handed out keep their numbers": states_are_never_written_into,
    "state is plain and named by task": state_is_plain,
    "events survive JSON": events_survive_json,
    "the frozen network stays frozen": frozen_stays_frozen,
    "starts as the frozen network": starts_as_the_frozen_network,
    "lets others breathe": lets_others_breathe,
}
