"""The leaderboard and the plane: rows by hand, ties, bounds, what is said, labels that keep off each other."""

import itertools

import pytest

from forget_me_not.demo import compare, figures_compare, labels
from forget_me_not.demo.share.results import Result
from forget_me_not.demo.words import LANGUAGES, words
from forget_me_not.models import metrics

EN = words("en")
LONG = ("Naive fine-tuning", "Linear probe", "Block fine-tuning", "Prototypes", "Adapter a task", "EASE", "LoRA, shared", "TOSCA",
        "Soft-TransFormers", "RanPAC", "DualPrompt", "MOS")  # fmt: skip
TITLES = {"tosca": "TOSCA", "finetune": "Naive fine-tuning", "joint": "Joint training", "simplecil": "Prototypes"}
NO_ROUTES = dict.fromkeys(["routing_accuracy", "accuracy_right", "accuracy_wrong", "oracle_accuracy", "batch_vote_accuracy"])


def run(method, rows, seed=0, created=0.0, stream="a", settings=None, **numbers):
    """A finished run with these (right, total) after every task."""
    correct, total = [[c for c, _ in row] for row in rows], [[n for _, n in row] for row in rows]
    R = metrics.matrix(correct, total)
    found = {"last_accuracy": metrics.last_accuracy(correct, total), "last_accuracy_tasks": metrics.last_accuracy_tasks(R),
             "average_accuracy": metrics.average_accuracy(correct, total), "forgetting": metrics.forgetting(R),
             "bwt": metrics.bwt(R), "learning_accuracy": metrics.learning_accuracy(R), **NO_ROUTES, "parameters": 100,
             "bytes_per_task": 4000, "seconds": {"encode": 1.0, "train": 2.0, "evaluate": 0.5}, **numbers}  # fmt: skip
    tasks = tuple({"name": f"Task {t + 1}", "classes": [f"c{t}"]} for t in range(len(rows)))
    return Result(f"{method}-{seed}-{created}", method, seed, "class", created, stream, "random", settings or {"lr": 0.1}, tasks,
                  40, tuple(tuple(row) for row in rows), found)  # fmt: skip


def two(a, b, c, total=10):
    """A run of two tasks: a right of task 1 at first, then b of task 1 and c of task 2."""
    return [[(a, total)], [(b, total), (c, total)]]


def test_a_row_by_hand():
    (row,) = compare.rows([run("tosca", two(10, 7, 9))], "a", {"joint"})
    assert row.accuracy == pytest.approx(16 / 20)
    assert row.mean("forgetting") == pytest.approx(0.3)
    assert row.points == [(0, pytest.approx(0.95), pytest.approx(0.7))]
    assert (row.spread, row.counts, row.interval) == (None, (16, 20), metrics.wilson(16, 20))
    assert row.seconds == 3.5


def test_seeds_of_one_method_are_one_row_and_the_newest_of_equal_runs_counts():
    runs = [
        run("tosca", two(10, 7, 9), seed=0),
        run("tosca", two(10, 9, 9), seed=1),
        run("tosca", two(10, 2, 2), seed=1, created=-1),
    ]
    (row,) = compare.rows(runs, "a", set())
    assert [r.seed for r in row.results] == [0, 1]
    assert row.accuracy == pytest.approx((0.8 + 0.9) / 2)
    assert row.spread == pytest.approx(0.1 / 2**0.5)
    assert row.counts == (17, 20)
    assert len(row.points) == 2


def test_settings_make_rows_of_their_own_and_only_what_differs_is_named():
    runs = [
        run("tosca", two(9, 9, 9), settings={"lr": 0.1, "epochs": 5}),
        run("tosca", two(8, 8, 8), settings={"lr": 0.01, "epochs": 5}),
    ]
    rows = compare.rows(runs, "a", set())
    assert [row.note for row in rows] == ["lr 0.1", "lr 0.01"]
    assert len({row.key for row in rows}) == 2


