"""Exact ridge regression on accumulated statistics: what RanPAC and the ridge routers solve.

The statistics of a task's features H (n, M) and one-hot targets Y (n, C) are G = H^T H and Q = H^T Y. They are kept as a
square root: rows R (k, M) and targets P (k, C) with R^T R = G and R^T P = Q, k <= min(n, M). That is the same knowledge, twice
the digits of G, and far fewer bytes while the photos are fewer than M. R holds the photos' features rotated among each other;
where photos are few that hides little of one, and of a single photo nothing (nor would G). Stacking the roots of tasks adds
their statistics, so order and split of the photos do not matter. All work is float64 on the CPU.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

BLOCK = 512
"""Rows in one product: about a second at M = 4000 on one core."""
PENALTIES = tuple(10.0**k for k in range(-8, 9))
"""The 17 values of lambda that RanPAC's code tries (McDonnell et al., arXiv:2307.02251)."""
FIT_SHARE = 0.8
"""Share of a task's photos that fits, the rest judges lambda (RanPAC's code)."""
CHOOSING = 1000
"""Rows that choose lambda at most: the eigendecomposition of their kernel stays below two seconds."""
ROOM = CHOOSING // 5
"""Photos of a large task that are enough to choose lambda."""
_RELATIVE_FLOOR = 1e-12

Root = tuple[Tensor, Tensor]
"""Rows and targets of one task, or of several."""
Working = Generator[None, None, Tensor]
"""Yields None at least every two seconds, returns the result."""


def one_hot(y: Tensor, classes: int) -> Tensor:
    """(n, C) float64 of labels y (n,)."""
    return F.one_hot(y.cpu(), classes).double()


def square_root(h: Tensor, y: Tensor) -> Generator[None, None, tuple[Tensor, Tensor]]:
    """Rows R (k, M) and targets P (k, C), float32, of features h (n, M) and targets y (n, C): R^T R = H^T H, R^T P = H^T Y."""
    h, y = h.cpu().double(), y.cpu().double()
    width, roots = h.shape[1], []
    parts = max(1, -(-len(h) // BLOCK))  # of nearly equal size: the last photo of 513 is not left alone
    for x, t in zip(h.tensor_split(parts), y.tensor_split(parts), strict=True):
        u, r = torch.linalg.qr(x)
        roots.append((r, u.T @ t))
        yield None
    rows, targets = (torch.cat(parts) for parts in zip(*roots, strict=True))
    if len(rows) > width:
        g = yield from gram(rows)
        root = torch.linalg.cholesky(g + torch.eye(width) * _floor(g)).T  # (M, M) upper
        targets = torch.linalg.solve_triangular(root.T, rows.T @ targets, upper=False)
        rows = root
    return rows.float(), targets.float()


def gram(rows: Tensor) -> Working:
    """rows^T rows (M, M) of rows (k, M)."""
    total = torch.zeros(rows.shape[1], rows.shape[1], dtype=torch.float64)
    for part in rows.split(BLOCK):
        total += part.T @ part
        yield None
    return total


def kernel(rows: Tensor) -> Working:
    """rows rows^T (k, k) of rows (k, M)."""
    parts = []
    for part in rows.split(BLOCK):
        parts.append(part @ rows.T)
        yield None
    return torch.cat(parts)


def solve(rows: Tensor, targets: Tensor, penalty: float) -> Working:
    """W = (G + lambda I)^-1 Q, (M, C) float64, of stacked roots rows (k, M), targets (k, C): primal, or the dual where k <= M.

    lambda is raised to 1e-12 of G's mean diagonal where it is below: float64 knows no smaller one.
    """
    rows, targets = rows.cpu().double(), targets.cpu().double()
    small = len(rows) <= rows.shape[1]
    g = yield from (kernel if small else gram)(rows)
    right = targets if small else rows.T @ targets
    root = torch.linalg.cholesky(g + torch.eye(len(g)) * max(penalty, _floor(g)))
    yield None
    solved = torch.cholesky_solve(right, root)
    return rows.T @ solved if small else solved


def held_out_penalty(h: Tensor, y: Tensor, rng: torch.Generator,
                     before: Sequence[Root] = ()) -> Generator[None, None, float | None]:  # fmt: skip
    """The lambda of PENALTIES with the least squared error on a fifth of h (n, M), y (n, C), fitted on the rest and `before`.

    before: the roots of older tasks. Exact for all 17 from one eigendecomposition of the fitted rows'
    kernel K = V diag(e) V^T: predictions are H_2 H_1^T V diag(1 / (e + lambda)) V^T Y_1. At most CHOOSING rows take part, of h
    as many as there is room for. None below two photos, and where the roots leave too little of that room for what is new: a
    few photos would choose badly, and the best lambda hardly moves with the number of roots, so an older one will do.
    """
    room = CHOOSING - sum(len(rows) for rows, _ in before)
    if len(h) < 2 or room < min(len(h), ROOM):
        return None
    order = torch.randperm(len(h), generator=rng)[:room]
    h, y = h.cpu().double()[order], y.cpu().double()[order]
    fit = min(len(h) - 1, max(1, int(FIT_SHARE * len(h))))
    x, t = h[:fit], y[:fit]
    x, t = stacked([*((r.double(), p.double()) for r, p in before), (x, t)])
    k = yield from kernel(x)
    e, v = torch.linalg.eigh(k)
    yield None
    seen, wanted = h[fit:] @ x.T @ v, v.T @ t  # (m, k), (k, C)
    errors = torch.stack([((seen / (e.clamp(min=0) + p)) @ wanted - y[fit:]).square().mean() for p in PENALTIES])
    return PENALTIES[int(errors.nan_to_num(nan=float("inf")).argmin())]


def merged(roots: tuple[Root, ...]) -> Generator[None, None, tuple[Root, ...]]:
    """The same roots, or one of all sums where their rows have become more than M."""
    if sum(len(rows) for rows, _ in roots) <= roots[0][0].shape[1]:
        return roots
    return ((yield from square_root(*stacked(roots))),)


def stacked(roots: Sequence[Root]) -> Root:
    """All roots one below the other: rows (k, M), targets (k, C); the targets of older tasks get zeros for newer classes."""
    classes = roots[-1][1].shape[1]
    return torch.cat([r for r, _ in roots]), torch.cat([F.pad(t, (0, classes - t.shape[1])) for _, t in roots])


def roots_state(roots: Sequence[Root]) -> dict[str, Tensor]:
    """Tensors by name: "statistic.003.rows", "statistic.003.targets"."""
    parts = {}
    for t, (rows, targets) in enumerate(roots):
        parts |= {f"statistic.{t:03d}.rows": rows, f"statistic.{t:03d}.targets": targets}
    return parts


def roots_from(state: Mapping[str, Tensor]) -> tuple[Root, ...]:
    """The roots that `roots_state` wrote."""
    tasks = sorted(k.split(".")[1] for k in state if k.startswith("statistic.") and k.endswith(".rows"))
    return tuple((state[f"statistic.{t}.rows"], state[f"statistic.{t}.targets"]) for t in tasks)


def _floor(g: Tensor) -> float:
    return _RELATIVE_FLOOR * max(float(g.diagonal().mean()), 1e-300)
