"""`bench routers`: every router tried on identical TOSCA modules, best first; the choice and its figures on test photos last."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from forget_me_not.demo.cli import suites
from forget_me_not.demo.cli.data import photos, seeds_of
from forget_me_not.demo.cli.tables import aligned
from forget_me_not.demo.cli.words import tell

if TYPE_CHECKING:
    from forget_me_not.models.encoder import Encoder
    from forget_me_not.models.images import ImageSet
    from forget_me_not.models.suites.routers import Heard, Tried


def main(options: argparse.Namespace) -> int:
    """Prints the table; 0 where router_ridge_product's settings are the choice, else 1. Problems: see suites."""
    import torch

    from forget_me_not.models import registry
    from forget_me_not.models.suites import routers

    torch.set_num_threads(1)
    data, source = _photos(options)
    chosen = list(_heard(data, source, seeds_of(options.choose), True))
    reported = list(_heard(data, source, seeds_of(options.seeds), False))
    found = sorted((routers.tried(one, chosen) for one in routers.candidates()), key=lambda one: -one.accuracy.mean)
    tests = {id(one.router): routers.tried(one.router, reported) for one in found}
    print(f"Chosen on seeds {options.choose}, training photos held out; judged on seeds {options.seeds}, test photos.")
    _print([*found, routers.tried(routers.ORACLE, chosen)], tests | {id(routers.ORACLE): routers.tried(routers.ORACLE, reported)})
    firsts = {one.router.family: one for one in reversed(found)}
    print("\nThe best of each family, as chosen:")
    _print(sorted(firsts.values(), key=lambda one: -one.accuracy.mean), tests)
    best = routers.best(found)
    defaults = registry.card("router_ridge_product").read({})
    same = bool(best.router.settings) and all(defaults[name] == value for name, value in best.router.settings.items())
    said = "is router_ridge_product as registered" if same else "is NOT router_ridge_product as registered"
    print(f"\nThe choice, {best.router.name}, {said}; {len(found)} routers were tried.")
    return int(not same)


def _photos(options: argparse.Namespace) -> tuple[ImageSet, Encoder]:
    from forget_me_not.models.backbone import create
    from forget_me_not.models.cache import Cache
    from forget_me_not.models.encoder import Encoder

    folder = suites.images_of(options)
    data = photos([str(folder / "caltech24" if (folder / "caltech24").is_dir() else folder)])
    return data, Encoder(create("starter", device="cpu"), data, Cache(suites.cache()))


def _heard(data: ImageSet, source: Encoder, seeds: Sequence[int], held: bool) -> Iterator[Heard]:
    from forget_me_not.models import stream
    from forget_me_not.models.suites import routers
    from forget_me_not.models.suites.cut import Protocol, cut

    for seed in seeds:
        tasks = stream.build(cut(Protocol("routers"), data, seed), source)
        yield routers.listen(routers.held_out(tasks, seed) if held else tasks, seed)
        tell(f"seed {seed}: modules learnt")


def _print(lines: Sequence[Tried], tests: dict[int, Tried]) -> None:
    from forget_me_not.models.suites.tables import share, signed

    def cells(one: Tried) -> list[str]:
        test = tests[id(one.router)]
        return [one.router.family, one.router.name, share(one.accuracy.mean), less(one), share(test.accuracy.mean), less(test),
                share(test.routing), f"{test.bytes / 1e3:,.0f} kB"]  # fmt: skip

    def less(one: Tried) -> str:
        half = one.than_joint.half
        return signed(one.than_joint.mean) + ("" if math.isnan(half) else f" ± {share(half)}")  # one seed has no interval

    head = ["family", "router", "chosen by", "minus joint", "test", "minus joint", "right module", "statistics"]
    print(*aligned([head, *map(cells, lines)], left=2), sep="\n", flush=True)
