"""Everything of a run's pictures but the positions: who each point is, and what was said of it after every task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from forget_me_not.demo.request import Request
from forget_me_not.models import probe
from forget_me_not.models.routing import pick, terms

POINTS = 600


def spread(total: int, most: int = POINTS) -> Tensor:
    """(n,) positions of at most `most` of `total` photos, evenly spread, in order."""
    return torch.arange(total) if total <= most else torch.linspace(0, total - 1, most).round().long().unique()


def points(request: Request, answers: Sequence[Mapping[str, Tensor]], chosen: Tensor, majority: bool = False,
           shared: bool = True) -> dict[str, Any]:  # fmt: skip
    """{"points", "frames", "classes", "total"}: the points, and for each task what was said of those judged by then.

    frames[t]: lists over the first points, those of tasks 0 to t: class, confidence, module (null without), entropy and
    vote of each module; "published": see `published`, null where there are no modules or no published code lets batches
    choose (not `shared`). majority: how batches vote.
    """
    last = answers[-1]
    names = [request.shown.get(key, key) for key in request.plan.classes]
    photos = request.images.photos
    made = [{"photo": photos[int(p)].sha, "class": names[int(c)], "task": int(t)}
            for p, c, t in zip(last["photo"][chosen], last["label"][chosen], last["task"][chosen], strict=True)]  # fmt: skip
    frames = []
    for answer in answers:
        judged = chosen[chosen < len(answer["photo"])]
        frames.append({
            "class": answer["class"][judged].tolist(), "confidence": short(answer["confidence"][judged]),
            "module": answer["module"][judged].tolist() if "module" in answer else None,
            "entropy": short(answer["entropy"][judged]) if "entropy" in answer else None,
            "vote": answer["vote"][judged].tolist() if "vote" in answer else None,
            "published": published(answer, judged, majority) if shared else None,
        })  # fmt: skip
    return {"points": made, "frames": frames, "classes": names, "total": len(last["photo"])}


def published(answer: Mapping[str, Tensor], judged: Tensor, majority: bool) -> dict[str, Any] | None:
    """The same photos as published code tests them: sorted by class, one module for a whole batch. None without modules.

    class and module of the points; of all photos: correct and total of each task, chosen[j][i] photos of task j that got
    module i, and the terms routing, right, wrong, accuracy.
    """
    if "vote" not in answer or "module" not in answer:
        return None
    label, own, votes = answer["label"], answer["task"], answer["vote"]
    modules = votes.shape[1]
    shared = probe.batch_modules(answer.get("entropy"), answer["module"], label, modules, majority)
    says = pick(votes, shared)
    right = says == label
    tasks = int(own.max()) + 1
    split = terms(shared, own, right)
    return {
        "class": says[judged].tolist(), "module": shared[judged].tolist(),
        "correct": own[right].bincount(minlength=tasks).tolist(), "total": own.bincount(minlength=tasks).tolist(),
        "chosen": [shared[own == j].bincount(minlength=modules).tolist() for j in range(tasks)],
        "routing": split.r, "right": split.right, "wrong": split.wrong, "accuracy": float(right.double().mean()),
    }  # fmt: skip


def inner(learner: Any, z: Tensor, heads: int) -> dict[str, Any]:
    """What is known of a learner's modules on test features z (N, D): "overlap" (T, T), "displacement" (T,), "masks" by task.

    Each is null for a method that has none.
    """
    u = probe.modules_say(learner, z.to(getattr(learner, "device", "cpu")))
    masks = [probe.mask_deviation(one, heads) for one in getattr(learner, "masks", ()) if one]
    z = z.to(u.device) if u is not None else z
    return {
        "overlap": None if u is None else short(probe.functional_overlap(u, z)),
        "displacement": None if u is None else [round(v, 4) for v in probe.module_displacement(u, z)],
        "masks": masks or None,
    }


def short(values: Tensor) -> list:
    """As lists of numbers of four decimals."""
    return np.round(values.double().cpu().numpy(), 4).tolist()
