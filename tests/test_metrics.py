"""Metrics against matrices worked by hand."""

import math

import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from forget_me_not.models import metrics
from forget_me_not.models.events import Diagnosed, Evaluated, Resumed, RunStarted, Step, TaskFinished

CORRECT = [(8,), (6, 9), (4, 10, 10)]
TOTAL = [(10,), (10, 10), (10, 10, 20)]
R = [[0.8, None, None], [0.6, 0.9, None], [0.4, 1.0, 0.5]]


def test_a_matrix_worked_by_hand():
    assert metrics.matrix(CORRECT, TOTAL) == R
    assert metrics.last_accuracy(CORRECT, TOTAL) == 24 / 40
    assert metrics.last_accuracy_tasks(R) == pytest.approx((0.4 + 1.0 + 0.5) / 3)
    assert metrics.average_accuracy(CORRECT, TOTAL) == pytest.approx((8 / 10 + 15 / 20 + 24 / 40) / 3)
    assert metrics.forgetting(R) == pytest.approx(((0.8 - 0.4) + (0.9 - 1.0)) / 2)  # .15
    assert metrics.bwt(R) == pytest.approx(((0.4 - 0.8) + (1.0 - 0.9)) / 2)  # -.15
    assert metrics.learning_accuracy(R) == pytest.approx((0.8 + 0.9 + 0.5) / 3)
    assert metrics.stability(R) == pytest.approx(0.85)
    assert metrics.plasticity(R) == metrics.learning_accuracy(R)


def test_forgetting_takes_the_best_before_the_last_row_and_bwt_the_diagonal():
    rising = [[0.5, None, None], [0.9, 0.6, None], [0.7, 0.6, 0.8]]
    assert metrics.forgetting(rising) == pytest.approx(((0.9 - 0.7) + 0) / 2)
    assert metrics.bwt(rising) == pytest.approx(((0.7 - 0.5) + 0) / 2)


def test_forgetting_is_negative_where_old_tasks_get_better():
    better = [[0.5, None], [0.75, 1.0]]
    assert metrics.forgetting(better) == -0.25
    assert metrics.stability(better) == 1.25


def test_one_task_has_nothing_to_forget():
    assert metrics.forgetting([[0.8]]) is None
    assert metrics.bwt([[0.8]]) is None
    assert metrics.stability([[0.8]]) is None
    assert metrics.learning_accuracy([[0.8]]) == 0.8
    assert metrics.last_accuracy([(8,)], [(10,)]) == 0.8


def test_no_task_has_no_numbers():
    assert metrics.matrix([], []) == []
    for number in (metrics.last_accuracy, metrics.average_accuracy):
        assert number([], []) is None
    for number in (metrics.last_accuracy_tasks, metrics.forgetting, metrics.bwt, metrics.learning_accuracy):
        assert number([]) is None


def test_only_the_new_task_judged_gives_learning_accuracy_alone():
    correct, total = [(8,), (0, 9)], [(10,), (0, 10)]
    only_new = metrics.matrix(correct, total)
    assert only_new == [[0.8, None], [None, 0.9]]
    assert metrics.learning_accuracy(only_new) == pytest.approx(0.85)
    assert metrics.last_accuracy(correct, total) is None
    assert metrics.forgetting(only_new) is None


def test_tasks_not_learnt_yet_do_not_count():
    correct, total = [(8, 0), (6, 9)], [(10, 10), (10, 10)]
    assert metrics.matrix(correct, total) == [[0.8, None], [0.6, 0.9]]
    assert metrics.average_accuracy(correct, total) == pytest.approx((0.8 + 0.75) / 2)


