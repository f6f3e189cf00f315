"""Streams of the plasticity track: which image, in which order, with which label, in which task."""

from dataclasses import replace

import pytest
import torch

from forget_me_not.models import engine, images
from forget_me_not.models.core import PIXELS, rng_for
from forget_me_not.models.events import Evaluated
from forget_me_not.models.plasticity import arms, groups, streams
from forget_me_not.models.plasticity.pixels import PhotoPixels, PixelTable, square
from forget_me_not.models.problem import Problem


def test_every_task_permutes_the_same_pixels_in_its_own_order():
    study = streams.permuted_digits(3, seed=1)
    images_, labels = streams.digits()
    tasks = study.stream.tasks
    raw = images_[tasks[1].task.train.index % 1797].flatten(1)
    shown = tasks[1].task.train.source.get(tasks[1].task.train.index, PIXELS).flatten(1)
    order = torch.randperm(64, generator=rng_for(1, 3_000_001))
    assert torch.equal(shown, raw[:, order])
    assert torch.equal(tasks[1].task.train.labels, labels[tasks[1].task.train.index % 1797])
    tested = [t.test.source.get(t.test.index, PIXELS) for t in tasks]
    assert not torch.equal(tested[0], tested[1])
    assert torch.equal(tested[0].flatten(1).sort(1).values, tested[1].flatten(1).sort(1).values)
    assert len(tasks[0].task.train) == 160
    assert len(tasks[0].test) == 400


