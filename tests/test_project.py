"""Projects on disk and what a person can do to them: names, tasks, undo, what keeps a project from training."""

import json
import threading

import photos_made as made
import pytest
from classes_made import names, of, put

from forget_me_not.demo import edits, undo
from forget_me_not.demo.project import Incoming, Project, request
from forget_me_not.demo.verified import verdicts
from forget_me_not.models.images import photo_from_bytes
from forget_me_not.models.problem import Problem


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path / "projects")


@pytest.fixture
def filled(project):
    for name in ("egg", "apple", "desk", "cloud", "brick"):
        put(project, name, range(3))
    return project


# Classes and names


@pytest.mark.parametrize(("given", "kept"), [
    ("  a  cup\n", "a cup"), ("cafe\u0301", "café"), ("\u202eevil\u202c", "evil"), ("x" * 90, "x" * 60), ("<b>&</b>", "<b>&</b>"),
    ("\x00\x1b[31m", "[31m"), ("りんご", "りんご"), (None, ""), ("\ud800", "?"),
])  # fmt: skip
def test_names_are_text(given, kept):
    assert edits.clean(given) == kept


def test_imported_classes_lie_in_natural_order_whatever_order_they_came_in(filled):
    assert [c["name"] for c in filled.view()["classes"]] == ["apple", "brick", "cloud", "desk", "egg"]
    assert names(filled) == [["apple", "brick"], ["cloud", "desk"], ["egg"]]


def test_a_class_keeps_its_id_and_split_when_it_is_renamed(filled):
    before = of(filled, "cloud")
    filled.edit({"do": "rename_class", "class": before["id"], "name": "sky"})
    after = of(filled, "sky")
    assert after["id"] == before["id"]
    assert after["photos"] == before["photos"]
    asked = request(filled, "tosca", {}, 0, "t", 0.0)
    assert {"key": "cloud", "name": "sky"} in asked["classes"]
    assert any("cloud" in task["classes"] for task in asked["tasks"])


def test_two_classes_never_share_a_name_or_a_key(filled):
    with pytest.raises(Problem) as told:
        filled.edit({"do": "rename_class", "class": of(filled, "egg")["id"], "name": " apple "})
    assert told.value.code == "class_exists"
    filled.edit({"do": "rename_class", "class": of(filled, "egg")["id"], "name": "omelette"})
    filled.edit({"do": "add_class", "name": "egg"})
    keys = [c["key"] for c in filled.data["classes"]]
    assert len(set(keys)) == len(keys)


# Tasks


def test_presets_deal_classes_and_new_ones_follow_until_a_hand_moves_something(filled):
    filled.edit({"do": "preset", "how": "4"})
    assert names(filled) == [["apple", "brick", "cloud", "desk"], ["egg"]]
    filled.edit({"do": "preset", "how": "1"})
    assert names(filled) == [["apple"], ["brick"], ["cloud"], ["desk"], ["egg"]]
    filled.edit({"do": "move_class", "class": of(filled, "egg")["id"], "task": 0, "at": 0})
    assert names(filled) == [["egg", "apple"], ["brick"], ["cloud"], ["desk"]]
    filled.edit({"do": "add_class", "name": "fish"})
    assert names(filled)[-1] == ["fish"]
    assert names(filled)[0] == ["egg", "apple"]


def test_move_class_to_a_new_task_and_out(filled):
    filled.edit({"do": "move_class", "class": of(filled, "apple")["id"], "task": 3})
    assert names(filled) == [["brick"], ["cloud", "desk"], ["egg"], ["apple"]]
    filled.edit({"do": "move_class", "class": of(filled, "egg")["id"], "task": -1})
    assert of(filled, "egg")["task"] == -1
    assert names(filled) == [["brick"], ["cloud", "desk"], ["apple"]]
    filled.edit({"do": "preset", "how": "2"})
    assert of(filled, "egg")["task"] == -1, "a preset brings nothing back that was left out"


def test_shuffle_keeps_sizes_and_classes(filled):
    before = names(filled)
    filled.edit({"do": "preset", "how": "shuffle", "seed": 3})
    after = names(filled)
    assert [len(t) for t in after] == [len(t) for t in before]
    assert sorted(c for t in after for c in t) == sorted(c for t in before for c in t)
    assert after != before


