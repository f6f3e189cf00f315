"""The queue: one training of a project at a time, projects by turns, and about how long a training waits."""

from dataclasses import dataclass, field

import pytest

from forget_me_not.demo.turns import held_up, lefts, order, share, waits
from forget_me_not.models.events import Encoded, Evaluated, Finished, Resumed, Step, TaskFinished, TaskStarted


@dataclass
class Asked:
    owner: str
    training: str
    created: float


@dataclass
class Turn:
    request: Asked
    status: str = "queued"
    done: float = 0.0
    had: float = 0.0
    spent: float = 0.0


@dataclass
class Line:
    """Trainings named by owner and number: "a1" is a's first, asked for at the time given."""

    times: dict = field(default_factory=dict)

    def __call__(self, *names, **facts):
        return [Turn(Asked(name[0], name, self.times.setdefault(name, len(self.times))), **facts) for name in names]


def test_trainings_of_one_project_come_in_the_order_they_were_asked_for():
    line = Line()
    assert order(line("a1", "a2", "a3"), []) == ["a1", "a2", "a3"]


def test_who_asks_once_does_not_wait_for_all_of_who_asks_often():
    line = Line()
    waiting = line("a1", "a2", "a3", "b1", "c1", "b2")
    assert order(waiting, []) == ["a1", "b1", "c1", "a2", "b2", "a3"]
    assert order(line("a2", "a3", "b1"), line("a1", status="running")) == ["b1", "a2", "a3"]


def test_the_runs_of_a_training_share_one_place():
    line = Line()
    assert order([*line("a1"), *line("a1"), *line("b1")], []) == ["a1", "b1"]


def test_only_the_same_owners_other_training_holds_one_up():
    line = Line()
    (one,) = line("a2")
    assert held_up(one, line("a1"))
    assert not held_up(one, line("b1"))
    assert not held_up(one, line("a2"))
    assert not held_up(one, [])


@pytest.mark.parametrize(("event", "done"), [
    (TaskStarted(1, "", 4), 0.1), (Encoded(1, "train", 5, 10), (1 + 0.125) / 4), (Encoded(1, "test", 5, 10), 0.1),
    (Step(2, 5, 10, None), (2 + 0.25 + 0.335) / 4), (TaskFinished(3, {}, 0, 0), 1.0), (Resumed(2), 0.5),
])  # fmt: skip
def test_how_much_of_a_run_is_done(event, done):
    assert share(event, 4, 0.1) == pytest.approx(done)


def test_waiting_is_what_runs_has_left_and_what_is_ahead_at_its_pace():
    line = Line()
    running = [*line("a1", status="running", done=0.5, spent=10.0), *line("a1", status="running", done=0.75, spent=30.0)]
    waiting = line("a2", "a2", "a3")
    # left: 10 s and 10 s; a whole run takes (20 + 40) / 2 = 30 s, and a2 has two
    assert waits(["a2", "a3"], waiting, running) == {"a2": pytest.approx(20.0), "a3": pytest.approx(80.0)}


def test_what_was_done_before_a_restart_is_no_pace():
    (one,) = Line()("a1", status="running", done=0.75, had=0.5, spent=10.0)
    assert waits(["b1"], Line()("b1"), [one]) == {"b1": pytest.approx(10.0)}


def test_nothing_is_said_before_a_pace_is_known():
    line = Line()
    assert waits(["b1"], line("b1"), line("a1", status="running", done=0.01, spent=1.0)) == {}
    assert waits(["b1"], line("b1"), []) == {}


def test_a_training_ends_when_all_its_runs_have_ended_with_the_turns_of_others_between():
    line = Line()
    own = [*line("a1", done=0.5, spent=10.0), *line("a1", done=0.75, spent=30.0)]  # 10 s and 10 s to come
    assert lefts(own) == {"a1": pytest.approx(20.0)}
    (long,) = line("b1", done=0.1, spent=10.0)  # 90 s to come: while a1 is at work it takes as many turns as one of a1's
    assert lefts([*own, long]) == {"a1": pytest.approx(30.0), "b1": pytest.approx(110.0)}
    (fresh,) = line("b1", done=0.01, spent=1.0)
    assert lefts([*own, fresh]) == {"a1": pytest.approx(30.0)}  # its pace is not known, its turns are counted
    assert lefts([*own, *line("a1", done=0.0, spent=1.0)]) == {}


def test_a_finished_run_is_done_whole():
    assert share(Finished({}), 3, 0.9) == 1.0
    assert share(Evaluated(2, (1,), (2,)), 3, 0.0) == pytest.approx(2.92 / 3)
