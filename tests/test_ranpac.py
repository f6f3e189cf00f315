"""RanPAC and the exact ridge solves below it: worked values, invariances, and equality with one ridge regression."""

import pytest
import torch

from forget_me_not.models import engine, registry, ridge, stream
from forget_me_not.models.core import parameter_count
from forget_me_not.models.encoder import FeatureTable
from forget_me_not.models.events import Diagnosed, Failed, Finished


def result(generator):
    """What a working generator returns."""
    while True:
        try:
            next(generator)
        except StopIteration as end:
            return end.value


@pytest.fixture
def rng():
    return torch.Generator().manual_seed(3)


def normal(rng, *shape):
    return torch.randn(*shape, generator=rng)


def clouds(rng, classes=6, each=12, width=16, spread=0.4):
    """(features, labels): a Gaussian cloud a class."""
    centres = normal(rng, classes, width) * 2
    labels = torch.arange(classes).repeat_interleave(each)
    return centres[labels] + normal(rng, len(labels), width) * spread, labels


def learnt(features, labels, seed=1, per_task=2, names=None, **settings):
    """RanPAC after a whole stream over these photos, and all its events."""
    plan = stream.plan([f"class {c}" for c in labels.tolist()], list(range(len(labels))), per_task=per_task, seed=seed,
                       train_per_class=8, test_per_class=4)  # fmt: skip
    built = stream.build(plan, FeatureTable(features))
    card = registry.card("ranpac")
    method = card.learner(built.tasks[0].task.train.source.vit, **card.read({"width": 64, **settings}))
    told = list(engine.run(built, method, seed=7))
    assert not any(isinstance(e, Failed) for e in told)
    return method, built, told


def test_one_number_by_hand():
    h, y = torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0], [0.0]]).double()
    rows, targets = result(ridge.square_root(h, y))
    assert float(rows.T @ rows) == pytest.approx(5)
    w = result(ridge.solve(rows, targets, 5.0))
    assert float(w) == pytest.approx(1 / (5 + 5))  # Q / (G + lambda)


@pytest.mark.parametrize("photos", [3, 40, 1300])
def test_square_root_is_the_batch_statistics(rng, photos):
    h, y = normal(rng, photos, 20), ridge.one_hot(torch.randint(4, (photos,), generator=rng), 4)
    rows, targets = result(ridge.square_root(h, y))
    assert len(rows) == min(photos, 20)
    scale = float((h.double().T @ h.double()).abs().max())
    assert torch.allclose(rows.double().T @ rows.double(), h.double().T @ h.double(), atol=1e-6 * scale)
    assert torch.allclose(rows.double().T @ targets.double(), h.double().T @ y, atol=1e-6 * scale)


def test_no_row_is_a_photo(rng):
    h, y = normal(rng, 10, 30), ridge.one_hot(torch.zeros(10).long(), 1)
    rows, _ = result(ridge.square_root(h, y))
    nearest = torch.nn.functional.cosine_similarity(rows[1:, None], h[None], dim=-1).abs().max()
    assert nearest < 0.99


def test_no_photo_is_left_alone_by_the_blocks(rng):
    """Of one photo more than a block holds, the last is rotated with others too."""
    h, y = normal(rng, ridge.BLOCK + 1, ridge.BLOCK + 8), ridge.one_hot(torch.zeros(ridge.BLOCK + 1).long(), 1)
    rows, _ = result(ridge.square_root(h, y))
    assert len(rows) == len(h)
    assert torch.nn.functional.cosine_similarity(rows, h[-1:], dim=-1).abs().max() < 0.99


def test_accumulated_equals_batch(rng):
    h, y = normal(rng, 60, 25), ridge.one_hot(torch.arange(60) % 3, 3)
    parts = [result(ridge.square_root(a, b)) for a, b in zip(h.split(13), y.split(13), strict=True)]
    rows, targets = (torch.cat(p) for p in zip(*parts, strict=True))
    g, q = h.double().T @ h.double(), h.double().T @ y
    assert torch.allclose(rows.double().T @ rows.double(), g, atol=1e-5)
    assert torch.allclose(rows.double().T @ targets.double(), q, atol=1e-5)


@pytest.mark.parametrize("photos", [15, 90])
@pytest.mark.parametrize("penalty", [1e-3, 1.0, 1e3])
def test_primal_and_dual_solve_the_same_equation(rng, photos, penalty):
    h, y = normal(rng, photos, 30).double(), ridge.one_hot(torch.arange(photos) % 3, 3)
    w = result(ridge.solve(h, y, penalty))
    assert torch.allclose((h.T @ h + penalty * torch.eye(30)) @ w, h.T @ y, atol=1e-8 * max(1, penalty))


def test_dual_shortcut_finds_the_penalty_a_search_finds(rng):
    h, y = normal(rng, 50, 40), ridge.one_hot(torch.arange(50) % 5, 5)
    found = result(ridge.held_out_penalty(h, y, torch.Generator().manual_seed(5)))
    order = torch.randperm(50, generator=torch.Generator().manual_seed(5))
    a, b = order[:40], order[40:]

    def error(penalty):
        w = torch.linalg.solve(h[a].double().T @ h[a].double() + penalty * torch.eye(40), h[a].double().T @ y[a])
        return float((h[b].double() @ w - y[b]).square().mean())

    assert found == min(ridge.PENALTIES, key=error)


