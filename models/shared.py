"""One LuCA module and one cosine head for all tasks: the learner naive fine-tuning and the joint bound have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor

from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Task
from forget_me_not.models.descent import descend
from forget_me_not.models.head import Head
from forget_me_not.models.layers import Params, luca, new_luca

Loss = Callable[[Tensor, Tensor, Sequence[int]], Tensor]


class SharedModule:
    """The state of one shared module and head, and how it is trained, asked and stored; no continual-learning policy."""

    def __init__(self, vit: FrozenViT, rank: int, scale: float):
        self.width, self.device, self.rank = vit.width, vit.device, rank
        self.module: Params = {}
        self.head, self.scale = Head(), torch.tensor(scale, device=self.device)
        self._making: tuple[Params, Head, Tensor] | None = None

    def fresh_module(self, rng: torch.Generator) -> Params:
        """A module as PyTorch's linear layers would start, drawn from `rng`."""
        return {k: v.to(self.device) for k, v in new_luca(self.width, self.rank, rng).items()}

    def learn(self, task: Task, module: Params, head: Head, scale: Tensor, loss: Loss, rng: torch.Generator,
              **descent) -> Iterator[Log | None]:  # fmt: skip
        """Trains copies of module, head and scale on a task; they become this learner's state when it is whole."""
        module = {k: v.clone() for k, v in module.items()}
        head, scale = head.with_rows([r.clone() for r in head.rows]), scale.clone()

        def cost(b: Batch) -> Tensor:
            return loss(head.logits(luca(b.cls, module), scale), b.y, task.classes)

        self._making = module, head, scale
        yield from descend(task.train, [*module.values(), *head.rows, scale], cost, rng=rng, **descent)
        self.module, self.head, self.scale = module, head, scale
        self._making = None

    def predict(self, batch: Batch) -> Prediction:
        """The head's answer on the module's output."""
        u = luca(batch.cls, self.module)
        return Prediction(self.head.logits(u, self.scale), feature=u)

    def state_dict(self) -> dict[str, Tensor]:
        """Everything, by name."""
        return _state(self.module, self.head, self.scale)

    def so_far(self) -> dict[str, Tensor]:
        """`state_dict` as it would be if the task being learnt ended at this step; {} between tasks.

        The tensors are those the optimiser writes to: read them before the next step.
        """
        return _state(*self._making) if self._making else {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Takes back what `state_dict` gave."""
        self.module = {k.removeprefix("module."): v.to(self.device) for k, v in state.items() if k.startswith("module.")}
        self.head, self.scale = Head.from_state(state, self.device), state["scale"].to(self.device)
        self._making = None


def _state(module: Params, head: Head, scale: Tensor) -> dict[str, Tensor]:
    return {**{f"module.{k}": v for k, v in module.items()}, **head.state(), "scale": scale}
