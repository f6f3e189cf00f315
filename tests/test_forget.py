"""See it forget: what is shown of a run is what the run answered, and a pack needs no backbone."""

import json
import time

import pytest
import torch
from starlette.testclient import TestClient

from forget_me_not.demo.client import COMMAND, Client
from forget_me_not.demo.disk import write_json
from forget_me_not.demo.early import STATIC, needed
from forget_me_not.demo.packs import KEPT, LANES, METHODS, Packs, in_language, marks, pack, request
from forget_me_not.demo.server import application
from forget_me_not.demo.session import Session
from forget_me_not.demo.view import RunView
from forget_me_not.demo.watch import Mark, lane, ordered
from forget_me_not.models import registry
from forget_me_not.models.core import Batch, Log, rng_for
from forget_me_not.models.experiment import conduct
from forget_me_not.models.packs.load import load
from forget_me_not.models.problem import Problem
from forget_me_not.models.stream import build

TASKS = (("apple", "pear"), ("cat", "dog"), ("car", "bus"))
TRUTH = ("apple", "pear")


def mark(task, step, says, right=0, steps=10):
    return Mark(task, step, steps, right, 10, says, TRUTH)


def states(shown):
    return [[(photo["state"], photo["by"]) for photo in one["photos"]] for one in shown["marks"]]


# What both lanes show


def test_a_photo_that_was_never_right_is_not_lost():
    shown = lane([mark(0, 1, ("pear", "pear")), mark(0, 10, ("apple", "pear"))], TASKS)
    assert states(shown) == [[("new", None), ("right", None)], [("right", None), ("right", None)]]


def test_a_lost_photo_is_taken_by_the_task_of_its_new_label():
    shown = lane([mark(0, 10, TRUTH), mark(1, 5, ("cat", "pear")), mark(2, 5, ("bus", "dog"))], TASKS)
    assert states(shown)[1] == [("lost", 1), ("right", None)]
    assert states(shown)[2] == [("lost", 2), ("lost", 1)]


def test_a_photo_taken_for_its_neighbour_is_lost_to_the_task_being_learnt():
    shown = lane([mark(0, 10, TRUTH), mark(1, 5, ("pear", "pear")), mark(2, 5, ("pear", "pear"))], TASKS)
    assert [one[0] for one in states(shown)] == [("right", None), ("lost", 1), ("lost", 1)]


def test_a_photo_may_come_back():
    shown = lane([mark(0, 10, TRUTH), mark(1, 5, ("cat", "pear")), mark(1, 10, TRUTH)], TASKS)
    assert states(shown)[2] == [("right", None), ("right", None)]
    assert (shown["kept"], shown["of"]) == (2, 2)


def test_best_and_last_are_shares_of_task_one():
    shown = lane([mark(0, 10, TRUTH, 9), mark(1, 5, TRUTH, 10), mark(1, 10, TRUTH, 4)], TASKS)
    assert (shown["best"], shown["last"]) == (1.0, 0.4)
    assert [one["at"] for one in shown["marks"]] == [1.0, 1.5, 2.0]


def test_marks_of_a_task_that_was_learnt_anew_count_once():
    old = [mark(0, 10, TRUTH), mark(1, 2, TRUTH), mark(1, 6, TRUTH)]
    again = [mark(1, 2, ("cat", "pear")), mark(1, 10, ("cat", "pear"))]
    assert ordered([*old, *again]) == [old[0], *again]


def test_a_run_that_has_not_begun_has_nothing_to_show():
    assert lane([], TASKS) == {"marks": [], "best": None, "last": None, "kept": 0, "of": 0}


# A learner looked at in the middle of a task


