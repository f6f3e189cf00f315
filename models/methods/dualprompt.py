"""DualPrompt: prompts shared by all tasks in the first blocks and one set a task above them, chosen per photo by task keys.

Wang et al., ECCV 2022, arXiv:2204.04799. Public code in PyTorch: JH-LEE-KR/dualprompt-pytorch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor

from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Log, Prediction, Reads, Task
from forget_me_not.models.descent import descend, photos_a_pass, photos_a_test
from forget_me_not.models.head import CROSS_ENTROPY, NEW_ROWS, Head
from forget_me_not.models.memory import Memory
from forget_me_not.models.prompts import DUAL_PLACES, Prefix, Prompts, copied, drawn, named, parts
from forget_me_not.models.registry import Slider, register
from forget_me_not.models.routing import least_entropy, pick


@register(
    "dualprompt",
    title="DualPrompt",
    family="Prompts",
    line="Hints for everyone and hints for each task, whispered into the frozen network.",
    paper="arXiv:2204.04799",
    batch_vote=True,
    stores="Shared prompts that go on learning; prompts, one key, prototypes and head rows for every task",
    parameters="2 P d a block of a task's prompts (three blocks), d a key, d a class; shared once: 2 P d a block",
    deviations=(
        "Default: prompts in the last four blocks, so that everything below is encoded once; preset paper: shared prompts in "
        "blocks 0 and 1, task prompts in blocks 2 to 4.",
        "Chosen per photo; public code lets a test batch of one task vote. 'Batch vote' does so with batches of 25 "
        "photos sorted by class, which may hold two tasks.",
        "Every photo gets its own keys and values; public code takes a batch's halves for them (a reshape where a transpose "
        "was meant), kept as layout 'published', whose answers depend on the batch.",
        "A set of prompts a task, as many as come, instead of a pool of fixed size; it starts as the set before it.",
        "The shared prompts go on learning, so later tasks change the answers about earlier ones, as in the paper.",
        "Task keys in closed form (the optimum of the pull loss), and a cosine head of fixed sharpness, its rows at class "
        "means at first (preset paper: drawn), instead of a linear one.",
        "Preset paper has the numbers for CIFAR-100, 20 passes as where Soft-TF compares with it; the paper's own code makes 5. "
        "Batch 16 with the rate scaled to it; public code: 24.",
        "One view of every training photo instead of random crops.",
        "A class that comes back gets a second head row and the better of both counts; public code trains the one row on.",
        "A task of one class has no masked cross-entropy to learn from: its prompts stay as they began and its row at the class "
        "mean (preset paper: as drawn).",
    ),
    presets={"demo": {}, "paper": {"place": "first blocks", "lr": 0.0019, "clip": 1.0, "rows": "drawn"}},
)
class DualPrompt:
    """Args:
    place: Blocks that get prompts.
    shared: Length of the prompts all tasks share (0 = none).
    own: Length of each task's prompts.
    epochs: Passes over the photos of a task.
    lr: Learning rate of Adam.
    batch: Photos in a training step.
    schedule: How the learning rate falls.
    clip: Largest norm of the gradient (0 = as it is).
    scale: Sharpness of the cosine head.
    spread: Prompts start between minus this and this.
    loss: Cross-entropy over the task's own classes or over all classes seen.
    rows: Where the head rows of new classes start.
    layout: Whether keys and values reach their own photo or a batch is halved into them, as in public code.
    """

    chooses_by_key = True

    def __init__(
        self,
        vit: FrozenViT,
        *,
        place: Literal["last four", "first blocks"] = "last four",
        shared: Annotated[int, Slider(0, 40, 1)] = 5,
        own: Annotated[int, Slider(1, 40, 1)] = 5,
        epochs: Annotated[int, Slider(1, 100, 1, expert=False)] = 20,
        lr: Annotated[float, Slider(1e-5, 0.1, log=True, expert=False)] = 0.003,
        batch: Annotated[int, Slider(1, 256, 1)] = 16,
        schedule: Literal["cosine per step", "cosine per epoch", "constant"] = "constant",
        clip: Annotated[float, Slider(0, 10, 0.1)] = 0.0,
        scale: Annotated[float, Slider(0.1, 100, log=True)] = 10.0,
        spread: Annotated[float, Slider(0.001, 2, log=True)] = 1.0,
        loss: Literal["masked", "full"] = "masked",
        rows: Literal["means", "drawn", "zeros"] = "means",
        layout: Literal["per photo", "published"] = "per photo",
    ):
        self.vit, self.device, self.scale, self.spread, self.layout = vit, vit.device, scale, spread, layout
        self.shared_blocks, self.own_blocks = DUAL_PLACES[place](vit.depth)
        self.shared_length, self.own_length = shared, own
        self.new_rows, self.loss = NEW_ROWS[rows], CROSS_ENTROPY[loss]
        self.reads = Reads(cut=min(*self.shared_blocks, *self.own_blocks), query=True)
        self.descent = {"epochs": epochs, "batch": batch, "lr": lr, "optimiser": "adam", "schedule": schedule,
                        "clip": clip or None, "micro": photos_a_pass(vit.depth - self.reads.cut)}  # fmt: skip
        self.shared: Prompts = {}
        self.prompts: tuple[Prompts, ...] = ()
        self.head, self.memory = Head(), Memory()

    @property
    def portion(self) -> int:
        """Photos tested at once: fewer the more blocks all modules together run through.

        In layout published an even number: the middle photo of an odd one would get a pair of halves no training saw.
        """
        photos = photos_a_test(max(1, len(self.prompts)) * (self.vit.depth - self.reads.cut))
        return photos if self.layout == "per photo" else max(2, photos - photos % 2)

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        z, y = task.train.cls().to(self.device), task.train.labels.to(self.device)
        shared, own = self._shared(rng), self._own(rng)
        row = self.new_rows(z, y, task.classes, rng).clone()
        head = self.head.grown(row, task.classes)
        edit = Prefix(shared, own, heads=self.vit.heads, first=self.reads.cut, layout=self.layout, straight=self.shared_blocks)

        def loss(b: Batch) -> Tensor:
            return self.loss(head.logits(b.cls_through(edit), self.scale), b.y, task.classes)

        yield from descend(task.train, [*shared.values(), *own.values(), row], loss, rng=rng, **self.descent)
        self.shared, self.prompts = shared, (*self.prompts, own)
        self.head, self.memory = head, self.memory.grown(z, y, task.classes)

    def _shared(self, rng: torch.Generator) -> dict[str, Tensor]:
        fresh = self.shared or drawn(self.shared_blocks, self.shared_length, self.vit.width, rng, self.spread)
        return copied(fresh, self.device)

    def _own(self, rng: torch.Generator) -> dict[str, Tensor]:
        if self.prompts:
            return copied(self.prompts[-1], self.device)
        return copied(drawn(self.own_blocks, self.own_length, self.vit.width, rng, self.spread), self.device)

    def predict(self, batch: Batch) -> Prediction:
        split = min(self.own_blocks)  # below it all tasks are alike
        h = self.vit.between(batch.h, self.reads.cut, split, Prefix(self.shared, heads=self.vit.heads))
        edits = [Prefix(own, heads=self.vit.heads, layout=self.layout) for own in self.prompts]
        u = torch.stack([self.vit.features(h, split, edit) for edit in edits], 1)  # (B, T, D)
        answers = self.head.logits(u, self.scale)  # (B, T, C)
        module = self.memory.by_key(batch.cls)
        routes = {"prototype": self.memory.by_prototype(batch.cls), "entropy": least_entropy(answers),
                  "product": self.memory.product(batch.cls, answers)[1]}  # fmt: skip
        return Prediction(pick(answers, module), module, answers, routes, pick(u, module))

    def state_dict(self) -> dict[str, Tensor]:
        return {**parts("shared", self.shared), **parts("prompt", *self.prompts), **self.head.state(), **self.memory.state()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.memory = Memory.from_state(state, self.device)
        self.shared = named(state, "shared.000.", self.device)
        self.prompts = tuple(named(state, f"prompt.{t:03d}.", self.device) for t in range(len(self.memory.keys)))
        self.head = Head.from_state(state, self.device)