@pytest.mark.parametrize("edit", [
    {"do": "fly"}, {}, {"do": "move_class", "class": 1, "task": 99}, {"do": "move_class", "class": 99, "task": 0},
    {"do": "delete_task", "task": True}, {"do": "delete_task", "task": -1}, {"do": "rename_class", "class": 1, "name": "\u200b "},
    {"do": "delete_photo", "sha": "../../etc/passwd"}, {"do": "kind", "kind": "x"}, {"do": "undo"},
    {"do": "choose", "methods": ["../x"]}, {"do": "choose", "settings": {"tosca": {"lr": [1]}}}, {"do": "choose", "seed": -1},
    {"do": "choose", "settings": {"tosca": {"lr": float("nan")}}}, {"do": "preset", "how": "folders"},
])  # fmt: skip
def test_a_refused_edit_leaves_no_trace(filled, edit):
    before = json.dumps(filled.view())
    with pytest.raises(Problem):
        filled.edit(edit)
    assert json.dumps(filled.view()) == before
    assert json.dumps(Project(filled.folder).view()) == before


# Undo


def test_undo_brings_back_photo_class_and_task_in_turn(filled):
    before = filled.view()
    egg = of(filled, "egg")
    filled.edit({"do": "delete_photo", "class": egg["id"], "sha": egg["photos"][0]})
    filled.edit({"do": "delete_class", "class": of(filled, "apple")["id"]})
    filled.edit({"do": "delete_task", "task": 0})
    assert filled.view()["undo"]["code"] == "undo_task"
    for _ in range(3):
        filled.edit({"do": "undo"})
    after = filled.view()
    assert after["undo"] is None
    assert after["tasks"] == before["tasks"]
    assert [(c["id"], c["name"], sorted(c["photos"])) for c in after["classes"]] == [
        (c["id"], c["name"], sorted(c["photos"])) for c in before["classes"]
    ]


def test_undo_keeps_what_was_added_in_between(filled):
    filled.edit({"do": "delete_class", "class": of(filled, "apple")["id"]})
    put(filled, "apple", range(10, 12))
    filled.edit({"do": "undo"})
    shown = {c["name"]: c["count"] for c in filled.view()["classes"]}
    assert shown["apple"] == 2
    assert shown["apple (2)"] == 3
    keys = [c["key"] for c in filled.data["classes"]]
    assert len(set(keys)) == len(keys) == 6
    assert len(filled.images()) == 17


def test_files_go_when_their_photos_leave_the_undo_stack(filled, monkeypatch):
    egg = of(filled, "egg")
    sha = egg["photos"][0]
    path = filled.path(sha, "png")
    thumb = filled.rendition(sha, "thumb")
    filled.edit({"do": "delete_photo", "class": egg["id"], "sha": sha})
    assert path.is_file()
    assert filled.rendition(sha, "thumb") == thumb
    monkeypatch.setattr(undo, "DEPTH", 1)
    filled.edit({"do": "delete_photo", "class": egg["id"], "sha": egg["photos"][1]})
    assert not path.exists()
    assert not thumb.exists()
    assert filled.path(egg["photos"][1], "png").is_file()


def test_a_photo_an_unfinished_run_needs_stays(filled, monkeypatch):
    monkeypatch.setattr(undo, "DEPTH", 1)
    run = filled.folder.parent.parent / "runs" / ("0" * 32)
    run.mkdir(parents=True)
    (run / "request.json").write_text(json.dumps(request(filled, "tosca", {}, 0, "t", 0.0)))
    (run / "status.json").write_text('{"status": "running"}')
    filled.remember_runs(["0" * 32], {})
    first, second, _ = of(filled, "egg")["photos"]
    for sha in (first, second):
        filled.edit({"do": "delete_photo", "sha": sha})
    assert filled.path(first, "png").is_file()
    (run / "status.json").write_text('{"status": "finished"}')
    assert filled.sweep() == 1
    assert not filled.path(first, "png").exists()


# On disk


def test_every_change_is_on_disk_under_a_new_version(filled):
    version = filled.view()["version"]
    filled.edit({"do": "rename_project", "name": "Zoo"})
    again = Project(filled.folder).view()
    assert again["version"] == version + 1
    assert again["name"] == "Zoo"
    assert again == filled.view()
    assert not list(filled.folder.glob(".*"))


