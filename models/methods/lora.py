"""LoRA in the last blocks, shared by all tasks and trained on and on: what a small part forgets when nothing protects it.

LoRA is Hu et al., ICLR 2022, arXiv:2106.09685; as a continual learner see the baseline of Soft-TF (arXiv:2411.16073).
"""

from __future__ import annotations

from forget_me_not.models.adapters import Lora
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.parts import Blocks, Epochs, Loss, Photos, Rank, Rate, SharedParts, Sharpness
from forget_me_not.models.registry import register


@register(
    "lora",
    title="LoRA, shared",
    family="Adapters",
    line="A low-rank change of the attention weights, overwritten by every task.",
    paper="arXiv:2106.09685",
    stores="One pair of thin matrices for each attention matrix and one head, overwritten by every task",
    parameters="8 d r a block once, d a class, 1 scale",
    deviations=(
        "One view of every training photo instead of random crops; no weight decay.",
        "SGD with momentum and a cosine, as for adapters; public Soft-TF trains its LoRA with Adam at a constant rate.",
        "Query, key, value and output matrices get a pair (public Soft-TF leaves the key out); no dropout on the pair's input.",
        "A cosine head with its rows at class means at first, learnt with all classes seen; public Soft-TF has a linear head and "
        "looks at the task's classes alone.",
        "Default: the last three blocks, as in Soft-TF's comparison, and 10 passes; preset paper: all blocks, 20 passes.",
        "A class that comes back (a new domain) has a head row a task, and the best of them counts.",
    ),
    identity=True,
    presets={"demo": {}, "paper": {"blocks": 24, "epochs": 20, "batch": 24}},
)
class SharedLora(SharedParts):
    """Args:
    blocks: How many of the last blocks get LoRA pairs (more than there are = all).
    rank: Rank of a pair.
    """

    def __init__(self, vit: FrozenViT, *, blocks: Blocks = 3, rank: Rank = 4, epochs: Epochs = 10, lr: Rate = 0.0005,
                 batch: Photos = 16, scale: Sharpness = 10.0, loss: Loss = "full"):  # fmt: skip
        super().__init__(vit, Lora, blocks=blocks, rank=rank, epochs=epochs, lr=lr, batch=batch, scale=scale, loss=loss)
