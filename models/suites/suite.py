"""Which runs a suite is made of: entries, protocols and seeds, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from forget_me_not.models.registry import cards
from forget_me_not.models.suites.cut import Protocol
from forget_me_not.models.suites.job import Job

FROZEN, DEEP, SHORT = tuple(range(1, 21)), tuple(range(1, 6)), tuple(range(1, 4))
"""Seeds of methods that read the frozen feature, of methods that move it, and of the papers' long schedules."""
MORE = dict.fromkeys(("softtf", "softtf_product", "router_ridge_masks"), tuple(range(1, 11)))
"""Methods a claim of the README rests on."""
HEADS = ("simplecil", "linear_probe", "finetune", "tosca", "router_ridge_product", "ranpac", "joint")
"""Methods on the frozen feature: seconds a run once that is known."""


@dataclass(frozen=True)
class Entry:
    """A method with settings under one title, and the seeds it is run with."""

    title: str
    method: str
    seeds: tuple[int, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """Every entry under every protocol."""

    name: str
    protocols: tuple[Protocol, ...]
    entries: tuple[Entry, ...]

    def jobs(self, seeds: Sequence[int] | None = None, only: Sequence[str] = (), protocols: Sequence[str] = ()) -> Iterator[Job]:
        """All runs, seed by seed, so that a suite that was interrupted has something to say of every entry.

        seeds, only (titles), protocols: less of it.
        """
        wanted = [e for e in self.entries if not only or e.title in only]
        for seed in sorted({s for e in wanted for s in e.seeds}):
            for protocol, entry in product(self.protocols, wanted):
                if seed in entry.seeds and (seeds is None or seed in seeds) and (not protocols or protocol.name in protocols):
                    yield Job(entry.title, entry.method, seed, protocol, entry.settings)


def offline(images: Path) -> Suite:
    """Every method on real photos. A folder that holds caltech24 and pacs gives the protocols of the README.

    Methods that take a preset called paper or published are run with it too, under the title "method · paper".
    """
    known = [p for p in (CALTECH, PACS_PHOTO, PACS_DOMAINS) if (images / p.folder / p.only).is_dir()]
    return Suite("offline", tuple(known) or (Protocol(images.name or "images"),), tuple(_entries()))


CALTECH = Protocol("caltech24", "caltech24")
PACS_PHOTO = Protocol("pacs_photo", "pacs", "photo", per_task=(3, 2, 2))
PACS_DOMAINS = Protocol("pacs_domains", "pacs", domains=True, per_task=None)


def _entries() -> Iterator[Entry]:
    order = {name: i for i, name in enumerate(HEADS)}
    for name, card in sorted(cards().items(), key=lambda item: (order.get(item[0], len(order)), item[0])):
        seeds = FROZEN if name in HEADS else MORE.get(name, DEEP)
        yield Entry(name, name, seeds)
        for preset in ("paper", "published"):
            if preset in card.presets:
                yield Entry(f"{name} · {preset}", name, FROZEN if preset == "published" else SHORT, {"preset": preset})