def test_runs_over_other_photos_stay_apart():
    runs = [run("tosca", two(9, 9, 9), created=1.0), run("finetune", two(9, 1, 9), stream="b", created=2.0)]
    assert [(one["key"], one["runs"]) for one in compare.streams(runs)] == [("b", 1), ("a", 1)]
    assert [row.method for row in compare.rows(runs, "b", set())] == ["finetune"]


def test_the_bound_comes_first_and_takes_part_in_no_tie():
    rows = compare.rows([run("tosca", two(9, 9, 9)), run("joint", two(9, 9, 10)), run("finetune", two(9, 1, 9))], "a", {"joint"})
    assert [(row.method, row.bound) for row in rows] == [("joint", True), ("tosca", False), ("finetune", False)]
    assert [row.tied for row in rows] == [False, False, False]


@pytest.mark.parametrize(("second", "total", "tied"), [(8, 10, True), (4, 10, False), (885, 1000, True), (800, 1000, False)])
def test_a_tie_is_what_the_metrics_call_one(second, total, tied):
    first = total * 9 // 10
    rows = compare.rows(
        [run("tosca", two(first, first, first, total)), run("simplecil", two(second, second, second, total))], "a", set()
    )
    assert rows[1].tied is tied is metrics.tie((2 * first, 2 * total), (2 * second, 2 * total))
    said = compare.say(rows, EN, TITLES)
    assert ("call it a tie" in said) is tied
    assert ("TOSCA is ahead" in said) is not tied


def test_more_seeds_on_the_same_photos_are_no_more_photos():
    one = compare.rows([run("tosca", two(9, 9, 9)), run("simplecil", two(8, 8, 8))], "a", set())
    many = compare.rows(
        [run(m, two(k, k, k), seed=s) for m, k in (("tosca", 9), ("simplecil", 8)) for s in range(20)], "a", set()
    )
    assert one[1].tied
    assert many[1].interval == one[1].interval


@pytest.mark.parametrize(("best", "bound", "key"), [(99, 60, "above"), (60, 99, "below"), (90, 91, "tie")])
def test_the_bound_is_spoken_of(best, bound, key):
    rows = compare.rows([run("tosca", two(best, best, best, 100)), run("joint", two(bound, bound, bound, 100))], "a", {"joint"})
    said = compare.say(rows, EN, TITLES)
    parts = {
        "above": "39.0 points above the upper bound",
        "below": "39.0 points higher than",
        "tie": "as good as the upper bound",
    }
    assert [name for name, part in parts.items() if part in said] == [key]
    assert ("rarely real" in said) is (key == "above")


def test_one_task_has_no_forgetting_and_no_place_on_the_plane():
    rows = compare.rows([run("tosca", [[(9, 10)]])], "a", set())
    assert rows[0].points == []
    assert compare.say_plane(rows, EN, TITLES) == EN["compare.plane_none"]
    assert "forgot" not in compare.say(rows, EN, TITLES)
    assert compare.as_json(rows[0], TITLES)["forgetting"] is None


def test_all_that_share_a_place_on_the_plane_are_named():
    rows = compare.rows([run("tosca", two(9, 9, 9)), run("finetune", two(9, 6, 9)), run("simplecil", two(9, 9, 9))], "a", set())
    said = compare.say_plane(rows, EN, {"tosca": "TOSCA", "finetune": "Naive", "simplecil": "Prototypes"})
    learner, keeper = said.split(". ")
    assert all(name in learner for name in ("TOSCA", "Naive", "Prototypes"))
    assert "TOSCA" in keeper and "Prototypes" in keeper and "Naive" not in keeper  # noqa: PT018
    alone = compare.rows([run("tosca", two(9, 9, 9)), run("finetune", two(8, 6, 9))], "a", set())
    assert compare.say_plane(alone, EN, TITLES) == "Learns most (90.0 %) and keeps most (100.0 %): TOSCA."


