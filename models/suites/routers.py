"""Every router tried on identical TOSCA modules: chosen on training photos alone, then frozen and judged on test photos.

A seed's modules are learnt once and all candidates answer the same photos through them. To choose, seeds 101 to 110 split
each class's 20 training photos into 14 to learn from and 6 to judge by; to report, seeds 1 to 20 learn all 20 and answer the
test photos. Nothing keeps a photo: candidates keep statistics, whose bytes are told. A row is a (class, task).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor

from forget_me_not.models import registry, ridge, routers, routing
from forget_me_not.models.core import Batch, Samples, Stream, Task, TestedTask, rng_for
from forget_me_not.models.layers import class_means
from forget_me_not.models.ridge_head import level
from forget_me_not.models.suites.tables import Spread, spread

CHOOSING, REPORTING = range(101, 111), range(1, 21)
FIT = 0.7
"""Share of a class's training photos that learns while a router is chosen: 14 of 20."""
PROJECTION, PROJECTION_PENALTY = 4000, 1e5
"""Width and ridge penalty of the random projection (RanPAC's, arXiv:2307.02251)."""
FLOAT = 4


@dataclass(frozen=True)
class Heard:
    """One seed: what the modules and the bound say of N photos, and what was kept of n features learnt from.

    answers (N, T, C), joint (N, C), z (N, D), y (N,), own (N,) each photo's task; kept (n, D) with labels and tasks (n,); classes
    (K_t,) of each task. known: scores of frozen heads that were asked for before.
    """

    seed: int
    answers: Tensor
    joint: Tensor
    z: Tensor
    y: Tensor
    own: Tensor
    kept: Tensor
    labels: Tensor
    tasks: Tensor
    classes: tuple[Tensor, ...]
    known: dict[str, Tensor] = field(default_factory=dict, compare=False)

    @cached_property
    def rows(self) -> tuple[Tensor, Tensor]:
        """(K,) class and (K,) task of every row."""
        return torch.cat(self.classes), routers.row_tasks(self.classes)

    @cached_property
    def row_of(self) -> Tensor:
        """(n,) the row of every photo learnt from."""
        row_class, row_task = self.rows
        return ((self.labels[:, None] == row_class) & (self.tasks[:, None] == row_task)).float().argmax(1)

    @cached_property
    def means(self) -> Tensor:
        """(K, D) mean of every row."""
        return class_means(self.kept, self.row_of, range(len(self.rows[0])))

    @cached_property
    def covariance(self) -> Tensor:
        """(D, D) float64 within rows."""
        apart = (self.kept - self.means[self.row_of]).double()
        return apart.T @ apart / len(apart)

    @cached_property
    def projected(self) -> tuple[Tensor, Tensor]:
        """(n, M) and (N, M) after a random projection and ReLU, drawn from the seed."""
        matrix = torch.randn(self.z.shape[1], PROJECTION, generator=torch.Generator().manual_seed(self.seed))
        return (self.kept @ matrix).relu(), (self.z @ matrix).relu()

    def solved(self, learnt: Tensor, asked: Tensor, penalty: float, targets: Tensor | None = None) -> Tensor:
        """(N, K) scores of a ridge head over `learnt` (n, M) on `asked` (N, M); targets: (n,) ids instead of rows."""
        rows = self.row_of if targets is None else targets
        steps = ridge.solve(learnt, ridge.one_hot(rows, int(rows.max()) + 1), penalty)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return (asked.double() @ end.value).float()

    def root_bytes(self, width: int) -> int:
        """Bytes of the square roots of a ridge's sums over features of this width, task by task."""
        counts = self.tasks.bincount()
        return FLOAT * sum(min(int(n), width) * (width + len(c)) for n, c in zip(counts, self.classes, strict=True))


@dataclass(frozen=True)
class Router:
    """A candidate. answer: logits (N, C) and module (N,); bytes: of its statistics after the last task."""

    family: str
    name: str
    answer: Callable[[Heard], tuple[Tensor, Tensor]]
    bytes: Callable[[Heard], int] = lambda heard: 0
    settings: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Posterior:
    """A frozen head: makes scores (N, K), is tried at some values of sharpness, and keeps bytes of statistics."""

    name: str
    make: Callable[[Heard], Tensor]
    sharp: tuple[float, ...]
    bytes: Callable[[Heard], int]
    settings: Mapping[str, float] = field(default_factory=dict)

    def scores(self, heard: Heard) -> Tensor:
        """(N, K)."""
        if self.name not in heard.known:
            heard.known[self.name] = self.make(heard)
        return heard.known[self.name]

    def says(self, heard: Heard, sharp: float) -> Tensor:
        """(N, K) log posterior of the rows."""
        return (sharp * self.scores(heard)).log_softmax(-1)


