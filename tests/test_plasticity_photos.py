"""Keep learning on a person's own photos: what is offered and refused, who may see it, and runs that outlive the photos."""

import io
import itertools
import json
import os
import signal
import time
import zipfile

import photos_made
import pytest
from plastic_made import ready, wait

from forget_me_not import app
from forget_me_not.demo.project import Incoming
from forget_me_not.models.images import photo_from_bytes, read
from forget_me_not.models.plasticity.groups import groups
from forget_me_not.models.store import RunFolder

COUNTS = {"apple": 6, "brick": 7, "cloud": 6, "desk": 9}


@pytest.fixture(scope="module")
def web(session):
    with ready(session) as client:
        yield client


@pytest.fixture
def project(session):
    """A project with photos of four classes."""
    made = session.new_project()
    made.add([Incoming(photo_from_bytes(photos_made.photo(name, n), f"{name}/{n}.png", name), name)
              for name, count in COUNTS.items() for n in range(count)])  # fmt: skip
    return made


def asked(project, **other):
    return {"arms": ["fresh", "sgd"], "study": "class_groups", "project": project.id, "per_task": 2, "tasks": 3, "epochs": 5,
            "seed": 4, **other}  # fmt: skip


def begin(web, project, **other):
    answer = web.post("/plasticity", json=asked(project, **other))
    assert answer.status_code == 200, answer.text
    return answer.json()


def files(project):
    return {path.stem for path in (project.folder / "photos").iterdir()}


def class_id(project, name):
    return next(c["id"] for c in project.data["classes"] if c["name"] == name)


def test_the_first_tasks_are_shown_with_photos_they_are_taught_with(web, project):
    said = web.get(f"/projects/{project.id}/class-groups", params={"per_task": 2, "seed": 4}).json()
    plan = groups(project.images(), 3, 2, 4)
    assert said["classes"] == 4
    assert [task["names"] for task in said["tasks"]] == [[plan.classes[c] for c in task] for task in plan.tasks]
    label = {photo.sha: photo.label for photo in project.images().photos}
    teaching = {project.images().photos[p].sha for train, _ in plan.sides for p in train}
    for task in said["tasks"]:
        assert len(task["photos"]) == 8
        assert [task["names"][number] for number, _ in task["photos"]] == [label[sha] for _, sha in task["photos"]]
        assert {sha for _, sha in task["photos"]} <= teaching
    assert said["steps"] >= 4


def test_a_class_that_is_left_out_or_renamed(web, project):
    project.edit({"do": "move_class", "class": class_id(project, "desk"), "task": -1})
    project.edit({"do": "rename_class", "class": class_id(project, "apple"), "name": "りんご"})
    said = web.get(f"/projects/{project.id}/class-groups", params={"per_task": 2}).json()
    assert said["classes"] == 3
    assert {name for task in said["tasks"] for name in task["names"]} <= {"りんご", "brick", "cloud"}
    made = begin(web, project)
    ended = wait(web, made["id"], "finished")
    assert "desk" not in json.dumps(ended)
    assert "りんご" in json.dumps(ended, ensure_ascii=False)


@pytest.mark.parametrize(("classes", "per_task", "code"), [
    ({}, 2, "groups_none"), ({"apple": 4, "brick": 4}, 2, "groups_few"), (COUNTS, 5, "groups_few"),
    ({"apple": 4, "brick": 1, "cloud": 4}, 2, "class_few"),
])  # fmt: skip
def test_what_is_missing_is_said_before_and_at_the_start(web, session, classes, per_task, code):
    made = session.new_project()
    if classes:
        made.add([Incoming(photo_from_bytes(photos_made.photo(name, n), f"{name}/{n}.png", name), name)
                  for name, count in classes.items() for n in range(count)])  # fmt: skip
    before = sorted((session.home / "runs").iterdir())
    early = web.get(f"/projects/{made.id}/class-groups", params={"per_task": per_task})
    late = web.post("/plasticity", json=asked(made, per_task=per_task))
    assert [(a.status_code, a.json()["problem"]["code"]) for a in (early, late)] == [(200, code), (409, code)]
    assert early.json()["problem"]["values"] == late.json()["problem"]["values"]
    assert sorted((session.home / "runs").iterdir()) == before


