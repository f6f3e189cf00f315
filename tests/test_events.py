"""Events are plain data: each kind survives JSON, and a reader of another version is not lost."""

import json
from dataclasses import FrozenInstanceError, fields

import pytest

from forget_me_not.models import events
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

EXAMPLES = [
    RunStarted("tosca", 3, ("cat", "dög", "牛"), ("a", "b"), ((0, 1), (2,)), (4, 2), (2, 1), "domain", "new"),
    TaskStarted(0, "cat, dog", 4),
    Encoded(0, "train", 4, 6),
    Step(0, 1, 9, 0.1 + 0.2),
    Step(0, 2, 9, None),
    Evaluated(
        1, (1, 0), (2, 1), {"answer": {"routing": 0.5, "right": None}}, 0.75, None, ((0.1, 0.2), (0.3, 0.4)), ((1, 1), (0, 1))
    ),
    Evaluated(0, (1,), (2,)),
    Diagnosed(0, {"zeros": 1e-300}),
    TaskFinished(0, {"encode": 0.1, "train": 2.5}, 10, 40),
    Resumed(1),
    Stopped(1),
    Failed(1, "disk_full", {"path": "/x", "free": 3, "names": ("a", "b")}),
    Finished({"matrix": ((1.0, None), (0.5, 1.0)), "last_accuracy": 0.75, "seconds": {"train": 1.0}}),
]


def test_there_is_an_example_of_every_kind():
    assert {type(e).__name__ for e in EXAMPLES} == set(events.KINDS)


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda e: type(e).__name__)
def test_an_event_survives_json(event):
    text = json.dumps(to_json(event), allow_nan=False, ensure_ascii=False)
    back = from_json(json.loads(text))
    assert back == event
    assert type(back) is type(event)
    assert list(json.loads(text)) == ["event", *(f.name for f in fields(event))]


def test_floats_come_back_to_the_last_bit():
    assert from_json(json.loads(json.dumps(to_json(Step(0, 1, 1, 0.1 + 0.2))))).loss == 0.1 + 0.2


def test_unknown_fields_are_ignored_and_missing_ones_take_their_default():
    assert from_json({"event": "Stopped", "task": 2, "mood": "tired"}) == Stopped(2)
    assert from_json({"event": "Evaluated", "task": 0, "correct": [1], "total": [2]}) == Evaluated(0, (1,), (2,))


@pytest.mark.parametrize("data", [{}, {"event": "Danced", "task": 1}, {"event": None}])
def test_an_unknown_event_is_refused(data):
    with pytest.raises(ValueError, match="unknown event"):
        from_json(data)


def test_events_do_not_change():
    with pytest.raises(FrozenInstanceError):
        Stopped(1).task = 2