def frozen_heads() -> Iterator[Posterior]:
    """Heads on the frozen feature: prototypes, ridge on the feature and on its direction, Mahalanobis."""
    yield Posterior("prototypes", lambda h: routers.prototype_scores(h.z, h.means), (10, 15, 20, 30),
                    lambda h: FLOAT * h.means.numel())  # fmt: skip
    for penalty in (300, 1000, 3000):
        yield Posterior(f"ridge {penalty}", lambda h, p=penalty: h.solved(h.kept, h.z, p), (5, 10, 15, 20),
                        lambda h: h.root_bytes(h.z.shape[1]))  # fmt: skip
    for penalty in (300, 1000, 3000):
        yield Posterior(f"level ridge {penalty}", lambda h, p=penalty: h.solved(level(h.kept), level(h.z), p), (10, 15, 20),
                        lambda h: h.root_bytes(h.z.shape[1]), {"strength": penalty})  # fmt: skip
    for shrinkage in (0.1, 0.3, 1.0, 3.0):
        yield Posterior(f"mahalanobis {shrinkage:g}",
                        lambda h, s=shrinkage: routers.mahalanobis_scores(h.z, h.means, h.covariance, s), (0.03, 0.1, 0.3, 1),
                        lambda h: FLOAT * (h.means.numel() + h.covariance.numel()))  # fmt: skip


PROJECTED = Posterior("projected ridge", lambda h: h.solved(*h.projected, PROJECTION_PENALTY), (5, 10, 15, 20),
                      lambda h: h.root_bytes(PROJECTION))  # fmt: skip
POWERS = (("own", 1.0, routers.own_view), ("full", 1.0, routers.full_view), ("full^.5", 0.5, routers.full_view))
"""What a module's posterior is taken over, and to which power it enters a product."""


def _module(family: str, name: str, choose: Callable[[Heard], Tensor], bytes_: Callable[[Heard], int] = lambda h: 0) -> Router:
    def answer(heard: Heard) -> tuple[Tensor, Tensor]:
        module = choose(heard)
        return routing.pick(heard.answers, module), module

    return Router(family, name, answer, bytes_)


def _scored(family: str, name: str, score: Callable[[Heard], Tensor], bytes_: Callable[[Heard], int] = lambda h: 0,
            **settings: float) -> Router:  # fmt: skip
    def answer(heard: Heard) -> tuple[Tensor, Tensor]:
        return routers.answer(score(heard), *heard.rows, heard.answers.shape[-1])

    return Router(family, name, answer, bytes_, settings)


def modules_alone() -> Iterator[Router]:
    """Routers that need nothing but what the modules say."""
    for name, route in routing.ROUTERS.items():
        yield _module("modules alone", f"{name}, all classes", lambda h, r=route: r(h.answers))
    for name, route in (("entropy", routers.own_entropy), ("logit", routers.own_logit), ("energy", routers.own_energy)):
        yield _module("modules alone", f"{name}, own classes", lambda h, r=route: r(h.answers, *h.rows))
    yield _scored("modules alone", "each row's own logit", lambda h: h.answers[:, h.rows[1], h.rows[0]])
    yield _scored("modules alone", "each row's own posterior", lambda h: routers.full_view(h.answers, *h.rows))


def heads_alone() -> Iterator[Router]:
    """A frozen head answers itself, or names the task whose module answers."""
    for head in frozen_heads():
        yield _scored("frozen head answers", head.name, head.scores, head.bytes)
        yield _module("frozen head chooses", f"{head.name}, best class",
                      lambda h, q=head: h.rows[1][q.scores(h).argmax(1)], head.bytes)  # fmt: skip
        for sharp in head.sharp:
            yield _module("frozen head chooses", f"{head.name} x{sharp:g}, whole task",
                          lambda h, q=head, s=sharp: routers.task_scores(q.says(h, s), h.rows[1]).argmax(1),
                          head.bytes)  # fmt: skip
    yield _scored("frozen head answers", PROJECTED.name, PROJECTED.scores, PROJECTED.bytes)
    yield _module("frozen head chooses", "ridge 1000 over tasks", lambda h: h.solved(h.kept, h.z, 1000, h.tasks).argmax(1),
                  lambda h: h.root_bytes(h.z.shape[1]))  # fmt: skip


