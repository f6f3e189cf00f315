"""Classes, groups and order -> tasks: tasks by hand, splits, few shots, bursts, notes."""

import json
import subprocess
import sys
from dataclasses import asdict

import torch
from plans_made import photos, problem, sides

from forget_me_not.models.stream import Note, build, plan


def test_tasks_by_hand_keep_their_order_may_be_uneven_and_leave_classes_out():
    labels, groups = photos(ant=6, bee=6, cat=6, dog=6)
    got = plan(labels, groups, tasks=[["dog"], ["ant", "cat"]], names=["first", "second"])
    assert got.classes == ("dog", "ant", "cat")
    assert [t.classes for t in got.tasks] == [(0,), (1, 2)]
    assert [t.name for t in got.tasks] == ["first", "second"]
    assert got.labels == (1,) * 6 + (-1,) * 6 + (2,) * 6 + (0,) * 6
    assert set.union(*sides(got)) == {*range(6), *range(12, 24)}
    assert plan(labels, groups, tasks=[["dog"], ["ant", "cat"]], seed=1).classes == got.classes


def test_per_task_draws_the_class_order_by_seed_and_the_last_task_may_be_smaller():
    labels, groups = photos(**{name: 3 for name in "abcdefg"})
    orders = {plan(labels, groups, per_task=3, seed=seed).classes for seed in range(20)}
    assert len(orders) > 15
    assert all(sorted(order) == list("abcdefg") for order in orders)
    got = plan(labels, groups, per_task=3)
    assert [t.classes for t in got.tasks] == [(0, 1, 2), (3, 4, 5), (6,)]


def test_nothing_said_makes_tasks_of_two_classes():
    labels, groups = photos(a=3, b=3, c=3)
    assert [len(t.classes) for t in plan(labels, groups).tasks] == [2, 1]
    assert plan(labels, groups) == plan(labels, groups, per_task=2)


def test_domains_are_tasks_in_their_order_and_classes_recur():
    labels = ["dog", "cat"] * 6 + ["cat", "owl"] * 6
    domains = ["photo"] * 12 + ["sketch"] * 12
    got = plan(labels, range(24), domains=domains, by_domain=True, seed=5)
    assert (got.kind, got.classes) == ("domain", ("dog", "cat", "owl"))
    assert [(t.name, t.classes) for t in got.tasks] == [("photo", (0, 1)), ("sketch", (1, 2))]
    assert set(got.tasks[0].train + got.tasks[0].test) == set(range(12))
    hand = plan(labels, range(24), domains=domains, by_domain=True, tasks=[["sketch"], ["photo"]])
    assert [(t.name, t.classes) for t in hand.tasks] == [("sketch", (0, 1)), ("photo", (0, 2))]
    assert hand.classes == ("cat", "owl", "dog")


def test_ids_follow_the_first_appearance_in_a_domain_stream_where_columns_are_classes_seen():
    labels = ["a", "a", "c", "c", "a", "a", "b", "b", "c", "c"]
    domains = ["one"] * 4 + ["two"] * 6
    got = plan(labels, range(10), domains=domains, by_domain=True)
    assert got.classes == ("a", "c", "b")
    seen = 0
    for task in got.tasks:
        seen = max(seen, *(c + 1 for c in task.classes))
        assert seen == len({c for t in got.tasks[: got.tasks.index(task) + 1] for c in t.classes})


def test_the_task_incremental_view_is_the_same_stream():
    labels, groups = photos(a=6, b=6)
    told = plan(labels, groups, per_task=1, kind="task")
    assert told.kind == "task"
    assert told.tasks == plan(labels, groups, per_task=1).tasks


def test_counts_are_exact_and_every_class_gets_them():
    labels, groups = photos(**{name: 30 for name in "abcd"})
    got = plan(labels, groups, per_task=2, train_per_class=15, test_per_class=10)
    for task in got.tasks:
        for side, n in ((task.train, 15), (task.test, 10)):
            assert [sum(got.labels[p] == c for p in side) for c in task.classes] == [n, n]
    assert got.notes == ()


def test_counts_are_exact_with_bursts_of_uneven_size():
    labels = ["a"] * 30
    groups = [0] * 7 + [1] * 6 + [2] * 5 + [3] * 5 + [4] * 4 + [5] * 3
    for seed in range(20):
        task = plan(labels, groups, seed=seed, train_per_class=20, test_per_class=10).tasks[0]
        assert (len(task.train), len(task.test)) == (20, 10)
        assert not {groups[p] for p in task.train} & {groups[p] for p in task.test}


