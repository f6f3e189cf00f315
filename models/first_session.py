"""First-session adaptation: an adapter trained on the first task alone, as APER and RanPAC's phase 1 do, then frozen."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import torch

from forget_me_not.models.adapters import Parts
from forget_me_not.models.core import Batch, Log, Task
from forget_me_not.models.descent import descend
from forget_me_not.models.head import Head, drawn_rows
from forget_me_not.models.layers import Params

SCALE = 10.0
"""Starting sharpness of the cosine head. Public code starts at 1, with which 80 photos a task hardly move an adapter."""


def adapted(task: Task, kind: type[Parts], blocks: Sequence[int], width: int, rank: int, rng: torch.Generator,
            **descent) -> Generator[Log | None, None, Params]:  # fmt: skip
    """The numbers of a `kind` edit trained on a task's classes with a cosine head that is then thrown away.

    descent: epochs, batch, lr, micro. Where the task has a single class nothing can be learnt and nothing changes.
    """
    device = task.train.source.vit.device
    values = {k: v.to(device) for k, v in kind.new(blocks, width, rank, rng).items()}
    if len(task.classes) == 1:
        return values
    edit = kind(values, blocks[0], rng)
    place = {c: i for i, c in enumerate(task.classes)}
    head = Head().grown(drawn_rows(len(place), width, rng).to(device), range(len(place)))
    scale = torch.tensor(SCALE, device=device)

    def loss(b: Batch) -> torch.Tensor:
        y = torch.tensor([place[c] for c in b.y.tolist()], device=device)
        return torch.nn.functional.cross_entropy(head.logits(b.cls_through(edit), scale), y)

    yield from descend(task.train, [*values.values(), *head.rows, scale], loss, rng=rng, **descent)
    return values
