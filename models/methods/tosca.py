"""TOSCA: one sparse LuCA module a task on the final [CLS] feature, chosen per photo at test time by least entropy.

Yildirim, Gunduz Yilmaz and others, "Unlocking [CLS] Features for Continual Post-Training" (TMLR 2026, first as
"Sculpting [CLS] Features", 2025), arXiv:2502.14762.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Reads, Task
from forget_me_not.models.descent import descend
from forget_me_not.models.head import CROSS_ENTROPY, NEW_ROWS, Head
from forget_me_not.models.layers import LUCA_PARTS, LUCA_WEIGHTS, PART_NAMES, Params, class_means, new_luca, stack
from forget_me_not.models.registry import Slider, register
from forget_me_not.models.routing import ROUTERS, pick

LATER_INIT = {"linear": "linear", "xavier": "xavier", "published": "xavier"}
FIRST_INIT = {"linear": "linear", "xavier": "xavier", "published": "linear"}


def weights(module: Params) -> list[Tensor]:
    """The weight matrices the module has: four, or two where a part is left out."""
    return [module[name] for name in LUCA_WEIGHTS if name in module]


def soft_threshold(module: Params, amount: float) -> None:
    """The proximal step of the l1 norm on the weight matrices, in place: exact zeros appear."""
    for w in weights(module):
        w.copy_(w.sign() * (w.abs() - amount).clamp(min=0))


def l1_norm(module: Params) -> Tensor:
    """Sum of |w| over every parameter of the module, as public code has it: the norm's gain is pulled to zero too."""
    return sum(w.abs().sum() for w in module.values())


L1_LOSS: dict[str, Callable[[Params], Tensor | float]] = {"proximal": lambda module: 0.0, "subgradient": l1_norm}
L1_STEP: dict[str, Callable[[Params, float], None]] = {"proximal": soft_threshold, "subgradient": lambda module, amount: None}