def test_a_third_is_tested_by_default():
    labels, groups = photos(a=30, b=9, c=2)
    got = plan(labels, groups, tasks=[["a", "b", "c"]])
    assert [sum(got.labels[p] == c for p in got.tasks[0].test) for c in range(3)] == [10, 3, 1]
    assert len(got.tasks[0].train) == 20 + 6 + 1
    assert len(plan(labels, groups, tasks=[["a"]], test_share=0.5).tasks[0].test) == 15


def test_fewer_shots_are_part_of_more_shots_and_meet_the_same_test_photos():
    labels, groups = photos(a=30, b=30)
    five, ten, twenty = (plan(labels, groups, seed=3, train_per_class=n, test_per_class=10) for n in (5, 10, 20))
    assert sides(five)[1] == sides(ten)[1] == sides(twenty)[1]
    assert sides(five)[0] < sides(ten)[0] < sides(twenty)[0]
    assert sides(plan(labels, groups, seed=3, train_per_class=5))[1] == sides(five)[1]


def test_the_test_side_gives_way_to_the_training_photos_asked_for():
    labels, groups = photos(a=30)
    task = plan(labels, groups, train_per_class=25).tasks[0]
    assert (len(task.train), len(task.test)) == (25, 5)
    task = plan(labels, groups, train_per_class=30).tasks[0]
    assert (len(task.train), len(task.test)) == (29, 1)


def test_too_few_photos_shrink_both_sides_alike_and_say_so():
    labels, groups = photos(a=15)
    got = plan(labels, groups, train_per_class=20, test_per_class=10)
    assert (len(got.tasks[0].train), len(got.tasks[0].test)) == (10, 5)
    where = {"name": "a", "task": 1, "task_name": "a"}
    assert got.notes == (Note("short", {**where, "train": 10, "test": 5}), Note("few_test", {**where, "photos": 5}))


def test_the_split_of_a_class_knows_neither_task_order_nor_other_classes():
    labels, groups = photos(a=12, b=12, c=12)
    whole = plan(labels, groups, tasks=[["a"], ["b"], ["c"]], seed=4)
    part = plan(labels, groups, tasks=[["c", "b"]], seed=4)
    assert set(part.tasks[0].test) == {*whole.tasks[1].test, *whole.tasks[2].test}
    assert sides(plan(labels, groups, tasks=[["a"], ["b"], ["c"]], seed=5))[1] != sides(whole)[1]


def test_a_draw_is_the_same_on_every_machine():
    labels, groups = photos(a=6, b=6, c=6)
    got = plan(labels, groups, per_task=1, seed=8)
    assert (got.classes, got.tasks[0].test) == (("b", "c", "a"), (9, 10))


def test_a_burst_in_two_classes_stays_on_one_side():
    labels = ["a"] * 6 + ["b"] * 6
    groups = [0, 0, 1, 2, 3, 4, 0, 0, 5, 6, 7, 8]
    for seed in range(20):
        train, test = sides(plan(labels, groups, tasks=[["a"], ["b"]], seed=seed))
        assert not {groups[p] for p in train} & {groups[p] for p in test}
        assert len(test) == 4


def test_classes_made_of_shared_bursts_alone_are_still_split():
    labels, groups = ["a", "a", "b", "b", "c", "c"], [0, 1, 1, 2, 2, 3]
    for seed in range(20):
        got = plan(labels, groups, tasks=[["a", "b", "c"]], seed=seed)
        train, test = sides(got)
        assert {labels[p] for p in train} == {labels[p] for p in test} == {"a", "b", "c"}
        assert not {groups[p] for p in train} & {groups[p] for p in test}


def test_bursts_that_tie_three_classes_in_a_ring_cannot_be_split():
    values = problem("groups_tied", ["a", "a", "b", "b", "c", "c"], [0, 1, 1, 2, 2, 0], tasks=[["a", "b", "c"]])
    assert values["task"] == 1


def test_a_class_that_is_one_burst_is_split_in_time_and_named():
    labels, groups = ["a"] * 9 + ["b"] * 9, [0] * 9 + list(range(1, 10))
    got = plan(labels, groups, tasks=[["a", "b"]])
    assert [p for p in got.tasks[0].train if p < 9] == [0, 1, 2, 3, 4, 5]
    assert [p for p in got.tasks[0].test if p < 9] == [6, 7, 8]
    assert [n.values["name"] for n in got.notes if n.code == "one_group"] == ["a"]
    few = plan(labels, groups, tasks=[["a"]], train_per_class=2)
    assert (few.tasks[0].train, few.tasks[0].test) == ((0, 1), (6, 7, 8))  # the training photos furthest from the test


