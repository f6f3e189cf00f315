"""Is this class a method? A suite of checks for ours and for everybody's own, with a sentence for whatever is wrong.

`check_method(card)` runs the method on two small streams of drawn photos through the engine that runs real ones; it takes
seconds and needs no weights. Each check is a generator of flaws: no flaw, passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from forget_me_not.models import check_answers as answers, check_state as state
from forget_me_not.models.check_run import Bench, own_randomness, told
from forget_me_not.models.registry import Card

SHOWN = 3
"""Flaws a result tells of at most."""


@dataclass(frozen=True)
class Result:
    """One check: what a method has to do, whether it did, and where not, a sentence on what went wrong."""

    name: str
    passed: bool
    detail: str = ""


def check_method(card: Card, settings: Mapping[str, Any] | None = None, device: str = "cpu") -> Iterator[Result]:
    """Results of all checks, one by one. settings: text or values over the defaults; device: where the ViT lives.

    When the method cannot even be run, the checks that need a run are left out. Problem: setting_bad, setting_unknown.
    """
    bench = Bench(card, settings, device)
    for name, judge in CHECKS.items():
        try:
            with own_randomness():
                flaws = list(islice(judge(bench), SHOWN))
        except Exception as error:  # a person's own class may do anything
            flaws = [told(error, bench)]
        yield Result(name, not flaws, " ".join(flaws))
        if flaws and judge is answers.runs:
            return


CHECKS: dict[str, Callable[[Bench], Iterator[str]]] = {
    "settings are sound": answers.settings_are_sound,
    "only a bound sees old photos": answers.only_a_bound_sees_all,
    "runs from the first task to the last": answers.runs,
    "learns easy classes": answers.learns,
    "learns classes that come back": answers.learns_returning_classes,
    "answers are well formed": answers.answers_are_well_formed,
    "answers ignore the photos beside": answers.neighbours_do_not_matter,
    "asking changes nothing": answers.asking_changes_nothing,
    "looks at its own photos only": answers.keeps_to_its_photos,
    "same seed, same run": state.same_seed_same_run,
    "global randomness is left alone": state.global_randomness_untouched,
    "goes on where it stopped": state.goes_on_where_it_stopped,
    "a stop leaves no trace": state.a_stop_leaves_no_trace,
    "states handed out keep their numbers": state.states_are_never_written_into,
    "state is plain and named by task": state.state_is_plain,
    "events survive JSON": state.events_survive_json,
    "the frozen network stays frozen": state.frozen_stays_frozen,
    "starts as the frozen network": state.starts_as_the_frozen_network,
    "lets others breathe": state.lets_others_breathe,
}
