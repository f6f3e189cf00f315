"""EASE's subspaces and MOS's merging, by hand, as invariants, and as learners of drawn photos."""

import pytest
import torch

from forget_me_not.models import engine, gaussians, registry
from forget_me_not.models.check_streams import ground
from forget_me_not.models.core import Batch, Task, rng_for
from forget_me_not.models.descent import photos_a_pass
from forget_me_not.models.events import Failed
from forget_me_not.models.layers import class_means, cosine
from forget_me_not.models.methods.ease import completed, votes
from forget_me_not.models.methods.mos import apart, corrected, merge


def learnt(name, tasks, **settings):
    """(method, ground) after a small stream of drawn photos."""
    bench = ground([list(t) for t in tasks], patch=16, layer_scale=1.0)
    card = registry.card(name)
    method = card.learner(bench.vit, **card.read({"epochs": 2, "blocks": 2, **settings}))
    assert not any(isinstance(e, Failed) for e in engine.run(bench.stream, method, seed=2))
    return method, bench


def everything(method, bench):
    """A batch of all test photos."""
    return Batch(bench.source, bench.tested(len(bench.stream.tasks)), method.reads)


# EASE


def test_a_missing_prototype_is_the_analogy():
    old, new = torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    there = torch.tensor([[4.0, 0.0], [0.0, 8.0]])
    spaces = completed({(0, 0): old, (1, 0): new, (1, 1): there})
    share = 1 / (1 + torch.exp(torch.tensor(-1.0)))  # softmax of cosines 1 and 0
    assert spaces.shape == (2, 3, 2)
    assert torch.allclose(spaces[0], torch.cat([old, new]))
    assert torch.allclose(spaces[1], torch.stack([torch.stack([4 * share, 8 * (1 - share)]), *there]))


def test_analogies_are_convex_combinations():
    rng, real, sizes = torch.Generator().manual_seed(0), {}, (3, 1, 2)
    for t, size in enumerate(sizes):
        for j in range(t + 1):
            real[t, j] = torch.randn(size, 5, generator=rng)
    spaces = completed(real)
    assert spaces.shape == (3, 6, 5)
    for j, (first, last) in enumerate([(0, 6), (3, 6), (4, 6)]):
        there = spaces[j, first:last]
        assert torch.equal(there, torch.cat([real[t, j] for t in range(j, 3)]))
        assert (spaces[j, :first] <= there.amax(0) + 1e-6).all()
        assert (spaces[j, :first] >= there.amin(0) - 1e-6).all()


def test_votes_by_hand():
    u = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]])  # two subspaces, one photo
    prototypes = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [0.0, 2.0]]])
    row_task = torch.tensor([0, 1])
    assert torch.allclose(votes(u, prototypes, row_task, 0.0), torch.tensor([[1.0, 1.0]]))
    assert torch.allclose(votes(u, prototypes, row_task, 0.5), torch.tensor([[1 + 0.5 * 0.5**0.5, 1.0]]))


def test_one_task_is_its_single_module():
    method, bench = learnt("ease", [(0, 1, 2)])
    train = bench.stream.tasks[0].task.train
    means = class_means(train.cls(method.edits[0]), train.labels, (0, 1, 2))
    batch = everything(method, bench)
    single = cosine(batch.cls_through(method.edits[0]), means).argmax(-1)
    assert torch.equal(method.predict(batch).logits.argmax(-1), single)


def test_without_others_a_class_uses_its_own_subspace_alone():
    method, bench = learnt("ease", [(0, 1), (2,), (3, 4, 5)], others=0.0)
    batch = everything(method, bench)
    said = method.predict(batch)
    for c, t in enumerate((0, 0, 1, 2, 2, 2)):
        task = bench.stream.tasks[t].task
        mean = class_means(task.train.cls(method.edits[t]), task.train.labels, (c,))
        assert torch.allclose(said.logits[:, c], 10 * cosine(batch.cls_through(method.edits[t]), mean)[:, 0], atol=1e-4)


def test_ease_takes_classes_that_come_back():
    method, bench = learnt("ease", [(0, 1), (1, 2)])
    said = method.predict(everything(method, bench))
    assert said.logits.shape[1] == 3
    assert method.prototypes.shape[:2] == (2, 4)


# MOS


def test_merge_by_hand():
    module = {"w": torch.tensor([1.0, 0.0])}
    merge(module, [{"w": torch.tensor([3.0, 0.0])}, {"w": torch.tensor([5.0, 10.0])}], 0.1)
    assert torch.allclose(module["w"], torch.tensor([0.9 + 0.4, 0.5]))
    merge(module, [], 0.1)
    assert torch.allclose(module["w"], torch.tensor([1.3, 0.5]))


