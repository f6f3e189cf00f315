"""A task is learnt whole or not at all: stopped, closed, failed or out of disk, a run goes on as if nothing had been."""

import pytest
import torch
from engine_made import Spy, stream, timeless, told, vit_of

from forget_me_not.models.core import Problem, Stream, rng_for
from forget_me_not.models.engine import run
from forget_me_not.models.events import Evaluated, Failed, Finished, Stopped, TaskFinished
from forget_me_not.models.methods.simplecil import SimpleCIL
from forget_me_not.models.methods.tosca import Tosca


def state_of(method):
    return {k: v.clone() for k, v in method.state_dict().items()}


def same(a, b):
    return set(a) == set(b) and all(torch.equal(a[k], b[k]) for k in a)


@pytest.mark.parametrize("at", range(0, 40, 3))
def test_stopped_anywhere_it_goes_on_as_if_nothing_had_been(at):
    s = stream()
    whole, reference = timeless(run(s, m := Tosca(vit_of(s), epochs=2), seed=2)), state_of(m)
    method, count = Tosca(vit_of(s), epochs=2), iter(range(1000))
    first = told(run(s, method, seed=2, stop=lambda: next(count) >= at))
    if not isinstance(first[-1], Stopped):
        assert timeless(first) == whole
        return
    finished = [e for e in first if isinstance(e, TaskFinished)]
    assert first[-1].task == len(finished)
    assert len({k.split(".")[1] for k in method.state_dict() if k.startswith("module")}) == len(finished)
    ends = [i for i, e in enumerate(first) if isinstance(e, TaskFinished)]
    done = first[: ends[-1] + 1] if ends else []
    rest = told(run(s, method, seed=2, done=done))
    assert timeless([*done, *rest]) == whole
    assert same(state_of(method), reference)


def test_closing_puts_the_method_back():
    s = stream()
    method = Tosca(vit_of(s), epochs=2)
    events, before = run(s, method), None
    for event in events:
        if isinstance(event, TaskFinished):
            before = state_of(method)
        if isinstance(event, Evaluated) and event.task == 1:
            assert len(method.modules) == 2
            events.close()
    assert same(state_of(method), before)


def test_a_problem_ends_the_run_with_failed_and_the_method_as_before():
    s = stream()
    spy = Spy(vit_of(s), fails=Problem("disk_full", path="/x"))
    events = told(run(s, spy))
    assert events[-1] == Failed(1, "disk_full", {"path": "/x"})
    assert spy.head.seen == 2


def test_any_other_error_is_raised_and_the_method_as_before():
    s = stream()
    spy = Spy(vit_of(s), fails=ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        list(run(s, spy))
    assert spy.head.seen == 2


def test_a_disk_that_is_full_while_saving_leaves_the_task_unlearnt():
    s = stream()
    method = SimpleCIL(vit_of(s))

    def save(task, state, answers):
        if task == 1:
            raise Problem("disk_full", path="/x")

    events = told(run(s, method, save=save))
    assert events[-1] == Failed(1, "disk_full", {"path": "/x"})
    assert not any(isinstance(e, Evaluated) and e.task == 1 for e in events)
    assert method.head.seen == 2


def test_each_task_has_its_own_generator():
    s = stream()
    a, b = Spy(vit_of(s)), Spy(vit_of(s))
    list(run(s, a, seed=1))
    done = [e for e in told(run(Stream(s.tasks[:2], s.classes), b, seed=1)) if not isinstance(e, Finished)]
    b.drawn.clear()
    list(run(s, b, seed=1, done=done))
    assert torch.equal(a.drawn[2], b.drawn[0])
    numbers = {(seed, task): float(torch.rand(1, generator=rng_for(seed, task))) for seed in range(9) for task in range(9)}
    assert len(set(numbers.values())) == 81
