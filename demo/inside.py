"""A run's pictures in the making: features of its test photos, laid out by t-SNE and PCA, in the run's folder as inside.json.

t-SNE is van der Maaten & Hinton 2008 by scikit-learn on 50 principal components, seed 0, one thread (more of them wait for
each other while something trains). PCA stands beside it as the check. A first file comes with one perplexity; the others, and
the features as they were after each task, follow into the same file, which says "pending" until then.
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
from forget_me_not.demo.inside_kept import FORMAT
from forget_me_not.demo.inside_points import inner, points, spread
from forget_me_not.demo.request import Request
from forget_me_not.models import probe, registry
from forget_me_not.models.core import FEATURE, Batch, Method, Source
from forget_me_not.models.problem import Problem
from forget_me_not.models.store import RunFolder

PERPLEXITY, PERPLEXITIES = 30, (5, 15, 30, 50)
SEED, COMPONENTS = 0, 50
MOST_FRAMES = 12
"""Tasks up to which the learnt features are laid out after every task; a longer run shows the last layout."""
_POOL = ThreadPoolExecutor(1, "pictures")


class Study:
    """The pictures of one run in the making: turns on the worker's own thread while features are computed, then a thread.

    The result lies in the run's folder as inside.json; so does a problem.
    """

    def __init__(self, request: Request, vit: Any, encoder: Source, used: float):
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
        """Whether the pictures are not all there yet."""
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
        chosen = spread(len(answers[-1]["photo"]))
        learner = self._learner(folder, done - 1)
        votes = registry.card(self.request.method).batch_vote
        made = points(self.request, answers, chosen, getattr(learner, "chooses_by_key", False), votes)
        photos = answers[-1]["photo"][chosen]
        yield
        before = []
        for part in photos.split(8):
            before.append(self.encoder.get(part, FEATURE).cpu().float())
            yield
        z = torch.cat(before)
        made |= {"format": FORMAT, "seed": SEED, **inner(learner, z, getattr(self.vit, "heads", 1))}
        self._made, self._before, self._keys = made, z.numpy(), probe.prompt_keys(learner)
        if self._keys is None and (pool := probe.pool_keys(learner)) is not None:
            self._keys, made["pool"] = pool, True
        cheap = learner.reads.cut == FEATURE and done <= MOST_FRAMES
        self._after: list[np.ndarray] = []
        for task in range(0 if cheap else done - 1, done):
            seen = yield from self._seen(learner if task == done - 1 else self._learner(folder, task), photos)
            if seen is None:
                return
            self._after.append(seen)

    def _learner(self, folder: RunFolder, task: int) -> Method:
        learner = self.request.learner(self.vit)
        learner.load_state_dict(folder.state(task))
        return learner

    def _seen(self, learner: Method, photos: torch.Tensor) -> Iterator[None]:
        """(n, D) what the answering head saw of the photos; None for a method that shows no features of its own."""
        after = []
        for part in photos.split(getattr(learner, "portion", None) or 8):
            with torch.no_grad():  # not around the yield: other turns need gradients
                answer = learner.predict(Batch(self.encoder, part, learner.reads))
            if answer.feature is None:
                return None
            after.append(answer.feature.cpu().float())
            yield
        return torch.cat(after).numpy()

    def _draw(self) -> None:
        try:
            with threadpool_limits(1):
                self._lay_out()
        except Exception as error:
            self._give_up(error)

    def _lay_out(self) -> None:
        """The default pictures first, written at once; then what takes longer, written as a whole."""
        made = self._made
        before = Cloud(self._before, None if self._keys is None else self._keys.numpy())
        after = Cloud(self._after[-1]) if self._after else None
        made["before"] = before.first()
        made["after"] = after and after.first()
        allowed = [p for p in PERPLEXITIES if p == PERPLEXITY or p < (len(self._before) - 1) / 3]
        made |= {"perplexities": allowed, "perplexity": PERPLEXITY, "pending": True}
        self._write()
        try:
            self._more(before, after)
        except Exception as error:  # what is there already stays
            traceback.print_exception(error)
        made |= {"perplexities": [p for p in allowed if str(p) in (made["after"] or made["before"])["tsne"]], "pending": False}
        self._write()

    def _more(self, before: Cloud, after: Cloud | None) -> None:
        made = self._made
        if len(self._after) > 1:
            made["after"]["frames"] = after.frames(self._after, made["after"])
        for perplexity in made["perplexities"]:
            if perplexity != PERPLEXITY:
                before.more(made["before"], perplexity)
                if after:
                    after.more(made["after"], perplexity)

    def _write(self) -> None:
        write_json(self.request.folder / "inside.json", self._made)

    def _give_up(self, error: Exception) -> None:
        self._steps = None
        known = isinstance(error, Problem)
        if not known:
            traceback.print_exception(error)
        values = {k: str(v) for k, v in error.values.items()} if known else {"reason": f"{type(error).__name__}: {error}"}
        problem = {"code": error.code if known else "inside_failed", "values": values}
        write_json(self.request.folder / "inside.json", {"problem": problem})


class Cloud:
    """Layouts of n features (n, D), and of keys (T, D) among them, which are unit vectors and get the features' length."""

    def __init__(self, features: np.ndarray, keys: np.ndarray | None = None):
        self.count, self.features = len(features), features
        whole = features
        if keys is not None:
            whole = np.concatenate([features, keys * np.linalg.norm(features, axis=1).mean()])
        self.few = self.count < 4
        self.reduced = None if self.few else probe.principal(whole, COMPONENTS)

    def first(self) -> dict[str, Any]:
        """{"pca", "tsne": {"30": …}, "keys": {"pca", "tsne"}}: positions with a spread of 1; keys only where there are some."""
        made: dict[str, Any] = {"tsne": {}}
        self._place(made, "pca", None)
        self.more(made, PERPLEXITY)
        return made

    def more(self, made: dict[str, Any], perplexity: int) -> None:
        """Adds one perplexity to what `first` made."""
        self._place(made, "tsne", perplexity)

    def _place(self, made: dict[str, Any], how: str, perplexity: int | None) -> None:
        if self.few:
            places = np.array([[float(i), 0.0] for i in range(self.count)])
        else:
            places = self.reduced[:, :2] if perplexity is None else probe.tsne(self.reduced, perplexity, SEED)
        middle, size = places[: self.count].mean(0), places[: self.count].std() or 1.0
        rows = np.round((places - middle) / size, 4).tolist()
        keys = made.setdefault("keys", {"tsne": {}}) if len(rows) > self.count else None
        for target, part in ((made, rows[: self.count]), (keys, rows[self.count :])):
            if target is not None and perplexity is None:
                target["pca"] = part
            elif target is not None:
                target["tsne"][str(perplexity)] = part

    def frames(self, features: list[np.ndarray], made: dict[str, Any]) -> list[dict[str, Any]]:
        """[{"pca", "tsne"}] after every task: t-SNE goes backwards from the last layout, each from the next one."""
        if self.few:
            return [{"pca": made["pca"], "tsne": made["tsne"][str(PERPLEXITY)]} for _ in features]
        last = np.array(made["tsne"][str(PERPLEXITY)])
        flat = np.array(made["pca"])
        done = [{"pca": made["pca"], "tsne": last.tolist()}]
        for one in reversed(features[:-1]):
            reduced = probe.principal(one, COMPONENTS)
            last = probe.tsne(reduced, PERPLEXITY, SEED, last)
            flat = probe.aligned(reduced[:, :2], flat)
            done.append({"pca": np.round(flat, 4).tolist(), "tsne": np.round(last, 4).tolist()})
        return done[::-1]