@register(
    "tosca",
    title="TOSCA",
    family="Modules",
    line="A small sparse module for each task; the one with the least doubt answers.",
    paper="arXiv:2502.14762",
    batch_vote=True,
    stores="One LuCA module and one head row a class for every task",
    parameters="4 d r + r + 3 d a module (149,808 at d = 768, r = 48), d a class, 1 scale",
    deviations=(
        "One view of every training photo (the test transform) instead of random crops.",
        "LuCA as in public code, LN(z + a) with biases; the paper writes z + a without (placement 'paper').",
        "A class that comes back (a new domain) has a head row a task, and the best of them counts; public code overwrites it.",
        "Ablations as the public code has them: the adapter alone is LN(a) with no residual, parallel is z * gate(z) + LN(a).",
        "Chosen per photo; public code chooses once for a whole test batch. That figure is shown as 'batch vote'.",
        "New head rows start at class means; public code starts them at zero, which freezes them in a chance direction.",
        "Preset starter: exact zeros by a proximal step on the weight matrices with lambda .02; the published subgradient, with "
        ".0005 on every parameter, leaves none. Batch 16, not 48; sharpness from 10, not 1; every module drawn as PyTorch's "
        "linear layers are, not only the first; the rate falls step by step, not epoch by epoch. Preset published undoes these.",
    ),
    presets={
        "starter": {},
        "published": {
            "batch": 48,
            "scale": 1.0,
            "init": "published",
            "schedule": "cosine per epoch",
            "l1": "subgradient",
            "sparsity": 5e-4,
        },
    },
)
class Tosca:
    """Args:
    sparsity: Strength of the l1 penalty; higher sets more weights of a module to zero.
    epochs: Passes over the photos of a task.
    lr: Learning rate of SGD with momentum 0.9.
    batch: Photos in a training step.
    reduction: Width of the feature divided by the width of a module's bottleneck.
    scale: Starting sharpness of the cosine head (learnt).
    init: How a module's weights are drawn; published = linear for the first task, Xavier for later ones.
    schedule: How the learning rate falls.
    l1: Proximal gives exact zeros; subgradient, as published, only shrinks.
    loss: Cross-entropy over all classes seen or only the task's own.
    rows: Where the head rows of new classes start.
    placement: Where residual and norm stand in the module; code, its README and the paper differ.
    parts: The paper's ablation; the adapter alone, the calibrator alone, or the two side by side.
    router: What chooses the module of a photo.
    """

    def __init__(
        self,
        vit: FrozenViT,
        *,
        sparsity: Annotated[float, Slider(0, 0.1, 0.001, expert=False)] = 0.02,
        epochs: Annotated[int, Slider(1, 100, 1, expert=False)] = 20,
        lr: Annotated[float, Slider(1e-4, 1, log=True, expert=False)] = 0.025,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
        reduction: Annotated[int, Slider(1, 64, 1)] = 16,
        scale: Annotated[float, Slider(0.1, 100, log=True)] = 10.0,
        init: Literal["linear", "xavier", "published"] = "linear",
        schedule: Literal["cosine per step", "cosine per epoch", "constant"] = "cosine per step",
        l1: Literal["proximal", "subgradient"] = "proximal",
        loss: Literal["full", "masked"] = "full",
        rows: Literal["means", "drawn", "zeros"] = "means",
        placement: Literal["code", "readme", "paper"] = "code",
        parts: Literal["both", "adapter", "calibrator", "parallel"] = "both",
        router: Literal["entropy", "energy", "logit"] = "entropy",
    ):
        self.reads = Reads()
        self.width, self.device, self.rank = vit.width, vit.device, max(1, vit.width // reduction)
        self.sparsity, self.l1, self.router = sparsity, l1, router
        self.apply, self.names = partial(LUCA_PARTS[parts], placement=placement), PART_NAMES[parts]
        self.new_rows, self.init = NEW_ROWS[rows], init
        self.loss, self.all_classes = CROSS_ENTROPY[loss], loss == "full"
        self.descent = {"epochs": epochs, "batch": batch, "lr": lr, "schedule": schedule}
        self.modules: tuple[Params, ...] = ()
        self.head, self.scale = Head(), torch.tensor(scale, device=self.device)
        self._making: tuple[Params, Head, Tensor] | None = None

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        z, y = task.train.cls().to(self.device), task.train.labels.to(self.device)
        init = (LATER_INIT if self.modules else FIRST_INIT)[self.init]
        fresh = new_luca(self.width, self.rank, rng, init)
        module = {k: fresh[k].to(self.device) for k in self.names}
        head = self.head.grown(self.new_rows(z, y, task.classes, rng), task.classes)
        # One tensor for all rows that learn, or each step would cost more for each task behind it. A copy: the optimiser
        # writes in place.
        parts = self._learning(head, task.classes)
        whole = Head((torch.cat([head.rows[t] for t in parts]),), (torch.cat([head.classes[t] for t in parts]),))
        views = dict(zip(parts, whole.rows[0].split([len(head.rows[t]) for t in parts]), strict=True))
        head = head.with_rows([views.get(t, rows) for t, rows in enumerate(head.rows)])
        scale = self.scale.clone()

        def loss(b: Batch) -> Tensor:
            logits = whole.logits(self.apply(b.cls, module), scale)
            return self.loss(logits, b.y, task.classes) + self.sparsity * L1_LOSS[self.l1](module)

        self._making = module, head, scale
        yield from descend(task.train, [*module.values(), *whole.rows, scale], loss, rng=rng, **self.descent,
                           after_step=lambda lr: L1_STEP[self.l1](module, lr * self.sparsity))  # fmt: skip

        u = self.apply(z, module)
        head = head.with_rows([*(rows.clone() for rows in head.rows[:-1]), class_means(u, y, task.classes)])
        self.modules, self.head, self.scale = (*self.modules, module), head.settled(self.head), scale
        self._making = None
        yield Log(measures={"zeros": zeros(module), "displacement": displacement(u, z)})

    def _learning(self, head: Head, classes: Sequence[int]) -> list[int]:
        """Tasks whose head rows can have a gradient: with the masked loss only those that share a class with this one."""
        own = torch.tensor(classes, device=self.device)
        return [t for t, ids in enumerate(head.classes) if self.all_classes or bool(torch.isin(ids, own).any())]

    def predict(self, batch: Batch) -> Prediction:
        u = self.apply(batch.cls, stack(self.modules))  # (T, B, D)
        answers = self.head.logits(u, self.scale).transpose(0, 1)  # (B, T, C)
        module = ROUTERS[self.router](answers)
        routes = {name: route(answers) for name, route in ROUTERS.items() if name != self.router}
        return Prediction(pick(answers, module), module, answers, routes, pick(u.transpose(0, 1), module))

    def state_dict(self) -> dict[str, Tensor]:
        return _state(self.modules, self.head, self.scale)

    def so_far(self) -> dict[str, Tensor]:
        """`state_dict` with the module being trained as it stands at this step; {} between tasks.

        Its tensors are those the optimiser writes to: read them before the next step. Its head rows are not yet class means.
        """
        if self._making is None:
            return {}
        module, head, scale = self._making
        return _state((*self.modules, module), head.settled(self.head), scale)

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        tasks = sorted({k.split(".")[1] for k in state if k.startswith("module.")})
        self.modules = tuple({k: state[f"module.{t}.{k}"].to(self.device) for k in self.names} for t in tasks)
        self.head, self.scale = Head.from_state(state, self.device), state["scale"].to(self.device)
        self._making = None


def _state(modules: Sequence[Params], head: Head, scale: Tensor) -> dict[str, Tensor]:
    parts = {f"module.{t:03d}.{k}": v for t, m in enumerate(modules) for k, v in m.items()}
    return {**parts, **head.state(), "scale": scale}


def zeros(module: Params) -> float:
    """Share of exact zeros in the weight matrices."""
    return float(torch.cat([w.flatten() for w in weights(module)]).eq(0).float().mean())


def displacement(u: Tensor, z: Tensor) -> float:
    """How far a module moves features (N, D): mean norm of L(z)/|L(z)| - LN z/|LN z|; 0 = it does nothing."""
    still = F.normalize(F.layer_norm(z, z.shape[-1:]), dim=-1)
    return float((F.normalize(u, dim=-1) - still).norm(dim=-1).mean())
