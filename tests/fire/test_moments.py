"""Page and worker are killed, files are damaged: after each the project opens and the final matrix is that of a quiet run."""

import pytest

from forget_me_not.demo.soak.damage import CACHE, RUNS
from forget_me_not.demo.soak.fire import Range
from forget_me_not.demo.soak.moments import MOMENTS

pytestmark = [pytest.mark.slow, pytest.mark.alone]


@pytest.fixture(scope="module")
def target(lab):
    return Range(lab)


OFTEN = [moment for moment in MOMENTS if not moment.rare]


@pytest.mark.parametrize("moment", OFTEN, ids=lambda moment: moment.name)
def test_a_kill_changes_nothing(target, moment):
    assert target.shoot(moment).why == ""


def test_damaged_runs_go_on_as_if_nothing_had_been(target):
    assert target.hurt(*RUNS).why == ""


@pytest.mark.parametrize("name", CACHE)
def test_a_damaged_cache_changes_nothing(target, name):
    assert target.hurt(name).why == ""


def test_there_are_twenty_moments_and_both_processes_die():
    assert len(OFTEN) >= 20
    assert {moment.name.split(":")[0] for moment in MOMENTS} == {"worker", "page", "page and worker at once"}
