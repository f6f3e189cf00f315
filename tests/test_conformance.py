"""Every registered method passes the conformance suite, and methods with one planted fault fail the check it is for."""

import random
import time

import pytest
import torch
from faults_of_conduct import DrawsGlobally, LooksAtTestPhotos, MakesALinearLayer, SeedsGlobally
from faults_of_form import BreaksInTheSecondTask, SaysOneClassTooMany
from plain_method import Plain

from forget_me_not.models import registry
from forget_me_not.models.check import CHECKS, Result, check_method
from forget_me_not.models.core import Problem
from forget_me_not.models.registry import Card, settings_of


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", sorted(registry.cards()))
def test_every_registered_method_conforms(name):
    began = time.process_time()
    results = list(check_method(registry.card(name)))
    assert [r for r in results if not r.passed] == []
    assert [r.name for r in results] == list(CHECKS)
    assert time.process_time() - began < 15  # under 5 on a machine that does nothing else


def card(learner, **facts):
    return Card(name="mine", title="Mine", family="Tests", line="", learner=learner, sees=getattr(learner, "sees", "task"),
                settings=settings_of(learner), **facts)  # fmt: skip


def failed(learner, settings=None, **facts) -> dict[str, str]:
    """Name -> detail of the checks that failed."""
    return {r.name: r.detail for r in check_method(card(learner, **facts), settings) if not r.passed}


def test_the_sound_method_passes():
    results = list(check_method(card(Plain)))
    assert all(r == Result(r.name, True) for r in results)
    assert len(results) == len(CHECKS)


FAULTS = Plain.__subclasses__()
"""Those of both files that are imported above."""


@pytest.mark.parametrize("learner", FAULTS, ids=lambda c: c.__name__)
def test_a_planted_fault_fails_its_check_and_no_other(learner):
    found = failed(learner, **dict(getattr(learner, "facts", ())))
    assert set(found) == set(learner.fails)
    assert all(detail.endswith(".") for detail in found.values())


def test_every_check_can_fail():
    assert {check for learner in FAULTS for check in learner.fails} == set(CHECKS)


def test_flaws_are_sentences_that_name_the_place():
    detail = failed(LooksAtTestPhotos)["looks at its own photos only"]
    assert detail.startswith("fit_task looked at 3 photos that are not its own")
    assert f"(line {LooksAtTestPhotos.fit_task.__code__.co_firstlineno + 1} of faults_of_conduct.py)" in detail
    assert "KeyError (line " in failed(BreaksInTheSecondTask)["runs from the first task to the last"]
    assert "(4, 2); 4 photos and 1 classes" in failed(SaysOneClassTooMany)["answers are well formed"]
    assert "nn.Linear" in failed(MakesALinearLayer)["global randomness is left alone"]


def test_a_run_that_breaks_ends_the_suite_there():
    results = list(check_method(card(BreaksInTheSecondTask)))
    assert results[-1].name == "runs from the first task to the last"
    assert not results[-1].passed


def test_settings_are_taken_and_refused():
    with pytest.raises(Problem, match="setting_bad"):
        next(check_method(registry.card("finetune"), {"lr": "fast"}))
    found = {r.name: r.passed for r in check_method(registry.card("finetune"), {"epochs": "1", "lr": "0.0001"})}
    assert not found["learns easy classes"]  # a hundredth of the steps at a hundredth of the rate
    assert sum(not passed for passed in found.values()) == 2


def test_the_suite_itself_leaves_no_trace():
    state, drawn = torch.get_rng_state(), random.getstate()
    list(check_method(card(DrawsGlobally)))
    list(check_method(card(SeedsGlobally)))
    assert torch.equal(torch.get_rng_state(), state)
    assert random.getstate() == drawn


@pytest.mark.parametrize("preset", ["starter", "published"])
def test_presets_of_tosca_conform(preset):
    assert [r for r in check_method(registry.card("tosca"), {"preset": preset}) if not r.passed] == []