@pytest.mark.parametrize(("change", "status"), [
    ({"project": "0" * 32}, 404), ({"project": None}, 409), ({"project": "../x"}, 404), ({"per_task": 1}, 409),
    ({"per_task": "2"}, 409), ({"per_task": None}, 409),
])  # fmt: skip
def test_only_who_knows_the_project_may_learn_from_it(web, project, change, status):
    assert web.post("/plasticity", json=asked(project) | change).status_code == status


def test_who_watches_a_start_is_not_let_in_to_the_photos(web, session, project):
    made = begin(web, project, tasks=2)
    said = wait(web, made["id"], "finished")
    assert project.id not in json.dumps(said)
    assert not {photo.sha for photo in project.images().photos} & set(json.dumps(said).split('"'))
    for rid in made["runs"].values():
        assert project.id not in web.get(f"/runs/{rid}").text
        sha = project.images().photos[0].sha
        assert web.post(f"/runs/{rid}/ask", params={"photo": sha}).json()["problem"]["code"] == "run_early"
    assert web.get(f"/projects/{'0' * 32}/class-groups").status_code == 404


def test_what_is_saved_and_shared_leaves_these_runs_out(web, project):
    wait(web, begin(web, project, tasks=2)["id"], "finished")
    assert web.get(f"/projects/{project.id}/runs").json()["runs"] == []
    assert web.get(f"/projects/{project.id}/compare").json()["rows"] == []
    archive = zipfile.ZipFile(io.BytesIO(web.get(f"/projects/{project.id}/share/project.fmn").content))
    assert {name.split("/")[0] for name in archive.namelist()} == {"fmn.json", "project.json", "photos"}


def test_page_and_command_line_learn_the_same_from_the_same_photos(web, project, tmp_path, capsys):
    folder = photos_made.folder(tmp_path / "photos", COUNTS)
    assert [p.sha for p in read([folder]).photos] == [p.sha for p in project.images().photos]
    said = wait(web, begin(web, project)["id"], "finished")
    arms = list(itertools.chain.from_iterable(("--arm", one["name"]) for one in said["arms"]))
    code = app.main(["plasticity", *arms, "--stream", "class_groups", "--images", str(folder), "--tasks", "3", "--epochs", "5",
                     "--seed", "4", "--out", str(tmp_path / "out"), "--json"])  # fmt: skip
    assert code == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["arm"], one["accuracy"]) for one in found] == [(one["name"], one["accuracy"]) for one in said["arms"]]


def test_photos_deleted_while_it_learns_stay_until_it_ends_and_the_result_stays_after(web, session, project):
    made = begin(web, project, arms=["sgd"], tasks=40, epochs=40)
    rid = made["runs"]["sgd"]
    end = time.monotonic() + 120
    while not web.get(f"/plasticity/{made['id']}").json()["arms"][0]["accuracy"]:
        assert time.monotonic() < end
        time.sleep(0.05)
    held = files(project)
    for name in COUNTS:
        project.edit({"do": "delete_class", "class": class_id(project, name)})
    project.data["undo"].clear()  # what can be undone keeps its photos too
    project.sweep()
    assert session.status(rid)["status"] == "running"
    assert files(project) == held
    os.kill(session.client.pid, signal.SIGKILL)
    end = time.monotonic() + 120
    while not session.status(rid)["restarted"]:
        assert time.monotonic() < end
        time.sleep(0.1)
    learnt = len(web.get(f"/plasticity/{made['id']}").json()["arms"][0]["accuracy"])
    while len(web.get(f"/plasticity/{made['id']}").json()["arms"][0]["accuracy"]) <= learnt:
        assert time.monotonic() < end
        time.sleep(0.1)
    web.post(f"/plasticity/{made['id']}/stop")
    said = wait(web, made["id"], "stopped")
    assert project.sweep() == len(held)
    assert files(project) == set()
    assert web.get(f"/plasticity/{made['id']}").json()["arms"] == said["arms"]
    assert any(type(event).__name__ == "Resumed" for event in RunFolder.open(session.home / "runs" / rid).events())
