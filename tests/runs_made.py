"""Facts and events of a run, and a task as the engine tells and saves it."""

import torch

from forget_me_not.models.events import (
    Evaluated,
    RunStarted,
    Step,
    TaskFinished,
    TaskStarted,
)

FACTS = {
    "method": "tosca",
    "settings": {"lr": 0.025, "sizes": (1, 2)},
    "seed": 0,
    "fingerprint": "f1",
    "versions": {"torch": "2"},
}
STARTED = RunStarted("tosca", 0, ("cat", "dog"), ("a", "b"), ((0,), (1,)), (2, 2), (1, 1))


def finished(task):
    return TaskFinished(task, {"train": 1.0}, 10, 40)


def answers(task):
    return {"photo": torch.arange(task + 1), "confidence": torch.full((task + 1,), 0.5)}


def learn(run, task, state):
    """One task as the engine tells and saves it."""
    run.append(TaskStarted(task, f"task {task}", 2))
    run.append(Step(task, 1, 1, 0.5))
    run.save(task, state, answers(task))
    run.append(Evaluated(task, (1,) * (task + 1), (2,) * (task + 1)))
    run.append(finished(task))
