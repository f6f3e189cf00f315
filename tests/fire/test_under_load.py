"""Thirty clients and six trainings at once: no error, everybody gets turns, and who reads slowly slows nobody."""

import os

import pytest

from forget_me_not.demo.soak.load import load

pytestmark = [pytest.mark.slow, pytest.mark.alone]


def slack():
    """How much slower than alone this machine is at present."""
    return max(1.0, os.getloadavg()[0] / os.cpu_count()) if hasattr(os, "getloadavg") else 2.0


def test_thirty_clients_six_trainings_and_slow_readers(lab):
    before = slack()
    seen = load(lab, minutes=0.1)
    assert seen.errors == []
    assert len(seen.seconds) > 300
    assert max(seen.first) <= 2.0 * max(before, slack())
    assert min(seen.fairness) > 0.6
    assert seen.quantile(0.95) < 0.5 * max(before, slack())
    assert all(page < 400 * 2**20 and worker < 1500 * 2**20 for _, page, worker in seen.memory)
