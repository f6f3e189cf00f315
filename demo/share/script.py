'''A runnable Python script that repeats a run from the photos in the project's .fmn file and compares every cell.'''

from __future__ import annotations

import pprint

from forget_me_not.demo.share.fmn import key_of
from forget_me_not.demo.share.results import Result
from forget_me_not.models.problem import Problem

TEMPLATE = '''#!/usr/bin/env python3
"""{title}

    pip install -e .                   (in the folder of Forget-Me-Not)
    python {file} project.fmn

project.fmn holds the photos: save it from the same page. The script learns the same tasks with the same method, settings
and seed, prints the accuracy after every task, and says whether each number is the one the lab found.
"""

import json
import sys
import zipfile

import torch

from forget_me_not.models import engine, registry
from forget_me_not.models.backbone import create, random_vit
from forget_me_not.models.encoder import Encoder
from forget_me_not.models.events import Evaluated, Failed
from forget_me_not.models.images import ImageSet, InMemory, Photo
from forget_me_not.models.stream import build, plan

RUN = {run!r}  # the run's folder in the .fmn file
METHOD = {method!r}
SEED = {seed!r}
BACKBONE, SIZE = {backbone!r}, {size!r}
SETTINGS = {settings}
FOUND = {found}
"""FOUND[t][j]: how many test photos of task j + 1 were right after task t + 1."""


def photos_in(archive, asked):
    """The photos of the run in the order they were read; each is checked against its sha256 when it is opened."""
    for p in asked["photos"]:
        data = archive.read(f"photos/{{p['sha']}}.{{p['ext']}}")
        yield Photo(p["name"], p["class"], p["domain"], p["sha"], int(p["phash"], 16), InMemory(data), burst=p.get("burst", ""))


def stream_of(asked, images, source):
    """The tasks in order; the split into training and test photos is drawn from the seed."""
    labels, groups = [p.label for p in images.photos], [p.group for p in images.photos]
    names = [task["name"] for task in asked["tasks"]]
    if asked["kind"] == "domain":
        tasks = [[task["domain"]] for task in asked["tasks"]]
        more = {{"domains": [p.domain for p in images.photos], "by_domain": True}}
    else:
        tasks, more = [task["classes"] for task in asked["tasks"]], {{"kind": asked["kind"]}}
    return build(plan(labels, groups, tasks=tasks, names=names, seed=SEED, **more), source)


def main(path):
    torch.set_num_threads(1)  # the same sums in the same order, so the same numbers
    with zipfile.ZipFile(path) as archive:
        asked = json.loads(archive.read(f"runs/{{RUN}}/request.json"))
        images = ImageSet.of(photos_in(archive, asked))
    vit = random_vit() if BACKBONE.startswith("random") else create(BACKBONE, size=SIZE)
    stream = stream_of(asked, images, Encoder(vit, images))
    learner = registry.card(METHOD).learner(vit, **SETTINGS)
    print(f"{{METHOD}}, seed {{SEED}}: {{len(stream.tasks)}} tasks, {{len(images)}} photos, {{vit.name}}")
    same = True
    for event in engine.run(stream, learner, seed=SEED, name=METHOD):
        if isinstance(event, Failed):
            sys.exit(f"failed in task {{event.task + 1}}: {{event.code}} {{dict(event.values)}}")
        if isinstance(event, Evaluated):
            equal = list(event.correct) == FOUND[event.task]
            same = same and equal
            cells = "  ".join(f"{{right}}/{{total}}" for right, total in zip(event.correct, event.total))
            print(f"after task {{event.task + 1}}:  {{cells}}  " + ("as found" if equal else f"found: {{FOUND[event.task]}}"))
    print("every number is the same" if same else "some numbers differ: other versions of the libraries, or another machine")
    return 0 if same else 1


if __name__ == "__main__":
    if len(sys.argv) != 2 or not zipfile.is_zipfile(sys.argv[1]):
        sys.exit(__doc__)  # no project file
    sys.exit(main(sys.argv[1]))
'''


def script(result: Result, size: int, here: set[str], needed: set[str]) -> str:
    """The script of one run. size: pixels the backbone saw. here, needed: shas of the project's and of the run's photos.

    Problem("share_photos_gone") where photos of the run have left the project, so that its file lacks them.
    """
    if needed - here:
        raise Problem("share_photos_gone", n=len(needed - here))
    found = [[right for right, _ in row] for row in result.rows]
    title = f"Repeats one run of Forget-Me-Not: {result.method}, seed {result.seed}, {len(result.tasks)} tasks."
    return TEMPLATE.format(title=title, file=file_of(result), run=key_of(result.id), method=result.method, seed=result.seed,
                           backbone=result.backbone or "starter", size=size or 112, settings=_pretty(dict(result.settings)),
                           found=_pretty(found))  # fmt: skip


def file_of(result: Result) -> str:
    """The name the script is saved under."""
    return f"run_{result.method}_seed{result.seed}.py"


def _pretty(value: object) -> str:
    return pprint.pformat(value, width=120, sort_dicts=True)
