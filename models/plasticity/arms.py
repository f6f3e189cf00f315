"""The arms of the plasticity track by name: an optimiser and a remedy, both with their settings, that page and bench line up.

A new arm is one entry. All comparators' hyper-parameters are their papers' or the defaults of the code named; none is tuned here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from forget_me_not.models import engine
from forget_me_not.models.events import Event
from forget_me_not.models.experiment import follow, versions
from forget_me_not.models.plasticity.arrow import Arrow, geometry
from forget_me_not.models.plasticity.cbp import ContinualBackprop
from forget_me_not.models.plasticity.learner import Learner
from forget_me_not.models.plasticity.remedies import Clip, CReLU, Fresh, L2Init, NormalizeAndProject, Nothing, ShrinkPerturb
from forget_me_not.models.plasticity.streams import Study
from forget_me_not.models.plasticity.trac import Trac
from forget_me_not.models.plasticity.vit import VisionTransformer, small_vit
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder


def sgd(network: VisionTransformer, lr: float = 0.02, momentum: float = 0.9, attention: float = 1.0) -> torch.optim.Optimizer:
    """torch's SGD; attention: factor on the learning rate of attention blocks."""
    return torch.optim.SGD(_scaled(network, lr, attention), lr=lr, momentum=momentum, fused=True)


def adamw(network: VisionTransformer, lr: float = 1e-3, weight_decay: float = 0.0,
          attention: float = 1.0) -> torch.optim.Optimizer:  # fmt: skip
    """torch's AdamW, which without decay is Adam; attention: factor on the learning rate of attention blocks."""
    return torch.optim.AdamW(_scaled(network, lr, attention), lr=lr, weight_decay=weight_decay, fused=True)


def arrow(network: VisionTransformer, where: str = "attention", unit: str = "block", last: int | None = None,
          **settings: Any) -> torch.optim.Optimizer:  # fmt: skip
    """Arrow over groups of `geometry`."""
    return Arrow(geometry(network, where, unit, last), **settings)


def _scaled(network: VisionTransformer, lr: float, attention: float) -> list[dict[str, Any]]:
    if attention == 1.0:
        return [{"params": list(network.parameters())}]
    groups = geometry(network)
    return [{"params": g["params"], "lr": lr * attention if g["geometry"] else lr} for g in groups]


OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {"sgd": sgd, "adamw": adamw, "arrow": arrow}
REMEDIES: dict[str, Callable[..., Any]] = {
    "nothing": Nothing, "fresh": Fresh, "clip": Clip, "shrink_perturb": ShrinkPerturb, "l2_init": L2Init, "trac": Trac,
    "cbp": ContinualBackprop, "nap": NormalizeAndProject, "crelu": CReLU,
}  # fmt: skip


@dataclass(frozen=True)
class Arm:
    """One line of the figure. optimiser, remedy: names of OPTIMISERS and REMEDIES, each with settings.

    control: it answers whether something else (a smaller step) explains another arm.
    """

    name: str
    title: str
    line: str
    optimiser: str = "sgd"
    settings: Mapping[str, Any] = field(default_factory=dict)
    remedy: str = "nothing"
    remedy_settings: Mapping[str, Any] = field(default_factory=dict)
    paper: str = ""
    deviations: tuple[str, ...] = ()
    control: bool = False


ARROW, MFAC = "arXiv:2603.07787", "The operator is M-FAC's (arXiv:2107.03356); what is new is its use for plasticity."
RELATIVE = "Damping is relative to the window's mean square, so that the step is never longer than the base optimiser's."
ADAM = {"base": "adam", "lr": 1e-3}

