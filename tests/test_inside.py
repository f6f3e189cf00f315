"""Look inside: points and frames of small real runs, layouts, figures of every moment, the batch vote, the panel of a run."""

import json

import fastapi
import photos_made as made
import plotly.graph_objects as go
import pytest
import torch
from fastapi.testclient import TestClient
from grids_made import filled
from painted import painted

from forget_me_not.demo import figures_inside, inside, inside_kept, lambda_panel, routes_inside
from forget_me_not.demo.ask import Desk
from forget_me_not.demo.client import Client
from forget_me_not.demo.disk import write_json
from forget_me_not.demo.guard import problem_answer
from forget_me_not.demo.inside_points import POINTS, published, spread
from forget_me_not.demo.project import Project, request as asked_of
from forget_me_not.demo.request import Request
from forget_me_not.demo.session import Session
from forget_me_not.demo.uploads import incoming
from forget_me_not.demo.view import replay
from forget_me_not.demo.words import words
from forget_me_not.models import registry
from forget_me_not.models.backbone import random_vit
from forget_me_not.models.encoder import Encoder
from forget_me_not.models.events import from_json
from forget_me_not.models.experiment import conduct, facts
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder

ENGLISH, JAPANESE = words("en"), words("ja")


COUNTS = {"apple": 9, "brick": 9, "cloud": 9, "desk": 12}
QUICK = {"tosca": {"epochs": 3}, "finetune": {"epochs": 3}, "softtf": {"epochs": 1}, "simplecil": {},
         "adapter_tasks": {"epochs": 1}, "l2p": {"epochs": 1}}  # fmt: skip
MODULAR = ("tosca", "softtf", "adapter_tasks")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """{"vit", method: (request, encoder)}: real runs of four methods on drawn photos, as the worker leaves them on disk."""
    root = tmp_path_factory.mktemp("lab")
    home, vit = root / "data", random_vit()
    project = Project.create(home / "projects")
    with incoming(made.zipped(made.folder(root / "in", COUNTS), root / "photos.zip"), "photos.zip", "", "", False) as (items, _):
        project.add(items)
    runs = {}
    for number, (method, settings) in enumerate(QUICK.items()):
        folder = home / "runs" / f"{number:032x}"
        write_json(folder / "request.json", asked_of(project, method, settings, 0, "t", 0.0))
        request = Request.read(folder)
        encoder = Encoder(vit, request.images)
        kept = RunFolder.create(folder, facts(method, request.complete, 0, request.plan, [], vit.fingerprint))
        list(conduct(request.stream(encoder), method, request.complete, 0, kept))
        runs[method] = request, encoder
    return {"vit": vit, **runs}


def studied(lab, method):
    """inside.json of a method's run, by the real Study."""
    request, encoder = lab[method]
    study = inside.Study(request, lab["vit"], encoder, 0.0)
    while study.working:
        study.advance()
    study._future.result(60)
    return json.loads((request.folder / "inside.json").read_text())


@pytest.fixture(scope="module")
def looked(lab):
    return {method: studied(lab, method) for method in QUICK}


def view_of(lab, method):
    lines = RunFolder.open(lab[method][0].folder).lines()
    return replay(from_json(line["event"]) for line in lines)


@pytest.mark.parametrize("method", QUICK)
def test_every_point_has_a_place_in_every_picture(looked, method):
    said = looked[method]
    count = len(said["points"])
    assert inside_kept.usable(said)
    assert said["pending"] is False
    assert said["total"] == count
    for where in ("before", "after"):
        if said[where]:
            for places in (said[where]["pca"], *said[where]["tsne"].values()):
                assert len(places) == count
                assert all(abs(v) < 20 for xy in places for v in xy)
    assert [len(frame["class"]) for frame in said["frames"]] == [sum(p["task"] <= t for p in said["points"]) for t in range(2)]


