"""Ready-made experiments: bytes as stored, settings that exist, differences counted by photo, from click to sentence."""

import time
from dataclasses import replace

import numpy as np
import photos_made as made
import pytest
from starlette.testclient import TestClient

from forget_me_not.demo import experiments as ready, experiments_said as said
from forget_me_not.demo.routes_experiments import size
from forget_me_not.demo.server import application
from forget_me_not.demo.words import LANGUAGES, words
from forget_me_not.models import registry
from forget_me_not.models.check_streams import ground
from forget_me_not.models.core import rng_for
from forget_me_not.models.metrics import paired

SMALL = ready.Shape(64, 3)
ALL = [(e, v) for e in ready.EXPERIMENTS for v in e.make(SMALL)]


def test_every_variant_is_a_method_with_settings_it_has_and_words_in_every_language():
    for shape in (ready.Shape(), ready.Shape(768, 12), ready.Shape(1024, 24)):
        for experiment in ready.EXPERIMENTS:
            for variant in experiment.make(shape):
                registry.card(variant.method).read(variant.settings)
                for language in LANGUAGES:
                    assert f"experiments.{experiment.name}.{variant.name}" in words(language)


@pytest.mark.parametrize(("experiment", "variant"), ALL, ids=[f"{e.name}-{v.name}" for e, v in ALL])
def test_the_bytes_said_of_a_module_are_those_it_stores(experiment, variant):
    on = ground(((0, 1),), patch=16, layer_scale=1.0)
    card = registry.card(variant.method)
    learner = card.learner(on.vit, **card.read({**variant.settings, "epochs": 1}))
    task = on.stream.tasks[0].task
    for log in learner.fit_task(replace(task, train=task.train.reading(learner.reads)), rng_for(0, 0)):
        assert log is None or log.step <= log.steps
    kept = {"softtf": "mask.", "tosca": "module."}.get(variant.method, "parts.")
    stored = sum(t.numel() * t.element_size() for name, t in learner.state_dict().items() if name.startswith(kept))
    assert ready.module_bytes(variant, SMALL) == stored > 0


@pytest.mark.parametrize("width", [192, 384, 768, 1024])
def test_masks_lora_and_adapter_store_the_same_within_one_per_cent(width):
    shape = ready.Shape(width, 12)
    held = [ready.module_bytes(one, shape) for one in ready.named("bytes").make(shape)]
    assert held[0] == 16 * width**2
    assert max(held) / min(held) < 1.01


def test_more_blocks_take_longer_and_one_run_of_all_routers_less_than_five():
    shape, work = ready.Shape(), ([80] * 6, [40] * 6)
    last, three, first, every = (ready.seconds([one], shape, *work) for one in ready.named("layers").make(shape))
    assert last < three < first == every
    assert ready.seconds(ready.named("router").make(shape), shape, *work) < ready.seconds(5 * [_soft_last()], shape, *work)
    assert ready.seconds(ready.named("parts").make(shape), shape, *work) < 60


def _soft_last():
    return next(one for one in ready.named("init").make(ready.Shape()) if one.name == "one")


def test_a_difference_on_the_same_photos_is_told_by_those_that_changed():
    difference, low, high = paired(10, 2, 100)
    assert difference == pytest.approx(0.08)
    assert low == pytest.approx(8 / 102 - 1.96 * np.sqrt(13 - 64 / 102) / 102, abs=1e-4)
    assert low > 0 > paired(3, 2, 100)[1]
    assert (paired(2, 10, 100)[1], paired(2, 10, 100)[2]) == (-high, -low)
    assert paired(0, 0, 0) == (0.0, -1.0, 1.0)


