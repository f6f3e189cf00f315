"""One photo asked after a run: what every module says of it, which one answers, and what the answer was after each task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from forget_me_not.demo.inside_points import short
from forget_me_not.demo.request import Request
from forget_me_not.models import probe
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import Batch, Method, Prediction
from forget_me_not.models.edit import NO_EDIT
from forget_me_not.models.images import Photo, photo_from_bytes
from forget_me_not.models.problem import Problem
from forget_me_not.models.routing import normalised_entropy
from forget_me_not.models.store import RunFolder


class Desk:
    """Learners of the run asked about last, one for each task, so that the next question costs no reading."""

    def __init__(self):
        self._run: tuple[Path, int] | None = None
        self._learners: list[Method] = []

    def ask(self, vit: FrozenViT, request: Request, command: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a photo of the project ("photo": sha) or a file ("path"); Problem("run_early") before a task is whole."""
        photo = _photo(request, command)
        learners = self.learners(vit, request)
        source, place = request.alone(photo, vit)
        truth = request.shown.get(photo.label) if photo.label else None
        names, own = [request.shown[key] for key in request.plan.classes], None
        if request.kind == "task" and photo.label in request.plan.classes:
            label = request.plan.classes.index(photo.label)
            own = next(i for i, task in enumerate(request.plan.tasks) if label in task.classes)
        said = []
        with torch.no_grad():
            for learner in learners:
                batch = Batch(source, place, learner.reads)
                said.append(_said(learner.predict(batch.unlabelled()), names, _told(request, own)))
        attention = _attention(vit, learners[-1], photo, said[-1]["module"])
        return {**said[-1], "history": said, "truth": truth, "attention": attention}

    def learners(self, vit: FrozenViT, request: Request) -> list[Method]:
        """The learner as it was after each finished task."""
        if not (request.folder / "run.json").is_file():
            raise Problem("run_early")
        folder = RunFolder.open(request.folder)
        done = folder.finished()
        if not done:
            raise Problem("run_early")
        folder.expect(vit.fingerprint)
        if self._run != (request.folder, done):
            self._learners = []
            for task in range(done):
                learner = request.learner(vit)
                learner.load_state_dict(folder.state(task))
                self._learners.append(learner)
            self._run = request.folder, done
        return self._learners


def _attention(vit: FrozenViT, learner: Method, photo: Photo, module: int | None) -> dict[str, Any] | None:
    """{"frozen", "masked"}: where [CLS] looks (G, G), in the frozen network and through the mask that answered, null without.

    Scaled so that the patch looked at most is 1. None where there is no network, only its features.
    """
    if not hasattr(vit, "network"):
        return None
    pixels = vit.preprocess(photo.open())[None].to(vit.device)
    edit = probe.masked_edit(learner, module)
    frozen, masked = probe.cls_attention(vit, pixels), None if edit is NO_EDIT else probe.cls_attention(vit, pixels, edit)
    return {name: None if one is None else short(one[0] / one[0].max()) for name, one in (("frozen", frozen), ("masked", masked))}


def _photo(request: Request, command: Mapping[str, Any]) -> Photo:
    if "path" in command:
        photo = photo_from_bytes(Path(command["path"]).read_bytes(), command.get("name", "photo"), "photo")
        return Photo(photo.name, "", "", photo.sha, photo.phash, photo.source)
    return request.photo(command.get("photo"))


def _told(request: Request, own: int | None) -> tuple[int, tuple[int, ...]] | None:
    """(task, its classes) where the learner is told the task at test."""
    return None if own is None else (own, request.plan.tasks[own].classes)


def _said(answer: Prediction, names: list[str], told: tuple[int, tuple[int, ...]] | None) -> dict[str, Any]:
    """What one learner says of one photo, in words and shares; routes: the module every other router would choose."""
    logits, answers = answer.logits[0].cpu(), None if answer.answers is None else answer.answers[0].cpu()  # (C,), (T, C)
    module = None if answer.module is None else int(answer.module[0])
    if told is not None and any(c < len(logits) for c in told[1]):
        if answers is not None and told[0] < len(answers):
            logits, module = answers[told[0]], told[0]
        allowed = torch.zeros_like(logits, dtype=torch.bool)
        allowed[[c for c in told[1] if c < len(logits)]] = True
        logits = logits.masked_fill(~allowed, float("-inf"))
    share = logits.softmax(-1)
    modules = [] if answers is None else [
        {"task": i, "entropy": float(normalised_entropy(row)), "says": names[int(row.argmax())],
         "confidence": float(row.softmax(-1).amax())}
        for i, row in enumerate(answers)
    ]  # fmt: skip
    top = share.topk(min(3, len(share)))
    return {
        "says": names[int(share.argmax())], "confidence": float(share.amax()), "module": module, "modules": modules,
        "routes": [{"route": name, "module": int(chosen[0])} for name, chosen in answer.routes.items()],
        "top": [{"says": names[int(c)], "confidence": float(p)} for p, c in zip(*top, strict=True)],
    }  # fmt: skip
