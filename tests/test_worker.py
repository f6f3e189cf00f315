"""The worker process with a tiny random ViT: runs by turns, pause, stop, a kill in the middle, questions, and equal numbers."""

import json
import os
import signal
import sys
import time

import photos_made as made
import pytest

from forget_me_not.demo.client import COMMAND, Client
from forget_me_not.models.problem import Problem

LONG = {"tosca": {"epochs": 100, "batch": 2}}
"""Settings of a run that lasts long enough to be interrupted."""
LONGER = {"lora": {"epochs": 100, "batch": 1}}
"""And of one, through the network itself, that lasts for tens of seconds: how long others wait for it can be told."""
COUNTS = {"apple": 9, "brick": 9, "cloud": 9, "desk": 12}


def until(true, seconds=60.0, every=0.02):
    """Waits for something to be true; its value."""
    end = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(every)
    return value


def client_for(home):
    return Client(home, [*COMMAND, "--home", str(home), "--backbone", "random"], {"FORGET_ME_NOT_HOME": str(home.parent)})


@pytest.fixture(scope="module")
def zipped(tmp_path_factory):
    root = tmp_path_factory.mktemp("photos")
    return made.zipped(made.folder(root / "in", COUNTS), root / "photos.zip")


@pytest.fixture
def project(session, zipped):
    project = session.new_project()
    session.upload(project, zipped, "photos.zip", "", "")
    return project


def train(session, project, *methods, **asked):
    return session.train(project, {"methods": list(methods), **asked})


def events(session, rid):
    return [line["event"] for line in session.lines(rid, 0)]


def kinds(session, rid):
    return [event["event"] for event in events(session, rid)]


def wait(session, rid, *wanted, seconds=60.0):
    return until(lambda: (said := session.status(rid)["status"]) in wanted and said, seconds)


def rows(session, rid):
    return {event["task"]: (event["correct"], event["total"]) for event in events(session, rid) if event["event"] == "Evaluated"}


def test_two_methods_by_turns_give_the_numbers_of_the_library_alone(session, project, zipped):
    import torch

    from forget_me_not.models import registry
    from forget_me_not.models.backbone import random_vit
    from forget_me_not.models.encoder import Encoder
    from forget_me_not.models.events import to_json
    from forget_me_not.models.experiment import conduct
    from forget_me_not.models.images import read
    from forget_me_not.models.stream import build, plan

    runs = train(session, project, "tosca", "finetune", seed=5)
    for rid in runs:
        assert wait(session, rid, "finished", "failed") == "finished"
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        images = read(zipped)
        tasks = [["apple", "brick"], ["cloud", "desk"]]
        labels, groups = [p.label for p in images.photos], [p.group for p in images.photos]
        asked = plan(labels, groups, tasks=tasks, names=["Task 1", "Task 2"], seed=5)
        stream = build(asked, Encoder(random_vit(), images))
        for rid, method in zip(runs, ("tosca", "finetune"), strict=True):
            alone = [to_json(e) for e in conduct(stream, method, registry.card(method).read({}), 5) if e is not None]
            assert _timeless(events(session, rid)) == _timeless(json.loads(json.dumps(alone)))
    finally:
        torch.set_num_threads(threads)


def _timeless(told):
    """Events without seconds, and without the progress of encoding: what one run has encoded the other finds ready."""
    kept = [{k: v for k, v in event.items() if k != "seconds"} for event in told if event["event"] != "Encoded"]
    kept[-1]["metrics"].pop("seconds")
    return kept


def test_photos_are_never_decoded_from_what_a_client_named(session, project):
    asked = json.loads((session.folder(train(session, project, "simplecil")[0]) / "request.json").read_text())
    for photo in asked["photos"]:
        assert session.project(project.id).path(photo["sha"], photo["ext"]).is_file()


def test_pause_step_and_resume(session, project):
    (rid,) = train(session, project, "tosca", settings=LONG)
    until(lambda: "Step" in kinds(session, rid))
    assert session.control(rid, "pause")["status"] == "paused"
    count = len(events(session, rid))
    time.sleep(0.3)
    assert len(events(session, rid)) == count
    session.control(rid, "step")
    wait(session, rid, "paused")
    assert kinds(session, rid)[-1] == "TaskFinished"
    assert session.control(rid, "resume")["status"] == "running"
    wait(session, rid, "finished")
    assert kinds(session, rid).count("TaskFinished") == 2
    with pytest.raises(Problem, match="run_finished"):
        session.control(rid, "resume")


