"""reduce: what a page knows of a run after each event, for a whole run, a killed one and a stopped one."""

import dataclasses

import pytest
import torch

from forget_me_not.demo.view import RunView, accuracy, overall, reduce, replay, seconds_left, summary
from forget_me_not.models.encoder import FeatureTable
from forget_me_not.models.engine import run
from forget_me_not.models.events import (
    Diagnosed,
    Encoded,
    Evaluated,
    Failed,
    Finished,
    Resumed,
    RunStarted,
    Step,
    Stopped,
    TaskFinished,
    TaskStarted,
    from_json,
    to_json,
)
from forget_me_not.models.registry import cards
from forget_me_not.models.stream import build, plan

START = RunStarted("tosca", 3, ("cat", "dog", "cup", "pen"), ("Pets", "Things"), ((0, 1), (2, 3)), (8, 8), (4, 6))


def task(number, *rows):
    """All events of one task: two loads of photos, two steps, its row."""
    right, total = zip(*rows, strict=True)
    return [
        TaskStarted(number, START.names[number], 8),
        Encoded(number, "train", 4, 8),
        Encoded(number, "train", 8, 8),
        Step(number, 1, 2, 1.5),
        Step(number, 2, 2, 0.5),
        Encoded(number, "test", 4, 4),
        Evaluated(number, right, total),
        Diagnosed(number, {"zeros": 0.25}),
        TaskFinished(number, {"encode": 1.0, "train": 2.0, "evaluate": 1.0}, 100 * (number + 1), 800),
    ]


FIRST, SECOND = task(0, (4, 4)), task(1, (2, 4), (6, 6))
WHOLE = [START, *FIRST, *SECOND, Finished({"last_accuracy": 0.8})]


def test_a_whole_run_becomes_its_matrix_and_numbers():
    view = replay(WHOLE)
    assert view.rows == (((4, 4),), ((2, 4), (6, 6)))
    assert (accuracy(view, 1, 0), accuracy(view, 1, 1), accuracy(view, 0, 1), accuracy(view, 5, 0)) == (0.5, 1.0, None, None)
    assert overall(view, 1) == 0.8
    assert overall(view, 2) is None
    assert view.losses == (((0.5, 1.5), (1.0, 0.5)),) * 2
    assert view.measures == ({"zeros": 0.25},) * 2
    assert (view.stage, view.done, view.task, view.parameters, view.bytes) == ("finished", 2, 2, 200, 800)
    assert summary(view)["metrics"] == {"last_accuracy": 0.8}
    assert summary(view)["seconds"] == 8.0


def test_the_bar_only_grows_inside_a_task_and_never_passes_its_end():
    view, before = replay([START]), -1.0
    for event in FIRST + SECOND:
        view = reduce(view, event)
        now = view.task + view.part
        assert now >= before
        assert 0 <= view.part < 1
        before = now
    assert before == 2


def test_stages_follow_what_the_run_does():
    seen, view = [], RunView()
    for event in [START, *FIRST]:
        view = reduce(view, event)
        seen.append(view.stage)
    assert seen == ["waiting", "encode", "encode", "encode", "train", "train", "train", "judge", "judge", "waiting"]


def test_time_left_is_the_mean_of_tasks_learnt_times_what_remains():
    assert seconds_left(replay([START])) is None
    assert seconds_left(replay([START, *FIRST])) == 4.0
    half = replay([START, *FIRST, SECOND[0], Step(1, 1, 2, 1.0)])
    assert seconds_left(half) == pytest.approx(4.0 * (1 - half.part))
    assert seconds_left(replay(WHOLE)) is None


def test_resuming_forgets_the_torn_task_and_ends_as_if_nothing_had_happened():
    torn = [START, *FIRST, *SECOND[:7], Resumed(1), *SECOND, WHOLE[-1]]
    middle = replay(torn[:-10])
    assert (middle.rows, middle.task, middle.done) == ((((4, 4),),), 1, 1)
    assert dataclasses.replace(replay(torn), resumed=False) == replay(WHOLE)


def test_a_stopped_run_keeps_whole_tasks_only():
    view = replay([START, *FIRST, *SECOND[:5], Stopped(1)])
    assert (view.stage, view.done, len(view.rows), view.losses[1:]) == ("stopped", 1, 1, ())


def test_a_failed_run_says_what_and_a_new_start_forgets_it():
    view = replay([START, Failed(0, "disk_full", {"free": "1 MB"})])
    assert summary(view)["problem"] == {"code": "disk_full", "values": {"free": "1 MB"}}
    assert reduce(view, FIRST[0]).problem is None


def test_a_task_without_losses_leaves_a_gap_not_a_shift():
    view = replay([START, Evaluated(0, (1,), (4,)), TaskFinished(0, {}, 1, 1), Step(1, 1, 1, 0.7), Step(1, 1, 1, None)])
    assert view.losses == ((), ((1.0, 0.7),))


def test_photos_that_are_not_there_have_no_accuracy():
    view = replay([START, Evaluated(0, (0,), (0,))])
    assert accuracy(view, 0, 0) is None
    assert overall(view, 0) is None


@pytest.mark.parametrize("name", ["finetune", "simplecil", "tosca"])
def test_real_runs_reduce_to_what_their_own_events_say(name):
    events = list(real_events(name))
    view = replay(from_json(to_json(event)) for event in events)
    judged = [event for event in events if isinstance(event, Evaluated)]
    assert view.stage == "finished"
    assert view.rows == tuple(tuple(zip(e.correct, e.total, strict=True)) for e in judged)
    assert view.metrics == events[-1].metrics
    assert [len(row) for row in view.rows] == [1, 2, 3]


def real_events(name):
    """A run of three tasks on features that fall into six clear heaps."""
    rng = torch.Generator().manual_seed(5)
    labels = torch.arange(6).repeat_interleave(12)
    features = torch.randn(6, 16, generator=rng)[labels] * 3 + torch.randn(72, 16, generator=rng) * 0.3
    planned = plan([f"thing {c}" for c in labels.tolist()], list(range(72)), per_task=2, seed=1)
    table = FeatureTable(features)
    method = cards()[name].learner(table.vit)
    return [event for event in run(build(planned, table), method, seed=1, name=name) if event is not None]