def test_two_handles_see_each_other(filled):
    other = Project(filled.folder)
    other.edit({"do": "rename_project", "name": "Theirs"})
    filled.edit({"do": "preset", "how": "1"})
    assert Project(filled.folder).view()["name"] == "Theirs"


def test_many_hands_at_once_lose_nothing(project):
    threads = [threading.Thread(target=put, args=(project, name, range(k, 20, 4)))
               for name in ("apple", "egg") for k in range(4)]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {c["name"]: c["count"] for c in project.view()["classes"]} == {"apple": 20, "egg": 20}


def test_the_same_photo_twice_is_said_and_stored_once(project):
    put(project, "egg", [1])
    item = Incoming(photo_from_bytes(made.photo("egg", 1), "egg/1.png", "egg"), "egg")
    added, skipped = project.add([item])
    assert added == 0
    assert skipped == [{"name": "egg/1.png", "code": "photo_there", "values": {"class": "egg"}}]


def test_no_more_than_the_limit(project, monkeypatch):
    monkeypatch.setattr("forget_me_not.demo.project.PHOTO_LIMIT", 3)
    photos = [Incoming(photo_from_bytes(made.photo("egg", n), f"{n}.png", "egg"), "egg") for n in range(5)]
    added, skipped = project.add(photos)
    assert added == 3
    assert [s["code"] for s in skipped] == ["photos_full"] * 2
    with pytest.raises(Problem, match="photos_full"):
        project.add(photos[4:])


# Ready


def test_what_keeps_a_project_from_training_and_what_repairs_it(project):
    assert [r["code"] for r in project.view()["ready"]["reasons"]] == ["no_photos"]
    put(project, "apple", range(3))
    assert [r["code"] for r in project.view()["ready"]["reasons"]] == ["few_classes"]
    put(project, "brick", range(3))
    put(project, "cloud", [1])
    ready = project.view()["ready"]
    assert [(r["code"], r["values"]) for r in ready["reasons"]] == [("class_few", {"class": "cloud", "count": 1, "needs": 2})]
    project.edit(ready["reasons"][0]["repair"])
    assert project.view()["ready"] == {"ok": True, "reasons": []}


def test_the_same_file_in_two_classes_counts_for_neither(project):
    put(project, "apple", range(3))
    put(project, "brick", range(2))
    torn = photo_from_bytes(made.photo("apple", 0), "brick/copy.png", "brick")
    project.add([Incoming(torn, "brick")])
    assert {"code": "note_torn", "values": {"count": 1}} in of(project, "apple")["notes"]
    assert project.view()["counts"]["doubles"] == 1
    assert len(project.images()) == 4


def test_all_photos_of_a_class_go_and_come_back(filled):
    egg = of(filled, "egg")
    filled.edit({"do": "empty_class", "class": egg["id"]})
    assert (of(filled, "egg")["count"], of(filled, "egg")["task"]) == (0, egg["task"])
    assert filled.view()["undo"] == {"code": "undo_photos", "values": {"name": "egg", "count": 3}}
    with pytest.raises(Problem, match="photo_unknown"):
        filled.edit({"do": "empty_class", "class": egg["id"]})
    filled.edit({"do": "undo"})
    assert of(filled, "egg") == egg


def test_what_was_tried_of_a_paper_is_counted_for_the_method_its_claims_are_named_after():
    claims = [{"name": name, "paper": "arXiv:1", "verdict": verdict} for name, verdict in (
        ("tosca_prompts", "holds"), ("tosca_small", "missing"), ("softtf_product_joint", "fails"), ("softtf_joint", "open"))]
    claims.append({"name": "tosca_ours", "paper": "", "verdict": "holds"})
    methods = ("tosca", "softtf", "softtf_product", "simplecil")
    found = {method: verdicts(claims, method, methods) for method in methods}
    assert found == {"tosca": {"claims": 2, "holds": 1, "fails": 0, "open": 0}, "simplecil": None,
                     "softtf": {"claims": 1, "holds": 0, "fails": 0, "open": 1},
                     "softtf_product": {"claims": 1, "holds": 0, "fails": 1, "open": 0}}  # fmt: skip
