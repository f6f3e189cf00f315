"""The bench of large streams in small: every figure is told, growth and slope are what they say, and memory is counted."""

import json
import subprocess
import sys

import pytest

from forget_me_not.models import scale


def test_growth_and_slope_of_known_times():
    flat, twice = [1.0] * 40, [9.0, *(1.0 + n / 39 for n in range(40))]
    assert scale.growth(flat) == 1.0
    assert scale.slope(flat) == 0.0
    assert scale.growth(twice) == pytest.approx(1.97 / 1.04, rel=0.05)  # the first task, slow from the start, does not count
    assert scale.slope([1.0, 2.0, 3.0]) == pytest.approx(0.5)


SMALL = """
import json
from forget_me_not.models import scale
rows = scale.rows(photos=1600, classes=80, tasks=20, files=60)
print(json.dumps({row.name: {"value": row.value, **row.detail} for row in rows}))
"""


@pytest.mark.slow
def test_a_stream_of_twenty_tasks_and_eighty_classes():
    """In a process of its own: what other tests have held is not counted."""
    rows = json.loads(subprocess.run([sys.executable, "-c", SMALL], capture_output=True, text=True, check=True).stdout)
    assert rows["plan of the tasks, seconds"]["tasks"] == 20
    assert rows["the run taken up again, seconds"]["tensors"] > 60
    assert rows["reading a photo, ms"]["photos"] == 60
    assert rows["most memory, GB"]["value"] < 2
    assert rows["an answer after the last task, ms"]["right"] > 0.5
    both = "training of the last tenth / the first", "the same, loss over the task's own classes"
    assert all(rows[name]["value"] > 0 for name in both)  # what it means is tested above; its size is a bench


def test_peak_counts_what_was_held():
    before = scale.peak()
    held = bytearray(200 * 2**20)
    held[::4096] = b"x" * len(held[::4096])
    assert scale.peak() >= min(before, 2**40)
    del held
    assert scale.peak() >= 200 * 2**20