def test_stop_and_resume_repeat_what_one_run_would_have_done(session, project):
    whole, stopped = (train(session, project, "tosca", settings=LONG)[0] for _ in range(2))
    until(lambda: kinds(session, stopped).count("TaskStarted") == 2)
    session.control(stopped, "stop")
    wait(session, stopped, "stopped")
    assert kinds(session, stopped)[-1] == "Stopped"
    session.control(stopped, "resume")
    for rid in (whole, stopped):
        wait(session, rid, "finished")
    assert "Resumed" in kinds(session, stopped)
    assert rows(session, whole) == rows(session, stopped)
    told = events(session, stopped)
    again = told[max(n for n, e in enumerate(told) if e["event"] == "Resumed") :]
    assert _losses(again) == [pair for pair in _losses(events(session, whole)) if pair[0] == 1]


def _losses(told):
    return [(e["task"], e["loss"]) for e in told if e["event"] == "Step"]


def test_a_second_training_waits_for_the_first_and_can_be_taken_out(session, project):
    (first,) = train(session, project, "lora", settings=LONGER)
    wait(session, first, "running")
    (second,) = train(session, project, "tosca", settings=LONG, seed=1)
    (third,) = train(session, project, "simplecil")
    until(lambda: session.status(third)["place"] == 2)
    lines = {one["id"]: one for one in session.runs(project)}
    assert [(lines[r]["place"], lines[r]["begun"]) for r in (first, second, third)] == [(0, True), (1, False), (2, False)]
    assert until(lambda: session.status(second)["wait"]) > 0
    assert session.status(third)["wait"] > session.status(second)["wait"]
    with pytest.raises(Problem, match="run_begun"):
        session.control(first, "withdraw")
    assert session.control(second, "withdraw") == {"status": "gone"}
    assert second not in project.data["runs"]
    assert not (session.home / "runs" / second).exists()
    assert session.status(third)["status"] == "queued"
    session.control(first, "pause")  # who pauses lets the next one go first
    assert wait(session, third, "finished") == "finished"
    session.control(first, "stop")
    wait(session, first, "stopped")


def test_a_training_of_another_project_does_not_wait(session, project, zipped):
    (mine,) = train(session, project, "tosca", settings=LONG)
    (waits,) = train(session, project, "simplecil")
    other = session.new_project()
    session.upload(other, zipped, "photos.zip", "", "")
    (theirs,) = train(session, other, "simplecil")
    assert wait(session, theirs, "finished") == "finished"
    assert session.status(mine)["status"] == "running"
    assert session.status(waits)["status"] == "queued"
    session.control(mine, "stop")
    wait(session, waits, "finished")


def test_three_seeds_are_three_runs_of_each_method_by_turns(session, project):
    rids = train(session, project, "tosca", "simplecil", seed=4, seeds=3)
    for rid in rids:
        wait(session, rid, "finished")
    lines = session.runs(project)
    assert [(one["method"], one["seed"]) for one in lines] == [(m, s) for s in (4, 5, 6) for m in ("tosca", "simplecil")]
    assert {one["training"] for one in lines} == {lines[0]["training"]}
    assert {(one["done"], one["tasks"]) for one in lines} == {(2, 2)}
    assert project.data["chosen"]["seeds"] == 3
    first, second = ([e for e in events(session, rid) if e["event"] != "TaskFinished"] for rid in (rids[0], rids[2]))
    assert first != second
    (alone,) = train(session, project, "tosca", seed=5)
    wait(session, alone, "finished")
    assert rows(session, alone) == rows(session, rids[2])  # in company or alone: the same numbers
    with pytest.raises(Problem, match="choice_bad"):
        train(session, project, "tosca", seeds=2)


def test_a_killed_worker_comes_back_and_so_do_its_runs(session, project):
    (rid,) = train(session, project, "tosca", settings=LONG)
    until(lambda: kinds(session, rid).count("TaskStarted") == 2)
    os.kill(session.client.pid, signal.SIGKILL)
    until(lambda: session.client.status["worker"] == "restarting")
    wait(session, rid, "finished")
    assert session.status(rid)["restarted"]
    assert {"event": "Resumed", "task": 1} in events(session, rid)
    assert session.client.status["worker"] == "ready"
    (other,) = train(session, project, "tosca", settings=LONG)
    wait(session, other, "finished")
    assert rows(session, other) == rows(session, rid)


def test_settings_and_photos_that_do_not_do_are_refused_and_nothing_is_left(session, project):
    before = sorted((session.home / "runs").iterdir())
    with pytest.raises(Problem, match="setting_bad"):
        train(session, project, "finetune", "tosca", settings={"tosca": {"epochs": -1}})
    with pytest.raises(Problem, match="method_unknown"):
        train(session, project, "nonsense")
    project.edit({"do": "add_class", "name": "fish"})
    with pytest.raises(Problem, match="class_few"):
        train(session, project, "tosca")
    assert sorted((session.home / "runs").iterdir()) == before
    assert project.view()["runs"] == []


