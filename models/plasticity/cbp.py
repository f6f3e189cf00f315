"""Continual backprop: a trickle of the least useful feed-forward units is born again.

Dohare et al., "Loss of plasticity in deep continual learning", Nature 632, 768 (2024), arXiv:2306.13812. Deviations: units of
a ViT's fc1 instead of a plain network's layers; a removed unit's mean contribution is not added to the next bias; the
optimiser's slots of a replaced unit are zeroed and the utility is bias-corrected, both of which the published code means to do.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from forget_me_not.models.plasticity.remedies import Training, corrected, zero_slots
from forget_me_not.models.plasticity.vit import VisionTransformer, drawn


class ContinualBackprop:
    """Replaces `rate` of the units older than `maturity` steps at every step, by least utility.

    Utility of unit j: average over time (decay) of mean|h_j| * mean_i |fc2[i, j]|. A new unit has a drawn row in fc1, bias
    0, and a column of zeros in fc2, so that the network's answer does not jump by what the new unit says.
    """

    def __init__(self, rate: float = 1e-4, maturity: int = 100, decay: float = 0.99):
        self.rate, self.maturity, self.decay = rate, maturity, decay
        self.utility: list[Tensor] = []  # (hidden,) a block
        self.age: list[Tensor] = []
        self.due: list[Tensor] = []  # units owed, below 1 after every step
        self.size: list[Tensor] = []  # mean |h| in the step under way

    def prepare(self, network: VisionTransformer) -> None:
        """Watches the activations of training steps."""
        for i, block in enumerate(network.blocks):
            hidden = block.mlp.fc1.out_features
            self.utility.append(torch.zeros(hidden))
            self.age.append(torch.zeros(hidden))
            self.due.append(torch.zeros((), dtype=torch.float64))
            self.size.append(torch.zeros(hidden))
            block.mlp.act.register_forward_hook(lambda m, x, h, i=i: self._saw(i, h))

    def _saw(self, block: int, h: Tensor) -> None:
        if torch.is_grad_enabled():
            self.size[block] = h.detach().abs().flatten(0, -2).mean(0)

    @torch.no_grad()
    def after_step(self, training: Training) -> None:
        """Updates utilities and replaces what is due."""
        for i, block in enumerate(training.network.blocks):
            fc1, fc2 = block.mlp.fc1, block.mlp.fc2
            use = self.size[i] * fc2.weight.abs().mean(0)
            self.utility[i] = self.decay * self.utility[i] + (1 - self.decay) * use
            self.age[i] = self.age[i] + 1
            mature = (self.age[i] > self.maturity).nonzero()[:, 0]
            self.due[i] = self.due[i] + self.rate * len(mature)
            count = min(int(self.due[i]), len(mature))
            if not count:
                continue
            self.due[i] = self.due[i] - count
            ranked = corrected(self.utility[i], self.decay, self.age[i])[mature]
            units = mature[ranked.topk(count, largest=False).indices]
            fc1.weight[units] = drawn((count, fc1.in_features), training.network.embed_dim, training.rng)
            fc1.bias[units], fc2.weight[:, units] = 0.0, 0.0
            zero_slots(training.optimiser, fc1.weight, units, 0)
            zero_slots(training.optimiser, fc1.bias, units, 0)
            zero_slots(training.optimiser, fc2.weight, units, 1)
            self.utility[i] = self.utility[i].index_fill(0, units, 0.0)
            self.age[i] = self.age[i].index_fill(0, units, 0.0)

    def state_dict(self) -> dict[str, Tensor]:
        """Utility, age and what is due, by block."""
        kept = {"utility": self.utility, "age": self.age, "due": self.due}
        return {f"{name}.{i}": value for name, values in kept.items() for i, value in enumerate(values)}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Takes back what `state_dict` gave."""
        for name, values in {"utility": self.utility, "age": self.age, "due": self.due}.items():
            values[:] = [state[f"{name}.{i}"] for i in range(len(values))]
