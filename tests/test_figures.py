"""Figures: valid for Plotly, colours mean tasks, numbers are readable, sentences say what the matrix says."""

import itertools
import json

import plotly.graph_objects as go
import pytest
from painted import painted

from forget_me_not.demo import marks
from forget_me_not.demo.figures import curves, draw, loss, matrix
from forget_me_not.demo.marks import DASHES, MARKERS, apart, cividis, glyph, marker_of, on_cividis
from forget_me_not.demo.view import RunView, reduce, replay
from forget_me_not.demo.words import words
from forget_me_not.models.events import Evaluated, Finished, RunStarted, Step, TaskFinished, TaskStarted

ENGLISH, JAPANESE = words("en"), words("ja")


def stream(tasks, method="finetune", names=None):
    names = names or tuple(f"Task {t + 1}" for t in range(tasks))
    classes = tuple(f"c{i}" for i in range(2 * tasks))
    yield RunStarted(method, 0, classes, names, tuple((2 * t, 2 * t + 1) for t in range(tasks)), (8,) * tasks, (10,) * tasks)
    for t in range(tasks):
        yield TaskStarted(t, names[t], 8)
        yield Step(t, 1, 2, 2.0 - t / tasks)
        yield Step(t, 2, 2, 0.5)
        yield Evaluated(t, tuple(max(0, 10 - 2 * (t - j)) for j in range(t + 1)), (10,) * (t + 1))
        yield TaskFinished(t, {"train": 1.0}, 10, 10)
    yield Finished({"last_accuracy": 0.5})


@pytest.mark.parametrize("tasks", [1, 2, 6, 13])
@pytest.mark.parametrize("method", ["joint", "somebody_elses"])
def test_figures_of_any_moment_is_valid_for_plotly_and_json(tasks, method):
    view = RunView()
    for number, event in enumerate(stream(tasks, method)):
        view = reduce(view, event)
        if tasks > 2 and number % 11:
            continue
        drawn = json.loads(json.dumps(draw(view, JAPANESE, "題"), allow_nan=False))
        for name in ("matrix", "curves", "loss"):
            go.Figure(**painted(drawn[name]))
        assert all(drawn["say"].values())


def test_nothing_known_yet_still_draws_and_says_so():
    drawn = draw(RunView(), ENGLISH)
    assert drawn["say"]["matrix"] == ENGLISH["say.matrix_none"]
    for name in ("matrix", "curves", "loss"):
        go.Figure(**painted(drawn[name]))


def test_the_matrix_is_r_with_a_number_in_each_cell_and_wells_for_the_rest():
    view = replay(list(stream(3))[:11])  # two tasks learnt
    figure = matrix(view, ENGLISH)
    heat, numbers = figure["data"][:2]
    assert heat["z"] == [[1.0, None, None], [0.8, 1.0, None], [None, None, None]]
    assert (heat["zmin"], heat["zmax"]) == (0, 1)
    assert dict(zip(zip(numbers["y"], numbers["x"], strict=True), numbers["text"], strict=True)) == {
        (0, 0): "100%",
        (1, 0): "80%",
        (1, 1): "100%",
    }
    assert "8 of 10 right on Task 1" in heat["customdata"][1][0]
    outlined = [s for s in figure["layout"]["shapes"] if s["line"]["width"]]
    assert {(round(s["x0"] + 0.46), round(s["y0"] + 0.45)) for s in outlined} == {(0, 2), (1, 2), (2, 2)}


def test_a_finished_run_outlines_no_next_row():
    assert not matrix(replay(stream(3)), ENGLISH)["layout"]["shapes"]


def test_curves_start_when_a_task_is_learnt_and_keep_its_colour():
    figure = curves(replay(stream(3, names=("Animals", "Music", "<b>Home</b>"))), ENGLISH)
    assert [trace["x"] for trace in figure["data"]] == [[1, 2, 3], [2, 3], [3]]
    assert figure["data"][0]["y"] == [1.0, 0.8, 0.6]
    assert [trace["line"]["color"] for trace in figure["data"]] == ["@t1", "@t2", "@t3"]
    assert {trace["line"]["dash"] for trace in figure["data"]} == {"dash"}
    labels = [a["text"] for a in figure["layout"]["annotations"]]
    assert "<b>60%</b>  Animals" in labels
    assert any("&lt;b&gt;Home" in text for text in labels)


