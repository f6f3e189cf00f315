"""The words every part of the lab shares: photos as samples, tasks, predictions, and what a method is.

Shape letters, the same everywhere: N images, B batch, L tokens, D features, C classes seen, T modules (tasks learnt),
H heads, P prompt tokens, M width of a random projection, r rank or bottleneck width.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import torch
from torch import Tensor

from forget_me_not.models.problem import Problem as Problem

if TYPE_CHECKING:
    from forget_me_not.models.backbone import FrozenViT
    from forget_me_not.models.edit import Edit

FEATURE = -1
"""The cut that needs no tokens at all: only the final [CLS] feature z = neck(norm(h))."""

PIXELS = -2
"""The cut before any backbone: Batch.h is then the pixels (B, channels, S, S), for networks that are trained throughout."""


@dataclass(frozen=True)
class Reads:
    """What an instance of a method needs of the frozen ViT; its settings may change it.

    cut: first block the method changes; -1 = only the final [CLS] feature, 0 = everything.
    query: also the frozen [CLS] feature (keys, routing).
    """

    cut: int = FEATURE
    query: bool = False


class Source(Protocol):
    """Where activations come from: the cache over a FrozenViT and its photos, or a table of features."""

    vit: FrozenViT

    def encode(self, index: Tensor, cut: int, edit: Edit | None = None) -> Iterator[int]:
        """Makes activations ready; yields, after at most 4 photos of work, how many of `index` are ready."""

    def get(self, index: Tensor, cut: int, edit: Edit | None = None) -> Tensor:
        """Activations of photos `index` (N,): (N, D) for cut -1, else tokens (N, L, D); encodes what is missing."""


class Samples:
    """N labelled photos of a source; nothing is computed until asked, everything goes through the source's cache.

    Args: source, index (N,) photos of the source, labels (N,) global class ids, reads: what batches will carry.
    """

    def __init__(self, source: Source, index: Tensor, labels: Tensor, reads: Reads = Reads()):
        if len(index) != len(labels):
            raise ValueError(f"{len(index)} photos but {len(labels)} labels")
        self.source, self.index, self.labels, self.reads = source, index, labels, reads

    def __len__(self) -> int:
        return len(self.index)

    def reading(self, reads: Reads) -> Samples:
        """The same photos, batches carrying what `reads` names."""
        return Samples(self.source, self.index, self.labels, reads)

    def pick(self, positions: Tensor) -> Samples:
        """The photos at `positions` (indices or a mask over these N)."""
        return Samples(self.source, self.index[positions], self.labels[positions], self.reads)

    @staticmethod
    def union(parts: Sequence[Samples]) -> Samples:
        """All photos of `parts` (same source), in order."""
        first = parts[0]
        return Samples(first.source, torch.cat([p.index for p in parts]), torch.cat([p.labels for p in parts]), first.reads)

    def encode(self, edit: Edit | None = None) -> Iterator[int]:
        """Computes what `reads` (or, with an edit, `cls(edit)`) will need, yielding photos ready after each chunk."""
        if edit is not None:
            yield from self.source.encode(self.index, FEATURE, edit)
            return
        if self.reads.cut != FEATURE:
            yield from self.source.encode(self.index, self.reads.cut)
        if self.reads.cut == FEATURE or self.reads.query:
            yield from self.source.encode(self.index, FEATURE)

    def cls(self, edit: Edit | None = None) -> Tensor:
        """z = neck(norm([CLS])) (N, D), frozen, or through an edit that no longer changes (cached by `edit.key`)."""
        return self.source.get(self.index, FEATURE, edit)

    def batches(self, size: int, rng: torch.Generator | None = None) -> Iterator[Batch]:
        """One pass in batches of `size` (the last may be smaller), shuffled by `rng` where one is given."""
        order = torch.arange(len(self)) if rng is None else torch.randperm(len(self), generator=rng)
        for part in order.split(size):
            yield Batch(self.source, self.index[part], self.reads, self.labels[part])


class Batch:
    """B photos as a method sees them: .h (B, L, D) tokens at reads.cut, .cls (B, D), .cls_through(edit), .y (B,) or None.

    `.y` is None whenever the engine asks for a prediction.
    """

    def __init__(self, source: Source, index: Tensor, reads: Reads, y: Tensor | None = None):
        self.source, self.index, self.reads = source, index, reads
        self.y = None if y is None else y.to(source.vit.device)

    def __len__(self) -> int:
        return len(self.index)

    def split(self, size: int | None) -> list[Batch]:
        """The same photos in parts of at most `size`; None leaves them whole."""
        if size is None or len(self) <= size:
            return [self]
        labels = [None] * len(self) if self.y is None else self.y.split(size)
        return [Batch(self.source, i, self.reads, y) for i, y in zip(self.index.split(size), labels, strict=False)]

    def unlabelled(self) -> Batch:
        """The same photos without their labels."""
        return Batch(self.source, self.index, self.reads)

    @cached_property
    def h(self) -> Tensor:
        """(B, L, D) tokens entering block reads.cut."""
        return self.source.get(self.index, self.reads.cut).to(self.source.vit.device).float()

    @cached_property
    def cls(self) -> Tensor:
        """(B, D) the frozen [CLS] feature z."""
        return self.source.get(self.index, FEATURE).to(self.source.vit.device)

    def cls_through(self, edit: Edit) -> Tensor:
        """(B, D) z with `edit` applied in blocks >= reads.cut; differentiable in what the edit holds.

        An edit that no longer changes (it has a key) is computed once a photo and kept.
        """
        if edit.key is not None:
            return self.source.get(self.index, FEATURE, edit).to(self.source.vit.device)
        return self.source.vit.features(self.h, self.reads.cut, edit)


@dataclass(frozen=True)
class Task:
    """One step of the stream. Class ids are global, in order of first appearance, and may recur (domains)."""

    index: int
    name: str
    classes: tuple[int, ...]
    train: Samples


@dataclass(frozen=True)
class TestedTask:
    """A task beside the photos it will be tested on; only the engine sees the latter."""

    task: Task
    test: Samples


@dataclass(frozen=True)
class Stream:
    """A sequence of tasks over named classes. kind: "class", "domain" or "task" (told the task at test)."""

    tasks: tuple[TestedTask, ...]
    classes: tuple[str, ...]
    kind: str = "class"


@dataclass(frozen=True)
class Prediction:
    """Answers to B photos over the C classes seen so far; column c is class id c.

    logits (B, C): the method's answer. module (B,): which module answered. answers (B, T, C): every module's logits;
    the engine reduces them at once. routes: further routers, name -> (B,) module. feature (B, D): what the answering
    head saw, for the pictures.
    """

    logits: Tensor
    module: Tensor | None = None
    answers: Tensor | None = None
    routes: Mapping[str, Tensor] = field(default_factory=dict)
    feature: Tensor | None = None


@dataclass(frozen=True)
class Log:
    """What `fit_task` yields as it learns: step `step` of `steps` in this task, the loss, and named numbers.

    `measures` describe the finished task (zeros, displacement, …): yield them once, last.
    """

    step: int = 0
    steps: int = 0
    loss: float | None = None
    measures: Mapping[str, float] = field(default_factory=dict)


@runtime_checkable
class Method(Protocol):
    """A continual learner. `__init__(self, vit, *, setting: Annotated[…] = default, …)` declares its settings.

    Methods replace tensors, never write into one they have handed out: a snapshot is a dict of references. Three class
    attributes are optional: sees = "all so far" (a bound gets the union of all tasks), chooses_by_key = True (published
    code takes the module most photos of a batch chose, rather than the one of least mean entropy), and portion, how many
    photos `predict` is asked about at once when testing (many deep modules: few, so that others get their turn).
    """

    reads: Reads

    def fit_task(self, task: Task, rng: torch.Generator) -> Iterator[Log | None]:
        """Learns one task from its training photos only; yields a Log a step, or None to let others breathe."""

    def predict(self, batch: Batch) -> Prediction:
        """Answers per photo; pure: asking twice gives the same, and a photo's answer ignores its neighbours."""

    def state_dict(self) -> dict[str, Tensor]:
        """All that outlives a task; names carry the task ("module.003.down")."""

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Takes back what `state_dict` gave."""


def rng_for(seed: int, task: int) -> torch.Generator:
    """The CPU generator of one task: a run resumed at a task boundary draws what the whole run would have drawn."""
    return torch.Generator().manual_seed((seed * 1_000_003 + task * 7_919 + 17) % (2**63))


def parameter_count(state: Mapping[str, Tensor]) -> int:
    """Trained numbers in `state`, head included.

    Integer tensors (class ids) and names that begin with "statistic." or "fixed." are kept, not trained.
    """
    return sum(t.numel() for k, t in state.items() if t.is_floating_point() and not k.startswith(("statistic.", "fixed.")))
