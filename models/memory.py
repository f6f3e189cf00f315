"""What a run remembers of frozen features to choose modules by: one key a task, one prototype a class and task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from forget_me_not.models.layers import by_class, class_means, cosine

SHARPNESS = 20.0
"""What cosines with prototypes are multiplied by before they become a posterior."""


def task_key(z: Tensor) -> Tensor:
    """(D,) the key whose mean cosine with features z (N, D) is largest: normalise(mean z/|z|).

    It is where SGD on the pull loss -mean cos(k, z) of DualPrompt and Soft-TF ends, and that of L2P for a pool of one key.
    """
    return F.normalize(F.normalize(z, dim=-1).mean(0), dim=-1)


@dataclass(frozen=True)
class Memory:
    """keys[t] (D,), rows[t] (K, D) and classes[t] (K,) of task t. Immutable: a task more gives a new memory."""

    keys: tuple[Tensor, ...] = ()
    rows: tuple[Tensor, ...] = ()
    classes: tuple[Tensor, ...] = ()

    def grown(self, z: Tensor, y: Tensor, classes: Sequence[int]) -> Memory:
        """With the task whose training photos have features z (N, D) and labels y (N,)."""
        ids, rows = torch.tensor(classes, device=z.device), F.normalize(class_means(z, y, classes), dim=-1)
        return Memory((*self.keys, task_key(z)), (*self.rows, rows), (*self.classes, ids))

    @property
    def row_task(self) -> Tensor:
        """(K,) task of every prototype."""
        return torch.cat([torch.full_like(c, t) for t, c in enumerate(self.classes)])

    def by_key(self, z: Tensor) -> Tensor:
        """The task whose key is nearest: z (B, D) -> (B,). "Prompt ID" of DualPrompt and Soft-TF, per photo."""
        return cosine(z, torch.stack(self.keys)).argmax(-1)

    def by_prototype(self, z: Tensor) -> Tensor:
        """The task of the nearest class prototype: z (B, D) -> (B,)."""
        return self.row_task[cosine(z, torch.cat(self.rows)).argmax(-1)]

    def product(self, z: Tensor, answers: Tensor) -> tuple[Tensor, Tensor]:
        """log P(c | prototypes) + log P(c | the module of c's task), its best row a class: (B, C), and that row's task (B,).

        z (B, D); answers (B, T, C). The frozen feature says which task is likely, the module which class; multiplied,
        each may correct the other, and no hard choice of a module is made before both are heard.
        """
        classes, tasks = torch.cat(self.classes), self.row_task
        frozen = (SHARPNESS * cosine(z, torch.cat(self.rows))).log_softmax(-1)  # (B, K)
        own = answers.log_softmax(-1)[:, tasks, classes]  # (B, K)
        both = frozen + own
        return by_class(both, classes, answers.shape[-1]), tasks[both.argmax(-1)]

    def state(self) -> dict[str, Tensor]:
        """Tensors by name: "key.003", "statistic.003.rows", "statistic.003.classes"."""
        parts = {}
        for t, (key, rows, classes) in enumerate(zip(self.keys, self.rows, self.classes, strict=True)):
            parts |= {f"key.{t:03d}": key, f"statistic.{t:03d}.rows": rows, f"statistic.{t:03d}.classes": classes}
        return parts

    @staticmethod
    def from_state(state: Mapping[str, Tensor], device: torch.device | str) -> Memory:
        """The memory whose `state` this holds."""
        tasks = sorted(k.removeprefix("key.") for k in state if k.startswith("key."))
        return Memory(
            tuple(state[f"key.{t}"].to(device) for t in tasks),
            *(tuple(state[f"statistic.{t}.{part}"].to(device) for t in tasks) for part in ("rows", "classes")),
        )