def test_few_test_photos_are_noted():
    labels, groups = photos(a=30, b=12)
    got = plan(labels, groups, tasks=[["a"], ["b"]], names=["one", "two"])
    assert got.notes == (Note("few_test", {"name": "b", "task": 2, "task_name": "two", "photos": 4}),)


def test_what_a_person_is_told():
    labels, groups = photos(cat=6, Dog=6, owl=1)
    assert problem("class_too_small", labels, groups, tasks=[["cat"], ["Dog", "owl"]]) == {
        "name": "owl",
        "task": 2,
        "task_name": "Dog, owl",
        "photos": 1,
        "need": 2,
    }
    assert problem("class_unknown", labels, groups, tasks=[["cta"]])["near"] == "cat"
    assert problem("class_unknown", labels, groups, tasks=[["dog"]])["near"] == "Dog"
    assert problem("class_unknown", labels, groups, tasks=[["zebra"]])["near"] == "cat, Dog, owl"
    assert problem("class_twice", labels, groups, tasks=[["cat"], ["Dog", "cat"]]) == {"name": "cat", "first": 1, "second": 2}
    assert problem("class_twice", labels, groups, tasks=[["cat", "cat"]]) == {"name": "cat", "first": 1, "second": 1}
    assert problem("task_empty", labels, groups, tasks=[["cat"], []]) == {"task": 2}
    assert problem("count_bad", labels, groups, per_task=0) == {"name": "per_task", "value": 0}
    assert problem("count_bad", labels, groups, test_per_class=0) == {"name": "test_per_class", "value": 0}
    assert problem("names_count", labels, groups, tasks=[["cat"], ["Dog"]], names=["x"]) == {"names": 1, "tasks": 2}
    problem("no_tasks", labels, groups, tasks=[])
    problem("tasks_twice", labels, groups, tasks=[["cat"]], per_task=1)
    problem("share_bad", labels, groups, test_share=1.0)
    problem("no_domains", labels, groups, by_domain=True)
    problem("stream_empty", [], [])
    sketches = {"domains": ["photo"] * 12 + ["sketch"], "by_domain": True}
    assert problem("domain_unknown", labels, groups, **sketches, tasks=[["skech"]])["near"] == "sketch"
    assert problem("class_too_small", labels, groups, **sketches)["task_name"] == "sketch"


def test_long_tasks_have_short_names():
    labels, groups = photos(**{name: 2 for name in "abcde"})
    assert plan(labels, groups, tasks=[list("abcde")]).tasks[0].name == "a … e"


def test_a_plan_is_plain_data():
    labels, groups = photos(a=6, b=6)
    data = json.loads(json.dumps(asdict(plan(labels, groups))))
    assert data["classes"] in (["a", "b"], ["b", "a"])
    assert len(data["tasks"][0]["train"]) == 8


def test_build_hands_the_photos_to_samples():
    labels, groups = photos(a=6, b=6, c=6)
    made = plan(labels, groups, tasks=[["c"], ["a", "b"]])

    class Rows:
        """Features that say which photo they are of."""

        def get(self, index, cut, edit=None):
            return index[:, None].float()

    stream = build(made, Rows())
    assert (stream.classes, stream.kind) == (("c", "a", "b"), "class")
    for planned, tested in zip(made.tasks, stream.tasks, strict=True):
        assert (tested.task.name, tested.task.classes) == (planned.name, planned.classes)
        for samples, side in ((tested.task.train, planned.train), (tested.test, planned.test)):
            assert samples.cls()[:, 0].tolist() == list(side)
            assert [stream.classes[y] for y in samples.labels] == [labels[p] for p in side]
            assert samples.labels.dtype == torch.long
    assert [t.task.index for t in stream.tasks] == [0, 1]


def test_50_000_photos_are_planned_at_once():
    labels = [f"c{i % 10}" for i in range(50_000)]
    got = plan(labels, [i // 30 for i in range(50_000)], per_task=2)
    train, test = sides(got)
    assert not {i // 30 for i in train} & {i // 30 for i in test}
    assert 0.25 < len(test) / 50_000 < 0.4


def test_planning_needs_no_torch_so_the_page_can_do_it():
    loaded = "import sys, forget_me_not.models.stream, forget_me_not.models.metrics; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.strip() == "False"
