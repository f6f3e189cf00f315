"""Checks of what a method is and what it says: its settings, its accuracy, its answers, and whose photos it looks at."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from forget_me_not.models import metrics
from forget_me_not.models.check_run import Bench, Run, copied, difference, tensors_of, told
from forget_me_not.models.check_streams import EASY
from forget_me_not.models.core import Prediction, Problem, Reads
from forget_me_not.models.events import Evaluated, Finished
from forget_me_not.models.registry import Setting

ENOUGH = 0.9
"""Learning accuracy a sane learner reaches on well separated classes."""
CLOSE, TINY = 1e-4, 1e-5
"""Rounding: products of another shape may differ by this share of the largest logit, and by this much of logits near 0."""
TIE = 1e-5
"""Two logits closer than this share are a tie, and either class may be the answer."""


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
            yield f"With {', '.join(f'{k} = {v}' for k, v in given.items())} no learner can be made. {told(error, bench)}"


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
    _, run = bench.returning
    if run.failed:
        yield f"It gave up in task {run.failed.task + 1} with the problem '{run.failed.code}' {dict(run.failed.values)}."
    else:
        yield from _learns(run)


def _learns(run: Run) -> Iterator[str]:
    rows = [e for e in run.events if isinstance(e, Evaluated)]
    R = metrics.matrix([e.correct for e in rows], [e.total for e in rows])
    if (accuracy := metrics.learning_accuracy(R)) is None or accuracy < ENOUGH:
        each = ", ".join(f"{R[t][t]:.0%}" for t in range(len(R)))
        yield f"Right after learning them it knows {each} of the photos of tasks 1 to {len(R)}, on average {accuracy:.0%};"
        yield f"the classes are easy to tell apart, so {ENOUGH:.0%} is the least to expect."


def answers_are_well_formed(bench: Bench) -> Iterator[str]:
    """Logits (B, C) over the classes seen so far; modules, answers and routes of the shapes core.Prediction names."""
    for learner, _ in (bench.reference, bench.returning):
        flaws = {}
        for tasks, prediction, photos in learner.asked:
            for flaw in _prediction(prediction, photos, learner.ground.seen(tasks), tasks):
                flaws.setdefault(flaw, f"After task {tasks}: {flaw}")
        yield from flaws.values()


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
    apart = (torch.where(a == b, 0, (a - b).abs()).flatten(1) > TINY + CLOSE * finite.amax(1, keepdim=True)).any(1)
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