def test_digits_trained_on_measured_on_and_tested_are_apart():
    study = streams.permuted_digits(5)
    for t, tested in enumerate(study.stream.tasks):
        train, test = set((tested.task.train.index % 1797).tolist()), set((tested.test.index % 1797).tolist())
        assert test == set(range(1397, 1797))
        assert max(train) < 1141
        assert len(train) == 160
        assert set((tested.task.train.index // 1797).tolist()) == {t}
    assert study.probe(2).shape == (256, 1, 8, 8)


def test_two_hundred_tasks_hold_no_pixels_of_their_own():
    study = streams.permuted_digits(200)
    assert len({id(t.test.source) for t in study.stream.tasks}) == 1
    assert study.stream.tasks[0].test.source.images.numel() == 1797 * 64


def test_views_mix_in_one_batch():
    table = PixelTable(torch.arange(8.0).view(2, 1, 2, 2), lambda v: torch.tensor([v, (v + 1) % 4, (v + 2) % 4, (v + 3) % 4]))
    assert table.get(torch.tensor([0, 2 + 1, 4 + 0]), PIXELS).flatten(1).tolist() == [[0, 1, 2, 3], [5, 6, 7, 4], [2, 3, 0, 1]]


def test_random_labels_are_judged_on_the_images_trained_on():
    study = streams.random_labels(3, seed=2)
    first, second = (t.task.train for t in study.stream.tasks[:2])
    assert torch.equal(first.index, second.index)
    assert not torch.equal(first.labels, second.labels)
    assert all(torch.equal(t.test.labels, t.task.train.labels) for t in study.stream.tasks)
    assert torch.bincount(first.labels, minlength=10).min() > 3


@pytest.mark.parametrize(("tasks", "train", "code"), [(0, 160, "count_bad"), (3, 0, "digits_count"), (3, 1142, "digits_count")])
def test_streams_that_cannot_be_are_problems(tasks, train, code):
    for stream in (streams.permuted_digits, streams.random_labels):
        with pytest.raises(Problem) as problem:
            stream(tasks, train=train)
        assert problem.value.code == code


def write_cifar(folder, train=3, test=2):
    """A binary CIFAR-100 whose image n of class c is all of colour c."""
    for name, each in (("train.bin", train), ("test.bin", test)):
        (folder / name).write_bytes(b"".join(bytes([c // 5, c]) + bytes([c]) * 3072 for _ in range(each) for c in range(100)))
    (folder / "fine_label_names.txt").write_text("\n".join(f"class{c}" for c in range(100)) + "\n")


def test_cifar100_becomes_class_groups_that_recur_in_new_company(tmp_path):
    write_cifar(tmp_path)
    study = streams.cifar100(tmp_path, tasks=45, per_task=5)
    tasks = [t.task for t in study.stream.tasks]
    assert study.stream.kind == "task"
    assert study.network == {"size": 32, "channels": 3, "patch": 8, "classes": 100}
    assert sorted(c for t in tasks[:20] for c in t.classes) == list(range(100))
    assert sorted(c for t in tasks[20:40] for c in t.classes) == list(range(100))
    assert {t.classes for t in tasks[:20]}.isdisjoint(t.classes for t in tasks[20:40])
    for tested in study.stream.tasks[::9]:
        assert set(tested.task.train.labels.tolist()) == set(tested.test.labels.tolist()) == set(tested.task.classes)
        assert (len(tested.task.train), len(tested.test)) == (15, 10)
        assert set(tested.task.train.index.tolist()).isdisjoint(tested.test.index.tolist())
        shown = tested.test.source.get(tested.test.index, PIXELS)[:, 0, 0, 0]
        assert torch.allclose(shown, tested.test.labels / 127.5 - 1)
    assert study.probe(3).shape == (15, 3, 32, 32)


def test_cifar_that_is_not_there_or_cut_short_is_a_problem(tmp_path):
    with pytest.raises(Problem) as problem:
        streams.cifar100(tmp_path)
    assert problem.value.code == "cifar_missing"
    write_cifar(tmp_path, 1, 1)
    (tmp_path / "test.bin").write_bytes(b"123")
    with pytest.raises(Problem) as problem:
        streams.cifar100(tmp_path)
    assert problem.value.code == "cifar_broken"


@pytest.fixture
def painted(tmp_path):
    """Five classes of eight pictures: each a flat colour of its class with a little of its own."""
    from PIL import Image

    for c, colour in enumerate([(200, 40, 40), (40, 200, 40), (40, 40, 200), (200, 200, 40), (40, 200, 200)]):
        (tmp_path / f"c{c}").mkdir()
        for i in range(8):
            picture = Image.new("RGB", (60, 40), colour)
            picture.paste(tuple(255 - 9 * i - v // 2 for v in colour), (3 * i, 2 * i, 3 * i + 20, 2 * i + 20))
            picture.save(tmp_path / f"c{c}" / f"{i}.png")
    return images.read([tmp_path])


def test_a_folder_of_photos_becomes_class_groups_and_is_learnt_with_masked_answers(painted):
    study = streams.class_groups(painted, tasks=4, per_task=2, size=16, epochs=6)
    study = replace(study, network={**study.network, "width": 16, "heads": 2, "depth": 2}, batch=8)
    for tested in study.stream.tasks:
        assert len(tested.task.classes) == 2
        assert set(tested.task.train.index.tolist()).isdisjoint(tested.test.index.tolist())
    answered = {}
    learner = arms.learner(arms.arm("adam"), study)

    def save(task, state, answers):
        answered[task] = answers["class"]

    events = engine.run(study.stream, learner, evaluate="new", save=save)
    last = [e for e in events if isinstance(e, Evaluated)]
    assert [len(e.total) for e in last] == [1, 2, 3, 4]
    assert all(e.total[:-1] == (0,) * e.task and e.total[-1] > 0 for e in last)
    for t, tested in enumerate(study.stream.tasks):
        assert set(answered[t].tolist()) <= set(tested.task.classes)


def test_all_classes_have_their_turn_and_come_again_in_new_company():
    tasks = groups.company(6, 9, 2, seed=1)
    for turn in (tasks[:3], tasks[3:6], tasks[6:]):
        assert sorted(c for task in turn for c in task) == list(range(6))
    assert set(tasks[:3]) != set(tasks[3:6])
    assert tasks == groups.company(6, 9, 2, seed=1)
    assert tasks != groups.company(6, 9, 2, seed=2)
    assert all(len(task) == 2 for task in groups.company(5, 20, 2))  # one class waits for the next turn


def test_a_class_teaches_and_tests_with_the_same_photos_in_all_company(painted):
    made = groups.groups(painted, 6, 3, seed=2, train_per_class=4, test_per_class=2)
    study = streams.class_groups(painted, 6, 3, seed=2, size=8, train_per_class=4, test_per_class=2, shown={"c0": "red"})
    assert [(len(train), len(test)) for train, test in made.sides] == [(4, 2)] * 5
    assert set(study.stream.classes) == {"red", "c1", "c2", "c3", "c4"}
    for classes, tested in zip(made.tasks, study.stream.tasks, strict=True):
        assert tested.task.classes == classes
        assert tested.task.train.index.tolist() == [p for c in classes for p in made.sides[c][0]]
        assert tested.test.index.tolist() == [p for c in classes for p in made.sides[c][1]]
        labels = {painted.photos[p].label for p in tested.test.index.tolist()}
        assert {"red" if label == "c0" else label for label in labels} == set(tested.task.name.split(", "))
    assert study.batch == made.batch == 3
    assert [groups.batch_of(sizes) for sizes in ([2, 9], [40, 80], [2500])] == [1, 10, 40]


def test_pixels_that_are_there_are_not_decoded_again(painted):
    source = PhotoPixels(painted.photos, 8)
    study = streams.class_groups(painted, 2, 2, size=8, source=source)
    assert {id(t.test.source) for t in study.stream.tasks} == {id(source)}


def test_a_large_jpeg_is_read_reduced_and_looks_the_same(tmp_path):
    from PIL import Image

    (tmp_path / "a").mkdir()
    across = Image.linear_gradient("L").resize((1200, 900)).rotate(180)
    Image.merge("RGB", (across, across.transpose(Image.Transpose.FLIP_LEFT_RIGHT), across)).save(tmp_path / "a" / "1.jpg")
    photo = images.read([tmp_path]).photos[0]
    assert min(photo.open(small=True).size) in range(64, 200)
    small, whole = (square(photo.open(small), 32).float() for small in (True, False))
    assert (small - whole).abs().mean() < 2
    assert torch.equal(PhotoPixels([photo], 32).get(torch.tensor([0]), PIXELS)[0], small / 127.5 - 1)
    assert torch.equal(PhotoPixels([photo], 48).get(torch.tensor([0]), PIXELS)[0], square(photo.open(), 48).float() / 127.5 - 1)


def test_more_classes_a_task_than_there_are_is_a_problem(painted):
    with pytest.raises(Problem) as problem:
        streams.class_groups(painted, per_task=6)
    assert problem.value.code == "group_too_large"


def test_photos_are_centre_cropped_and_the_only_cut_is_pixels(painted):
    source = PhotoPixels(painted.photos, 16)
    first = source.get(torch.tensor([3, 0]), PIXELS)
    assert first.shape == (2, 3, 16, 16)
    assert torch.equal(first[1], square(painted.photos[0].open(), 16).float() / 127.5 - 1)
    assert list(source.encode(torch.arange(40), PIXELS))[-1] == 40
    for table in (source, PixelTable(torch.zeros(1, 1, 2, 2))):
        with pytest.raises(Problem) as problem:
            table.get(torch.tensor([0]), -1)
        assert problem.value.code == "pixels_only"
