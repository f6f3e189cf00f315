"""Soft-TransFormers: real-valued masks over the ViT's own attention weights, one set a task, chosen per photo by task keys.

Kang, Hwang and others, "Soft-TransFormers for Continual Learning", arXiv:2411.16073; public code 2026.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor

from forget_me_not.models import gradient_id
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Reads, Task
from forget_me_not.models.descent import descend, photos_a_pass, photos_a_test
from forget_me_not.models.head import CROSS_ENTROPY, NEW_ROWS, Head
from forget_me_not.models.masks import BLOCKS, Masked, Masks, moved, new_masks
from forget_me_not.models.memory import Memory
from forget_me_not.models.prompts import Prefix, Prompts, copied, drawn, named, of_photos, parts
from forget_me_not.models.registry import Slider, register
from forget_me_not.models.routing import least_entropy, pick

G_BLOCKS = 2
"""Blocks 0 and 1 hold the shared prompts (DualPrompt's choice, kept by the paper)."""


@register(
    "softtf",
    title="Soft-TF",
    family="Masks",
    line="Every task turns the network's own weights up and down, each by its own soft mask.",
    paper="arXiv:2411.16073",
    batch_vote=True,
    stores="One mask the shape of the masked weights, one key, one prototype and one head row a class for every task",
    parameters="4 d^2 a masked block (3 d^2 for qkv alone, 12 d^2 with the MLP), 4 bytes each; d a key, d a class; "
    "2 P d a block with prompts of length P",
    deviations=(
        "Default: masks on the last block alone, no prompts, so that everything below is encoded once; the paper masks the "
        "last three blocks beside shared and task prompts.",
        "Chosen per photo; public code lets a batch of 24 photos of one task vote. 'Batch vote' does so with "
        "batches of 25 photos sorted by class, which may hold two tasks.",
        "Task keys in closed form (the optimum of the pull loss), and a cosine head of fixed sharpness, its rows at class "
        "means at first (preset paper: drawn), instead of a linear one.",
        "Masks start at exactly 1 (public code: 0.99 to 1), attention only as in the paper (public code masks the MLP too); "
        "biases are not masked (public code multiplies them by memory it never set).",
        "Default: batch 16 and no clipping; preset paper, with the numbers for CIFAR-100: batch 24, clipped at norm 1.",
        "Every photo gets its own keys and values of the prompts; public code takes a batch's halves for them (see DualPrompt).",
        "One view of every training photo instead of random crops.",
        "A class that comes back gets a second head row and the better of both counts; public code trains the one row on.",
        "A task of one class has no masked cross-entropy to learn from: its masks stay at 1, its prompts as they began and its "
        "row at the class mean (preset paper: as drawn); shared prompts of such a first task stay as drawn.",
        "Shared prompts learnt in every task change the answers about old tasks; learnt in the first task and then frozen "
        "they do not, and what lies below the masks is encoded once again through them.",
        "Gradient id looks at a share of the classes seen so far, two at least, per photo, with no prompts of other tasks mixed "
        "in.",
        "Only classes seen so far can be answered; in public code the drawn rows of later ones compete.",
    ),
    identity=True,
    presets={
        "demo": {},
        "paper": {
            "layers": "last three",
            "e_prompts": 5,
            "g_prompts": "every task",
            "lr": 0.0028,
            "batch": 24,
            "schedule": "constant",
            "clip": 1.0,
            "rows": "drawn",
        },
    },
)
class SoftTF:
    """Args:
    layers: Blocks whose weights get masks.
    matrices: Weight matrices of a block that get masks.
    init: Where masks start; at one the network is the frozen one, the others nearly switch the masked layers off.
    epochs: Passes over the photos of a task.
    lr: Learning rate of Adam.
    batch: Photos in a training step.
    schedule: How the learning rate falls.
    clip: Largest norm of the gradient (0 = as it is).
    scale: Sharpness of the cosine head.
    loss: Cross-entropy over the task's own classes or over all classes seen.
    rows: Where the head rows of new classes start.
    e_prompts: Length of each task's own prompts in the masked blocks (0 = none).
    g_prompts: Whether shared prompts of length 5 learn in the first two blocks.
    router: What chooses the module of a photo.
    gradient: Also ask what gradient id would choose; slower to test.
    """

    chooses_by_key = True

    def __init__(
        self,
        vit: FrozenViT,
        *,
        layers: Literal["last", "last two", "last three", "last four", "first three", "third to fifth", "all"] = "last",
        matrices: Literal["qkv", "qkv+proj", "qkv+proj+mlp"] = "qkv+proj",
        init: Literal["one", "near one", "near zero", "xavier", "kaiming"] = "one",
        epochs: Annotated[int, Slider(1, 100, 1, expert=False)] = 20,
        lr: Annotated[float, Slider(1e-5, 0.1, log=True, expert=False)] = 0.003,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
        schedule: Literal["cosine per step", "cosine per epoch", "constant"] = "constant",
        clip: Annotated[float, Slider(0, 10, 0.1)] = 0.0,
        scale: Annotated[float, Slider(0.1, 100, log=True)] = 10.0,
        loss: Literal["masked", "full"] = "masked",
        rows: Literal["means", "drawn", "zeros"] = "means",
        e_prompts: Annotated[int, Slider(0, 40, 1)] = 0,
        g_prompts: Literal["none", "first task", "every task"] = "none",
        router: Literal["task key", "prototype", "entropy", "product", "gradient"] = "task key",
        gradient: bool = True,
    ):
        self.vit, self.device, self.scale, self.router = vit, vit.device, scale, router
        self.blocks, self.matrices, self.init = BLOCKS[layers](vit.depth), matrices, init
        self.e_prompts, self.g_prompts = e_prompts, g_prompts
        self.new_rows, self.loss, self.gradient = NEW_ROWS[rows], CROSS_ENTROPY[loss], gradient or router == "gradient"
        self.reads = Reads(cut=self.blocks[0] if g_prompts == "none" else 0, query=True)
        self.descent = {"epochs": epochs, "batch": batch, "lr": lr, "optimiser": "adam", "schedule": schedule,
                        "clip": clip or None}  # fmt: skip
        self.masks: tuple[Masks, ...] = ()
        self.prompts: tuple[Prompts, ...] = ()
        self.shared: Prompts = {}
        self.head, self.memory = Head(), Memory()

    @property
    def portion(self) -> int:
        """Photos tested at once: fewer the more blocks all modules together run through; the last one costs a fifth."""
        cost = max(1, len(self.masks)) * (self.vit.depth - self._start - 0.8) * (4 if self.gradient else 1)
        return photos_a_test(cost)

    @property
    def below(self) -> Prefix | None:
        """The frozen shared prompts, where what they do to a photo can be kept: they lie below the masks and no longer learn."""
        if self.g_prompts != "first task" or not self.masks or self.blocks[0] < G_BLOCKS:
            return None
        edit = Prefix(self.shared, heads=self.vit.heads)
        numbers = torch.cat([v.flatten() for _, v in sorted(self.shared.items())]).cpu().numpy()
        edit.key = hashlib.sha256(b"prefix" + numbers.tobytes()).hexdigest()
        return edit

    @property
    def _start(self) -> int:
        return self.reads.cut if self.below is None else self.blocks[0]

    def _tokens(self, batch: Batch, below: Prefix | None) -> Tensor:
        """(B, L, D) tokens entering the first block that may still change."""
        if below is None:
            return batch.h
        return batch.source.get(batch.index, self.blocks[0], below).to(self.device).float()

    def _edit(self, masks: Masks, prompts: Prompts, shared: Prompts, start: int) -> Masked:
        return Masked(masks, start, Prefix(shared, prompts, heads=self.vit.heads))

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        z, y = task.train.cls().to(self.device), task.train.labels.to(self.device)
        below, start = self.below, self._start
        if below is not None:
            for _ in task.train.source.encode(task.train.index, self.blocks[0], below):
                yield None
        masks = new_masks(self.vit, self.blocks, self.matrices, self.init, rng)
        prompts = self._own(rng)
        shared = self._shared(rng)
        learning = [*masks.values(), *prompts.values()]
        if self.g_prompts == "every task" or not self.masks:
            learning += shared.values()
        own = self.new_rows(z, y, task.classes, rng).clone()
        head = self.head.grown(own, task.classes)
        edit = self._edit(masks, prompts, {} if below else shared, start)

        def loss(b: Batch) -> Tensor:
            u = self.vit.features(self._tokens(b, below), start, edit)
            return self.loss(head.logits(u, self.scale), b.y, task.classes)

        micro = photos_a_pass(self.vit.depth - start)
        yield from descend(task.train, [*learning, own], loss, rng=rng, micro=micro, **self.descent)
        self.masks, self.prompts, self.shared = (*self.masks, masks), (*self.prompts, prompts), shared
        self.head, self.memory = head, self.memory.grown(z, y, task.classes)
        yield Log(measures=moved(masks))

    def _own(self, rng: torch.Generator) -> dict[str, Tensor]:
        fresh = self.prompts[-1] if self.prompts else drawn(self.blocks, self.e_prompts, self.vit.width, rng)
        return copied(fresh, self.device)

    def _shared(self, rng: torch.Generator) -> dict[str, Tensor]:
        if self.g_prompts == "none":
            return {}
        return copied(self.shared or drawn(range(min(G_BLOCKS, self.vit.depth)), 5, self.vit.width, rng), self.device)

    def predict(self, batch: Batch) -> Prediction:
        u, answers, routes = self.heard(batch)
        module = routes.pop(self.router)
        return Prediction(pick(answers, module), module, answers, routes, pick(u, module))

    def heard(self, batch: Batch) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Features (B, T, D) and logits (B, T, C) of all modules, and the module (B,) each router would choose."""
        h, below, start = self._tokens(batch, self.below), self.below, self._start
        shared = {} if below else self.shared
        edits = [self._edit(m, p, shared, start) for m, p in zip(self.masks, self.prompts, strict=True)]
        u = torch.stack([self.vit.features(h, start, edit) for edit in edits], 1)  # (B, T, D)
        answers = self.head.logits(u, self.scale)  # (B, T, C)
        keyed = self.memory.by_key(batch.cls)
        routes = {"task key": keyed, "prototype": self.memory.by_prototype(batch.cls), "entropy": least_entropy(answers),
                  "product": self.memory.product(batch.cls, answers)[1]}  # fmt: skip
        if self.gradient:
            routes["gradient"] = self._by_gradient(h, start, shared, keyed)
        return u, answers, routes

    def _by_gradient(self, h: Tensor, start: int, shared: Prompts, keyed: Tensor) -> Tensor:
        """(B,) the task whose mask would make each photo's answer surest, with the prompts of the task its key names."""
        tasks = len(self.masks)
        if tasks == 1:
            return torch.zeros(len(h), dtype=torch.long, device=self.device)
        prompts = of_photos(self.prompts, keyed)

        def entropy(masks: Masks) -> Tensor:
            u = self.vit.features(h, start, self._edit(masks, prompts, shared, start))
            return gradient_id.entropy_of_top(self.head.logits(u, self.scale), tasks)

        return gradient_id.choose(gradient_id.per_photo(entropy, self.masks))

    def state_dict(self) -> dict[str, Tensor]:
        learnt = {**parts("mask", *self.masks), **parts("prompt", *self.prompts), **parts("shared", self.shared)}
        return {**learnt, **self.head.state(), **self.memory.state()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.memory, self.head = Memory.from_state(state, self.device), Head.from_state(state, self.device)
        tasks = range(len(self.memory.keys))
        self.masks = tuple(named(state, f"mask.{t:03d}.", self.device) for t in tasks)
        self.prompts = tuple(named(state, f"prompt.{t:03d}.", self.device) for t in tasks)
        self.shared = named(state, "shared.000.", self.device)
