"""Numbers of the plasticity track, worked by hand."""

import pytest

from forget_me_not.models.events import Evaluated, Resumed, TaskStarted
from forget_me_not.models.plasticity import summary


def test_new_task_accuracy_reads_the_newest_task_and_what_was_taken_back_does_not_count():
    events = [
        Evaluated(0, (8,), (10,)),
        TaskStarted(1, "b", 5),
        Evaluated(1, (0, 5), (0, 10)),
        Resumed(1),
        Evaluated(1, (0, 6), (0, 10)),
        Evaluated(2, (0, 0, 0), (0, 0, 0)),
    ]
    assert summary.new_task_accuracy(events) == [0.8, 0.6, None]
    assert summary.new_task_accuracy([]) == []


def test_average_late_slope_and_gap():
    falling = [0.9, 0.8, 0.7, 0.6, 0.5]
    assert summary.average(falling) == pytest.approx(0.7)
    assert summary.late(falling) == 0.5  # a fifth of five tasks
    assert summary.late(falling, 0.4) == pytest.approx(0.55)
    assert summary.late([0.3]) == 0.3
    assert summary.slope(falling) == pytest.approx(-0.1)
    assert summary.slope([0.4, 0.6, 0.5]) == pytest.approx(0.05)
    assert summary.gaps(falling, [0.9, 0.9, 0.9]) == pytest.approx([0.0, 0.1, 0.2])


def test_what_is_not_known_is_none():
    assert summary.average([]) is None
    assert summary.average([0.5, None]) is None
    assert summary.slope([0.5]) is None
    assert summary.late([0.5, None]) is None
    assert summary.gaps([None, 0.5], [0.5, 1.0]) == [None, 0.5]
