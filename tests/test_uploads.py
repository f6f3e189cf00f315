"""Uploads into a project: zips, folders, styles, bursts of the camera."""

import photos_made as made
import pytest

from forget_me_not.demo import choices
from forget_me_not.demo.project import Project, request
from forget_me_not.demo.uploads import incoming, looks_like_styles
from forget_me_not.models.images import read
from forget_me_not.models.problem import Problem
from forget_me_not.models.stream import plan


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path / "projects")


def test_a_zip_is_read_as_the_command_line_reads_it(project, tmp_path):
    root = made.folder(tmp_path / "in", {"apple": 3, "brick": 12, "desk": 2})
    (root / "brick" / "note.txt").write_text("no photo")
    path = made.zipped(root, tmp_path / "up.zip", wrap="things")
    with incoming(path, "C:\\evil\\..\\things.zip", "", "", by_domain=False) as (items, skipped):
        project.add(items)
    assert [s["code"] for s in skipped] == ["image_type"]
    theirs, mine = read(path), project.images()
    assert [(p.name, p.label, p.sha, p.group) for p in mine.photos] == [(p.name, p.label, p.sha, p.group) for p in theirs.photos]
    assert mine.classes == theirs.classes


def test_files_of_a_folder_sent_one_by_one_come_out_as_the_folder(project, tmp_path):
    root = made.folder(tmp_path / "things", {"apple": 11, "brick": 3})
    for file in sorted(root.rglob("*.png"), reverse=True):
        with incoming(file, f"things/{file.relative_to(root)}", "", "", by_domain=False) as (items, _):
            project.add(items)
    theirs, mine = read(root), project.images()
    assert [(p.label, p.sha) for p in mine.photos] == [(p.label, p.sha) for p in theirs.photos]


def test_a_zip_of_styles_is_known_by_its_folders(project, tmp_path):
    root = tmp_path / "in"
    for style in ("sketch", "photo"):
        made.folder(root, {"apple": 2, "egg": 2}, above=style)
    path = made.zipped(root, tmp_path / "up.zip", wrap="pacs")
    assert looks_like_styles(path)
    with incoming(path, "pacs.zip", "", "", by_domain=False) as (items, _):
        project.add(items)
    assert project.view()["domains"] == ["photo", "sketch"]
    project.edit({"do": "kind", "kind": "domain"})
    view = project.view()
    assert [(t["name"], len(t["classes"])) for t in view["tasks"]] == [("photo", 2), ("sketch", 2)]
    assert view["ready"]["ok"]
    project.edit({"do": "move_task", "task": 0, "at": 1})
    assert project.view()["domains"] == ["sketch", "photo"]
    asked = request(project, "tosca", {}, 0, "t", 0.0)
    assert [(t["domain"], t["classes"]) for t in asked["tasks"]] == [("sketch", ["apple", "egg"]), ("photo", ["apple", "egg"])]


def test_an_image_without_a_class_asks_for_one(tmp_path):
    (tmp_path / "x").write_bytes(made.photo("egg", 1))
    (tmp_path / "no.zip").write_bytes(b"PKhello")
    with pytest.raises(Problem, match="class_missing"), incoming(tmp_path / "x", "x.png", "", "", by_domain=False):
        pass


@pytest.mark.parametrize("data", [b"PKhello", b"PK\x03\x04 and no more"])
@pytest.mark.parametrize("label", ["", "cat"])
def test_a_broken_zip_is_called_so_by_its_own_name(tmp_path, data, label):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(Problem, match="images_zip_broken") as found, incoming(tmp_path / "x", "in/no.zip", label, "", False):
        pass
    assert found.value.values["name"] == "no.zip"


def test_a_burst_is_one_group_and_alone_it_is_split_in_time(project, tmp_path):
    def take(label, burst, numbers):
        for number in numbers:
            path = tmp_path / "frame"
            path.write_bytes(made.photo(label, number))
            with incoming(path, f"{label}/{burst or 'file'}-{number:03}.png", "", "", False, burst) as (items, _):
                project.add(items)

    take("apple", "aaaaaaaa", range(10))
    take("brick", "bbbbbbbb", range(4))
    take("brick", "cccccccc", range(10, 14))
    take("brick", "", range(20, 23))
    groups = {}
    for photo in project.images().photos:
        groups.setdefault(photo.label, []).append(photo.group)
    assert [len(set(groups[name])) for name in ("apple", "brick")] == [1, 5]
    shown = {c["name"]: [n["code"] for n in c["notes"]] for c in project.view()["classes"]}
    assert shown == {"apple": ["note_one_group"], "brick": ["note_bursts"]}

    asked = request(project, "tosca", {}, 0, "t", 0.0)
    photos = [dict(p) for p in asked["photos"]]
    labels = [p["class"] for p in photos]
    sides = plan(labels, [p.group for p in project.images().photos], per_task=2, seed=0)
    (task,) = sides.tasks
    apple = {side: [i for i in getattr(task, side) if labels[i] == "apple"] for side in ("train", "test")}
    assert max(apple["train"]) < min(apple["test"])  # the last frames test
    for burst in ("bbbbbbbb", "cccccccc"):
        mine = {i for i, p in enumerate(photos) if p.get("burst") == burst}
        assert mine <= set(task.train) or mine <= set(task.test)
    assert [note.code for note in sides.notes if note.code == "one_group"] == ["one_group"]


def test_a_burst_is_a_mark_of_ours_and_nothing_else():
    assert choices.burst("0123456789abcdef") == "0123456789abcdef"
    assert choices.burst("") == ""
    for bad in ("xyz", "A" * 16, "a" * 40, ["aaaaaaaa"]):
        with pytest.raises(Problem, match="choice_bad"):
            choices.burst(bad)