def test_merging_of_one_leaves_the_mean_of_the_older():
    method, _ = learnt("mos", [(0, 1), (2, 3), (4, 5)], merging=1.0)
    first, second, third = (edit.values for edit in method.edits)
    for name in first:
        assert torch.allclose(second[name], first[name], atol=1e-6)
        assert torch.allclose(third[name], first[name], atol=1e-6)


def test_without_merging_the_adapter_moves_on():
    method, _ = learnt("mos", [(0, 1), (2, 3)], merging=0.0)
    assert not torch.allclose(method.edits[0].values["002.up"], method.edits[1].values["002.up"], atol=1e-6)


def test_a_first_task_of_one_class_holds_no_later_adapter_back():
    """Its adapter is the identity, untrained: merged with it, the next would be pulled back to the identity at every step."""
    free, bound = (learnt("mos", [(0,), (1, 2, 3)], merging=merging)[0].edits[1].values for merging in (0.0, 0.9))
    assert all(torch.equal(free[name], bound[name]) for name in free)
    assert free["002.up"].abs().max() > 0


def test_asking_changes_nothing():
    method, bench = learnt("mos", [(0, 1), (2, 3), (4, 5)])
    before = {k: v.clone() for k, v in method.state_dict().items()}
    batch = everything(method, bench)
    first, second = method.predict(batch), method.predict(batch)
    assert torch.equal(first.logits, second.logits)
    assert torch.equal(first.module, second.module)
    assert all(torch.equal(before[k], v) for k, v in method.state_dict().items())


def test_a_choice_corrects_itself():
    points_to = torch.tensor([[1, 2, 2], [0, 0, 0], [1, 0, 2]])
    # 0 -> 1 -> 2 stays; 2 -> 0 stays; 0 -> 1 -> 0 -> 1 never settles and stops after three moves
    assert corrected(torch.tensor([0, 2, 0]), points_to).tolist() == [2, 0, 1]


def test_apart_is_least_where_all_differ():
    means = torch.eye(4)[:2] * 10
    assert float(apart(torch.eye(4)[2:] * 10, means)) < 1e-6
    assert float(apart(means.clone(), means)) == pytest.approx(torch.log(torch.tensor(2.0)).item(), abs=1e-4)


def test_the_default_batch_is_one_pass():
    """The loss that pushes features apart compares the photos of a pass: by default all of a batch, as the card says."""
    settings = registry.card("mos").read({})
    assert photos_a_pass(settings["blocks"]) >= settings["batch"]


def test_cloud_has_mean_and_covariance():
    features = torch.randn(9, 5, generator=torch.Generator().manual_seed(0))
    cloud = gaussians.cloud_of(features)
    assert torch.allclose(cloud.mean, features.mean(0))
    assert torch.allclose(cloud.root.T @ cloud.root, features.T.cov(), atol=1e-5)
    assert torch.equal(gaussians.cloud_of(features[:1]).root, torch.zeros(1, 5))


def test_draws_follow_the_cloud():
    features = torch.randn(40, 3, generator=torch.Generator().manual_seed(1)) * torch.tensor([1.0, 3.0, 0.1]) + 5
    cloud = gaussians.cloud_of(features)
    drawn = gaussians.draw(cloud, 40_000, torch.Generator().manual_seed(2))
    assert torch.allclose(drawn.mean(0), cloud.mean, atol=0.06)
    assert torch.allclose(drawn.T.cov(), features.T.cov() + gaussians.FLOOR * torch.eye(3), atol=0.15)


def test_alignment_separates_the_clouds():
    rng = torch.Generator().manual_seed(3)
    clouds = [gaussians.cloud_of(torch.randn(20, 4, generator=rng) * 0.3 + shift) for shift in (-2.0, 0.0, 2.0)]
    work = gaussians.aligned(torch.zeros(3, 4), torch.zeros(3), torch.arange(3), clouds, rng, epochs=40, batch=32)
    try:
        while True:
            next(work)
    except StopIteration as end:
        rows, bias = end.value
    x = torch.cat([gaussians.draw(cloud, 100, rng) for cloud in clouds])
    right = (x @ rows.T + bias).argmax(-1) == torch.arange(3).repeat_interleave(100)
    assert right.float().mean() > 0.95


def test_mos_survives_saving():
    method, bench = learnt("mos", [(0, 1), (2, 3)])
    again = registry.card("mos").learner(bench.vit, blocks=2)
    again.load_state_dict(method.state_dict())
    batch = everything(method, bench)
    assert torch.equal(again.predict(batch).logits, method.predict(batch).logits)
    task = bench.stream.tasks[1].task
    learning = Task(2, "again", task.classes, task.train.reading(again.reads))
    for _ in again.fit_task(learning, rng_for(0, 2)):
        pass
    assert len(again.edits) == 3