@pytest.mark.parametrize(
    ("correct", "total", "low", "high"),
    [(8, 10, 0.4902, 0.9433), (5, 10, 0.2366, 0.7634), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_as_in_the_tables(correct, total, low, high):  # the last line is Newcombe 1998, table I
    assert metrics.wilson(correct, total) == pytest.approx((low, high), abs=5e-5)


def test_students_points_are_those_of_scipy():
    assert [metrics.student(f) for f in range(1, 21)] == pytest.approx(stats.t.ppf(0.975, range(1, 21)), abs=6e-4)
    assert metrics.student(1000) == metrics.student(20)


def test_wilson_of_no_photos_is_everything():
    assert metrics.wilson(0, 0) == (0.0, 1.0)


@settings(deadline=None)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share_and_is_symmetric(counts):
    correct, total = counts
    low, high = metrics.wilson(correct, total)
    assert 0 <= low <= correct / total <= high <= 1
    assert metrics.wilson(total - correct, total) == pytest.approx((1 - high, 1 - low))


def test_a_tie_is_a_difference_the_intervals_cover():
    assert metrics.tie((56, 70), (48, 80)) is False  # Newcombe 1998, example a: .0524 to .3339
    assert metrics.tie((88, 100), (86, 100)) is True
    assert metrics.tie((0, 0), (9, 10)) is True
    assert metrics.tie((0, 10), (10, 10)) is False


@settings(deadline=None)
@given(*[st.integers(0, 40)] * 2)
def test_a_tie_has_no_order_and_nothing_beats_itself(a, b):
    assert metrics.tie((a, 40), (b, 40)) == metrics.tie((b, 40), (a, 40))
    assert metrics.tie((a, 40), (a, 40))


def evaluated(task, correct, total, routing=0.9):
    route = {"routing": routing, "right": 0.95, "wrong": 0.4, "accuracy": sum(correct) / sum(total)}
    return Evaluated(task, correct, total, {"answer": route}, oracle=0.97, batch_vote=0.93)


def test_summary_of_a_run_with_modules():
    seconds = {"encode": 1.0, "train": 2.0, "evaluate": 0.5}
    got = metrics.summary(
        [
            RunStarted("tosca", 0, ("a", "b"), ("a", "b"), ((0,), (1,)), (20, 20), (10, 10)),
            Step(0, 1, 1, 0.5),
            Evaluated(0, (8,), (10,)),
            Diagnosed(0, {"zeros": 0.2, "displacement": 0.1}),
            TaskFinished(0, seconds, 100, 1000),
            evaluated(1, (6, 9), (10, 10)),
            Diagnosed(1, {"zeros": 0.4}),
            TaskFinished(1, seconds, 210, 1900),
        ]
    )
    assert got == {
        "matrix": [[0.8, None], [0.6, 0.9]],
        "last_accuracy": 0.75,
        "last_accuracy_tasks": 0.75,
        "average_accuracy": pytest.approx(0.775),
        "forgetting": pytest.approx(0.2),
        "bwt": pytest.approx(-0.2),
        "learning_accuracy": pytest.approx(0.85),
        "routing_accuracy": 0.9,
        "accuracy_right": 0.95,
        "accuracy_wrong": 0.4,
        "oracle_accuracy": 0.97,
        "batch_vote_accuracy": 0.93,
        "zeros": pytest.approx(0.3),
        "displacement": 0.1,
        "parameters": 210,
        "parameters_per_task": 110,
        "bytes_per_task": 900,
        "seconds": {"encode": 2.0, "train": 4.0, "evaluate": 1.0},
    }


def test_summary_without_modules_leaves_routing_open():
    got = metrics.summary([Evaluated(0, (8,), (10,)), TaskFinished(0, {"train": 1.0}, 100, 1000)])
    open_ = ("forgetting", "bwt", "routing_accuracy", "accuracy_right", "oracle_accuracy", "batch_vote_accuracy", "zeros")
    assert [got[k] for k in open_] == [None] * len(open_)
    assert (got["parameters_per_task"], got["bytes_per_task"]) == (100, 1000)
    assert got["seconds"] == {"encode": 0.0, "train": 1.0, "evaluate": 0.0}


def test_summary_forgets_what_a_resumed_run_does_again():
    def learnt(task, correct, total, zeros):
        return [
            evaluated(task, correct, total),
            Diagnosed(task, {"zeros": zeros}),
            TaskFinished(task, {"train": 1.0}, 10 * task + 10, 0),
        ]

    first, second = learnt(0, (8,), (10,), 0.2), learnt(1, (6, 9), (10, 10), 0.4)
    lost = learnt(1, (1, 1), (10, 10), 0.9)
    assert metrics.summary([*first, *lost, Resumed(1), *second]) == metrics.summary([*first, *second])
    assert metrics.summary([*first, *lost, Resumed(1)]) == metrics.summary(first)
    assert metrics.summary([*lost, Resumed(0), *first, *second]) == metrics.summary([*first, *second])


def test_summary_of_nothing_is_all_open():
    got = metrics.summary([])
    assert got.pop("matrix") == []
    assert got.pop("seconds") == {"encode": 0.0, "train": 0.0, "evaluate": 0.0}
    assert set(got.values()) == {None}


def test_summary_with_a_row_missing_keeps_what_it_knows():
    got = metrics.summary([Evaluated(1, (6, 9), (10, 10))])
    assert got["matrix"] == [[None, None], [0.6, 0.9]]
    assert got["last_accuracy"] == 0.75
    assert got["forgetting"] is None
    assert not any(isinstance(v, float) and math.isnan(v) for v in got.values())