@pytest.mark.parametrize("method", LANES)
def test_weights_of_the_very_step_answer_and_the_run_stays_as_it_was(method):
    chosen = load("toybox")
    stream = build(chosen.plan(0), chosen.source())
    vit = stream.tasks[0].test.source.vit
    watched, alone = (registry.card(method).learner(vit) for _ in range(2))
    mirror, test = registry.card(method).learner(vit), stream.tasks[0].test
    assert watched.so_far() == {}
    looks = []
    for log in watched.fit_task(stream.tasks[0].task, rng_for(0, 0)):
        if isinstance(log, Log) and log.step in (1, 50, 100):
            mirror.load_state_dict(watched.so_far())
            with torch.no_grad():
                looks.append(mirror.predict(Batch(test.source, test.index, mirror.reads)).logits.clone())
    assert watched.so_far() == {}
    for _ in alone.fit_task(stream.tasks[0].task, rng_for(0, 0)):
        pass
    assert all(torch.equal(a, b) for a, b in zip(watched.state_dict().values(), alone.state_dict().values(), strict=True))
    assert not torch.equal(looks[0], looks[1])
    if method == "finetune":  # its last step is its last word; TOSCA then sets its rows to class means
        assert torch.equal(looks[2], alone.predict(Batch(test.source, test.index, alone.reads)).logits)


def test_a_task_cut_short_leaves_nothing_in_the_making():
    chosen = load("toybox")
    stream = build(chosen.plan(0), chosen.source())
    learner = registry.card("finetune").learner(stream.tasks[0].test.source.vit)
    before, steps = learner.state_dict(), learner.fit_task(stream.tasks[0].task, rng_for(0, 0))
    next(steps)
    assert learner.so_far()
    steps.close()
    learner.load_state_dict(before)  # as the engine does
    assert learner.so_far() == {}


# Routes


@pytest.fixture
def web(tmp_path):
    with TestClient(application(Session(tmp_path, Client(tmp_path)), page=False)) as client:
        yield client


def test_packs_are_listed_with_words_in_both_languages(web):
    shown = web.get("/packs").json()["packs"]
    assert shown[0]["name"] == "toybox"
    for one in shown:
        assert all(words["ja"] for words in (one["title"], one["line"], *one["captions"].values()))
        assert len(one["cover"]) == 4
        assert {name for task in one["tasks"] for name in task["classes"]} == set(one["captions"])


@pytest.mark.parametrize("seed", [0, 1])
def test_memory_photos_are_test_photos_of_task_one(web, seed):
    about = web.get(f"/packs/toybox?seed={seed}").json()
    plan = load("toybox").plan(seed)
    assert {one["photo"] for one in about["memory"]} <= set(plan.tasks[0].test)
    assert [one["class"] for one in about["memory"]] == list(load("toybox").tasks[0].classes)
    assert about["tested"] == len(plan.tasks[0].test)


def test_pictures_by_number_and_by_hash_are_the_same(web):
    chosen = load("toybox")
    by_number, by_hash = web.get("/packs/toybox/3.webp"), web.get(f"/packs/toybox/photos/{chosen.shas[3]}")
    assert by_number.content == by_hash.content == chosen.thumb(3)
    assert by_number.headers["content-type"] == "image/webp"


NOWHERE = ("packs/nothing", "packs/nothing/0.webp", "packs/toybox/99999.webp", "packs/toybox/-1.webp",
           f"packs/toybox/photos/{'0' * 64}", "packs/toybox/photos/..%2Fpack.json", f"runs/{'0' * 32}/lane")  # fmt: skip


@pytest.mark.parametrize("path", NOWHERE)
def test_what_is_not_there_is_not_found(web, path):
    assert web.get(f"/{path}").status_code in (404, 422)


def test_the_wall_is_the_page_with_another_view(web):
    answer = web.get("/wall", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, "./?view=wall#demo")


def test_one_stylesheet_holds_them_all_tokens_first(web):
    sheet = web.get("/lab/all.css").text
    single = {path.name: path.read_text("utf-8") for path in STATIC.glob("*.css")}
    assert sheet.startswith(single["tokens.css"])
    assert [name for name, text in single.items() if text not in sheet] == []


