"""A run's test photos as points: where the frozen backbone sees them, where the module that answered puts them, who said what.

t-SNE: van der Maaten & Hinton 2008, by scikit-learn, on 50 principal components; perplexity min(30, n / 4), seed 0, one
thread (more of them wait for each other while something trains). PCA stands beside it as the check.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from forget_me_not.demo.disk import write_json
from forget_me_not.demo.request import Request
from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.core import FEATURE, Batch
from forget_me_not.models.encoder import Encoder
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder

POINTS = 600
PERPLEXITY, COMPONENTS = 30, 50
_POOL = ThreadPoolExecutor(1, "pictures")


class Study:
    """The pictures of one run in the making: turns on the worker's own thread while features are computed, then a thread.

    The result lies in the run's folder as inside.json; so does a problem.
    """

    def __init__(self, request: Request, vit: FrozenViT, encoder: Encoder, used: float):
        self.id, self.request, self.vit, self.encoder, self.used = request.folder.name, request, vit, encoder, used
        self._steps: Iterator[None] | None = self._features()
        self._made: dict[str, Any] = {}
        self._future: Future | None = None

    @property
    def working(self) -> bool:
        """Whether it wants a turn."""
        return self._steps is not None

    @property
    def pending(self) -> bool:
        """Whether the pictures are not there yet."""
        return not self.finished

    @property
    def finished(self) -> bool:
        """Whether the result, or what went wrong, is on disk."""
        return self._steps is None and (self._future is None or self._future.done())

    def advance(self) -> None:
        """A few photos more; after the last the pictures are drawn elsewhere."""
        try:
            next(self._steps)
        except StopIteration:
            self._steps = None
            self._future = _POOL.submit(self._draw)
        except Exception as error:
            self._give_up(error)

    def _features(self) -> Iterator[None]:
        folder = RunFolder.open(self.request.folder)
        folder.expect(self.vit.fingerprint)
        done = folder.finished()
        if not done:
            raise Problem("run_early")
        answers = [folder.answers(task) for task in range(done)]
        total = len(answers[-1]["photo"])
        chosen = spread(total)
        self._made = points(self.request, answers, chosen)
        photos = answers[-1]["photo"][chosen]
        learner = self.request.learner(self.vit)
        learner.load_state_dict(folder.state(done - 1))
        yield
        before, after = [], []
        for part in photos.split(8):
            before.append(self.encoder.get(part, FEATURE).cpu())
            with torch.no_grad():  # not around the yield: other turns need gradients
                answer = learner.predict(Batch(self.encoder, part, learner.reads))
            if answer.feature is not None:
                after.append(answer.feature.cpu().float())
            yield
        self._before = torch.cat(before).numpy()
        self._after = torch.cat(after).numpy() if len(after) == len(before) else None

    def _draw(self) -> None:
        try:
            with threadpool_limits(1):
                self._made["before"] = pictures(self._before)
                self._made["after"] = None if self._after is None else pictures(self._after)
            write_json(self.request.folder / "inside.json", self._made)
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self._steps = None
        known = isinstance(error, Problem)
        if not known:
            traceback.print_exception(error)
        values = {k: str(v) for k, v in error.values.items()} if known else {"reason": f"{type(error).__name__}: {error}"}
        problem = {"code": error.code if known else "inside_failed", "values": values}
        write_json(self.request.folder / "inside.json", {"problem": problem})


def spread(total: int, most: int = POINTS) -> torch.Tensor:
    """(n,) positions of at most `most` of `total` photos, evenly spread, in order."""
    return torch.arange(total) if total <= most else torch.linspace(0, total - 1, most).round().long().unique()


def points(request: Request, answers: list[dict[str, torch.Tensor]], chosen: torch.Tensor) -> dict[str, Any]:
    """Everything but the positions: who each point is, and for each task what was said of the points judged by then.

    frames[t]: lists over the first points, those of tasks 0 to t: class, module (null without), entropy and vote of each module.
    """
    last = answers[-1]
    names = [request.shown[key] for key in request.plan.classes]
    photos = request.images.photos
    made = [{"photo": photos[int(p)].sha, "class": names[int(c)], "task": int(t)}
            for p, c, t in zip(last["photo"][chosen], last["label"][chosen], last["task"][chosen], strict=True)]  # fmt: skip
    frames = []
    for answer in answers:
        judged = chosen[chosen < len(answer["photo"])]
        frames.append({
            "class": answer["class"][judged].tolist(), "confidence": _short(answer["confidence"][judged]),
            "module": answer["module"][judged].tolist() if "module" in answer else None,
            "entropy": _short(answer["entropy"][judged]) if "entropy" in answer else None,
            "vote": answer["vote"][judged].tolist() if "vote" in answer else None,
        })  # fmt: skip
    return {"points": made, "frames": frames, "classes": names, "total": len(last["photo"])}


def pictures(features: np.ndarray) -> dict[str, list[list[float]]]:
    """{"tsne", "pca"}: (n, 2) positions of features (n, D), each centred and scaled to a spread of 1."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    count = len(features)
    if count < 4:
        flat = [[float(i), 0.0] for i in range(count)]
        return {"tsne": flat, "pca": flat}
    reduced = PCA(min(COMPONENTS, count - 1, features.shape[1]), random_state=0).fit_transform(features.astype(np.float64))
    tsne = TSNE(perplexity=min(PERPLEXITY, count / 4), init="pca", random_state=0, n_jobs=1).fit_transform(reduced)
    return {"tsne": _scaled(tsne), "pca": _scaled(reduced[:, :2])}


def _scaled(places: np.ndarray) -> list[list[float]]:
    places = places - places.mean(0)
    return np.round(places / (places.std() or 1.0), 4).tolist()


def _short(values: torch.Tensor) -> list:
    return np.round(values.double().numpy(), 4).tolist()