def products() -> Iterator[Router]:
    """A frozen head's posterior times that of each row's own module."""
    for head in (*frozen_heads(), PROJECTED):
        for sharp in head.sharp:
            for view, power, say in POWERS if head is not PROJECTED else POWERS[:2]:
                settings = {**head.settings, "sharpness": sharp, "weight": power} if head.settings and "full" in view else {}
                yield _scored("product with the module", f"{head.name} x{sharp:g} * {view}",
                              lambda h, q=head, s=sharp, p=power, v=say: q.says(h, s) + p * v(h.answers, *h.rows),
                              head.bytes, **settings)  # fmt: skip

    def both(heard: Heard) -> Tensor:
        cosines, sums = routers.prototype_scores(heard.z, heard.means), heard.solved(heard.kept, heard.z, 1000)
        return (20 * cosines).log_softmax(-1) + (10 * sums).log_softmax(-1)

    size = lambda h: h.root_bytes(h.z.shape[1]) + FLOAT * h.means.numel()  # noqa: E731
    yield _scored("two frozen heads", "prototypes x20 * ridge 1000 x10", both, size)
    for view, _, say in POWERS[:2]:
        yield _scored("two frozen heads", f"prototypes x20 * ridge 1000 x10 * {view}",
                      lambda h, v=say: both(h) + v(h.answers, *h.rows), size)  # fmt: skip


def candidates() -> list[Router]:
    """All that were tried."""
    return [*modules_alone(), *heads_alone(), *products()]


ORACLE = _module("views", "told the task", lambda h: h.own)


def held_out(stream: Stream, seed: int) -> Stream:
    """The same tasks with their training photos split: FIT of each class learns, the rest is what is judged."""
    rng, parts = torch.Generator().manual_seed(seed), []
    for tested in stream.tasks:
        train, fit, rest = tested.task.train, [], []
        for c in tested.task.classes:
            mine = (train.labels == c).nonzero()[:, 0]
            mine = mine[torch.randperm(len(mine), generator=rng)]
            cut = min(len(mine) - 1, max(1, round(FIT * len(mine))))
            fit.append(mine[:cut])
            rest.append(mine[cut:])
        parts.append(TestedTask(replace(tested.task, train=train.pick(torch.cat(fit))), train.pick(torch.cat(rest))))
    return Stream(tuple(parts), stream.classes, stream.kind)


def listen(stream: Stream, seed: int) -> Heard:
    """Learns TOSCA's modules and the joint bound on a stream, and keeps what they say of its test photos."""
    source, tasks = stream.tasks[0].test.source, [one.task for one in stream.tasks]
    tosca, joint = (registry.card(name).learner(source.vit) for name in ("tosca", "joint"))
    for task in tasks:
        _learn(tosca, task, seed)
    train, test = Samples.union([t.train for t in tasks]), Samples.union([one.test for one in stream.tasks])
    _learn(joint, Task(len(tasks) - 1, "all", tuple(range(len(stream.classes))), train), seed)
    with torch.no_grad():
        said, bound = (learner.predict(Batch(source, test.index, learner.reads)) for learner in (tosca, joint))
    return Heard(
        seed, said.answers, bound.logits, test.cls(), test.labels, _numbers([len(one.test) for one in stream.tasks]), train.cls(),
        train.labels, _numbers([len(t.train) for t in tasks]), tuple(torch.tensor(t.classes) for t in tasks),
    )  # fmt: skip


def _learn(learner: registry.Any, task: Task, seed: int) -> None:
    for _ in learner.fit_task(task, rng_for(seed, task.index)):
        pass


def _numbers(counts: Sequence[int]) -> Tensor:
    return torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))


@dataclass(frozen=True)
class Tried:
    """A router over seeds: accuracy, its difference to joint seed by seed, share of right modules, bytes of statistics."""

    router: Router
    accuracy: Spread
    than_joint: Spread
    routing: float
    bytes: float


def tried(router: Router, heard: Sequence[Heard]) -> Tried:
    """What a router comes to on the seeds heard."""
    right, less, chosen, size = [], [], [], []
    for one in heard:
        logits, module = router.answer(one)
        right.append(_share(logits.argmax(1) == one.y))
        less.append(right[-1] - _share(one.joint.argmax(1) == one.y))
        chosen.append(_share(module == one.own))
        size.append(router.bytes(one))
    return Tried(router, spread(right), spread(less), sum(chosen) / len(chosen), sum(size) / len(size))


def _share(true: Tensor) -> float:
    return int(true.sum()) / len(true)


def best(found: Sequence[Tried]) -> Tried:
    """The candidate with the highest accuracy, the first of equals."""
    return max(found, key=lambda one: one.accuracy.mean)
