"""An exact linear classifier of the frozen feature that grows with tasks: the second opinion of our products with modules."""

from __future__ import annotations

from collections.abc import Generator, Mapping

import torch
from torch import Tensor
from torch.nn import functional as F

from forget_me_not.models import ridge, routers
from forget_me_not.models.core import Task


def level(z: Tensor) -> Tensor:
    """z (…, D) with the length sqrt(D): one ridge penalty then suits every backbone."""
    return F.normalize(z, dim=-1) * z.shape[-1] ** 0.5


class RidgeHead:
    """Ridge regression of one-hot rows, a row a class and task, on level features; immutable: a task more gives a new head.

    roots: square roots of each task's sums (ridge.py). weight: (D, K).
    """

    def __init__(self, weight: Tensor, roots: tuple[ridge.Root, ...] = ()):
        self.weight, self.roots = weight, roots

    @staticmethod
    def empty(width: int, device: torch.device | str) -> RidgeHead:
        """A head that knows no class yet."""
        return RidgeHead(torch.zeros(width, 0, device=device))

    def grown(self, task: Task, penalty: float) -> Generator[None, None, RidgeHead]:
        """Yields None at least every two seconds; returns the head that also knows the task."""
        before = self.weight.shape[1]
        place = {c: before + i for i, c in enumerate(task.classes)}
        y = ridge.one_hot(torch.tensor([place[c] for c in task.train.labels.tolist()]), before + len(place))
        roots = (*self.roots, (yield from ridge.square_root(level(task.train.cls()), y)))
        solved = yield from ridge.solve(*ridge.stacked(roots), penalty)
        return RidgeHead(solved.float().to(self.weight.device), roots)

    def posterior(self, z: Tensor, sharpness: float) -> Tensor:
        """(B, K) log posterior of the rows for frozen features z (B, D)."""
        return (sharpness * level(z) @ self.weight).log_softmax(-1)

    def weighed(self, z: Tensor, sharpness: float, opinions: Tensor, classes: Tensor, tasks: Tensor,
                seen: int) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        """The product of two opinions: logits (B, C), the task of the best row (B,), and the ridge's own choice of it (B,).

        opinions (B, K): log posteriors of the rows by their modules; classes, tasks (K,): whose the rows are; seen: C.
        """
        frozen = self.posterior(z, sharpness)
        return *routers.answer(frozen + opinions, classes, tasks, seen), tasks[frozen.argmax(-1)]

    def state(self) -> dict[str, Tensor]:
        """Tensors by name: "ridge" and "statistic.ridge.003.rows", "….targets"."""
        parts = {"ridge": self.weight} if self.roots else {}
        for t, (rows, targets) in enumerate(self.roots):
            parts |= {f"statistic.ridge.{t:03d}.rows": rows, f"statistic.ridge.{t:03d}.targets": targets}
        return parts

    @staticmethod
    def from_state(state: Mapping[str, Tensor], width: int, device: torch.device | str) -> RidgeHead:
        """The head whose `state` this holds."""
        tasks = sorted(k.split(".")[2] for k in state if k.startswith("statistic.ridge.") and k.endswith(".rows"))
        roots = tuple((state[f"statistic.ridge.{t}.rows"], state[f"statistic.ridge.{t}.targets"]) for t in tasks)
        return RidgeHead(state["ridge"].to(device), roots) if roots else RidgeHead.empty(width, device)
