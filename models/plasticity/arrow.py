"""ARROW: steps reshaped by the damped inverse of the last W gradients' second moment, as a torch optimiser.

Sun, Yuan, Wang, Chen, "Vision Transformers that Never Stop Learning", arXiv:2603.07787. The operator itself is older: it is
the dynamic form of M-FAC (Frantar, Kurtic, Alistarh, NeurIPS 2021, arXiv:2107.03356); ARROW uses it to keep a network
plastic, on attention blocks.

For a geometry group (tensors flattened and joined to theta in R^d) with window G = [g_{t-n+1} .. g_t] (d, n), n <= W:

    C = G G^T / n                              u = (alpha I + beta C)^{-1} g_t                  (the paper, Woodbury)
    g_t = G e, so                              u = G c,  c = (alpha I + beta/n K)^{-1} e,  K = G^T G   (push-through, here)

Deviations: damping is relative by default, alpha_t = alpha tr(C), and u is scaled by alpha_t, so that beta = 0 is the base
optimiser at its own learning rate, u is never longer than g, and a rescaled loss is a rescaled step; "absolute" is the paper's.
Window, warm-up and schedule of alpha are not known from the paper's abstract: W = 10, n = the current fill, alpha constant.
Momentum comes after the geometry (the window never holds near-collinear momentum vectors). On Adam the window holds Adam
directions; reshaping before Adam's moments would be undone by them and is not offered. Weight decay is the base's own and
never enters the window: added to the step before momentum (torch.optim.SGD), or decoupled (torch.optim.AdamW).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from forget_me_not.models.plasticity.vit import VisionTransformer, attention, feed_forward

FLOOR = 1e-30
"""Least mean square of the window that damping is taken relative to."""


@dataclass(frozen=True)
class Reading:
    """What the geometry did in the last step of a group: gain |u|/|g|, cos(u, g), |u|, and n of the window filled."""

    gain: float
    cos: float
    norm: float
    fill: int


@dataclass(frozen=True)
class Damping:
    """alpha_t, and the factor u is scaled by: (ridge I + beta C)^{-1} g * scale."""

    ridge: float
    scale: float


DAMPING: dict[str, Callable[[float, np.ndarray], Damping]] = {
    "relative": lambda alpha, gram: Damping(r := alpha * max(float(gram.trace()) / len(gram), FLOOR), r),
    "absolute": lambda alpha, gram: Damping(alpha, 1.0),
}
"""From alpha and the Gram matrix K (n, n); tr(C) is the mean of its diagonal."""


def _system(gram: np.ndarray, damping: Damping, beta: float, centred: bool) -> tuple[np.ndarray, float]:
    """I + s P K and s = beta / (ridge n); P takes the mean off each column where C is centred, else it is the identity."""
    share = beta / (damping.ridge * len(gram))
    system = share * (gram - gram.mean(0) if centred else gram)
    system.flat[:: len(gram) + 1] += 1.0
    return system, share


def pushed(gram: np.ndarray, slot: int, damping: Damping, beta: float, centred: bool = False) -> np.ndarray:
    """c (n,) with u = G c, for the gradient that is column `slot` of the window; gram K (n, n) float64.

    c = scale/ridge (I + s P K)^{-1} e. With beta = 0 it is exactly scale/ridge e.
    """
    system, _ = _system(gram, damping, beta, centred)
    unit = np.zeros(len(gram))
    unit[slot] = damping.scale / damping.ridge
    return np.linalg.solve(system, unit)


def general(gram: np.ndarray, onto: np.ndarray, damping: Damping, beta: float, centred: bool = False) -> np.ndarray:
    """c (n,) with u = scale/ridge v + G c, for any v, in the window or not; onto = G^T v (n,), gram K (n, n) float64.

    u = (scale/ridge) [v - s G (I + s P K)^{-1} P G^T v].
    """
    system, share = _system(gram, damping, beta, centred)
    onto = onto - onto.mean() if centred else onto
    return np.linalg.solve(system, onto) * (-share * damping.scale / damping.ridge)


class Arrow(torch.optim.Optimizer):
    """SGD with momentum or AdamW whose steps in every group marked `geometry=True` are reshaped; see `geometry`.

    Args:
    base: "sgd" reshapes gradients, momentum follows; "adam" reshapes Adam's directions mhat / (sqrt(vhat) + eps).
    window: W, gradients remembered. alpha, beta: damping and strength of the curvature; only beta/alpha matters where
        damping is relative. damping: "relative" or "absolute" (the paper's). centred: C about the mean gradient.
    norm_match: u keeps the length of g, only its direction changes. every: only each so-manyth gradient enters the window.

    All tensors of a group with geometry are one vector; a missing gradient there counts as zeros. A group whose gradients
    are not finite is skipped whole and counted (`skipped`). Gradients: dense and real, else ValueError; clip before, on raw
    gradients, and unscale first. `readings[g]` is the last step's Reading of param group g; it is not part of the state.
    """

    def __init__(self, params: Any, lr: float = 0.02, *, base: Literal["sgd", "adam"] = "sgd", momentum: float = 0.9,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0, window: int = 10,
                 alpha: float = 0.1, beta: float = 1.0, damping: Literal["relative", "absolute"] = "relative",
                 centred: bool = False, norm_match: bool = False, every: int = 1):  # fmt: skip
        if window < 1 or every < 1 or alpha <= 0 or beta < 0:
            raise ValueError("window and every are at least 1, alpha is positive, beta not negative")
        if base not in DIRECTION or damping not in DAMPING:
            raise ValueError(f"base is one of {list(DIRECTION)}, damping one of {list(DAMPING)}")
        defaults = {"lr": lr, "base": base, "momentum": momentum, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                    "window": window, "alpha": alpha, "beta": beta, "damping": damping, "centred": centred,
                    "norm_match": norm_match, "every": every, "geometry": True}  # fmt: skip
        super().__init__(params, defaults)
        self.readings: dict[int, Reading] = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.readings = {}

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step; returns what `closure` returned."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        given = [_given(group) for group in self.param_groups]
        every = [g for _, grads in given for g in grads]
        lengths = iter(torch.stack(torch._foreach_norm(every)).tolist() if every else ())  # at once: one wait, not one a group
        for number, (params, grads) in enumerate(given):
            length = sum(next(lengths) for _ in grads)
            if params:
                self._step(number, params, grads, length)
        return loss

    def reset_window(self) -> None:
        """Forgets the gradients of all groups; momentum and Adam's moments stay."""
        for group in self.param_groups:
            for name in ("window", "gram", "turn"):
                self.state[group["params"][0]].pop(name, None)

    def skipped(self) -> int:
        """Steps of groups left out because a gradient was not finite."""
        return sum(int(own["skipped"]) for own in self.state.values() if "skipped" in own)

    def concentration(self, number: int) -> float:
        """Mean cosine between the window's gradients of group `number` (the paper's root cause: it nears 1); 0 below two."""
        own = self.state[self.param_groups[number]["params"][0]]
        group = self.param_groups[number]
        n = min(-(-int(own["turn"]) // group["every"]), group["window"]) if "turn" in own else 0
        if n < 2:
            return 0.0
        gram = own["gram"][:n, :n].cpu().double()
        length = gram.diagonal().clamp(min=FLOOR).sqrt()
        cosines = gram / length[:, None] / length
        return float((cosines.sum() - cosines.diagonal().sum()) / (n * (n - 1)))

    def _step(self, number: int, params: list[Tensor], grads: list[Tensor], length: float) -> None:
        group = self.param_groups[number]
        own = self.state[group["params"][0]]  # what belongs to the group is kept with its first tensor
        if not math.isfinite(length):
            own["skipped"] = own.get("skipped", torch.zeros(())) + 1
            return
        if "step" not in own:
            own["step"] = torch.zeros(())
        own["step"] += 1
        states = [self.state[p] for p in params]
        directions = DIRECTION[group["base"]](grads, states, float(own["step"]), group)
        if group["geometry"]:
            u, self.readings[number] = self._reshaped(torch.cat([d.reshape(-1) for d in directions]), own, group)
            parts = u.split([p.numel() for p in params])
            directions = [part.view_as(p) for part, p in zip(parts, params, strict=True)]
        FOLLOW[group["base"]](params, directions, states, group)

    def _reshaped(self, v: Tensor, own: dict[str, Tensor], group: dict[str, Any]) -> tuple[Tensor, Reading]:
        """u (d,) of v (d,), which enters the window where it is its turn."""
        if "window" not in own:
            own["window"] = v.new_zeros(group["window"], len(v))
            own["gram"] = v.new_zeros(group["window"], group["window"])  # in the type of its products: nothing is lost
            own["turn"] = torch.zeros(())
        turn = int(own["turn"])
        enters = turn % group["every"] == 0
        own["turn"] += 1
        pushes = turn // group["every"]  # gradients that entered before this turn or, where this one does not, with the last
        slot, n = pushes % group["window"], min(pushes + 1, group["window"])
        if enters:
            own["window"][slot] = v
        window = own["window"][:n]  # (n, d)
        onto = window @ v  # (n,)
        if enters:
            own["gram"][slot, :n] = own["gram"][:n, slot] = onto
        # n x n work in numpy: a tenth of the time that tensors this small take
        gram, onto = own["gram"].cpu().double().numpy()[:n, :n], onto.cpu().double().numpy()
        damping = DAMPING[group["damping"]](group["alpha"], gram)
        if enters:
            c, keep = pushed(gram, slot, damping, group["beta"], group["centred"]), 0.0
            square = float(gram[slot, slot])
        else:
            c, keep = general(gram, onto, damping, group["beta"], group["centred"]), damping.scale / damping.ridge
            square = float(v @ v)
        u = torch.from_numpy(c).to(v) @ window
        if keep:
            u = u.add_(v, alpha=keep)
        # With u = keep v + G c, its length and its angle to v need only K and G^T v.
        inside = float(c @ onto)
        along = keep * square + inside
        length = math.sqrt(max(keep**2 * square + 2 * keep * inside + float(c @ gram @ c), 0.0))
        gain = length / math.sqrt(square) if square > 0 else 1.0
        cos = along / (length * math.sqrt(square)) if length * square > 0 else 1.0
        if group["norm_match"] and gain > 0:
            u, length, gain = u / gain, length / gain, 1.0
        return u, Reading(gain, max(-1.0, min(cos, 1.0)), length, n)


def _given(group: dict[str, Any]) -> tuple[list[Tensor], list[Tensor]]:
    """Tensors of a group that take part in a step and their gradients; none where it has no gradient at all."""
    params = group["params"] if group["geometry"] else [p for p in group["params"] if p.grad is not None]
    if all(p.grad is None for p in params):
        return [], []
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in params]
    if any(g.is_sparse or g.is_complex() for g in grads):
        raise ValueError("Arrow wants dense, real gradients")
    return params, grads


def _raw(grads: list[Tensor], states: list[dict], step: float, group: dict[str, Any]) -> list[Tensor]:
    return grads


def _adam(grads: list[Tensor], states: list[dict], step: float, group: dict[str, Any]) -> list[Tensor]:
    """mhat / (sqrt(vhat) + eps) of each tensor (Kingma and Ba 2015, algorithm 1)."""
    for state, g in zip(states, grads, strict=True):
        if "exp_avg" not in state:
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(g), torch.zeros_like(g)
    first, second = [s["exp_avg"] for s in states], [s["exp_avg_sq"] for s in states]
    b1, b2 = group["betas"]
    torch._foreach_lerp_(first, grads, 1 - b1)
    torch._foreach_mul_(second, b2)
    torch._foreach_addcmul_(second, grads, grads, 1 - b2)
    below = torch._foreach_sqrt(second)
    torch._foreach_div_(below, math.sqrt(1 - b2**step))
    torch._foreach_add_(below, group["eps"])
    torch._foreach_mul_(below, 1 - b1**step)
    return list(torch._foreach_div(first, below))


def _heavy_ball(params: list[Tensor], directions: Sequence[Tensor], states: list[dict], group: dict[str, Any]) -> None:
    """m <- mu m + (u + wd theta); theta <- theta - lr m: torch.optim.SGD on u."""
    if group["weight_decay"]:
        directions = torch._foreach_add(directions, params, alpha=group["weight_decay"])
    if group["momentum"]:
        for state, d in zip(states, directions, strict=True):
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = torch.zeros_like(d)
        moving = [state["momentum_buffer"] for state in states]
        torch._foreach_mul_(moving, group["momentum"])
        torch._foreach_add_(moving, directions)
        directions = moving
    torch._foreach_add_(params, directions, alpha=-group["lr"])


def _decoupled(params: list[Tensor], directions: Sequence[Tensor], states: list[dict], group: dict[str, Any]) -> None:
    """theta <- (1 - lr wd) theta - lr u: torch.optim.AdamW."""
    if group["weight_decay"]:
        torch._foreach_mul_(params, 1 - group["lr"] * group["weight_decay"])
    torch._foreach_add_(params, directions, alpha=-group["lr"])


DIRECTION = {"sgd": _raw, "adam": _adam}
"""What enters the window."""
FOLLOW = {"sgd": _heavy_ball, "adam": _decoupled}
"""What is done with the reshaped direction."""


def geometry(network: VisionTransformer, where: Literal["attention", "ffn", "blocks", "full"] = "attention",
             unit: Literal["block", "tensor"] = "block", last: int | None = None) -> list[dict[str, Any]]:  # fmt: skip
    """Param groups for Arrow: first the geometry groups, then the rest, which takes plain steps of the base.

    where: attention of each block, its feed-forward part, both as one ("blocks"), or the whole network as one group
    ("full"). unit: a group a block or a tensor. last: only the last so many blocks. Norms, embeddings and head have
    geometry only in "full".
    """
    pairs = list(zip(attention(network), feed_forward(network), strict=True))
    choice = {"attention": [a for a, _ in pairs], "ffn": [f for _, f in pairs], "blocks": [a + f for a, f in pairs],
              "full": [list(network.parameters())]}[where]  # fmt: skip
    first = 0 if last is None else max(0, len(choice) - last)
    groups = []
    for tensors in choice[first:]:
        parts = [tensors] if unit == "block" else [[p] for p in tensors]
        groups += [{"params": part, "geometry": True} for part in parts]
    taken = {p for g in groups for p in g["params"]}
    rest = [p for p in network.parameters() if p not in taken]
    return groups + ([{"params": rest, "geometry": False}] if rest else [])
