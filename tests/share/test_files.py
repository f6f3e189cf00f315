"""The leaderboard and the files to take away: weights, script, tables, report, all from real runs."""

import io
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from share_made import EVIL, numbers

from forget_me_not.demo.share import fmn
from forget_me_not.demo.share.results import Shelf
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder


def test_the_leaderboard_of_real_runs(web, project):
    said = web.get(f"/projects/{project.id}/compare").json()
    assert said["rows"][0]["method"] == "joint"
    assert said["rows"][0]["bound"]
    rows = {row["method"]: row for row in said["rows"]}
    assert rows["tosca"]["seeds"] == [0, 1]
    assert rows["tosca"]["routing_accuracy"] is not None
    assert rows["tosca"]["batch_vote_accuracy"] is not None
    assert rows["simplecil"]["routing_accuracy"] is None
    assert (said["photos"], said["runs"], said["unfinished"]) == (24, 4, 0)
    assert len(said["streams"]) == 1
    assert said["figure"]["data"]
    japanese = web.get(f"/projects/{project.id}/compare?lang=ja").json()
    assert japanese["say"]["board"] != said["say"]["board"]


def test_a_project_without_runs_has_nothing_to_compare(web):
    pid = web.post("/projects").json()["id"]
    said = web.get(f"/projects/{pid}/compare").json()
    assert (said["rows"], said["figure"]) == ([], None)
    for path in ("report.html", "numbers.csv", "numbers.json"):
        assert web.get(f"/projects/{pid}/share/{path}").json()["problem"]["code"] == "share_none"
    assert web.get(f"/projects/{pid}/share/project.fmn").status_code == 200


def test_only_runs_of_the_project_are_given_away(web, session, project):
    pid = web.post("/projects").json()["id"]
    for path in ("run.py", "weights.safetensors"):
        for rid in (project.data["runs"][0], "0" * 32, "../../x"):
            answer = web.get(f"/projects/{pid}/share/{path}", params={"run": rid})
            assert (answer.status_code, answer.json()["problem"]["code"]) == (404, "run_unknown")


# Files


def test_the_weights_are_the_learners_state(web, session, project):
    from safetensors import safe_open
    from safetensors.torch import load

    for rid in project.data["runs"]:
        answer = web.get(f"/projects/{project.id}/share/weights.safetensors", params={"run": rid})
        found, state = load(answer.content), RunFolder.open(session.home / "runs" / rid).state()
        assert set(found) == set(state)
        assert all(found[name].dtype == state[name].dtype and (found[name] == state[name]).all() for name in state)
    target = session.home.parent / "w.safetensors"
    target.write_bytes(answer.content)
    with safe_open(target, "pt") as file:
        about = file.metadata()
    assert (about["method"], about["seed"]) == ("tosca", "1")
    assert json.loads(about["settings"])["epochs"] == 2


def run_script(folder):
    env = {**os.environ, "OMP_NUM_THREADS": "1", "FORGET_ME_NOT_HOME": str(folder)}
    call = [sys.executable, "run.py", "project.fmn"]
    return subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True, timeout=200)


