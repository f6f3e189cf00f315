"""A run from facts to events: on disk before it is told, continued behind its whole tasks, the same as one never broken."""

import json
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from forget_me_not.models import experiment, registry
from forget_me_not.models.encoder import FeatureTable
from forget_me_not.models.events import Encoded, Finished, Resumed, RunStarted, Step, Stopped, TaskFinished
from forget_me_not.models.metrics import summary
from forget_me_not.models.store import RunFolder
from forget_me_not.models.stream import build, plan

CLASSES, PHOTOS = 6, 9
SETTINGS = {"epochs": 3}


@pytest.fixture(scope="module")
def table():
    rng = torch.Generator().manual_seed(0)
    centres = F.normalize(torch.randn(CLASSES, 1, 16, generator=rng), dim=-1) * 3
    return FeatureTable((centres + torch.randn(CLASSES, PHOTOS, 16, generator=rng) * 0.6).flatten(0, 1), "print")


@pytest.fixture(scope="module")
def planned():
    return plan([f"c{i // PHOTOS}" for i in range(CLASSES * PHOTOS)], range(CLASSES * PHOTOS), per_task=2, seed=1)


def facts(planned, method="tosca", seed=1):
    settings = registry.card(method).read(SETTINGS if method == "tosca" else {})
    return experiment.facts(method, settings, seed, planned, [str(i) for i in range(CLASSES * PHOTOS)], "print", size=112)


def conduct(planned, table, folder, stop=lambda: False, method="tosca"):
    run = facts(planned, method)
    return experiment.conduct(build(planned, table), method, run["settings"], run["seed"], folder, stop)


def timeless(events):
    out = []
    for e in events:
        if isinstance(e, TaskFinished):
            e = replace(e, seconds={})
        if isinstance(e, Finished):
            e = Finished({**e.metrics, "seconds": {}})
        if e is not None and not isinstance(e, (Encoded, Resumed, Stopped)):
            out.append(e)
    return out


@pytest.fixture(scope="module")
def whole(planned, table, tmp_path_factory):
    folder = RunFolder.create(tmp_path_factory.mktemp("whole"), facts(planned))
    return list(conduct(planned, table, folder)), folder


def test_facts_are_json_and_name_everything_a_run_depends_on(planned):
    found = json.loads(json.dumps(facts(planned)))
    assert found["method"] == "tosca"
    assert found["settings"]["epochs"] == 3
    assert found["settings"]["lr"] == 0.025  # complete, with the defaults
    assert found["size"] == 112
    assert [t["classes"] for t in found["tasks"]] == [[0, 1], [2, 3], [4, 5]]
    assert len(found["tasks"][0]["train"]) == 12
    assert found["fingerprint"] == "print"
    assert set(found["versions"]) == {"python", *experiment.PACKAGES}
    assert found["versions"]["torch"] == torch.__version__.split("+")[0] or found["versions"]["torch"] == torch.__version__


def test_without_a_folder_it_is_the_same_run(planned, table, whole):
    assert timeless(conduct(planned, table, None)) == timeless(whole[0])


def test_an_event_is_on_disk_before_it_is_told(planned, table, tmp_path):
    folder = RunFolder.create(tmp_path, facts(planned))
    told = 0
    for event in conduct(planned, table, folder):
        told += event is not None
        assert len(RunFolder.open(tmp_path).events()) == told
        if isinstance(event, TaskFinished):
            assert RunFolder.open(tmp_path).finished() == event.task + 1


def test_a_finished_run_has_nothing_to_say(planned, table, whole):
    events, folder = whole
    assert isinstance(events[-1], Finished)
    assert list(conduct(planned, table, RunFolder.open(folder.path))) == []
    assert folder.finished() == 3


@pytest.mark.parametrize("at", [0, 2, 5, 9, 13, 17, 24, 29])
def test_stopped_and_continued_it_is_the_whole_run(planned, table, whole, tmp_path, at):
    count = iter(range(10_000))
    folder = RunFolder.create(tmp_path, facts(planned))
    first = [e for e in conduct(planned, table, folder, stop=lambda: next(count) >= at) if e]
    assert isinstance(first[-1], Stopped)
    again = RunFolder.open(tmp_path)
    second = [e for e in conduct(planned, table, again) if e]
    assert second[0] == Resumed(first[-1].task)
    assert timeless(again.told()) == timeless(whole[0])[:-1]
    a, b = again.state(), whole[1].state()
    assert set(a) == set(b)
    assert all(torch.equal(a[k], b[k]) for k in a)
    for t in range(3):
        a, b = again.answers(t), whole[1].answers(t)
        assert all(torch.equal(a[k], b[k]) for k in b)
    assert {**summary(again.events()), "seconds": 0} == {**summary(whole[0]), "seconds": 0}


@pytest.mark.parametrize("within", [RunStarted, Step])
def test_killed_inside_a_task_it_goes_on_behind_the_last_whole_one(planned, table, whole, tmp_path, within):
    """The process is gone: nobody closes the iterator, the last line is torn."""
    folder = RunFolder.create(tmp_path, facts(planned))
    events = conduct(planned, table, folder)
    for event in events:
        if isinstance(event, within) and getattr(event, "task", 1) == 1:
            break
        if within is RunStarted and isinstance(event, RunStarted):
            break
    with (tmp_path / "events.jsonl").open("a") as lines:
        lines.write('{"n": 99, "t": 1, "ev')
    again = RunFolder.open(tmp_path)
    list(conduct(planned, table, again))
    assert timeless(again.told()) == timeless(whole[0])[:-1]
    events.close()


def test_a_learner_that_is_already_made_can_be_followed(planned, table, tmp_path):
    learner = registry.card("simplecil").learner(table.vit)
    folder = RunFolder.create(tmp_path, facts(planned, "simplecil"))
    followed = list(experiment.follow(build(planned, table), learner, "simplecil", 1, folder))
    assert timeless(followed) == timeless(conduct(planned, table, None, method="simplecil"))
    rows = [
        e
        for e in experiment.follow(build(planned, table), registry.card("simplecil").learner(table.vit), "x", 1, evaluate="new")
        if e
    ]
    assert rows[0].evaluate == "new"