def test_only_bounds_say_so():
    rows = compare.rows([run("joint", two(9, 9, 9))], "a", {"joint"})
    assert compare.say(rows, EN, TITLES) == EN["compare.say_none"]
    assert compare.best_of(rows) is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_everything_is_said_in_both_languages_with_no_blank_left(language):
    for best, bound in ((99, 60), (60, 99), (90, 91)):
        runs = [run("tosca", two(best, best - 9, best, 100)), run("joint", two(bound, bound, bound, 100)),
                run("finetune", two(100, 3, 99, 100))]  # fmt: skip
        rows = compare.rows(runs, "a", {"joint"})
        for said in (compare.say(rows, words(language), TITLES), compare.say_plane(rows, words(language), TITLES)):
            assert said
            assert "{" not in said


# The plane


def test_the_plane_shows_seeds_small_means_big_and_no_method_in_colour():
    runs = [run(m, two(a, b, 95, 100), seed=s) for m, a, b in (("tosca", 99, 97), ("finetune", 99, 20)) for s in range(3)]
    figure = figures_compare.plane(compare.rows([*runs, run("joint", two(95, 95, 95, 100))], "a", {"joint"}), EN, TITLES)
    sizes = [(len(t["x"]), t["marker"]["size"], t["marker"]["color"]) for t in figure["data"] if t["mode"] == "markers"]
    assert sizes == [(3, 8, "@ink"), (1, 17, "@ink")] * 2
    symbols = {t["marker"]["symbol"] for t in figure["data"] if t["mode"] == "markers"}
    assert symbols == {"circle", "x"}
    texts = " ".join(n["text"] for n in figure["layout"]["annotations"])
    assert all(name in texts for name in ("TOSCA", "Naive fine-tuning", "Joint training"))
    assert "95.0 %" in texts


def test_the_chosen_method_alone_wears_the_colour():
    rows = compare.rows([run("tosca", two(9, 8, 9)), run("finetune", two(9, 1, 9))], "a", set())
    figure = figures_compare.plane(rows, EN, TITLES, picked=rows[1].key)
    assert [t["marker"]["color"] for t in figure["data"]] == ["@ink", "@brand"]


def test_on_the_bounds_line_the_end_is_the_bounds():
    bound = run("joint", two(90, 84, 88, 100))
    rows = compare.rows([run("tosca", two(98, 60, 96, 100)), run("finetune", two(99, 95, 97, 100)), bound], "a", {"joint"})
    figure = figures_compare.plane(rows, EN, TITLES)
    (line,) = [t for t in figure["data"] if t["mode"] == "lines"]
    for learns, keeps in zip(line["x"], line["y"], strict=True):
        assert learns - (1 - keeps) * (2 - 1) / 2 == pytest.approx(0.86)
    ends = [learns - lost / 2 for _, learns, keeps in [row.points[0] for row in rows[1:]] for lost in [1 - keeps]]
    assert ends == [pytest.approx(row.mean("last_accuracy_tasks")) for row in rows[1:]]


@pytest.mark.parametrize(("size", "count", "named"), [((700, 450), 2, 2), ((700, 450), 6, 6), ((700, 450), 12, 12),
                                                      ((318, 340), 2, 2), ((318, 340), 6, 4), ((318, 340), 12, 7)])  # fmt: skip
