"""Adapter in the last blocks, shared by all tasks and trained on and on: what a small part forgets when nothing protects it.

The adapter is AdaptFormer's (Chen et al., NeurIPS 2022, arXiv:2205.13535); rank and rate, in preset paper
also batch and epochs, are those of PILOT's EASE on CIFAR-100 (r = 64, lr .025, batch 48, 20 epochs).
"""

from __future__ import annotations

from forget_me_not.models.adapters import Adapters
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.parts import Blocks, Epochs, Loss, Photos, Rank, Rate, SharedParts, Sharpness
from forget_me_not.models.registry import register


@register(
    "adapter",
    title="Adapter, shared",
    family="Adapters",
    line="A narrow side path in the last blocks, overwritten by every task.",
    paper="arXiv:2205.13535",
    stores="One adapter a block and one head, overwritten by every task",
    parameters="2 d r + r + d a block once, d a class, 1 scale",
    deviations=(
        "One view of every training photo instead of random crops; no weight decay.",
        "Default: the last three blocks; paper: all of them, 20 epochs.",
        "A cosine head with its rows at class means and sharpness 10 at first, learnt with all classes seen; EASE's heads start "
        "drawn, at sharpness 1, and see the classes of their task alone.",
        "A class that comes back (a new domain) has a head row a task, and the best of them counts.",
    ),
    identity=True,
    presets={"demo": {}, "paper": {"blocks": 24, "epochs": 20, "batch": 48, "lr": 0.025}},
)
class SharedAdapter(SharedParts):
    """Args:
    blocks: How many of the last blocks get an adapter (more than there are = all).
    rank: Width of an adapter's bottleneck.
    """

    def __init__(self, vit: FrozenViT, *, blocks: Blocks = 3, rank: Rank = 64, epochs: Epochs = 10, lr: Rate = 0.025,
                 batch: Photos = 16, scale: Sharpness = 10.0, loss: Loss = "full"):  # fmt: skip
        super().__init__(vit, Adapters, blocks=blocks, rank=rank, epochs=epochs, lr=lr, batch=batch, scale=scale, loss=loss)
