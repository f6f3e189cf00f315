"""Keep learning, the page's side: the finding by hand, figures and sentences."""

import json
from dataclasses import replace

import pytest

from forget_me_not.demo import figures_plasticity as figures
from forget_me_not.demo.plasticity import ArmRun, costs, finding, last_tasks
from forget_me_not.demo.say_plasticity import say_curves, say_heat, verdict
from forget_me_not.demo.view import replay
from forget_me_not.demo.words import words
from forget_me_not.models.events import Diagnosed, Evaluated, RunStarted, TaskFinished, TaskStarted

EN = words("en")
GROUPS = {"sgd": ("plain", "sgd"), "adam": ("plain", "adam"), "fresh": ("fresh", "sgd"), "shrink_perturb": ("remedy", "sgd"),
          "adam_arrow": ("arrow", "adam"), "adam_third": ("control", "adam")}  # fmt: skip


def arm(name, *right, measures=(), total=1000, status="finished"):
    """An arm whose newest task had `right` per cent of `total` images right, task by task."""
    T = len(right)
    names = tuple(f"t{t}" for t in range(T))
    events = [RunStarted(name, 0, ("0", "1"), names, ((0, 1),) * T, (8,) * T, (total,) * T, "domain", "new")]
    for t, good in enumerate(right):
        events += [TaskStarted(t, f"t{t}", 8), Evaluated(t, (0,) * t + (good * total // 100,), (0,) * t + (total,))]
        events += [Diagnosed(t, measures[t])] if measures else []
        events += [TaskFinished(t, {"train": 1.0}, 10, 40)]
    group, base = GROUPS[name]
    card = {"name": name, "title": name.upper(), "group": group, "base": base, "plain": group == "plain", "deviations": []}
    return ArmRun(card, "0" * 32, status, None, replay(events), 0.005)


# The finding


def test_the_last_tasks_are_four_or_a_fifth_and_never_more_than_half():
    assert [last_tasks(T) for T in (2, 3, 5, 8, 10, 20, 40)] == [1, 1, 2, 4, 4, 4, 8]


def test_gap_and_what_closes_it_by_hand():
    fresh, sgd = arm("fresh", 90, 90, 90, 90), arm("sgd", 90, 80, 70, 60)
    remedy, adam, arrow = arm("shrink_perturb", 90, 90, 85, 75), arm("adam", 90, 90, 91, 89), arm("adam_arrow", 90, 90, 92, 92)
    found = finding([fresh, sgd, adam, remedy, arrow])
    assert (found.tasks, found.count) == (4, 2)
    assert found.late == pytest.approx({"fresh": 0.9, "sgd": 0.65, "adam": 0.9, "shrink_perturb": 0.8, "adam_arrow": 0.92})
    assert [(p, f, pytest.approx(g)) for p, f, g in found.gaps] == [("sgd", "fresh", 0.25), ("adam", "fresh", 0.0)]
    closed = {name: (own, pytest.approx(gain), share) for name, own, gain, share in found.closed}
    assert closed == {"shrink_perturb": ("sgd", 0.15, pytest.approx(0.6)), "adam_arrow": ("adam", 0.02, None)}


def test_only_tasks_all_arms_have_learnt_count():
    found = finding([arm("fresh", 90, 90, 10), arm("sgd", 80, 70)])
    assert (found.tasks, found.count) == (2, 1)
    assert found.gaps == (("sgd", "fresh", pytest.approx(0.2)),)
    assert finding([arm("fresh", 90, 90), arm("sgd", 80)]) is None
    assert finding([]) is None


def test_the_verdict_says_what_the_numbers_say_and_no_more():
    fresh, sgd, good = arm("fresh", *[90] * 4), arm("sgd", 90, 80, 70, 60), arm("shrink_perturb", 90, 90, 85, 75)
    said = verdict([fresh, sgd, good], EN)
    assert said["head"] == ("Over the last 2 of 4 tasks SGD reaches 65% on new tasks, FRESH 90%: "
                            "25 points of the ability to learn are gone.")  # fmt: skip
    assert said["lines"] == said["closed"] == ["SHRINK_PERTURB reaches 80% and closes 60% of the gap of SGD."]
    assert said["end"] == "One seed: read it as an example."
    below = verdict([fresh, arm("sgd", *[90] * 4), arm("shrink_perturb", *[88] * 4)], EN)
    assert below["lines"] == ["SHRINK_PERTURB reaches 88%, 2 points below SGD."]
    assert verdict([fresh, arm("sgd", 90, 70)], EN)["head"].startswith("On task 2 SGD reaches 70%")
    worse = verdict([fresh, sgd, arm("shrink_perturb", 90, 60, 60, 60)], EN)
    assert worse["lines"] == ["SHRINK_PERTURB reaches 60% and closes nothing of the gap of SGD: 5 points below it."]
    assert "no loss to speak of" in verdict([fresh, arm("sgd", 90, 90, 89, 89)], EN)["head"]
    assert "helps, by 7 points" in verdict([fresh, arm("sgd", 90, 90, 97, 97)], EN)["head"]
    assert "closes the whole gap" in verdict([fresh, sgd, arm("shrink_perturb", *[95] * 4)], EN)["lines"][0]
    alone = verdict([sgd], EN)
    assert alone["head"].startswith("Over the last 2 of 4 tasks SGD reaches 65%")
    assert EN["plastic.no_reference"] in alone["lines"]


def test_few_test_images_ask_for_a_larger_gap():
    few = [arm("fresh", 90, 90, 90, 90, total=50), arm("sgd", 90, 90, 80, 80, total=50)]
    assert finding(few).least == pytest.approx(0.12)  # 100 images, a sixteenth of what 3 points ask for
    said = verdict(few, EN)
    assert "less than 12 points apart, so no loss to speak of" in said["head"]
    assert said["lines"] == ["Each of these means is over 100 test images: differences below 12 points may be chance."]
    assert finding([arm("fresh", 90, 90), arm("sgd", 90, 80)]).least == pytest.approx(0.03 * 1.6**0.5)
    assert finding([arm("fresh", *[90] * 8), arm("sgd", *[80] * 8)]).least == 0.03


def test_a_task_of_named_classes_says_them():
    one = arm("sgd", 90, 80)
    assert figures.hover(one, 1, EN) == "SGD, task 2: 800 of 1000 right"
    named = replace(one, view=replace(one.view, kind="task", names=("cat, dog", "<b>{total}")))
    assert figures.hover(named, 1, EN) == "SGD, task 2 (&lt;b&gt;{total}): 800 of 1000 right"


def test_arrow_without_a_control_is_not_told_apart_from_a_smaller_step():
    arms = [arm("fresh", 90, 90), arm("adam", 80, 70), arm("adam_arrow", 80, 80)]
    assert EN["plastic.no_control"] in verdict(arms, EN)["lines"]
    assert EN["plastic.no_control"] not in verdict([*arms, arm("adam_third", 80, 80)], EN)["lines"]


# Figures and sentences


def test_lines_are_ink_told_apart_by_dash_and_marker_and_named_at_their_ends():
    arms = [arm("fresh", 90, 91), arm("sgd", 90, 70), arm("adam", 80)]
    figure = figures.curves(arms, 10, EN, "sgd")
    assert [trace["y"] for trace in figure["data"]] == [[0.9, 0.91], [0.9, 0.7], [0.8]]
    assert {trace["line"]["color"] for trace in figure["data"]} == {"@ink", "@ink-2"}
    assert [trace["line"]["dash"] for trace in figure["data"]] == ["dash", "solid", "solid"]
    looks = {(trace["line"]["dash"], trace["marker"]["symbol"]) for trace in figure["data"]}
    assert len(looks) == 3
    assert "@t" not in json.dumps(figure)
    texts = [n["text"] for n in figure["layout"]["annotations"]]
    assert texts == ["<b>91%</b>  FRESH", "<b>80%</b>  ADAM", "<b>70%</b>  SGD"]
    assert {n["x"] for n in figure["layout"]["annotations"]} == {2}
    assert [(s["x0"], s["x1"], s["y0"]) for s in figure["layout"]["shapes"]] == [(1, 2, 0.8)]  # Adam is behind
    assert figure["layout"]["xaxis"]["range"][1] > 10
    assert say_curves(arms, EN) == ("Accuracy on the newest task. FRESH: 90% on task 1, 91% on task 2; "
                                    "SGD: 90% on task 1, 70% on task 2; ADAM: 80% on task 1.")  # fmt: skip
    assert figures.curves([], 10, EN)["data"] == []
    assert say_curves([], EN) == EN["plastic.curves_none"]


def test_every_arm_has_a_look_of_its_own():
    from forget_me_not.models.plasticity.arms import ARMS

    looks = [figures.glyph_of(name) for name in ARMS]
    assert len(set(looks)) == len(looks)
    assert set(figures.GLYPHS) == set(ARMS)


def test_names_never_become_markup_and_wide_letters_take_two_columns():
    odd = arm("sgd", 90, 80)
    odd.card["title"] = "<b>&"
    assert figures.curves([odd], 2, EN)["layout"]["annotations"][0]["text"].endswith("&lt;b&gt;&amp;")
    assert figures.fit("abcdef", 6) == "abcdef"
    assert figures.fit("abcdefg", 6) == "abcdef…"
    assert figures.fit("新しいネット", 6) == "新しい…"


WORN = ({"effective_rank.q.0": 40.0, "effective_rank.fc1.0": 100.0, "effective_rank.q.1": 30.0, "effective_rank.block.1": 9.0,
         "active.fc1.0": 0.5},
        {"effective_rank.q.0": 20.0, "effective_rank.fc1.0": 200.0, "effective_rank.q.1": 30.0, "effective_rank.block.1": 8.0,
         "active.fc1.0": 0.5})  # fmt: skip


def test_a_map_keeps_attention_and_feed_forward_apart_and_compares_with_task_one():
    one = arm("sgd", 90, 80, measures=WORN)
    assert figures.table(one, "effective_rank", "attention") == ([("q", 0), ("q", 1)], [[40.0, 20.0], [30.0, 30.0]])
    assert figures.table(one, "effective_rank", "ffn") == ([("fc1", 0)], [[100.0, 200.0]])
    figure = figures.heat(one, "effective_rank", "attention", EN, 10)
    maps = [trace for trace in figure["data"] if trace["type"] == "heatmap"]
    assert [trace["z"] for trace in maps] == [[[0.5, 0.25]], [[0.5, 0.5]]]
    assert figure["data"][-1]["text"] == ["40.0", "20.0", "30.0", "30.0"]
    assert len(figures.heat(one, "effective_rank", "attention", EN, 20)["data"]) == 2  # no numbers in small cells
    assert say_heat(one, "effective_rank", "attention", EN) == "SGD: Effective rank fell from 35.0 to 25.0 (mean of the rows)."
    assert say_heat(one, "effective_rank", "ffn", EN).startswith("SGD: Effective rank grew from 100 to 200")
    assert "about the same" in say_heat(one, "active", "ffn", EN)
    assert say_heat(one, "active", "attention", EN) == EN["plastic.heat_no_units"]
    assert figures.heat(one, "active", "attention", EN, 10)["data"][:-1] == []
    assert say_heat(arm("sgd", 90, measures=WORN[:1]), "effective_rank", "ffn", EN) == EN["plastic.heat_soon"]


def test_colours_are_ratios_to_the_first_task():
    assert [figures.tone(v, 8.0) for v in (8.0, 2.0, 32.0, 1.0, 99.0)] == pytest.approx([0.5, 0.0, 1.0, 0.0, 1.0])
    assert figures.tone(3.0, 0.0) == figures.tone(3.0, None) == 0.5
    assert figures.tone(0.0, 3.0) == 0.0
    assert [figures.brief(v) for v in (123.4, 12.34, 1.234, 0.0123)] == ["123", "12.3", "1.23", "0.012"]


def test_step_time_is_over_all_tasks_and_a_torn_line_ends_it(tmp_path):
    assert costs(tmp_path) is None
    lines = [{"task": 0, "steps": 10, "cpu": 0.1}, {"task": 1, "steps": 30, "cpu": 0.1}]
    (tmp_path / "cost.jsonl").write_text("\n".join(map(json.dumps, lines)) + '\n{"task"')
    assert costs(tmp_path) == pytest.approx(0.005)