def test_a_photo_that_is_gone_fails_its_run_with_a_sentence_and_no_other(session, project):
    runs = train(session, project, "tosca", settings=LONG)
    until(lambda: "Step" in kinds(session, runs[0]))
    put = session.new_project()
    session.upload(put, _one_off(session.home, "gone.zip"), "gone.zip", "", "")
    for photo in (put.folder / "photos").iterdir():
        photo.unlink()
    (bad,) = train(session, put, "simplecil")
    assert wait(session, bad, "failed", "finished") == "failed"
    assert session.status(bad)["problem"]["code"] == "image_gone"
    assert wait(session, runs[0], "finished", "failed") == "finished"


def _one_off(home, name):
    """A zip of photos no other test has encoded."""
    root = home.parent / "one_off"
    for label in ("apple", "brick"):
        (root / label).mkdir(parents=True, exist_ok=True)
        for number in range(4):
            (root / label / f"{number}.png").write_bytes(made.photo(label, 500 + number))
    return made.zipped(root, home.parent / name)


def test_inside_and_ask(session, project, tmp_path):
    (rid,) = train(session, project, "tosca")
    wait(session, rid, "finished")
    made_ = until(lambda: session.inside(rid), 90, 0.1)
    count = len(made_["points"])
    assert count == made_["total"] == sum(rows(session, rid)[1][1])
    for name in ("before", "after"):
        assert len(made_[name]["pca"]) == count
        assert made_[name]["tsne"]
        assert all(len(places) == count for places in made_[name]["tsne"].values())
    assert [len(f["class"]) for f in made_["frames"]] == [rows(session, rid)[0][1][0], count]
    last = made_["frames"][-1]
    right = [made_["classes"][c] == p["class"] for c, p in zip(last["class"], made_["points"], strict=True)]
    assert sum(right) == sum(rows(session, rid)[1][0])
    for at in (0, count - 1):
        said = session.ask(rid, made_["points"][at]["photo"])
        assert said["says"] == made_["classes"][last["class"][at]]
        assert said["module"] == last["module"][at]
        assert [round(m["entropy"], 4) for m in said["modules"]] == last["entropy"][at]
        assert said["truth"] == made_["points"][at]["class"]
        assert len(said["history"]) == 2
    (tmp_path / "new").write_bytes(made.photo("apple", 77, kind="JPEG"))
    fresh = session.ask(rid, path=tmp_path / "new")
    assert fresh["truth"] is None
    assert fresh["says"] in COUNTS
    (tmp_path / "bad").write_bytes(b"<svg onload=alert(1)>")
    with pytest.raises(Problem, match="image_type"):
        session.ask(rid, path=tmp_path / "bad")
    with pytest.raises(Problem, match="photo_unknown"):
        session.ask(rid, "f" * 64)


def test_cards_are_written_for_the_page(session):
    cards = {card["name"]: card for card in session.cards()}
    assert {"tosca", "finetune", "joint"} <= set(cards)
    assert {s["name"] for s in cards["tosca"]["settings"]} >= {"epochs"}


def test_unknown_commands_and_noise_do_not_end_the_worker(session):
    with pytest.raises(Problem, match="command_unknown"):
        session.client.call("dance")
    with pytest.raises(Problem, match="worker_failed"):
        session.client.call("start")
    assert "runs" in session.client.call("ping")


def test_a_second_worker_leaves_the_runs_of_the_first_alone(session, project):
    (rid,) = train(session, project, "tosca", settings=LONG)
    until(lambda: "Step" in kinds(session, rid))
    session.control(rid, "pause")  # it stays the first one's for as long as the second needs to start
    other = client_for(session.home)
    other.start()
    try:
        assert rid not in other.call("ping", patience=60)["runs"]
        with pytest.raises(Problem, match="run_elsewhere"):
            other.call("run", run=rid, what="resume")
    finally:
        other.stop()
        session.control(rid, "stop")
    wait(session, rid, "stopped")


def test_a_worker_that_cannot_live_is_given_up_with_a_word(tmp_path, monkeypatch):
    monkeypatch.setattr("forget_me_not.demo.client.FIRST_WAIT", 0.001)
    client = Client(tmp_path, [sys.executable, "-c", "raise SystemExit(3)"])
    client.start()
    until(lambda: client.status["worker"] == "failed")
    with pytest.raises(Problem, match="worker_away"):
        client.call("ping", patience=5)
    client.stop()


def test_the_worker_ends_when_its_page_is_gone(tmp_path):
    home = tmp_path / "data"
    home.mkdir()
    client = client_for(home)
    client.start()
    until(lambda: client.status["worker"] == "ready")
    pid = client.pid
    client._process.stdin.close()
    client._stopping.set()
    until(lambda: client.pid is None, 20)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