def test_layouts_follow_a_learner_that_moves_and_end_at_its_last(looked):
    frames = looked["finetune"]["after"]["frames"]
    assert len(frames) == 2
    assert frames[-1]["tsne"] == looked["finetune"]["after"]["tsne"]["30"]
    assert frames[0]["pca"] != frames[1]["pca"]
    assert "frames" not in looked["softtf"]["after"]  # deep features are laid out once


def test_keys_lie_among_the_photos_where_modules_are_chosen_by_keys(looked):
    assert len(looked["softtf"]["before"]["keys"]["pca"]) == 2
    assert "keys" not in looked["tosca"]["before"]
    assert len(looked["l2p"]["before"]["keys"]["tsne"]["30"]) == 10
    assert looked["l2p"]["pool"]
    assert "pool" not in looked["softtf"]


def test_what_is_known_of_modules_is_said_only_where_there_are_some(looked):
    assert [len(row) for row in looked["tosca"]["overlap"]] == [2, 2]
    assert all(v > 0 for v in looked["tosca"]["displacement"])
    assert looked["softtf"]["masks"][0]["002"][0] != looked["softtf"]["masks"][1]["002"][0]
    assert looked["simplecil"]["masks"] is looked["simplecil"]["overlap"] is None
    assert looked["simplecil"]["frames"][1]["published"] is None


@pytest.mark.parametrize("method", ["tosca", "softtf"])
def test_the_published_view_is_the_batch_vote_of_the_run(lab, looked, method):
    view = view_of(lab, method)
    for frame, event in zip(looked[method]["frames"], view.judged, strict=True):
        shared = frame["published"]
        assert shared["accuracy"] == pytest.approx(event.batch_vote)
        assert sum(shared["correct"]) / sum(shared["total"]) == pytest.approx(event.batch_vote)
        assert [sum(row) for row in shared["chosen"]] == list(event.total)
        right = sum(c == p["class"] for c, p in zip((looked[method]["classes"][i] for i in shared["class"]),
                                                    looked[method]["points"], strict=False))  # fmt: skip
        assert right == sum(shared["correct"])


def test_where_no_published_code_lets_batches_choose_nothing_is_shown_beside_the_honest_way(lab, looked):
    said = looked["adapter_tasks"]
    assert set(said["frames"][1]["module"]) <= {0, 1}
    assert [frame["published"] for frame in said["frames"]] == [None, None]
    now = figures_inside.draw(view_of(lab, "adapter_tasks"), ENGLISH, said)["frames"][1]
    assert now["published"] is None
    assert sum(map(sum, now["photo"]["table"]["chosen"])) == said["total"]


def test_the_cards_say_whose_published_code_lets_batches_choose():
    cards = registry.cards().values()
    assert {card.name for card in cards if card.batch_vote} == {"tosca", "softtf", "dualprompt", "l2p"}
    assert all(any("batch" in line for line in card.deviations) for card in cards if card.batch_vote)


def test_a_sorted_batch_tells_the_task_and_single_photos_do_not():
    label = torch.arange(4).repeat_interleave(25)
    task, votes = label // 2, torch.stack([label % 2, label % 2 + 2], 1)  # module i knows the classes of task i
    entropy = torch.stack([0.5 - 0.05 * (task == 0), 0.5 - 0.05 * (task == 1)], 1)
    entropy[::3] = entropy[::3].flip(1)  # every third photo is drawn to the wrong module
    answer = {"label": label, "task": task, "vote": votes, "entropy": entropy, "module": entropy.argmin(1)}
    alone = (votes.gather(1, answer["module"][:, None])[:, 0] == label).float().mean()
    shared = published(answer, torch.arange(100), False)
    assert alone == pytest.approx(0.66)
    assert shared["accuracy"] == shared["routing"] == 1.0
    assert shared["chosen"] == [[50, 0], [0, 50]]