def test_the_script_repeats_the_matrix(web, session, project, saved, tmp_path):
    (tmp_path / "project.fmn").write_bytes(saved)
    rid = project.data["runs"][0]
    answer = web.get(f"/projects/{project.id}/share/run.py", params={"run": rid})
    (tmp_path / "run.py").write_bytes(answer.content)
    done = run_script(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "every number is the same" in done.stdout
    for row in RunFolder.open(session.home / "runs" / rid).matrix():
        assert "  ".join(f"{c}/{n}" for c, n in zip(row.correct, row.total, strict=True)) in done.stdout
    assert EVIL not in answer.text
    compile(answer.text, "run.py", "exec")


def test_the_script_says_when_numbers_differ(web, project, saved, tmp_path):
    (tmp_path / "project.fmn").write_bytes(saved)
    text = web.get(f"/projects/{project.id}/share/run.py", params={"run": project.data["runs"][1]}).text
    (tmp_path / "run.py").write_text(re.sub(r"FOUND = \[\[\d+\]", "FOUND = [[99]", text))
    done = run_script(tmp_path)
    assert done.returncode == 1, done.stderr
    assert "found: [99]" in done.stdout


def test_the_script_asks_for_its_project_where_it_is_given_something_else(web, project, tmp_path):
    answer = web.get(f"/projects/{project.id}/share/run.py", params={"run": project.data["runs"][0]})
    (tmp_path / "run.py").write_bytes(answer.content)
    (tmp_path / "project.fmn").write_text("no project")
    done = run_script(tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "save it from the same page" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_script_for_photos_that_have_left(web, session, saved):
    answer = web.post("/projects/import", content=saved).json()
    web.post(f"/projects/{answer['id']}/edit", json={"do": "delete_class", "class": answer["project"]["classes"][0]["id"]})
    said = web.get(f"/projects/{answer['id']}/share/run.py", params={"run": answer["project"]["runs"][0]}).json()
    assert (said["problem"]["code"], said["problem"]["values"]) == ("share_photos_gone", {"n": 6})


def test_csv_and_json_hold_every_cell(web, session, project):
    import csv

    said = web.get(f"/projects/{project.id}/share/numbers.json").json()
    for one, rid in zip(said["runs"], project.data["runs"], strict=True):
        assert {k: one[k] for k in ("method", "seed", "matrix", "forgetting")} == {
            k: numbers(session, rid)[k] for k in ("method", "seed", "matrix", "forgetting")
        }
    text = web.get(f"/projects/{project.id}/share/numbers.csv").content.decode("utf-8-sig")
    lines = list(csv.DictReader(io.StringIO(text)))
    assert len(lines) == 4 * 3
    first = said["runs"][0]
    assert float(lines[1]["accuracy"]) == first["matrix"][1][0]
    assert float(lines[0]["forgetting"]) == first["forgetting"]


def test_a_spreadsheet_gets_no_formula():
    from forget_me_not.demo.share.tables import _safe

    assert [_safe(v) for v in ("=1+1", "@x", "+1", "-1", "plain", None, -0.5)] == [
        "'=1+1",
        "'@x",
        "'+1",
        "'-1",
        "plain",
        "",
        -0.5,
    ]


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [
            (tag, n, v) for n, v in attributes if n in ("src", "href", "action", "srcset", "data") or n.startswith("on")
        ]

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_report_needs_nothing_and_believes_no_name(web, project, lang):
    answer = web.get(f"/projects/{project.id}/share/report.html", params={"lang": lang})
    page = Page(answer.text)
    assert page.links == []
    assert not {"script", "img", "link", "iframe", "object"} & set(page.tags)
    assert not re.search(r"url\(|@import|https?://", answer.text)
    assert EVIL in "".join(page.text)
    assert project.data["name"] in "".join(page.text)
    assert "{" not in re.sub(r"<style>.*?</style>", "", answer.text, flags=re.S)
    assert page.tags.count("section") == 4
    assert page.tags.count("svg") == 1
    assert "sandbox" in answer.headers["content-security-policy"]
    name = answer.headers["content-disposition"]
    assert name.startswith("attachment; ")
    assert "%E6%9E%9C" in name
    assert name.encode("ascii")


def test_files_are_named_after_the_project_and_nothing_else(web):
    pid = web.post("/projects").json()["id"]
    web.post(f"/projects/{pid}/edit", json={"do": "rename_project", "name": 'a"; filename="x.exe/../b'})
    name = web.get(f"/projects/{pid}/share/project.fmn").headers["content-disposition"]
    assert name.count('"') == 2
    assert "/" not in name


def test_a_photo_that_is_gone_is_named(session, project, tmp_path):
    photo = project.data["photos"][0]
    path = project.path(photo["sha"], photo["ext"])
    data = path.read_bytes()
    path.unlink()
    try:
        with pytest.raises(Problem) as problem:
            fmn.export(project, Shelf(session), tmp_path / "x.fmn", "x")
        assert (problem.value.code, problem.value.values["name"]) == ("image_gone", photo["name"])
    finally:
        path.write_bytes(data)