class _Result:
    """What the sentence needs of a result."""

    id = "0" * 32

    def __init__(self, held, took):
        self.numbers = {"bytes_per_task": held, "seconds": {"train": took}, "forgetting": 0.0, "parameters_per_task": held // 4}


def _line(label, right, held=1000, took=2.0, beside=False):
    return said.Shown(label, np.array(right, bool), 0.5, _Result(held, took), beside)


def test_the_sentence_tells_what_can_be_told_and_no_more():
    experiment, text = ready.named("init"), words("en")
    first = [True] * 60 + [False] * 40
    better, same = [True] * 80 + [False] * 20, [False] + [True] * 60 + [False] * 39
    whole = said.say(experiment, [_line("A", first), _line("B", better), _line("C", same)], text, size)
    assert "B +20.0 points (+11.7 to +27.5)" in whole
    assert "C: too few photos to tell from A" in whole
    unsure = said.say(experiment, [_line("A", first), _line("C", same, held=50_000, took=9)], text, size)
    assert unsure.startswith("Too few photos to tell: on 100")
    assert "1 kB to 50 kB" in unsure
    assert "2 to 9 s" in unsure
    assert said.say(experiment, [_line("A", first)], text, size) == ""


def test_the_oracle_stands_beside_and_is_never_called_better():
    experiment, text = ready.named("router"), words("en")
    lines = [_line("task key", [True] * 5 + [False] * 5), _line("entropy", [True] * 5 + [False] * 5),
             _line("oracle", [True] * 10, beside=True)]  # fmt: skip
    whole = said.say(experiment, lines, text, size)
    assert whole.startswith("Too few photos to tell")
    assert "Told the task, the same masks reach 100.0 %" in whole


@pytest.fixture(scope="module")
def project(session, tmp_path_factory):
    root = tmp_path_factory.mktemp("photos")
    project = session.new_project()
    zipped = made.zipped(made.folder(root / "in", {"apple": 6, "brick": 6, "cloud": 6, "desk": 6}), root / "photos.zip")
    session.upload(project, zipped, "photos.zip", "", "")
    return project


@pytest.mark.parametrize(("name", "variants", "labels"), [
    ("parts", 4, ["adapter, then calibrator", "adapter only", "calibrator only", "side by side"]),
    ("router", 1, ["task key", "class prototype", "prototype × module", "gradient", "least doubt", "oracle (told the task)"]),
])  # fmt: skip
def test_one_click_from_runs_to_rows_and_a_sentence(session, project, name, variants, labels):
    with TestClient(application(session, page=False)) as web:
        def told():
            answer = web.get(f"/projects/{project.id}/experiments").json()["experiments"]
            return next(one for one in answer if one["name"] == name)

        before = told()
        assert before["last"] is None
        assert before["seconds"] > 0
        started = web.post(f"/projects/{project.id}/experiments", json={"name": name}).json()
        runs = started.get("runs", started)
        assert len(set(runs)) == variants, runs
        end = time.monotonic() + 240
        while (last := told()["last"])["state"] != "finished":
            assert time.monotonic() < end
            assert last["state"] in ("queued", "running")
            time.sleep(0.1)
        assert last["runs"] == runs
        assert [row["label"] for row in last["rows"]] == labels
        board = web.get(f"/projects/{project.id}/compare").json()["rows"]
        notes = [row["note"] for row in board if row["run"] in runs]
        assert len(set(notes)) == variants
        if name == "parts":
            accuracy = {row["run"]: row["accuracy"] for row in board}
            assert all(row["accuracy"] == pytest.approx(accuracy[row["run"]]) for row in last["rows"])
            assert "parts calibrator" in " ".join(notes)
        else:
            assert last["rows"][0]["accuracy"] == pytest.approx(next(r["accuracy"] for r in board if r["run"] == runs[0]))
        assert last["say"]
        taken = web.get(f"/projects/{project.id}/share/project.fmn").content
        back = web.post("/projects/import", content=taken).json()["id"]
        answer = web.get(f"/projects/{back}/experiments").json()["experiments"]
        [there] = [one["last"] for one in answer if one["name"] == name]
        assert [{**row, "run": ""} for row in there["rows"]] == [{**row, "run": ""} for row in last["rows"]]
        unknown = web.post(f"/projects/{project.id}/experiments", json={"name": "nothing"}).json()
        assert unknown["problem"]["code"] == "experiment_unknown"