def test_the_axis_of_the_curves_does_not_move_while_a_run_grows():
    ranges = {tuple(curves(replay(list(stream(6))[:n]), ENGLISH)["layout"]["xaxis"]["range"]) for n in range(1, 32)}
    assert len(ranges) == 1


def test_task_seven_repeats_the_hue_with_another_marker():
    traces = curves(replay(stream(8)), ENGLISH)["data"]
    assert traces[6]["line"]["color"] == traces[0]["line"]["color"]
    assert traces[6]["marker"]["symbol"] != traces[0]["marker"]["symbol"]
    assert [marker_of("circle", t) for t in (0, 6, 12)] == ["circle", "square", "diamond"]


def test_losses_lie_in_their_own_task():
    figure = loss(replay(stream(3)), ENGLISH)
    assert [trace["x"] for trace in figure["data"]] == [[0.5, 1.0], [1.5, 2.0], [2.5, 3.0]]
    assert [shape["fillcolor"] for shape in figure["layout"]["shapes"]] == ["@t1", "@t2", "@t3"]
    early = loss(replay(list(stream(3))[:3]), ENGLISH)
    assert [shape["fillcolor"] for shape in early["layout"]["shapes"]] == ["@t1", "@sunk", "@sunk"]


def test_sentences_tell_the_whole_and_the_deepest_fall():
    names = ("Animals", "Music", "Home")
    assert draw(replay(stream(3, names=names)), ENGLISH, "Naive")["say"] == {
        "curves": "Naive ended at 80.0%. Animals fell from 100% to 60%.",
        "matrix": "After Home: 24 of 30 test photos of all tasks so far are right.",
        "loss": "In Home the loss went from 1.33 to 0.50.",
    }
    assert draw(replay(stream(2)), JAPANESE, "TOSCA")["say"]["matrix"].startswith("「タスク2」")


def test_a_method_has_its_name_in_the_language_of_the_page():
    assert draw(replay(stream(2)), JAPANESE, "Naive fine-tuning")["say"]["curves"].startswith(JAPANESE["method.finetune.title"])


def test_labels_at_line_ends_never_touch_and_keep_their_order():
    placed = apart([(0, 0.5), (1, 0.5), (2, 0.9), (3, 0.49)], 0.07)
    assert [task for task, _, _ in placed] == [2, 0, 1, 3]
    assert all(a[2] - b[2] >= 0.07 - 1e-9 for a, b in itertools.pairwise(placed))
    assert placed[0] == (2, 0.9, 0.9)


def test_labels_of_lines_that_end_at_nothing_stay_on_the_chart():
    placed = apart([(0, 0.0), (1, 0.0), (2, 0.42), (3, 0.0)], 0.07, 0.0)
    assert [task for task, _, _ in placed] == [2, 0, 1, 3]
    assert [at for _, _, at in placed] == pytest.approx([0.42, 0.14, 0.07, 0.0])
    crowded = apart([(n, 0.0) for n in range(12)], 1 / 12, 0.0)
    assert [at for _, _, at in crowded] == pytest.approx([n / 12 for n in range(11, -1, -1)])


@pytest.mark.parametrize("percent", range(101))
def test_every_number_can_be_read_on_its_cell(percent):
    def luminance(rgb):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    ground = luminance(cividis(percent / 100))
    ink = 1.0 if on_cividis(percent / 100) == "#FFFFFF" else 0.0
    light, dark = max(ground, ink), min(ground, ink)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_methods_look_different_from_each_other():
    looks = [glyph(name) for name in marks.GLYPHS]
    assert len(set(looks)) == len(looks)
    dash, marker = glyph("a_plug_in")
    assert dash in DASHES
    assert marker in MARKERS
