"""A sound method: the faulty ones of the conformance tests are made from it."""

import torch

from forget_me_not.models.core import Log, Prediction, Reads
from forget_me_not.models.head import Head
from forget_me_not.models.layers import class_means


class Plain:
    """Prototypes, with one drawn number a task so that seeds matter: the sound method all faulty ones are made from."""

    reads = Reads()

    def __init__(self, vit):
        self.vit, self.head, self.drawn = vit, Head(), {}

    def fit_task(self, task, rng):
        means = class_means(task.train.cls(), task.train.labels, task.classes)
        drawn = torch.rand(3, generator=rng)
        yield Log(1, 1, float(drawn[0]))
        self.head = self.head.grown(means, task.classes)
        self.drawn = {**self.drawn, f"drawn.{task.index:03d}": drawn}

    def predict(self, batch):
        return Prediction(self.head.logits(batch.cls, 10.0))

    def state_dict(self):
        return {**self.head.state(), **self.drawn}

    def load_state_dict(self, state):
        self.head = Head.from_state(state, "cpu")
        self.drawn = {k: v for k, v in state.items() if k.startswith("drawn.")}
