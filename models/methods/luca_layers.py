"""LuCA in every layer, one set a task, chosen per photo; nothing old is ever written to again.

The comparison of TOSCA (arXiv:2502.14762) with a module in every layer: the same LuCA, on the MLP output of each block and on
every token, in its paper form (no norm, no bias) with the gate doubled, so that it starts as the identity.
"""

from __future__ import annotations

from forget_me_not.models.adapters import LucaLayers
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.parts import Blocks, Epochs, Loss, Photos, Rank, Rate, Router, Sharpness, TaskParts
from forget_me_not.models.registry import register


@register(
    "luca_layers",
    title="LuCA in every layer",
    family="Modules",
    line="TOSCA's module in every layer instead of once at the end: many more numbers for each task.",
    paper="arXiv:2502.14762",
    stores="One LuCA module a block, one key, one head row and one prototype a class for every task",
    parameters="4 d r a block and task, d a class, d a task key",
    deviations=(
        "One view of every training photo instead of random crops; no weight decay.",
        "LuCA in its paper form (no norm, no bias), its gate doubled and its second matrices zero at first: the identity. No l1.",
        "Ours, to compare: the paper has one module, at the final [CLS]. Default: the last three blocks; preset paper: all. "
        "Rank 24 is d / 16 of the starter; for ViT-B that is 48.",
        "The cosine head has a fixed sharpness, and its rows stay as they were learnt, where TOSCA's end at class means.",
        "A class that comes back (a new domain) has a head row a task, and the best of them counts.",
        "With the masked loss a task of one class has nothing to learn from: its part stays the identity.",
    ),
    identity=True,
    presets={"demo": {}, "paper": {"blocks": 24, "batch": 48}},
)
class LucaInLayers(TaskParts):
    """Args:
    blocks: How many of the last blocks get a LuCA module (more than there are = all).
    rank: Width of a module's bottleneck.
    """

    def __init__(self, vit: FrozenViT, *, blocks: Blocks = 3, rank: Rank = 24, epochs: Epochs = 20, lr: Rate = 0.025,
                 batch: Photos = 16, scale: Sharpness = 10.0, loss: Loss = "full", router: Router = "entropy"):  # fmt: skip
        super().__init__(vit, LucaLayers, blocks=blocks, rank=rank, epochs=epochs, lr=lr, batch=batch, scale=scale, loss=loss,
                         router=router)  # fmt: skip
