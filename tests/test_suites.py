"""Suites: one JSON a run, what is known is not run again, tables by hand, a stand-in for the papers' folders, a cluster."""

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys

import photos_made as made
import psutil
import pytest

from forget_me_not.demo.cli.suite_page import page
from forget_me_not.models.problem import Problem
from forget_me_not.models.suites import paper, quality, runner, tables
from forget_me_not.models.suites.cut import Protocol, cut
from forget_me_not.models.suites.suite import Entry, Suite, offline

TINY = Protocol("tiny", per_task=2, train=4, test=2, backbone="random", size=28, neck="none")


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return made.folder(tmp_path_factory.mktemp("suite"), {"apple": 7, "brick": 7, "cloud": 7, "desk": 7})


def small(*entries):
    usual = (Entry("simplecil", "simplecil", (1, 2)), Entry("joint", "joint", (1, 2), {"epochs": 2}))
    return Suite("small", (TINY,), entries or usual)


def test_a_suite_runs_what_is_missing_and_nothing_twice(photos, tmp_path):
    jobs = list(small().jobs())
    assert [(j.title, j.seed) for j in jobs] == [("simplecil", 1), ("joint", 1), ("simplecil", 2), ("joint", 2)]
    first = list(runner.run(jobs[:1], photos, tmp_path))
    assert len(first) == 1
    assert (tmp_path / "tiny/simplecil/0001.json").is_file()
    again = list(runner.run(jobs, photos, tmp_path))
    assert [job.file for job, _ in again] == [job.file for job in jobs[1:]]
    assert runner.pending(jobs, tmp_path) == []
    found = runner.results(tmp_path)
    one = next(r for r in found if r["title"] == "simplecil" and r["seed"] == 1)
    assert one == json.loads(json.dumps(first[0][1]))
    assert one["metrics"]["last_accuracy"] == sum(one["correct"][-1]) / sum(one["total"])
    assert len(one["tasks"]) == 2
    assert one["versions"]["torch"]


def test_a_torn_result_and_a_failed_run_are_run_again(photos, tmp_path):
    job = next(small().jobs())
    list(runner.run([job], photos, tmp_path))
    path = tmp_path / job.file
    path.write_text(path.read_text()[:100])
    assert runner.pending([job], tmp_path) == [job]
    path.write_text(json.dumps({"metrics": {}, "failed": {"code": "no_tokens", "values": {}}}))
    assert runner.pending([job], tmp_path) == [job]


def test_two_processes_give_what_one_gives(photos, tmp_path):
    jobs = list(small().jobs())
    list(runner.run(jobs, photos, tmp_path / "one"))
    list(runner.run(jobs, photos, tmp_path / "two", workers=2))
    for job in jobs:
        one, two = (runner.result(tmp_path / name / job.file) for name in ("one", "two"))
        assert one["correct"] == two["correct"]
        assert one["fingerprint"] == two["fingerprint"]


def test_runs_join_into_one_file_and_back(photos, tmp_path):
    list(runner.run(list(small().jobs([1])), photos, tmp_path / "in"))
    assert runner.pack(tmp_path / "in", tmp_path / "all.jsonl") == 2
    assert runner.results(tmp_path / "all.jsonl") == runner.results(tmp_path / "in")


def run_of(title, seed, accuracy, **metrics):
    plain = dict.fromkeys(tables.SHOWN) | {"last_accuracy": accuracy, "seconds": {"train": 1.0}} | metrics
    return {"title": title, "method": title, "seed": seed, "failed": None, "metrics": plain, "protocol": {**TINY.__dict__},
            "versions": {"torch": "2"}, "photos": 8, "classes": 4, "photo_set": "x", "threads": 1}  # fmt: skip


def test_tables_by_hand():
    found = [run_of("a", 1, 0.8), run_of("a", 2, 0.9), run_of("joint", 1, 0.7), run_of("joint", 2, 0.9), run_of("joint", 3, 0.1)]
    s = tables.spread([0.8, 0.9])
    assert (s.mean, s.n) == (pytest.approx(0.85), 2)
    assert s.sd == pytest.approx(math.sqrt(0.005))
    assert s.half == pytest.approx(12.7062 * math.sqrt(0.005) / math.sqrt(2), rel=1e-4)
    less = tables.paired(found, "tiny", "a")  # seeds 1 and 2 only: +.1 and 0
    assert (less.mean, less.n) == (pytest.approx(0.05), 2)
    rows = tables.table(found, "tiny")
    assert [row[0] for row in rows] == ["a", "joint"]
    assert rows[0][2] == ".850 ± .071"
    assert rows[0][3].startswith("+.050 ± ")
    text = tables.markdown(found)
    assert "| a | 2 | .850" in text
    assert "right module" not in text
    assert "<script" not in page([run_of("<script>", 1, 0.5)], "| <script> |\n|---|\n| x |")


def test_bars_are_held_against_means():
    found = [run_of("simplecil", seed, value, forgetting=0.1) for seed, value in ((1, 0.9), (2, 0.8))]
    found += [run_of("joint", seed, 0.9) for seed in (1, 2)]
    rows = {row.name: row for row in quality.rows(found)}
    assert rows["simplecil: last_accuracy"].passed is False
    assert rows["simplecil: last_accuracy"].value == pytest.approx(0.85)
    assert rows["simplecil minus joint, paired"].value == pytest.approx(-0.05)


