"""What a ready-made experiment has shown: a row a variant or router, its distance from the first, and one sentence.

All variants answer the same test photos, so differences are counted photo by photo.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load

from forget_me_not.demo.compare import percent
from forget_me_not.demo.experiments import Experiment
from forget_me_not.demo.share.results import Result
from forget_me_not.demo.words import fill
from forget_me_not.models.disk import Damaged, read_whole
from forget_me_not.models.metrics import paired, wilson

ROUTERS = ("answer", "prototype", "product", "gradient", "entropy")
"""The routers compared, in this order; the oracle stands beside them."""
SAME = 0.05
"""Share by which stored bytes may differ and still be called equal."""
Words = Mapping[str, str]


@dataclass(frozen=True)
class Shown:
    """One line: right (N,) bool by test photo, in one order for all, and its run. beside: shown, not compared (the oracle)."""

    label: str
    right: np.ndarray
    routing: float | None
    result: Result
    beside: bool = False


def lines(experiment: Experiment, runs: Sequence[tuple[str, Result, Path]], words: Words) -> list[Shown]:
    """The lines of finished runs (label, result, folder), in the experiment's order; [] where answers cannot be read."""
    try:
        answers = [_answers(folder, len(result.tasks)) for _, result, folder in runs]
    except (OSError, Damaged, KeyError, ValueError):
        return []
    if experiment.routes:
        return [line for (_, result, _), said in zip(runs, answers, strict=True) for line in _routes(result, said, words)]
    return [Shown(name, _sorted(said, said["class"] == said["label"]),
                  result.numbers["routing_accuracy"], result)
            for (name, result, _), said in zip(runs, answers, strict=True)]  # fmt: skip


def _routes(result: Result, said: Mapping[str, np.ndarray], words: Words) -> list[Shown]:
    """A line a router of one run: what the module it chooses would have answered."""
    chosen = {"answer": said["module"], **{k.removeprefix("route."): v for k, v in said.items() if k.startswith("route.")},
              "oracle": said["task"]}  # fmt: skip
    names = [*(name for name in ROUTERS if name in chosen), "oracle"]

    def line(name: str) -> Shown:
        module = chosen[name]
        voted = np.take_along_axis(said["vote"], module[:, None], 1)[:, 0]
        label = words[f"experiments.router.{name}"] if name in ("answer", "oracle") else words.get(f"route.{name}", name)
        routing = float((module == said["task"]).mean())
        return Shown(label, _sorted(said, voted == said["label"]), routing, result, beside=name == "oracle")

    return [line(name) for name in names]


def _answers(folder: Path, tasks: int) -> dict[str, np.ndarray]:
    """What was answered after the last task, by name (see models/store.py)."""
    return load(bytes(read_whole(folder / "answers" / f"{tasks - 1:03d}.safetensors")[1]))


def _sorted(said: Mapping[str, np.ndarray], right: np.ndarray) -> np.ndarray:
    """`right` with the photos in one order for all runs: by photo and task."""
    return right[np.lexsort((said["task"], said["photo"]))]


def table(shown: Sequence[Shown]) -> list[dict[str, Any]]:
    """The rows as the page draws them; "than": how much better than the first, as (difference, low, high), null for itself."""
    return [{
        "label": one.label, "beside": one.beside, "right": int(one.right.sum()), "total": len(one.right),
        "accuracy": float(one.right.mean()), "interval": wilson(int(one.right.sum()), len(one.right)),
        "than": None if at == 0 else than(one, shown[0]), "routing": one.routing, "forgetting": one.result.numbers["forgetting"],
        "parameters": one.result.numbers["parameters_per_task"], "bytes": one.result.numbers["bytes_per_task"],
        "seconds": sum(one.result.numbers["seconds"].values()), "run": one.result.id,
    } for at, one in enumerate(shown)]  # fmt: skip


def than(one: Shown, other: Shown) -> tuple[float, float, float]:
    """(difference, low, high) of two lines over the same photos."""
    return paired(int((one.right & ~other.right).sum()), int((other.right & ~one.right).sum()), len(one.right))


def say(experiment: Experiment, shown: Sequence[Shown], words: Words, size: Callable[[int], str]) -> str:
    """What can be told apart from the first line and what cannot, and what it costs. size: bytes as people read them."""
    compared = [one for one in shown[1:] if not one.beside]
    if not compared:
        return ""
    first, photos = shown[0], len(shown[0].right)
    gaps = [(one, *than(one, first)) for one in compared]
    clear = [gap for gap in gaps if gap[2] > 0 or gap[3] < 0]
    values = {"first": first.label, "photos": photos, "accuracy": percent(first.right.mean())}
    if clear:
        listed = words["compare.and"].join(_gap(gap, words) for gap in clear)
        parts = [fill(words["experiments.say_clear"], {**values, "listed": listed})]
        if len(clear) < len(gaps):
            rest = words["compare.and"].join(gap[0].label for gap in gaps if gap not in clear)
            parts.append(fill(words["experiments.say_rest"], {**values, "listed": rest}))
    else:
        widest = max(gaps, key=lambda gap: abs(gap[1]))
        parts = [fill(words["experiments.say_open"], {**values, "gap": _gap(widest, words)})]
    beside = next((one for one in shown if one.beside), None)
    if beside is not None:
        parts.append(fill(words["experiments.say_oracle"], {"accuracy": percent(beside.right.mean())}))
    elif not experiment.routes:
        parts.append(_cost(shown, words, size))
    return words["say.gap"].join(parts)


def _gap(gap: tuple[Shown, float, float, float], words: Words) -> str:
    one, difference, low, high = gap
    signed = lambda value: f"{100 * value:+.1f}".replace("-", "−")  # noqa: E731
    values = {"name": one.label, "points": signed(difference), "low": signed(low), "high": signed(high)}
    return fill(words["experiments.gap"], values)


def _cost(shown: Sequence[Shown], words: Words, size: Callable[[int], str]) -> str:
    """Bytes a task and seconds, least and most."""
    held = [one.result.numbers["bytes_per_task"] for one in shown]
    took = [sum(one.result.numbers["seconds"].values()) for one in shown]
    more = max(held) / max(1, min(held)) - 1
    same = more <= SAME
    values = {"bytes": size(held[0]), "least": size(min(held)), "most": size(max(held)), "within": f"{100 * more:.1f}",
              "short": f"{min(took):.0f}", "long": f"{max(took):.0f}"}  # fmt: skip
    return fill(words["experiments.say_same" if same else "experiments.say_cost"], values)