def test_labels_keep_off_each_other_and_off_marks(size, count, named):
    titles = {f"m{n}": name for n, name in enumerate(LONG)}
    runs = [run(f"m{n}", two(95 + n % 3, 90 + n // 2, 96, 100)) for n in range(count)]
    board = compare.rows([*runs, run("joint", two(99, 95, 97, 100))], "a", {"joint"})
    figure = figures_compare.plane(board, EN, titles, size=size)
    spots = [(t["x"][0], t["y"][0]) for t in figure["data"] if t["mode"] == "markers"]
    *boxes, bound = [_box(one, figure["layout"], size) for one in figure["layout"]["annotations"] if one.get("xref") != "paper"]
    marks = [labels.around(_pixel(spot, figure["layout"], size), 8) for spot in spots]
    assert named <= len(boxes) <= count
    for a, b in [*itertools.combinations(boxes, 2), *itertools.product(boxes, [*marks, bound])]:
        assert not (a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3])


def _pixel(spot, layout, size):
    (x0, x1), (y0, y1), m = layout["xaxis"]["range"], layout["yaxis"]["range"], layout["margin"]
    return (spot[0] - x0) / (x1 - x0) * (size[0] - m["l"] - m["r"]), (spot[1] - y0) / (y1 - y0) * (size[1] - m["t"] - m["b"])


def _box(one, layout, size):
    """Pixels an annotation covers, with letters of 7.6 px."""
    at = _pixel((one["x"], one["y"]), layout, size)
    dx, dy = (one["ax"], -one["ay"]) if one["showarrow"] else (one["xshift"], one["yshift"])
    x, y, wide = at[0] + dx, at[1] + dy, 7.6 * len(one["text"])
    left = {"left": x, "right": x - wide, "center": x - wide / 2}[one["xanchor"]]
    low = y - {"bottom": 0, "top": 18}.get(one.get("yanchor"), 9)
    return left, low, left + wide, low + 18


def test_the_picked_method_is_named_and_marks_that_coincide_are_told_together():
    runs = [run(f"m{n}", two(95, 90, 96, 100)) for n in range(12)]
    board = compare.rows(runs, "a", set())
    titles = {f"m{n}": name for n, name in enumerate(LONG)}
    figure = figures_compare.plane(board, EN, titles, picked=board[-1].key, size=(318, 340))
    texts = [one["text"] for one in figure["layout"]["annotations"]]
    assert f"<b>{LONG[int(board[-1].method[1:])]}</b>" in texts
    assert len(texts) < 12 + 2  # not all have room beside one mark
    for trace in figure["data"]:
        assert all(name in trace["customdata"][0] for name in LONG)


def test_names_never_become_markup_in_the_plane():
    rows = compare.rows([run("evil", two(9, 8, 9)), run("tosca", two(9, 2, 9))], "a", set())
    figure = figures_compare.plane(rows, EN, {"evil": "<img src=x>&"})
    told = str(figure)
    assert "<img" not in told
    assert "&lt;img src=x&gt;&amp;" in told


def test_from_three_common_seeds_on_steady_differences_are_no_chance():
    def second(*gaps):
        runs = [run("tosca", two(9, 9, 9), seed=s) for s in range(len(gaps))]
        return compare.rows([*runs, *(run("simplecil", two(9, 9 - g, 9), seed=s) for s, g in enumerate(gaps))], "a", set())[1]

    assert [second(*[4] * n).tied for n in (1, 2, 3, 6)] == [True, True, False, False]
    assert [second(*[1] * n).tied for n in (1, 2, 3)] == [True, True, True]  # no closer than half a photo
    assert second(0, 6, 0).tied
    # by hand: differences 2, 3, 4 of 20 photos; t(2) = 4.303, s = 0.05, variance 1/3 + 20/20 -> 0.248 > 0.15
    assert second(2, 3, 4).tied
    # 6, 7, 6: mean 0.3167 > 4.303 * 0.0289 * sqrt(4/3) = 0.1435
    assert not second(6, 7, 6).tied


SHOWN = [(52 / 64, "81.3"), (0.0, "0.0"), (1.0, "100.0"), (None, "–"), (-0.02, "-2.0"), (0.3, "30.0")]


@pytest.mark.parametrize(("value", "shown"), SHOWN)
def test_numbers_are_rounded_as_the_page_rounds_them(value, shown):
    assert compare.percent(value) == shown