@pytest.mark.parametrize("method", QUICK)
@pytest.mark.parametrize("language", [ENGLISH, JAPANESE], ids=["en", "ja"])
def test_figures_of_every_moment_are_valid_for_plotly(lab, looked, method, language):
    drawn = json.loads(json.dumps(figures_inside.draw(view_of(lab, method), language, looked[method]), allow_nan=False))
    assert len(drawn["frames"]) == 2
    for frame in drawn["frames"]:
        for way in filter(None, (frame["photo"], frame["published"])):
            for name in ("matrix", "chosen", "doubt"):
                if way[name]:
                    go.Figure(**painted(way[name]))
            assert "{" not in way["say"] + way["say_modules"]
            assert len(way["say"]) > 10 < len(way["say_modules"])
    assert bool(drawn["frames"][1]["photo"]["chosen"]) == (method in MODULAR)
    assert bool(drawn["masks"]) == (method == "softtf")
    for one in drawn["masks"] or ():
        go.Figure(**painted(one["figure"]))


def test_figures_without_the_pictures_lack_only_the_published_view(lab):
    drawn = figures_inside.draw(view_of(lab, "tosca"), ENGLISH)
    assert drawn["frames"][1]["published"] is None
    assert drawn["frames"][1]["photo"]["chosen"]


def test_the_three_terms_add_up_for_every_router(lab, looked):
    for method in ("tosca", "softtf"):
        terms = figures_inside.draw(view_of(lab, method), ENGLISH, looked[method])["frames"][1]["photo"]["terms"]
        assert {one["route"] for one in terms} >= {"answer"}
        assert len(terms) > 2
        for one in terms:
            whole = one["routing"] * (one["right"] or 0) + (1 - one["routing"]) * (one["wrong"] or 0)
            assert whole == pytest.approx(one["accuracy"])


def test_the_module_map_counts_photos(lab, looked):
    frame = figures_inside.draw(view_of(lab, "tosca"), ENGLISH, looked["tosca"])["frames"][1]["photo"]
    found = [[0, 0], [0, 0]]
    for point, module in zip(looked["tosca"]["points"], looked["tosca"]["frames"][1]["module"], strict=True):
        found[point["task"]][module] += 1
    assert frame["table"]["chosen"] == found
    assert frame["chosen"]["data"][0]["z"][1][0] == pytest.approx(found[1][0] / sum(found[1]))


@pytest.mark.parametrize("method", QUICK)
def test_a_photo_asked_says_what_the_run_answered_after_each_task(lab, looked, method):
    request, _ = lab[method]
    said, names = looked[method], looked[method]["classes"]
    for at in (0, len(said["points"]) - 1):
        answer = Desk().ask(lab["vit"], request, {"photo": said["points"][at]["photo"]})
        for step, frame in zip(answer["history"], said["frames"], strict=True):
            if at < len(frame["class"]):
                assert step["says"] == names[frame["class"][at]]
                assert step["module"] == (frame["module"][at] if frame["module"] else None)
        assert bool(answer["routes"]) == (method in MODULAR)
        assert len(answer["attention"]["frozen"]) == 2
        assert max(map(max, answer["attention"]["frozen"])) == 1
        assert bool(answer["attention"]["masked"]) == (method == "softtf")


def test_a_run_too_long_is_shown_by_evenly_spread_photos():
    assert spread(5).tolist() == [0, 1, 2, 3, 4]
    assert len(spread(5000)) == POINTS
    assert {0, 4999} <= set(spread(5000).tolist())


def test_a_problem_is_no_picture_and_an_older_format_is_made_anew():
    assert not inside_kept.usable({"problem": {"code": "run_early"}, "format": inside_kept.FORMAT})
    assert not inside_kept.usable({"points": []})
    assert not inside_kept.usable(None)


