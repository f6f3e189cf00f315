"""Every method on real photos in four styles, where classes come back, and on tasks of three, two and two classes."""

import pytest
import torch

from forget_me_not.models import engine, images, registry, stream
from forget_me_not.models.backbone import create
from forget_me_not.models.cache import Cache
from forget_me_not.models.encoder import Encoder
from forget_me_not.models.events import Evaluated, Finished

pytestmark = [pytest.mark.photos, pytest.mark.starter, pytest.mark.slow]
TINY = {"epochs": 1, "layers": "last", "blocks": 1, "width": 64}
"""Enough to go through every line; accuracy is for the benchmarks."""
CLASSES = ("dog", "guitar", "house")
PHOTOS = {"train_per_class": 2, "test_per_class": 2}


@pytest.fixture(scope="module")
def parts(real_photos, tmp_path_factory):
    """The backbone, and the two streams by name over activations that all methods share."""
    torch.set_num_threads(1)
    vit, cache = create("starter", device="cpu"), Cache(tmp_path_factory.mktemp("cache"))
    styles = images.read([real_photos / "pacs"], domains=True)
    styles = images.ImageSet.of(p for p in styles.photos if p.label in CLASSES)
    photo = images.read([real_photos / "pacs" / "photo"])
    names = sorted({p.label for p in photo.photos})
    plans = {
        "domains": (styles, {"domains": [p.domain for p in styles.photos], "by_domain": True}),
        "photo": (photo, {"tasks": [names[:3], names[3:5], names[5:]]}),
    }
    made = {}
    for name, (data, how) in plans.items():
        plan = stream.plan([p.label for p in data.photos], [p.group for p in data.photos], seed=1, **PHOTOS, **how)
        made[name] = stream.build(plan, Encoder(vit, data, cache))
    return vit, made


@pytest.mark.parametrize("method", sorted(registry.cards()))
@pytest.mark.parametrize(("name", "seen"), [("domains", 3), ("photo", 7)])
def test_every_method_takes_classes_that_come_back_and_uneven_tasks(parts, method, name, seen):
    vit, streams = parts
    card, told = registry.card(method), streams[name]
    assert told.kind == ("domain" if name == "domains" else "class")
    tiny = {key: value for key, value in TINY.items() if key in {s.name for s in card.settings}}
    learner = card.learner(vit, **card.read(tiny))
    events = [event for event in engine.run(told, learner, seed=1, name=method) if event is not None]
    assert isinstance(events[-1], Finished), events[-1]
    rows = [event for event in events if isinstance(event, Evaluated)]
    assert rows[-1].total == tuple(2 * len(t.task.classes) for t in told.tasks)
    assert len(rows) == len(told.tasks)
    asked = told.tasks[-1].test.reading(learner.reads)
    logits = learner.predict(next(iter(asked.batches(len(asked)))).unlabelled()).logits
    assert logits.shape[1] == seen
    assert logits.isfinite().all()
