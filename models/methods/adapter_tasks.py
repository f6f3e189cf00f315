"""Adapter for every task in the last blocks, chosen per photo; nothing old is ever written to again.

The adapter is AdaptFormer's (Chen et al., NeurIPS 2022, arXiv:2205.13535); rank, rate and epochs are those of PILOT's EASE on
CIFAR-100 (lr .025, batch 48, 20 epochs, r = 64).
"""

from __future__ import annotations

from forget_me_not.models.adapters import Adapters
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.parts import Blocks, Epochs, Loss, Photos, Rank, Rate, Router, Sharpness, TaskParts
from forget_me_not.models.registry import register


@register(
    "adapter_tasks",
    title="Adapter a task",
    family="Adapters",
    line="A side path in the last blocks for every task; the nearest class prototype chooses.",
    paper="arXiv:2205.13535",
    stores="One adapter a block, one key, one head row and one prototype a class for every task",
    parameters="2 d r + r + d a block and task, d a class, d a task key",
    deviations=(
        "One view of every training photo instead of random crops; no weight decay.",
        "Default: the last three blocks; paper: all of them, 20 epochs.",
        "Soft-TF compares with another adapter (inside the MLP), which its public code never trains.",
        "A cosine head of fixed sharpness with its rows at class means at first, learnt against all classes seen; EASE's heads "
        "start drawn and see the classes of their task alone.",
        "A class that comes back (a new domain) has a head row a task, and the best of them counts.",
        "With the masked loss a task of one class has nothing to learn from: its part stays the identity.",
    ),
    identity=True,
    presets={"demo": {}, "paper": {"blocks": 24, "epochs": 20, "batch": 48, "lr": 0.025}},
)
class TaskAdapters(TaskParts):
    """Args:
    blocks: How many of the last blocks get an adapter (more than there are = all).
    rank: Width of an adapter's bottleneck.
    """

    def __init__(self, vit: FrozenViT, *, blocks: Blocks = 3, rank: Rank = 64, epochs: Epochs = 20, lr: Rate = 0.025,
                 batch: Photos = 16, scale: Sharpness = 10.0, loss: Loss = "full", router: Router = "prototype"):  # fmt: skip
        super().__init__(vit, Adapters, blocks=blocks, rank=rank, epochs=epochs, lr=lr, batch=batch, scale=scale, loss=loss,
                         router=router)  # fmt: skip
