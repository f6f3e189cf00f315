"""`record`: trains the starter packs once and keeps everything a read-only lab plays, pictures of Look inside included."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

from forget_me_not.demo.cli.data import seeds_of
from forget_me_not.demo.cli.words import tell
from forget_me_not.models.folders import HOME, data_folder
from forget_me_not.models.problem import Problem

PATIENCE = 600.0


def main(options: argparse.Namespace) -> int:
    """One training a pack and seed below --home; what is recorded already stays. Problems: pack_unknown, record_late."""
    from forget_me_not.demo.client import COMMAND, Client
    from forget_me_not.demo.packs import Packs
    from forget_me_not.demo.session import Session
    from forget_me_not.models.packs.load import names

    if options.home:
        os.environ[HOME] = str(Path(options.home).expanduser().absolute())
    home = data_folder()
    client = Client(home, [*COMMAND, "--home", str(home)])
    session = Session(home, client)
    packs = Packs(session)
    seeds = {one["name"]: one["seed"] for one in packs.list()}
    client.start()
    try:
        for name in options.pack or names():
            for seed in seeds_of(options.seeds) if options.seeds else [seeds.get(name, 0)]:
                made = packs.kept(name, seed) or packs.train(name, seed)
                for method, run in made["runs"].items():
                    _wait(lambda run=run: session.status(run)["status"] == "finished", f"{name}, {method}")
                    _wait(lambda run=run: (found := session.inside(run)) and not found["pending"], f"{name}, {method}")
                    tell(f"{name}, seed {seed}: {method} recorded")
    finally:
        client.stop()
    return 0


def _wait(true: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if true():
                return
        except Problem as problem:
            if problem.code not in ("worker_away", "backbone_away"):
                raise
        if time.monotonic() > end:
            raise Problem("record_late", what=what, seconds=int(PATIENCE))
        time.sleep(0.3)
