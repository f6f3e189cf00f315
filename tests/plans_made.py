"""Labels and groups of photos, and what tests ask of a plan made of them."""

import pytest

from forget_me_not.models.problem import Problem
from forget_me_not.models.stream import plan


def photos(**counts):
    """Labels and one group a photo."""
    labels = [name for name, n in counts.items() for _ in range(n)]
    return labels, list(range(len(labels)))


def sides(plan):
    return {p for t in plan.tasks for p in t.train}, {p for t in plan.tasks for p in t.test}


def problem(code, *args, **kwargs):
    with pytest.raises(Problem) as caught:
        plan(*args, **kwargs)
    assert caught.value.code == code
    return caught.value.values
