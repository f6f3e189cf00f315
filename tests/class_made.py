"""A class with a clock of its own: phones that entered, a training that has finished, photos."""

import io
import json

from PIL import Image
from starlette.testclient import TestClient

from forget_me_not.demo import packs
from forget_me_not.demo.disk import write_json

TRAINING, RUNS = "ab" * 8, {method: f"{n}" * 32 for n, method in enumerate(packs.METHODS, 1)}
PHONE, TEACHER = ("192.168.1.23", 50123), ("127.0.0.1", 50124)


class Clock:
    """Seconds that pass when a test says so."""

    now = 1000.0

    def __call__(self):
        return self.now


def entered(app, room, address=PHONE[0]):
    one = TestClient(app, client=(address, 1), follow_redirects=False)
    assert one.post(f"/class/{room.code}/enter").status_code == 200
    return one


def show(teacher, **values):
    said = {"do": "show", "page": "a", "pack": "toybox", "seed": 3, "training": None, "position": 0, "playing": False, **values}
    return teacher.post("/class", json=said)


def trained(session, home):
    """A training of the toy box that has finished: both lanes knew all four photos once, one lost two of them."""
    chosen = packs.pack("toybox")
    one = {"training": TRAINING, "pack": "toybox", "seed": 3, "created": 1.0, "runs": RUNS}
    write_json(home / "packs.json", [one])
    truth = [chosen.labels[p] for p in chosen.memory(chosen.plan(3))]
    for method, rid in RUNS.items():
        write_json(home / "runs" / rid / "request.json", packs.request(chosen, method, one))
        write_json(home / "runs" / rid / "status.json", {"status": "finished"})
        last = truth if method != "finetune" else [*truth[:2], "car", "cat"]
        marks = [{"task": t, "step": 1, "steps": 1, "right": 40 - 10 * t, "total": 40, "says": says, "truth": truth}
                 for t, says in enumerate((truth, truth, truth, last))]  # fmt: skip
        (home / "runs" / rid / "watch.jsonl").write_text("".join(json.dumps(mark) + "\n" for mark in marks))


def jpeg(seed=0, size=(640, 480), **kept):
    out = io.BytesIO()
    Image.effect_noise(size, 40 + seed).convert("RGB").save(out, "JPEG", **kept)
    return out.getvalue()