ARMS: dict[str, Arm] = {arm.name: arm for arm in (
    Arm("sgd", "SGD with momentum", "The plain optimiser: it learns less and less.", paper="Polyak 1964"),
    Arm("adam", "Adam", "Plain Adam, its moments kept from task to task.", "adamw", paper="arXiv:1412.6980"),
    Arm("adamw", "AdamW", "Adam with decoupled weight decay 0.01.", "adamw", {"weight_decay": 0.01}, paper="arXiv:1711.05101"),
    Arm("fresh", "Fresh network", "A new network for every task: the line the others are held to.", remedy="fresh"),
    Arm("adam_fresh", "Fresh network, Adam", "A new network and a new Adam for every task.", "adamw", remedy="fresh"),
    Arm("clip", "Gradient clipping", "No gradient longer than 1.", remedy="clip", paper="arXiv:1211.5063"),
    Arm("arrow_clip", "Clipping + ARROW", "Clipped gradients, reshaped in attention blocks.", "arrow", remedy="clip",
        paper=ARROW, deviations=(MFAC, RELATIVE)),
    Arm("arrow", "ARROW", "Steps of attention blocks reshaped by their last ten gradients.", "arrow", paper=ARROW,
        deviations=(MFAC, RELATIVE, "Window, damping and its warm-up are ours: the paper's values are not public.",
                    "All attention blocks, where the paper finds the last ones best: with three blocks that was not so.")),
    Arm("sgd_half", "SGD, half the step", "Does a smaller step explain it?", settings={"lr": 0.01}, control=True),
    Arm("sgd_quarter", "SGD, a quarter of the step", "Does a smaller step explain it?", settings={"lr": 0.005}, control=True),
    Arm("clip_half", "Clipping, half the step", "Does a smaller step explain it?", settings={"lr": 0.01}, remedy="clip",
        control=True),
    Arm("attention_half", "SGD, half the step in attention", "ARROW's mean gain without its directions.",
        settings={"attention": 0.5}, control=True),
    Arm("arrow_matched", "ARROW, step length kept", "ARROW's directions without its shorter steps.", "arrow",
        {"norm_match": True}, paper=ARROW, deviations=(MFAC, RELATIVE), control=True),
    Arm("adam_third", "Adam, a third of the step", "Does a smaller step explain it?", "adamw", {"lr": 3e-4}, control=True),
    Arm("adam_attention_third", "Adam, a third of the step in attention", "ARROW's mean gain without its directions.", "adamw",
        {"attention": 0.3}, control=True),
    Arm("adam_arrow", "Adam + ARROW", "Adam's directions reshaped in attention blocks.", "arrow", ADAM, paper=ARROW,
        deviations=(MFAC, RELATIVE, "The window holds Adam's directions, after their moments.")),
    Arm("adam_arrow_matched", "Adam + ARROW, step length kept", "Only the directions of Adam's steps change.", "arrow",
        {**ADAM, "norm_match": True}, paper=ARROW, deviations=(MFAC, RELATIVE), control=True),
    Arm("shrink_perturb", "Shrink and perturb", "Before each task, 30 % of a new network is mixed in.", remedy="shrink_perturb",
        paper="arXiv:1910.08475", deviations=("Once a task, not at every step.", "All parameters, norms included.")),
    Arm("l2_init", "L2 init", "A pull towards the first weights.", remedy="l2_init", paper="arXiv:2308.11958"),
    Arm("trac", "TRAC", "The way from the first weights, scaled by a tuner without a learning rate.", remedy="trac",
        paper="arXiv:2405.16642", deviations=("On SGD, not Adam.",
        "Where the scale is clipped at 0 the way is kept: public code loses it and stays at the first weights for long.")),
    Arm("cbp", "Continual backprop", "The least useful units are born again, a few at a time.", remedy="cbp",
        paper="arXiv:2306.13812", deviations=("Units of the feed-forward layers only.",
        "The removed unit's mean is not moved to the next bias.", "Utility is bias-corrected, optimiser slots are zeroed.")),
    Arm("nap", "Normalize and project", "Every weight matrix keeps its length.", remedy="nap", paper="arXiv:2407.01800",
        deviations=("Scale and offset of a norm are projected together; no weight decay.", "Biases move freely.")),
    Arm("crelu", "CReLU", "Units that cannot die: both signs go on.", remedy="crelu", paper="arXiv:2303.07507",
        deviations=("fc1 is half as wide, so that fc2 fits: 127,242 numbers against 152,202.",)),
)}  # fmt: skip

SIX = ("fresh", "sgd", "clip", "shrink_perturb", "arrow", "arrow_clip")
"""The arms the lab lines up first."""


def arm(name: str) -> Arm:
    """The arm called `name`; Problem("arm_unknown") names those there are."""
    if name not in ARMS:
        raise Problem("arm_unknown", name=name, known=", ".join(ARMS))
    return ARMS[name]


def learner(arm: Arm, study: Study, seed: int = 0, *, probed: bool = True) -> Learner:
    """A fresh learner of this arm for the study; probed: also measure representations between tasks."""
    return Learner(
        small_vit(**study.network), partial(OPTIMISERS[arm.optimiser], **arm.settings),
        REMEDIES[arm.remedy](**arm.remedy_settings), seed=seed, epochs=study.epochs, batch=study.batch,
        probe=study.probe if probed else None,
    )  # fmt: skip


def conduct(arm: Arm, study: Study, seed: int = 0, folder: RunFolder | None = None,
            stop: Callable[[], bool] = engine.never) -> Iterator[Event | None]:  # fmt: skip
    """Events of one run of an arm, as experiment.conduct gives them for methods; in a folder it goes on where it was."""
    yield from follow(study.stream, learner(arm, study, seed), arm.name, seed, folder, stop, evaluate="new")


def facts(arm: Arm, study: Study, seed: int = 0) -> dict[str, Any]:
    """What run.json of such a run holds."""
    settings = {"optimiser": arm.optimiser, **arm.settings, "remedy": arm.remedy, **arm.remedy_settings}
    tasks = [{"name": t.task.name, "classes": list(t.task.classes)} for t in study.stream.tasks]
    return {"method": arm.name, "settings": settings, "seed": seed, "kind": study.stream.kind, "evaluate": "new",
            "classes": list(study.stream.classes), "tasks": tasks, "study": dict(study.facts), "network": dict(study.network),
            "epochs": study.epochs, "batch": study.batch, "fingerprint": study.stream.tasks[0].test.source.vit.fingerprint,
            "versions": versions()}  # fmt: skip