def test_the_page_waits_for_the_scripts_it_begins_with_and_not_for_those_of_later_tabs():
    first = needed()
    assert first >= {"lab.js", "forget.js", "forget_lane.js", "store.js", "dom.js"}
    assert not first & {"inside.js", "inside_cloud.js", "ask.js", "plasticity.js"}
    assert all((STATIC / name).is_file() for name in first)


def test_scripts_and_words_are_sent_compressed_and_pictures_as_they_are(web):
    for accepted, sent in (("gzip, br", "br"), ("gzip", "gzip"), ("identity", None)):
        script = web.get("/lab/forget.js", headers={"Accept-Encoding": accepted})
        assert script.headers.get("content-encoding") == sent
        assert script.text == (STATIC / "forget.js").read_text("utf-8")
        assert web.get("/lab/text/ja.json", headers={"Accept-Encoding": accepted}).json()["forget.start"] == "スタート"
    assert web.get("/lab/none.js", headers={"Accept-Encoding": "br"}).status_code == 404
    assert "content-encoding" not in web.get("/packs/toybox/0.webp").headers


@pytest.mark.parametrize("seed", [-1, 2**31, 1.5, "0", None, True])
def test_a_seed_is_a_whole_number(web, seed):
    assert web.post("/packs/toybox/train", json={"seed": seed}).json()["problem"]["code"] == "choice_bad"


def test_a_run_of_a_pack_is_drawn_in_the_language_of_the_page_and_others_as_they_are_called(tmp_path):
    toybox = pack("toybox")
    write_json(tmp_path / "request.json", request(toybox, "tosca", {"training": "t", "created": 1.0, "seed": 0}))
    view = RunView(classes=("apple", "bus"), names=tuple(task.name for task in toybox.tasks))
    said = in_language(view, tmp_path, "ja")
    assert (said.classes[0], said.names[0]) == ("りんご", "くだもの")
    assert in_language(view, tmp_path, "en").names == ("Fruit", "Animals", "Vehicles", "Household")
    write_json(tmp_path / "request.json", {"project": "p"})
    assert in_language(view, tmp_path, "ja") is view


def test_too_many_at_a_time_are_told_to_wait(tmp_path):
    session = Session(tmp_path, Client(tmp_path))
    packs = Packs(session)
    known = [{"training": str(n), "pack": "toybox", "seed": n, "created": 0.0,
              "runs": {method: f"{n * 10 + i:032x}" for i, method in enumerate(METHODS)}} for n in range(4)]  # fmt: skip
    write_json(tmp_path / "packs.json", known)
    for one in known:
        for method, rid in one["runs"].items():
            write_json(tmp_path / "runs" / rid / "request.json", request(pack("toybox"), method, one))
    with pytest.raises(Problem) as raised:
        packs.train("toybox", 0)
    assert raised.value.code == "packs_busy"
    assert packs.latest()["training"] == "3"


