"""One learner for every arm of the plasticity track: runs resume bit for bit, leave no trace when given up, and fall behind."""

import json
import math
from dataclasses import replace

import pytest
import torch

from forget_me_not.models import engine
from forget_me_not.models.core import PIXELS, Samples
from forget_me_not.models.events import (
    Diagnosed,
    Evaluated,
    Finished,
    RunStarted,
    Step,
    Stopped,
    TaskFinished,
    from_json,
    to_json,
)
from forget_me_not.models.plasticity import arms, streams
from forget_me_not.models.plasticity.arrow import Arrow
from forget_me_not.models.plasticity.bench import difference
from forget_me_not.models.plasticity.learner import Learner
from forget_me_not.models.plasticity.pixels import PixelTable
from forget_me_not.models.plasticity.vit import small_vit
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder

SMALL = {"width": 16, "heads": 2, "depth": 2}
RESUMED = ("sgd", "arrow_clip", "adam_arrow", "fresh", "trac", "cbp", "shrink_perturb", "nap", "crelu", "l2_init")


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


def short(tasks=3, seed=0):
    """Permuted digits a test has time for: two passes over 80 digits a task, 100 test digits."""
    study = streams.permuted_digits(tasks, seed, train=80, epochs=2)
    made = tuple(replace(t, test=t.test.pick(torch.arange(100))) for t in study.stream.tasks)
    return replace(study, stream=replace(study.stream, tasks=made), network={**study.network, **SMALL})


def conducted(name, study, seed=0, **more):
    return [e for e in arms.conduct(arms.arm(name), study, seed, **more) if e is not None]


def timeless(events):
    return [replace(e, seconds={}) if isinstance(e, TaskFinished) else replace(e, metrics={**e.metrics, "seconds": {}})
            if isinstance(e, Finished) else e for e in events]  # fmt: skip


@pytest.mark.parametrize("name", arms.ARMS)
def test_every_arm_runs_learns_measures_and_survives_json(name):
    state = torch.random.get_rng_state()
    study = short(2)
    events = conducted(name, study)
    assert torch.equal(state, torch.random.get_rng_state())
    assert isinstance(events[0], RunStarted)
    assert events[0].evaluate == "new"
    assert isinstance(events[-1], Finished)
    steps = [e for e in events if isinstance(e, Step)]
    assert len(steps) == 2 * 4
    assert all(e.loss is not None for e in steps)
    measures = [e.measures for e in events if isinstance(e, Diagnosed)]
    assert len(measures) == 2
    named = {"online", "effective_rank.v.1", "stable_rank.fc1.0", "active.fc1.1", "gradient.q.0", "drift.proj.0"}
    assert named <= set(measures[1])
    assert ("gain.geometry.0" in measures[0]) == (arms.arm(name).optimiser == "arrow")
    assert [from_json(json.loads(json.dumps(to_json(e)))) for e in events] == events
    assert events[-1].metrics["learning_accuracy"] is not None


@pytest.mark.parametrize("name", RESUMED)
def test_runs_resume_bit_for_bit_at_every_boundary(name, tmp_path):
    study, seed = short(3), 4
    whole = timeless(conducted(name, study, seed))
    for boundary in (1, 2):
        folder = RunFolder.create(tmp_path / f"{name}{boundary}", arms.facts(arms.arm(name), study, seed))
        finished = []

        def stop(boundary=boundary, folder=folder, finished=finished):
            finished[:] = [e for e in folder.events() if isinstance(e, TaskFinished)]
            return len(finished) == boundary

        first = conducted(name, study, seed, folder=folder, stop=stop)
        assert isinstance(first[-1], Stopped)
        again = RunFolder.open(tmp_path / f"{name}{boundary}")
        rest = conducted(name, study, seed, folder=again)
        assert timeless(first)[:-1] + timeless(rest)[1:-1] == whole[:-1]
        assert timeless(rest)[-1] == whole[-1]


def test_a_task_given_up_leaves_the_learner_as_it_was():
    study = short(2)
    learner = arms.learner(arms.arm("arrow_clip"), study)
    list(learner.fit_task(study.stream.tasks[0].task, rng()))
    before = {k: v.clone() for k, v in learner.state_dict().items()}
    half = learner.fit_task(study.stream.tasks[1].task, rng())
    next(half), next(half)
    half.close()
    after = learner._snapshot()
    assert set(before) == set(after)
    assert all(torch.equal(before[k], after[k]) for k in before)


def test_snapshots_are_not_written_into():
    study = short(2)
    learner = arms.learner(arms.arm("adam_arrow"), study)
    list(learner.fit_task(study.stream.tasks[0].task, rng()))
    held = learner.state_dict()
    copies = {k: v.clone() for k, v in held.items()}
    list(learner.fit_task(study.stream.tasks[1].task, rng()))
    assert all(torch.equal(held[k], copies[k]) for k in held)
    learner.load_state_dict(held)
    list(learner.fit_task(study.stream.tasks[1].task, rng()))
    assert all(torch.equal(held[k], copies[k]) for k in held)


def test_the_state_across_tasks_holds_the_window_and_counts_only_the_network():
    study = short(1)
    learner = arms.learner(arms.arm("arrow"), study)
    events = list(e for e in engine.run(study.stream, learner, evaluate="new") if e)
    state = learner.state_dict()
    windows = [v for k, v in state.items() if k.endswith(".window")]
    assert [tuple(w.shape) for w in windows] == [(10, 16 * 48 + 48 + 16 * 16 + 16)] * 2
    finished = next(e for e in events if isinstance(e, TaskFinished))
    assert finished.parameters == sum(p.numel() for p in learner.network.parameters())


