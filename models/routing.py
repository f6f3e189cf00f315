"""Who answers: choosing one of T modules per photo, and what that choice costs.

Everything here is per photo: an answer never depends on the photos beside it. The one exception, `vote`, is the view
"as published", which lets a class-sorted batch choose together and so leaks the task; it is never the headline.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from forget_me_not.models.events import Evaluated

PUBLISHED_BATCH = 25
"""Photos that share one route in `vote`: public loaders use 16 to 128, our test sets are small."""


def normalised_entropy(logits: Tensor) -> Tensor:
    """Entropy of softmax(logits) over the last axis, divided by log C, in [0, 1]: (..., C) -> (...).

    One class has entropy 0. Logits may be -inf (a class that is ruled out). With x = logits - max and the sum over all
    classes but one of the largest, H = log1p(sum exp x) + sum p (-x): no term is a difference, so answers that are all
    but certain keep their order in float32 instead of meeting at 0.
    """
    classes = logits.shape[-1]
    if classes == 1:
        return logits.new_zeros(logits.shape[:-1])
    x = (logits - logits.amax(-1, keepdim=True)).contiguous()
    e = x.exp()
    surprise = torch.where(e > 0, -x * e, 0.0).sum(-1)
    others = e.scatter(-1, x.argmax(-1, keepdim=True), 0.0).sum(-1)
    return ((others.log1p() + surprise / (1 + others)) / math.log(classes)).clamp(max=1.0)


def least_entropy(answers: Tensor) -> Tensor:
    """The surest module of each photo, the first of equals: (B, T, C) -> (B,). TOSCA, arXiv:2502.14762, per photo."""
    return normalised_entropy(answers).argmin(1)


def most_energy(answers: Tensor) -> Tensor:
    """The module with the largest logsumexp: (B, T, C) -> (B,). Liu et al., NeurIPS 2020, arXiv:2010.03759, at temperature 1."""
    return answers.logsumexp(-1).argmax(1)


def largest_logit(answers: Tensor) -> Tensor:
    """The module that holds the largest single logit: (B, T, C) -> (B,)."""
    return answers.amax(-1).argmax(1)


ROUTERS: dict[str, Callable[[Tensor], Tensor]] = {
    "entropy": least_entropy,
    "energy": most_energy,
    "logit": largest_logit,
}
"""Routers that need nothing but the answers: (B, T, C) -> (B,)."""


def pick(answers: Tensor, module: Tensor) -> Tensor:
    """What the chosen modules say: answers (B, T, C), module (B,) -> (B, C)."""
    return answers[torch.arange(len(answers), device=answers.device), module]


class Terms(NamedTuple):
    """accuracy = r * right + (1 - r) * wrong. A share of no photos is None.

    r: share of photos whose right module was chosen; right, wrong: accuracy where it was and where it was not.
    """

    r: float
    right: float | None
    wrong: float | None

    @property
    def accuracy(self) -> float:
        """The total the three terms add up to."""
        return self.r * (self.right or 0.0) + (1 - self.r) * (self.wrong or 0.0)


def terms(module: Tensor, truth: Tensor, right: Tensor) -> Terms:
    """The honest decomposition of an accuracy: module chosen (N,), right module (N,), answer right (N,) bool; N > 0."""
    chosen = module == truth
    return Terms(_share(chosen) or 0.0, _share(right[chosen]), _share(right[~chosen]))


def vote(
    entropy: Tensor | None, votes: Tensor, label: Tensor, module_of_photo: Tensor | None = None, batch: int = PUBLISHED_BATCH
) -> Tensor:
    """Answers (N,) when photos are sorted by class and every batch shares one module, as published code does.

    entropy (N, T) and votes (N, T): entropy and class of each module; label (N,). The batch takes the module of least mean
    entropy or, with module_of_photo (N,), the one most of its photos chose (first of equals). The order inside a class is kept.
    """
    predicted = torch.empty_like(label)
    for part in label.argsort(stable=True).split(batch):
        if module_of_photo is not None:
            module = module_of_photo[part].bincount(minlength=votes.shape[1]).argmax()
        else:
            module = entropy[part].double().mean(0).argmin()
        predicted[part] = votes[part, module]
    return predicted


def oracle(votes: Tensor, task: Tensor) -> Tensor:
    """Answers (N,) if a photo's own task told which module answers: votes (N, T), task (N,)."""
    return votes.gather(1, task[:, None])[:, 0]


def evaluated(task: int, record: Mapping[str, Tensor], majority: bool | None = None) -> Evaluated:
    """What is known right after task `task`: the event made from the answers to all N photos judged.

    record: "label", "task", "class" (N,); with modules "module" (N,), "entropy" (N, T), "vote" (N, T), and any
    "route.<name>" (N,). The right module of a photo is that of its own task, also where classes recur. majority: the batch
    vote counts the photos' own modules (prompts choosing by key); by default only where there is no entropy to average.
    Shares of no photos are None.
    """
    label, own, answer = (record[k].long().cpu() for k in ("label", "task", "class"))
    module, entropy, votes = (record[k].cpu() if k in record else None for k in ("module", "entropy", "vote"))
    if majority is None:
        majority = entropy is None
    right = answer == label
    total = own.bincount(minlength=task + 1)
    correct = own[right].bincount(minlength=len(total))
    routes = {}
    if module is not None and len(label):
        routes["answer"] = _route(module, own, right)
    if votes is not None and len(label):
        for name, chosen in record.items():
            if name.startswith("route."):
                routes[name.removeprefix("route.")] = _route(chosen.cpu(), own, pick(votes, chosen.cpu()) == label)
    shared = votes is not None and (module if majority else entropy) is not None
    return Evaluated(
        task,
        tuple(correct.tolist()),
        tuple(total.tolist()),
        routes,
        oracle=None if votes is None else _share(oracle(votes, own) == label),
        batch_vote=_share(vote(entropy, votes, label, module if majority else None) == label) if shared else None,
        entropy=() if entropy is None else _means(entropy, own, len(total)),
        chosen=() if module is None else _counts(module, own, len(total), votes.shape[1] if votes is not None else task + 1),
    )


def _route(module: Tensor, own: Tensor, right: Tensor) -> dict[str, float | None]:
    split = terms(module, own, right)
    return {"routing": split.r, "right": split.right, "wrong": split.wrong, "accuracy": _share(right)}


def _share(true: Tensor) -> float | None:
    """Share of True, exact: a ratio of two counts; None of nothing."""
    return int(true.sum()) / len(true) if len(true) else None


def _means(entropy: Tensor, own: Tensor, tasks: int) -> tuple[tuple[float | None, ...], ...]:
    rows = [entropy[own == j].double() for j in range(tasks)]
    return tuple(tuple(r.mean(0).tolist()) if len(r) else (None,) * entropy.shape[1] for r in rows)


def _counts(module: Tensor, own: Tensor, tasks: int, modules: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(module[own == j].bincount(minlength=modules).tolist()) for j in range(tasks))
