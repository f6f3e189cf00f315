"""LoRA for every task in the last blocks, chosen per photo; nothing old is ever written to again.

LoRA is Hu et al., ICLR 2022, arXiv:2106.09685; as a continual learner see the baseline of Soft-TF (arXiv:2411.16073).
"""

from __future__ import annotations

from forget_me_not.models.adapters import Lora
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.parts import Blocks, Epochs, Loss, Photos, Rank, Rate, Router, Sharpness, TaskParts
from forget_me_not.models.registry import register


@register(
    "lora_tasks",
    title="LoRA a task",
    family="Adapters",
    line="A low-rank change of the attention weights for every task; the nearest class prototype chooses.",
    paper="arXiv:2106.09685",
    stores="LoRA pairs, one key, one head row and one prototype a class for every task",
    parameters="8 d r a block and task, d a class, d a task key",
    deviations=(
        "One view of every training photo instead of random crops; no weight decay.",
        "SGD with momentum and a cosine, as for adapters; public Soft-TF trains its LoRA with Adam at a constant rate.",
        "Query, key, value and output matrices get a pair (public Soft-TF leaves the key out); no dropout on the pair's input.",
        "A cosine head with its rows at class means at first, learnt with all classes seen; public Soft-TF has a linear head and "
        "looks at the task's classes alone.",
        "Default: the last three blocks, as in Soft-TF's comparison; preset paper: all blocks, as in LoRA's paper.",
        "A class that comes back (a new domain) has a head row a task, and the best of them counts.",
        "With the masked loss a task of one class has nothing to learn from: its part stays the identity.",
    ),
    identity=True,
    presets={"demo": {}, "paper": {"blocks": 24, "epochs": 20, "batch": 24}},
)
class TaskLoras(TaskParts):
    """Args:
    blocks: How many of the last blocks get LoRA pairs (more than there are = all).
    rank: Rank of a pair.
    """

    def __init__(self, vit: FrozenViT, *, blocks: Blocks = 3, rank: Rank = 4, epochs: Epochs = 20, lr: Rate = 0.0005,
                 batch: Photos = 16, scale: Sharpness = 10.0, loss: Loss = "full", router: Router = "prototype"):  # fmt: skip
        super().__init__(vit, Lora, blocks=blocks, rank=rank, epochs=epochs, lr=lr, batch=batch, scale=scale, loss=loss,
                         router=router)  # fmt: skip