def test_arms_of_one_seed_begin_alike_and_see_the_same_batches():
    study, seen = short(1), {}
    for name in ("sgd", "shrink_perturb", "cbp"):
        learner = arms.learner(arms.arm(name), study, seed=3)
        seen[name] = learner.state_dict()["network.head.weight"].clone(), [
            log.loss for log in learner.fit_task(study.stream.tasks[0].task, rng(8)) if log and log.steps
        ]
    assert all(torch.equal(w, seen["sgd"][0]) for w, _ in seen.values())
    assert seen["shrink_perturb"][1] == seen["sgd"][1]
    assert seen["cbp"][1][:3] == seen["sgd"][1][:3]


def test_the_fresh_arm_forgets_its_network_and_its_optimiser():
    study = short(2)
    learner = arms.learner(arms.arm("fresh"), study)
    list(learner.fit_task(study.stream.tasks[0].task, rng()))
    trained = learner.network.head.weight.detach().clone()
    next(second := learner.fit_task(study.stream.tasks[1].task, rng(1)))
    assert float((learner.network.head.weight.detach() - learner.initial["head.weight"]).norm()) < float(trained.norm()) / 2
    moved = {k for k in learner.optimiser.state_dict()["state"]}
    assert moved  # one step after it was emptied
    second.close()


def test_a_task_of_few_classes_trains_on_those_alone():
    study = short(1)
    task = study.stream.tasks[0].task
    keep = (task.train.labels < 2).nonzero()[:, 0]
    small = replace(task, classes=(0, 1), train=task.train.pick(keep))
    learner = Learner(small_vit(**study.network), arms.sgd, epochs=1)
    before = learner.network.head.weight.detach().clone()
    list(learner.fit_task(small, rng()))
    moved = (learner.network.head.weight.detach() - before).abs().sum(1)
    assert (moved[:2] > 0).all()
    assert not moved[2:].any()


def test_answers_do_not_depend_on_their_batch():
    study = short(1)
    learner = arms.learner(arms.arm("sgd"), study)
    test = study.stream.tasks[0].test
    whole = next(iter(test.batches(100)))
    alone = torch.cat([learner.predict(b).logits for b in test.batches(1)])
    assert torch.allclose(learner.predict(whole).logits, alone, atol=1e-5)
    assert torch.equal(learner.predict(whole).logits, learner.predict(whole).logits)


def test_a_learner_sees_no_test_image():
    class Guarded(PixelTable):
        def get(self, index, cut, edit=None):
            assert not set((index % 1797).tolist()) & set(range(1397, 1797))
            return super().get(index, cut, edit)

    study = short(1)
    task = study.stream.tasks[0].task
    inner = task.train.source
    guarded = Guarded(inner.images, inner.view)
    learner = arms.learner(arms.arm("sgd"), replace(study, probe=lambda t: guarded.get(torch.arange(1141, 1397), PIXELS)))
    list(learner.fit_task(replace(task, train=Samples(guarded, task.train.index, task.train.labels, task.train.reads)), rng()))


def test_a_run_can_be_watched_every_step():
    study = short(1)
    learner = arms.learner(arms.arm("arrow"), study)
    told = list(learner.fit_task(study.stream.tasks[0].task, rng()))
    assert [t.step for t in told if t and t.steps] == [1, 2, 3, 4]


def test_unknown_arms_name_the_known():
    with pytest.raises(Problem) as problem:
        arms.arm("nothing_such")
    assert problem.value.code == "arm_unknown"
    assert "arrow_clip" in problem.value.values["known"]


def test_scaled_attention_moves_only_attention_slower():
    study = short(1)
    groups = arms.learner(arms.arm("attention_half"), study).optimiser.param_groups
    assert sorted({g["lr"] for g in groups}) == [0.01, 0.02]
    slow = sum(p.numel() for g in groups if g["lr"] == 0.01 for p in g["params"])
    assert slow == 2 * (16 * 48 + 48 + 16 * 16 + 16)


def test_norm_matched_arrow_is_logged_with_gain_one():
    measures = [e.measures for e in conducted("arrow_matched", short(1)) if isinstance(e, Diagnosed)]
    assert measures[0]["gain.geometry.1"] == pytest.approx(1)
    assert 0 < measures[0]["cos.geometry.1"] < 1


def test_arrow_arms_wrap_the_whole_network():
    made = arms.learner(arms.arm("arrow"), short(1))
    assert isinstance(made.optimiser, Arrow)
    assert sum(p.numel() for g in made.optimiser.param_groups for p in g["params"]) == sum(
        p.numel() for p in made.network.parameters()
    )


def test_paired_differences_have_students_interval():
    row = difference("d", [(0.3, 0.1), (0.5, 0.2), (0.4, 0.0)])
    assert row.value == pytest.approx(0.3)
    assert row.detail["high"] - row.value == pytest.approx(4.3027 * 0.1 / math.sqrt(3), rel=1e-4)


@pytest.mark.slow
def test_plain_training_falls_behind_a_fresh_network():
    """The negative case of the track: without loss of plasticity here, nothing on its page would mean anything."""
    late = {}
    for name in ("sgd", "fresh"):
        study = streams.permuted_digits(8)
        learner = arms.learner(arms.arm(name), study, probed=False)
        accuracy = [e.correct[-1] / e.total[-1] for e in engine.run(study.stream, learner, evaluate="new")
                    if isinstance(e, Evaluated)]  # fmt: skip
        late[name] = sum(accuracy[-4:]) / 4
    assert late["fresh"] - late["sgd"] >= 0.05
