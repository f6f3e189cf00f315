"""Claims: verdicts by hand, every claim in words, and kept verdicts that are those of the results beside them."""

import json
import re

import pytest

from forget_me_not.demo import claims as table, measured
from forget_me_not.demo.words import LANGUAGES
from forget_me_not.models.suites import claims, readme, runner
from forget_me_not.models.suites.suite import offline

RESULTS = table.KEPT.with_name("offline.jsonl")


def run(title, seed, value, **metrics):
    return {"title": title, "seed": seed, "failed": None, "method": title, "protocol": {"name": "p"},
            "metrics": {"last_accuracy": value, "seconds": {}, **metrics}}  # fmt: skip


def judged(kind, found=(), packs=None, figures=(), **more):
    claim = {"name": "x", "paper": "", "kind": kind, "above": 0, **more}
    return claims.judge(found, packs or {}, figures, {"protocol": "p", "claims": [claim]})[0]


def pairs(*differences):
    return [run(title, s, 0.5 + more) for s, d in enumerate(differences) for title, more in (("a", d), ("b", 0))]


@pytest.mark.parametrize(("differences", "verdict"), [
    ((0.10, 0.11, 0.12), "holds"), ((-0.10, -0.11, -0.12), "fails"), ((0.1, -0.1, 0.05), "open"),
    ((0.3,), "open"), ((), "missing"),
])  # fmt: skip
def test_a_difference_holds_where_its_interval_lies_above_the_limit(differences, verdict):
    assert judged("difference", pairs(*differences), a="a", b=["b"])["verdict"] == verdict


def test_a_claim_about_several_fails_with_one():
    found = [run(title, s, value + s / 1000) for s in range(3) for title, value in (("a", 0.8), ("b", 0.7), ("c", 0.9))]
    assert judged("difference", found, a="a", b=["b"])["verdict"] == "holds"
    one = judged("difference", found, a="a", b=["b", "c"])
    assert one["verdict"] == "fails"
    assert [round(part["mean"], 3) for part in one["found"]] == [0.1, -0.1]


def test_ratios_grids_and_figures():
    found = [run("a", 1, 0.5, size=100), run("b", 1, 0.5, size=10)]
    assert judged("ratio", [r | {"metrics": r["metrics"] | {"parameters_per_task": r["metrics"]["size"]}} for r in found],
                  a="a", b="b", metric="parameters_per_task", above=8)["verdict"] == "holds"  # fmt: skip
    rows = [{"sparsity": 0.0, "accuracy": [0.5] * 3, "routing": [0.5, 0.6, 0.7]},
            {"sparsity": 0.1, "accuracy": [0.6] * 3, "routing": [0.4, 0.49, 0.6]}]  # fmt: skip
    claim = {"name": "x", "paper": "", "kind": "lambda", "above": 0, "packs": ["toybox"], "metric": "routing"}
    (one,) = claims.judge([], {"toybox": {"rows": rows}}, [], {"protocol": "p", "claims": [claim]})
    assert one["verdict"] == "fails"
    assert one["found"][0]["mean"] == pytest.approx(-0.1033, abs=1e-4)
    row = {"name": "r", "value": 0.2, "detail": {"low": 0.1, "high": 0.3}}
    assert judged("figure", figures=[row], row="r", low="low", high="high")["verdict"] == "holds"


def test_every_claim_names_entries_there_are_and_has_its_words(tmp_path):
    known = {entry.title for entry in offline(tmp_path).entries}
    for claim in json.loads(claims.LIST.read_text())["claims"]:
        if claim["kind"] in ("difference", "ratio"):
            others = claim["b"] if isinstance(claim["b"], list) else [claim["b"]]
            assert {claim["a"], *others} <= known, claim["name"]
    for lang in LANGUAGES:
        assert all(row["claim"] and row["said"] for row in table.table(lang))


def test_kept_verdicts_are_those_of_the_kept_results():
    figures = RESULTS.with_name("plasticity.json")
    packs = {path.parent.name: json.loads(path.read_text()) for path in RESULTS.parents[1].glob("packs/*/lambda.json")}
    rows = json.loads(figures.read_text())["rows"] if figures.exists() else []
    told = claims.judge(runner.results(RESULTS), packs, rows)
    assert json.loads(table.KEPT.read_text()) == told, "bring them up to date with: python app.py bench claims"


def test_measured_are_means_of_default_runs_and_the_papers_settings_on_the_same_seeds():
    found = [run("tosca", s, 0.8, learning_accuracy=0.9 + s / 100, forgetting=0.1) for s in (0, 2)]
    found += [run("tosca", s, 0.6 + s / 10) | {"title": "tosca · published"} for s in (1, 2)] + [run("joint", 1, 0.9)]
    told = claims.measured(found, {"protocol": "p", "claims": []})
    preset = {"name": "published", "accuracy": 0.75, "less": 0.0, "seeds": 1}  # seed 2 alone was run with both
    assert told == {"photos": "p", "methods": {
        "tosca": {"accuracy": 0.8, "seeds": 2, "learns": 0.91, "keeps": 0.9, "preset": preset},
        "joint": {"accuracy": 0.9, "seeds": 1}}}  # fmt: skip


def test_kept_figures_are_those_of_the_kept_results_and_only_learners_are_estimates():
    assert json.loads(measured.KEPT.read_text()) == claims.measured(runner.results(RESULTS))
    told = measured.estimates([], {})
    assert all(row["learns"] and row["title"] for row in told)
    assert "joint" not in {row["method"] for row in told}
    assert measured.of_method("joint")["photos"] == "caltech24"
    assert measured.of_method("nobody") is None


def test_the_table_of_the_readme_is_that_of_the_verdicts():
    text = (RESULTS.parents[2] / "README.md").read_text("utf-8")
    told = re.search(r"<!-- claims:[^\n]*-->\n(.*?)<!-- /claims -->", text, re.S)[1]
    assert told == table.markdown(), "bring it up to date with: python app.py bench claims"


def test_the_tables_of_the_readme_are_those_of_the_results():
    text = (RESULTS.parents[2] / "README.md").read_text("utf-8")
    made = readme.blocks(runner.results(RESULTS))
    assert set(made) == {"heads", "deep", "pacs"}
    assert readme.filled(text, made) == text
    for name, block in made.items():
        assert f"<!-- {name} -->\n{block}<!-- /{name} -->" in text
