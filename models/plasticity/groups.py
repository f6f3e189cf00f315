"""Class groups as plain data: which classes meet in which task, and which photos of them teach and test. Needs no torch.

A few classes in each task. Once all have had their turn they come again in new company; a class has one test side for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from forget_me_not.models.images import ImageSet
from forget_me_not.models.problem import Problem
from forget_me_not.models.stream import plan

TRAIN_PER_CLASS, TEST_PER_CLASS = 40, 20
"""Photos of a class that teach and test at most: a task of two classes is then learnt in about a second."""
SHORTEST, LONGEST = 4, 40
"""Steps a pass over a task has at least, as far as there are photos, and images a step has at most."""
NAMED = 4
"""Classes a task's title names."""


@dataclass(frozen=True)
class Groups:
    """classes: names by id. tasks: class ids of each task, ascending. sides: photos (train, test) of each class, by position."""

    classes: tuple[str, ...]
    tasks: tuple[tuple[int, ...], ...]
    sides: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]

    @property
    def batch(self) -> int:
        """Images a step."""
        return batch_of([sum(len(self.sides[c][0]) for c in task) for task in self.tasks])


def groups(images: ImageSet, tasks: int, per_task: int, seed: int = 0, train_per_class: int | None = TRAIN_PER_CLASS,
           test_per_class: int | None = TEST_PER_CLASS) -> Groups:  # fmt: skip
    """Tasks of `per_task` classes of a folder, split by groups as every other stream.

    Problems: group_too_large, count_bad, and those of stream.plan.
    """
    single = plan([p.label for p in images.photos], [p.group for p in images.photos], per_task=1, kind="task", seed=seed,
                  train_per_class=train_per_class, test_per_class=test_per_class)  # fmt: skip
    return Groups(single.classes, company(len(single.classes), tasks, per_task, seed),
                  tuple((task.train, task.test) for task in single.tasks))  # fmt: skip


def company(classes: int, tasks: int, per_task: int, seed: int = 0) -> tuple[tuple[int, ...], ...]:
    """Class ids of each task: all classes in a drawn order, then in another, …; Problems group_too_large, count_bad."""
    if tasks < 1:
        raise Problem("count_bad", name="tasks", value=tasks)
    if not 1 <= per_task <= classes:
        raise Problem("group_too_large", classes=classes, per_task=per_task)
    found, turns = [], classes // per_task
    for t in range(tasks):
        order = list(range(classes))
        Random(f"{seed} company {t // turns}").shuffle(order)
        found.append(tuple(sorted(order[t % turns * per_task :][:per_task])))
    return tuple(found)


def batch_of(sizes: Sequence[int]) -> int:
    """Images a step for tasks of these many training images: SHORTEST steps a pass over the smallest, LONGEST images at most."""
    return min(LONGEST, max(1, min(sizes) // SHORTEST))


def title(names: Sequence[str]) -> str:
    """What a task of these classes is called."""
    return ", ".join(names[:NAMED]) + (" …" if len(names) > NAMED else "")