def test_penalty_is_judged_with_the_photos_before(rng):
    h, y = normal(rng, 50, 40), ridge.one_hot(torch.arange(50) % 5, 5)
    before = result(ridge.square_root(normal(rng, 70, 40), ridge.one_hot(torch.arange(70) % 5, 5)))
    found = result(ridge.held_out_penalty(h, y, torch.Generator().manual_seed(5), [before]))
    order = torch.randperm(50, generator=torch.Generator().manual_seed(5))
    a, b = torch.cat([before[0].double(), h[order[:40]].double()]), torch.cat([before[1].double(), y[order[:40]]])

    def error(penalty):
        w = torch.linalg.solve(a.T @ a + penalty * torch.eye(40), a.T @ b)
        return float((h[order[40:]].double() @ w - y[order[40:]]).square().mean())

    assert found == min(ridge.PENALTIES, key=error)


def test_one_photo_or_too_many_choose_no_penalty(rng):
    one, y = normal(rng, 1, 4), ridge.one_hot(torch.zeros(1).long(), 1)
    assert result(ridge.held_out_penalty(one, y, rng)) is None
    many = (torch.zeros(ridge.CHOOSING, 4), torch.zeros(ridge.CHOOSING, 1))
    assert result(ridge.held_out_penalty(one.repeat(9, 1), y.repeat(9, 1), rng, [many])) is None


@pytest.mark.parametrize(("rows", "chosen"), [(ridge.CHOOSING - ridge.ROOM, True), (ridge.CHOOSING - ridge.ROOM + 1, False)])
def test_a_large_task_needs_room_to_choose_a_penalty_and_a_small_one_for_itself(rng, rows, chosen):
    before = [(normal(rng, rows, 4), torch.zeros(rows, 1))]
    for photos, found in ((ridge.ROOM + 1, chosen), (ridge.ROOM, chosen), (9, True)):
        y = ridge.one_hot(torch.zeros(photos).long(), 1)
        assert (result(ridge.held_out_penalty(normal(rng, photos, 4), y, rng, before)) is not None) == found


def test_more_rows_than_features_become_one_root_of_the_same_sums(rng):
    roots = tuple(result(ridge.square_root(normal(rng, 30, 40), ridge.one_hot(torch.arange(30) % c, c))) for c in (2, 4))
    alone = roots[:1]
    assert result(ridge.merged(alone)) is alone
    ((rows, targets),) = result(ridge.merged(roots))
    every, wanted = (part.double() for part in ridge.stacked(roots))
    assert rows.shape == (40, 40)
    assert targets.shape == (40, 4)
    torch.testing.assert_close(rows.double().T @ rows.double(), every.T @ every, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(rows.double().T @ targets.double(), every.T @ wanted, rtol=1e-5, atol=1e-5)


def test_after_all_tasks_it_is_one_ridge_regression(rng):
    method, built, _ = learnt(*clouds(rng), penalty="fixed", strength=3.0)
    z = torch.cat([t.task.train.cls() for t in built.tasks])
    y = ridge.one_hot(torch.cat([t.task.train.labels for t in built.tasks]), 6)
    h = (z @ method.projection).relu().double()
    w = torch.linalg.solve(h.T @ h + 3.0 * torch.eye(64), h.T @ y)
    assert torch.allclose(method.weight.double(), w, atol=1e-4 * float(w.abs().max()))


def test_preset_paper_sets_what_the_card_says_differs_from_the_paper():
    """Width, all blocks, phase 1, and the rule that fits lambda on the newest task alone."""
    card = registry.card("ranpac")
    paper = card.read({"preset": "paper"})
    assert (paper["width"], paper["first_task"], paper["penalty"]) == (10_000, "adapter", "published")
    assert paper["blocks"] >= 24
    assert (paper["lr"], paper["batch"], paper["epochs"]) == (0.01, 48, 20)
    assert card.read({})["width"] == 4000


def test_order_and_split_do_not_matter(rng):
    features, labels = clouds(rng)
    told = {}
    for per_task in (1, 2, 3, 6):
        method, built, _ = learnt(features, labels, per_task=per_task, penalty="fixed", strength=3.0)
        test = torch.cat([t.test.index for t in built.tasks])
        logits = (features[test.sort().values] @ method.projection).relu() @ method.weight
        told[per_task] = logits[:, torch.tensor([built.classes.index(f"class {c}") for c in range(6)])]
    for per_task in (1, 2, 3):
        assert torch.allclose(told[per_task], told[6], atol=1e-4)


def test_learns_reports_and_survives_saving(rng):
    features, labels = clouds(rng)
    method, built, told = learnt(features, labels)
    assert isinstance(told[-1], Finished)
    assert told[-1].metrics["last_accuracy"] >= 0.9
    assert all(e.measures["penalty"] in ridge.PENALTIES for e in told if isinstance(e, Diagnosed))
    state = method.state_dict()
    assert parameter_count(state) == 64 * 6
    again = registry.card("ranpac").learner(built.tasks[0].task.train.source.vit, width=64)
    again.load_state_dict(state)
    batch = next(iter(built.tasks[0].test.batches(8)))
    assert torch.equal(again.predict(batch).logits, method.predict(batch).logits)


def test_bytes_grow_by_the_photos_of_a_task(rng):
    method, built, _ = learnt(*clouds(rng))
    for t, (rows, targets) in enumerate(method.roots):
        assert rows.shape == (len(built.tasks[t].task.train), 64)
        assert targets.shape == (len(rows), 2 * (t + 1))
