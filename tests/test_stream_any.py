"""Classes, groups and order -> tasks: what holds for any photos and options."""

import itertools

from hypothesis import given, settings, strategies as st
from plans_made import photos, problem, sides

from forget_me_not.models.problem import Problem
from forget_me_not.models.stream import Plan, plan


@st.composite
def datasets(draw):
    """Up to 5 classes of singles and bursts in up to 2 domains; a few bursts reach into other classes."""
    names = draw(st.lists(st.sampled_from("abcde"), min_size=1, max_size=5, unique=True))
    labels, groups, domains, group = [], [], [], 0
    for domain in ("one", "two")[: draw(st.integers(1, 2))]:
        for name in names:
            for size in draw(st.lists(st.integers(1, 4), min_size=2, max_size=8)):
                group += 1
                labels += [name] * size
                groups += [group] * size
                domains += [domain] * size
    for _ in range(draw(st.integers(0, 3))):
        source, to = draw(st.integers(0, group)), draw(st.integers(0, group))
        groups = [to if g == source else g for g in groups]
    return labels, groups, domains


OPTIONS = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 1000),
        "per_task": st.none() | st.integers(1, 3),
        "by_domain": st.booleans(),
        "train_per_class": st.none() | st.integers(1, 8),
        "test_per_class": st.none() | st.integers(1, 5),
    }
)


@settings(deadline=None)
@given(datasets(), OPTIONS)
def test_whatever_the_photos(data, options):
    labels, groups, domains = data
    try:
        got = plan(labels, groups, domains=domains, **options)
    except Problem as problem:
        assert problem.code == "groups_tied"  # noqa: PT017 - the one problem these data can have
        return
    assert isinstance(got, Plan)
    assert plan(labels, groups, domains=domains, **options) == got
    everything = [p for t in got.tasks for p in (*t.train, *t.test)]
    assert len(everything) == len(set(everything))

    bursts = {(n.values["task"] - 1, n.values["name"]) for n in got.notes if n.code == "one_group"}
    side_of = {}
    for t, task in enumerate(got.tasks):
        for side, photos_ in (("train", task.train), ("test", task.test)):
            assert {got.labels[p] for p in photos_} == set(task.classes)
            for p in photos_:
                assert labels[p] == got.classes[got.labels[p]]
                if (t, labels[p]) not in bursts:
                    assert side_of.setdefault(groups[p], side) == side
            for c in task.classes:
                n = sum(got.labels[p] == c for p in photos_)
                assert n <= (options[f"{side}_per_class"] or n)
    first_seen = list(dict.fromkeys(c for t in got.tasks for c in t.classes))
    if not options["by_domain"]:
        assert first_seen == list(range(len(got.classes)))
    assert sorted(first_seen) == list(range(len(got.classes)))


@settings(deadline=None)
@given(st.integers(0, 1000), st.dictionaries(st.sampled_from("abcdef"), st.integers(2, 40), min_size=1), st.integers(1, 12))
def test_single_photos_meet_every_count_exactly(seed, counts, test):
    labels, groups = photos(**counts)
    got = plan(labels, groups, seed=seed, test_per_class=test)
    for task in got.tasks:
        for c in task.classes:
            assert sum(got.labels[p] == c for p in task.test) == min(test, counts[got.classes[c]] - 1)
    assert len(set.union(*sides(got))) == len(labels)


@settings(deadline=None)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=8), st.integers(1, 12), st.integers(1, 8), st.integers(0, 50))
def test_counts_are_exact_wherever_whole_bursts_allow(sizes, train, test, seed):
    groups = [g for g, size in enumerate(sizes) for _ in range(size)]
    task = plan(["a"] * len(groups), groups, train_per_class=train, test_per_class=test, seed=seed).tasks[0]
    sums = {sum(part) for n in range(len(sizes) + 1) for part in itertools.combinations(sizes, n)}
    if any(test <= s <= len(groups) - train for s in sums):
        assert (len(task.train), len(task.test)) == (train, test)


@settings(deadline=None)
@given(st.lists(st.sets(st.integers(0, 4), min_size=2, max_size=4), min_size=1, max_size=5), st.integers(0, 50))
def test_shared_bursts_are_called_tied_only_if_no_choice_of_sides_works(held, seed):
    labels = [f"class {c}" for c, groups in enumerate(held) for _ in groups]
    groups = [g for groups in held for g in sorted(groups)]
    choices = itertools.product((False, True), repeat=5)
    possible = any(all(len({choice[g] for g in groups}) == 2 for groups in held) for choice in choices)
    if not possible:
        problem("groups_tied", labels, groups, seed=seed)
        return
    train, test = sides(plan(labels, groups, seed=seed))
    assert {labels[p] for p in train} == {labels[p] for p in test} == set(labels)