def test_the_offline_suite_names_every_method(tmp_path):
    from forget_me_not.models.registry import cards

    suite = offline(tmp_path)
    assert {e.method for e in suite.entries} == set(cards())
    assert len({job.file for job in suite.jobs()}) == len(list(suite.jobs()))


@pytest.fixture
def stand_in(tmp_path):
    """Three classes in the form of a benchmark, and the facts that describe them."""
    root = tmp_path / "data" / "three"
    for side, count in (("train", 5), ("test", 2)):
        made.folder(root, {"apple": count, "brick": count, "cloud": count}, above=side)
    about = json.loads(paper.FACTS.read_text())
    one = {"folder": "three", "title": "Three", "per_task": 2, "classes": 3, "train": 15, "test": 6, "order": 1993}
    entries = {"simplecil": {"method": "simplecil", "settings": {}}}
    about |= {"backbone": "random", "size": 28, "benchmarks": {"three": one}, "entries": entries}
    about["published"]["figures"] = {"three": {"simplecil": [50.0, 40.0, "mos"]}}
    (tmp_path / "facts.json").write_text(json.dumps(about))
    return tmp_path


def test_a_papers_benchmark_keeps_its_split_and_order(stand_in, tmp_path):
    about = paper.facts(stand_in / "facts.json")
    suite = paper.suite(about, stand_in / "data")
    (_, found), = runner.run(list(suite.jobs()), stand_in / "data", tmp_path / "out")
    assert found["seed"] == 1993
    assert found["total"] == [4, 2]
    assert [len(t) for t in found["tasks"]] == [2, 1]
    assert "| simplecil | " in paper.beside([found], about)
    assert ".500" in paper.beside([found], about)


def test_a_benchmark_that_is_absent_or_another_copy_is_said(stand_in, tmp_path):
    about = paper.facts(stand_in / "facts.json")
    with pytest.raises(Problem) as absent:
        paper.suite(about, tmp_path / "nowhere")
    assert absent.value.code == "bench_papers_absent"
    next((stand_in / "data/three/test/cloud").iterdir()).unlink()
    with pytest.raises(Problem) as other:
        paper.suite(about, stand_in / "data")
    assert other.value.code == "bench_manifest"
    assert other.value.values["has_test"] == 5


def test_the_order_of_classes_is_the_papers():
    import numpy as np

    class Photo:
        def __init__(self, label, domain):
            self.label, self.domain = label, domain

    class Data:
        classes = tuple("abcdef")
        photos = tuple(Photo(c, side) for c in "abcdef" for side in ("train", "test"))

    np.random.seed(1993)
    order = np.random.permutation(6)
    plan = cut(Protocol("x", per_task=2, order=1993, split=True), Data, 0)
    assert plan.classes == tuple("abcdef"[i] for i in order)
    assert [len(t.train) for t in plan.tasks] == [2, 2, 2]


@pytest.mark.slow
def test_the_command_line_runs_continues_and_tabulates(stand_in, tmp_path):
    def command(*arguments):
        return subprocess.run([sys.executable, "-m", "forget_me_not.app", *map(str, arguments)], capture_output=True, text=True,
                              env={**os.environ, "FORGET_ME_NOT_HOME": str(tmp_path / "home")})  # fmt: skip

    out = tmp_path / "results"
    suite = ["bench", "paper", "--images", stand_in / "data", "--manifest", stand_in / "facts.json", "--out", out]
    first = command(*suite)
    assert first.returncode == 0, first.stderr
    assert "## Three" in first.stdout
    assert (out / "table.html").read_text().startswith("<!doctype html>")
    assert "1 of them known from before" in command(*suite).stderr
    assert command("bench", "table", out).returncode == 0
    shutil.rmtree(stand_in / "data")
    gone = command(*suite)
    assert gone.returncode == 2
    assert "Traceback" not in gone.stderr


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_cluster_that_loses_a_worker_finishes_the_suite(backend, photos, tmp_path):
    jobs = list(small().jobs())
    with cluster(backend) as (address, workers):
        found = {}
        for job, result in runner.run(jobs, photos, tmp_path, backend=backend, address=address):
            if not found:
                os.kill(workers()[0], signal.SIGKILL)
            found[job.file] = result
    assert set(found) == {job.file for job in jobs}
    alone = next(iter(runner.run(jobs[:1], photos, tmp_path / "alone")))[1]
    assert found[jobs[0].file]["correct"] == alone["correct"]


TASKS = ("ray::_told", "ray::IDLE")
"""What Ray's workers are called; its agents are not to be killed, the node would go with them."""


@contextlib.contextmanager
def cluster(backend):
    """(address, how to ask for the workers' process ids) of two workers on this machine."""
    if backend == "dask":
        distributed = pytest.importorskip("distributed", reason="needs the extra [dask]")
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as made:
            yield made.scheduler_address, lambda: [nanny.pid for nanny in made.workers.values()]
        return
    ray = pytest.importorskip("ray", reason="needs the extra [ray]")
    ray.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
    try:
        yield "", lambda: [p.pid for p in psutil.process_iter(["cmdline"]) if (p.info["cmdline"] or [""])[0].startswith(TASKS)]
    finally:
        ray.shutdown()
