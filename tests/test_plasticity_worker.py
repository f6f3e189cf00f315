"""Keep learning in a real worker: arms that learn, stop and are refused, and what the page and the command line say of them."""

import json
import subprocess
import sys
import time

import pytest
from plastic_made import ready, wait

from forget_me_not import app
from forget_me_not.demo import figures_plasticity as figures
from forget_me_not.demo.client import Client
from forget_me_not.demo.plasticity import Plasticity
from forget_me_not.demo.session import Session
from forget_me_not.demo.words import words
from forget_me_not.models.events import Diagnosed, Finished
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder

EN = words("en")


@pytest.fixture(scope="module")
def web(session):
    with ready(session) as client:
        yield client


ASKED = {"arms": ["fresh", "sgd", "adam_arrow"], "study": "permuted_digits", "tasks": 2, "epochs": 5, "seed": 1}


@pytest.fixture(scope="module")
def ended(web):
    made = web.post("/plasticity", json=ASKED)
    assert made.status_code == 200, made.text
    return made.json(), wait(web, made.json()["id"], "finished")


def test_what_is_offered(web):
    offered = web.get("/plasticity").json()
    names = {card["name"]: card for card in offered["arms"]}
    assert {"fresh", "sgd", "adam", "shrink_perturb", "adam_arrow"} <= set(names)
    groups = [names[n]["group"] for n in ("fresh", "sgd", "clip", "arrow", "arrow_matched")]
    assert groups == ["fresh", "plain", "remedy", "arrow", "control"]
    assert names["adam_arrow"]["base"] == "adam"
    assert names["trac"]["deviations"]
    orders, labels = offered["studies"]["permuted_digits"], offered["studies"]["random_labels"]
    assert [row["task"] for row in orders] == [None, 0, 1, 2]
    assert sorted(orders[0]["pixels"][0]) == sorted(orders[1]["pixels"][0])
    assert orders[0]["pixels"] != orders[1]["pixels"]
    assert labels[0]["pixels"] == labels[1]["pixels"]
    assert labels[2]["labels"] != labels[1]["labels"]


def test_arms_of_the_page_give_the_numbers_of_the_command_line(ended, tmp_path, capsys):
    made, said = ended
    assert list(made["runs"]) == ASKED["arms"] == [one["name"] for one in said["arms"]]
    arms = [word for name in ASKED["arms"] for word in ("--arm", name)]
    assert app.main(["plasticity", *arms, "--tasks", "2", "--epochs", "5", "--seed", "1", "--out", str(tmp_path), "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["arm"], one["accuracy"]) for one in found] == [(one["name"], one["accuracy"]) for one in said["arms"]]
    for one in said["arms"]:
        assert one["step"] > 0
        assert one["bytes"] > 600_000
        assert one["average"] == pytest.approx(sum(one["accuracy"]) / 2)
    assert [one["gain"] is not None for one in said["arms"]] == [False, False, True]
    assert said["verdict"]["tasks"] == 2
    assert len(said["curves"]["data"]) == 3


def test_runs_are_recorded_as_runs_and_let_go_of_their_weights(session, ended):
    made, _ = ended
    for name, rid in made["runs"].items():
        folder = RunFolder.open(session.home / "runs" / rid)
        assert (folder.facts["method"], folder.facts["evaluate"], folder.facts["epochs"]) == (name, "new", 5)
        assert isinstance(folder.events()[-1], Finished)
        assert any("effective_rank.q.0" in e.measures for e in folder.events() if isinstance(e, Diagnosed))
        assert list((session.home / "runs" / rid / "state").iterdir()) == []
        assert session.run(rid)["status"] == "finished"


def test_any_measure_of_any_arm_in_both_languages(web, ended):
    tid = ended[0]["id"]
    for measure in figures.MEASURES:
        said = web.get(f"/plasticity/{tid}", params={"arm": "adam_arrow", "measure": measure, "lang": "ja"}).json()
        assert (said["chosen"], said["measure"]) == ("adam_arrow", measure)
        rows = [len(said["sides"][side]["table"]) for side in ("attention", "ffn")]
        assert rows == ([0, 3] if measure == "active" else [12, 6])
    assert "新しいネットワーク" in said["say"]
    odd = web.get(f"/plasticity/{tid}", params={"arm": "<x>", "measure": "../x"}).json()
    assert (odd["chosen"], odd["measure"]) == ("sgd", "effective_rank")
    assert web.get(f"/plasticity/{tid}", params={"stamp": odd["stamp"]}).json() == {"stamp": odd["stamp"]}


def test_stop_keeps_what_was_learnt(web):
    tid = web.post("/plasticity", json={**ASKED, "arms": ["sgd"], "tasks": 40, "epochs": 5}).json()["id"]
    end = time.monotonic() + 120
    while not web.get(f"/plasticity/{tid}").json()["arms"][0]["accuracy"]:
        assert time.monotonic() < end
        time.sleep(0.1)
    assert web.post(f"/plasticity/{tid}/stop").status_code == 200
    said = wait(web, tid, "stopped")
    assert 1 <= said["arms"][0]["done"] < 40


@pytest.mark.parametrize(("change", "code"), [
    ({"arms": []}, "arms_none"), ({"arms": "sgd"}, "choice_bad"), ({"arms": ["nobody"]}, "arm_unknown"),
    ({"tasks": 1}, "choice_bad"), ({"tasks": True}, "choice_bad"), ({"tasks": 10**6}, "choice_bad"),
    ({"epochs": 0}, "choice_bad"), ({"study": "cifar100"}, "choice_bad"), ({"seed": -1}, "choice_bad"),
    ({"arms": [f"a{n}" for n in range(13)]}, "arms_many"),
])  # fmt: skip
def test_what_cannot_be_started_says_why_and_leaves_nothing(web, session, change, code):
    before = sorted((session.home / "runs").iterdir())
    answer = web.post("/plasticity", json={**ASKED, **change})
    assert (answer.status_code, answer.json()["problem"]["code"]) == (409, code)
    assert f"problem.{code}" in EN
    assert sorted((session.home / "runs").iterdir()) == before


@pytest.mark.parametrize("tid", ["0" * 32, "x", "..%2f..", "A" * 32])
def test_starts_are_found_by_their_id_only(web, tid):
    assert web.get(f"/plasticity/{tid}").status_code == 404
    assert web.post(f"/plasticity/{tid}/stop").status_code == 404


def test_without_a_worker_nothing_is_offered_and_the_page_needs_no_torch(tmp_path):
    with pytest.raises(Problem, match="worker_away"):
        Plasticity(Session(tmp_path, Client(tmp_path))).offered()
    code = "import sys, forget_me_not.demo.routes_plasticity; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
