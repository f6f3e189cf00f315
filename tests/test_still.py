"""A lab that only plays records: it shows what was kept, and refuses everything that would change something."""

import json

import pytest
from starlette.testclient import TestClient

from forget_me_not.demo.packs import Packs
from forget_me_not.demo.server import application
from forget_me_not.demo.session import Session
from forget_me_not.demo.still import Still, shown


@pytest.fixture
def home(tmp_path):
    """A data folder with one recorded training of the toy box and one project that has a run."""
    for method, rid in (("finetune", "a" * 32), ("tosca", "b" * 32)):
        folder = tmp_path / "runs" / rid
        folder.mkdir(parents=True)
        (folder / "request.json").write_text(json.dumps({"pack": "toybox", "method": method, "seed": 3}))
    made = {"training": "t", "pack": "toybox", "seed": 3, "created": 0, "runs": {"finetune": "a" * 32, "tosca": "b" * 32}}
    (tmp_path / "packs.json").write_text(json.dumps([made]))
    for pid, runs in (("c" * 32, ["a" * 32]), ("d" * 32, [])):
        (tmp_path / "projects" / pid).mkdir(parents=True)
        (tmp_path / "projects" / pid / "project.json").write_text(json.dumps({"runs": runs}))
    return tmp_path


@pytest.fixture
def lab(home):
    return TestClient(application(Session(home, Still()), page=False))


def test_a_pack_answers_with_its_recorded_training(lab):
    answer = lab.post("packs/toybox/train", json={"seed": 3})
    assert answer.status_code == 200
    assert answer.json()["runs"]["tosca"] == "b" * 32
    assert lab.post("packs/toybox/train", json={"seed": 7}).json()["seed"] == 3  # the nearest thing to what was asked
    assert lab.post("packs/digits/train", json={"seed": 3}).json()["problem"]["code"] == "read_only"
    assert lab.get("packs/latest").json()["training"]["training"] == "t"


def test_the_page_is_told_and_shown_a_project(lab, home):
    said = lab.get("status").json()
    assert (said["read_only"], said["shown"], said["worker"]) == (True, "c" * 32, "ready")
    assert shown(home / "nowhere") is None


def test_cards_are_there_though_no_worker_has_ever_written_them(tmp_path):
    lab = TestClient(application(Session(tmp_path, Still()), page=False))
    answer = lab.get("cards")
    assert answer.status_code == 200
    assert {"tosca", "finetune", "simplecil"} < {card["name"] for card in answer.json()}
    assert answer.json() == lab.get("cards").json()


def test_everything_else_that_changes_something_is_refused(lab, home):
    before = sorted(home.rglob("*"))
    for path in ("projects", f"projects/{'c' * 32}/edit", f"projects/{'c' * 32}/photos?name=a.png", f"projects/{'c' * 32}/train",
                 f"runs/{'a' * 32}/do", f"runs/{'a' * 32}/ask", "status"):  # fmt: skip
        answer = lab.post(path, content=b"{}")
        assert (answer.status_code, answer.json()["problem"]["code"]) == (403, "read_only"), path
        assert "record" in answer.json()["problem"]["sentence"]
    assert lab.delete("projects").status_code == 403
    assert sorted(home.rglob("*")) == before


def test_a_seed_that_is_kept_is_preferred(home):
    known = json.loads((home / "packs.json").read_text())
    later = {**known[0], "training": "u", "seed": 4}
    (home / "packs.json").write_text(json.dumps([*known, later]))
    packs = Packs(Session(home, Still()))
    assert packs.recorded("toybox", 3)["training"] == "t"
    assert packs.recorded("toybox", 9)["training"] == "u"
