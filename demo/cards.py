"""The cards of all methods as plain data for the page; run as a process of its own, it prints them (see still.Still)."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from typing import Any

from forget_me_not.models import registry
from forget_me_not.models.problem import Problem


def known(plugins: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Every method's card, those of plug-ins among them; one that cannot be loaded is left out, and the log says so."""
    for path in plugins:
        try:
            registry.load_plugin(path)
        except Problem as problem:
            print(f"plug-in left out: {problem}", file=sys.stderr)  # noqa: T201 - the log
    return [plain(card) for card in registry.cards().values()]


def plain(card: registry.Card) -> dict[str, Any]:
    """A card as plain data."""
    facts = {f.name: getattr(card, f.name) for f in dataclasses.fields(card) if f.name not in ("learner", "settings")}
    facts["settings"] = [dataclasses.asdict(setting) for setting in card.settings]
    facts["presets"] = {name: dict(values) for name, values in card.presets.items()}
    return facts


if __name__ == "__main__":
    print(json.dumps(known(sys.argv[1:])))  # noqa: T201 - what it is run for