def test_a_study_of_nothing_leaves_its_problem(lab, tmp_path):
    request, encoder = lab["tosca"]
    folder = tmp_path / ("f" * 32)
    write_json(folder / "request.json", json.loads((request.folder / "request.json").read_text()))
    study = inside.Study(Request.read(folder), lab["vit"], encoder, 0.0)
    study.advance()
    assert study.finished
    assert json.loads((folder / "inside.json").read_text())["problem"]["code"] == "run_missing"


def test_a_panel_on_photos_is_kept_run_by_run_and_goes_on_where_it_stopped(lab, monkeypatch):
    request, encoder = lab["tosca"]
    monkeypatch.setattr(lambda_panel, "GRID", (0.0, 0.08))
    monkeypatch.setattr(lambda_panel, "OWN_SEEDS", 2)
    panel = lambda_panel.Panel("lambda", request, encoder, 0.0)
    while panel.grid["done"] < 1:
        panel.advance()
    panel.stop()
    kept = json.loads(inside_kept.grid_file(request.folder).read_text())
    assert (kept["state"], kept["done"]) == ("stopped", 1)
    again = lambda_panel.Panel("lambda", request, encoder, 0.0)
    while again.working:
        again.advance()
    whole = json.loads(inside_kept.grid_file(request.folder).read_text())
    assert (whole["state"], whole["done"]) == ("finished", 4)
    assert [len(one["accuracy"]) for one in whole["rows"]] == [2, 2]
    assert whole["rows"][0]["accuracy"][0] == kept["rows"][0]["accuracy"][0]


def test_the_grid_of_a_training_is_shared_by_its_methods(lab):
    files = {inside_kept.grid_file(lab[method][0].folder) for method in QUICK}
    assert len(files) == 1


# Routes


@pytest.fixture
def page(lab, tmp_path):
    """The routes over the lab's runs, with a folder of packs that holds one recorded grid; the worker is not there."""
    request, _ = lab["tosca"]
    home = request.folder.parent.parent
    (tmp_path / "toys").mkdir()
    write_json(tmp_path / "toys" / "lambda.json", filled(20, (0.1, 0.01)))
    write_json(tmp_path / "toys" / "pack.json", {"title": {"en": "Toys", "ja": "おもちゃ"}})
    app = fastapi.FastAPI()
    app.include_router(routes_inside.inside_routes(Session(home, Client(home)), tmp_path))
    app.add_exception_handler(Problem, lambda asked, problem: problem_answer(problem))
    return TestClient(app), request.folder.name


def test_a_page_gets_every_moment_of_a_run_at_once_and_in_its_language(page):
    client, rid = page
    english, japanese = (client.get(f"/runs/{rid}/inside/figures?lang={lang}").json() for lang in ("en", "ja"))
    assert len(english["frames"]) == len(japanese["frames"]) == 2
    assert english["frames"][1]["photo"]["say_modules"] != japanese["frames"][1]["photo"]["say_modules"]


def test_recorded_grids_are_listed_and_judged(page):
    client, _ = page
    assert client.get("/lambda?lang=ja").json() == [{"name": "toys", "title": "おもちゃ"}]
    assert client.get("/lambda/toys").json()["verdict"]["holds"] is True
    for name in ("nothing", "..", "%2e%2e%2ftoys"):
        assert client.get(f"/lambda/{name}").status_code == 404


def test_a_grid_nobody_has_asked_for_is_none_and_a_finished_one_has_no_verdict(page, lab):
    client, rid = page
    file = inside_kept.grid_file(lab["tosca"][0].folder)
    file.unlink(missing_ok=True)
    assert client.get(f"/runs/{rid}/lambda").json() == {"state": "none"}
    assert client.get(f"/runs/{'0' * 31}x/lambda").status_code == 404
    assert client.post(f"/runs/{rid}/lambda", json={"do": "delete"}).status_code == 400
    write_json(file, filled(3, (0.1, 0.0)) | {"state": "finished"})
    assert client.get(f"/runs/{rid}/lambda").json()["verdict"] is None
    file.unlink()