# A real worker whose backbone never comes


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A finished training of the toy box, by a worker that looks for a backbone there is not."""
    home = tmp_path_factory.mktemp("home") / "data"
    home.mkdir()
    client = Client(
        home, [*COMMAND, "--home", str(home), "--backbone", "no_such_backbone"], {"FORGET_ME_NOT_HOME": str(home.parent)}
    )
    session = Session(home, client)
    packs = Packs(session)
    client.start()
    made = packs.train("toybox", 0)
    end = time.monotonic() + 120
    while any(session.status(rid)["status"] in ("queued", "running") for rid in made["runs"].values()):
        assert time.monotonic() < end, "it did not finish in time"
        time.sleep(0.05)
    yield session, packs, made
    client.stop()


def test_a_pack_is_learnt_without_a_backbone(played):
    session, _, made = played
    assert [session.status(rid)["status"] for rid in made["runs"].values()] == ["finished"] * len(METHODS)
    assert session.client.status["backbone"]["state"] != "ready"


@pytest.mark.parametrize("method", METHODS)
def test_what_the_lane_shows_is_what_the_library_alone_gets(played, method):
    _, packs, made = played
    shown, chosen = packs.lane(made["runs"][method]), load("toybox")
    stream = build(chosen.plan(0), chosen.source())
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        events = [e for e in conduct(stream, method, registry.card(method).read({}), 0) if e is not None]
    finally:
        torch.set_num_threads(threads)
    rows = [event.correct[0] for event in events if type(event).__name__ == "Evaluated"]
    ends = {one["at"]: one["right"] for one in shown["marks"] if one["at"] == int(one["at"])}
    assert [ends[task + 1] for task in range(len(rows))] == rows
    assert shown["whole"] == pytest.approx(events[-1].metrics["last_accuracy"])


def test_naive_forgets_task_one_by_three_tenths_at_least(played):
    _, packs, made = played
    naive = packs.lane(made["runs"]["finetune"])
    assert naive["best"] - naive["last"] >= 0.3
    assert len(naive["marks"]) > 4 * 10
    assert any(photo["state"] == "lost" for photo in naive["marks"][-1]["photos"])


def test_the_photos_kept_are_those_the_engine_answered_right(played):
    from forget_me_not.models.store import RunFolder

    session, packs, made = played
    for method in METHODS:
        rid = made["runs"][method]
        answers = RunFolder.open(session.folder(rid)).answers(3)
        right = dict(zip(answers["photo"].tolist(), (answers["class"] == answers["label"]).tolist(), strict=True))
        memory = [one["photo"] for one in packs.about("toybox", 0)["memory"]]
        assert packs.lane(rid)["kept"] == sum(right[photo] for photo in memory)


def test_a_run_of_a_pack_is_a_run_like_any_other(played):
    session, _, made = played
    shown = session.run(made["runs"]["tosca"])
    assert shown["project"] == "pack:toybox"
    assert [task["name"] for task in shown["tasks"]] == [task.name for task in load("toybox").tasks]
    facts = json.loads((session.folder(made["runs"]["tosca"]) / "run.json").read_text())
    assert (facts["pack"], facts["seed"], facts["fingerprint"]) == ("toybox", 0, load("toybox").fingerprint)
    assert facts["photos"] == list(load("toybox").shas)


def test_a_torn_line_ends_what_is_known(played):
    session, _, made = played
    path = session.folder(made["runs"]["simplecil"]) / "watch.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    try:
        assert len(marks(path.parent)) == 3
    finally:
        path.write_bytes(whole)


def test_old_trainings_make_room(played):
    session, packs, made = played
    kept = json.loads((session.home / "packs.json").read_text())
    fillers = [{"training": str(n), "pack": "toybox", "seed": n, "created": 0.0, "runs": {}} for n in range(KEPT - 1)]
    gone = {"training": "old", "pack": "toybox", "seed": 0, "created": 0.0, "runs": {"finetune": "f" * 32}}
    write_json(session.home / "packs.json", [gone, *fillers, *kept])
    write_json(session.home / "runs" / ("f" * 32) / "request.json", request(pack("toybox"), "finetune", made))
    write_json(session.home / "runs" / ("f" * 32) / "status.json", {"status": "finished"})
    new = packs.train("toybox", 1)
    assert not (session.home / "runs" / ("f" * 32)).exists()
    assert packs.latest()["training"] == new["training"]
    assert len(json.loads((session.home / "packs.json").read_text())) == KEPT


def test_a_photo_of_a_pack_is_asked_without_a_backbone(played):
    session, packs, made = played
    chosen, memory = load("toybox"), packs.about("toybox", 0)["memory"]
    for method in ("finetune", "tosca"):
        ends = [one for one in packs.lane(made["runs"][method])["marks"] if one["at"] == int(one["at"])]
        for place, one in enumerate(memory):
            said = session.ask(made["runs"][method], chosen.shas[one["photo"]])
            assert [step["says"] for step in said["history"]] == [end["photos"][place]["says"] for end in ends]
            assert said["truth"] == one["class"]
    with pytest.raises(Problem) as raised:
        session.ask(made["runs"]["tosca"], "0" * 64)
    assert raised.value.code == "photo_unknown"
