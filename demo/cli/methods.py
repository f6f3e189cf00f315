"""`list`: the methods with family, title, line and settings."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from forget_me_not.demo.cli.tables import aligned

if TYPE_CHECKING:
    from forget_me_not.models.registry import Card


def main(options: argparse.Namespace) -> int:
    """Prints every card, or with --names the names alone."""
    from forget_me_not.models import registry

    for path in options.plugin:
        registry.load_plugin(path)
    cards = registry.cards()
    if options.names or options.markdown:
        print("\n".join(sorted(cards) if options.names else markdown(cards.values())))
        return 0
    for card in sorted(cards.values(), key=lambda card: (card.family, card.name)):
        print(f"{card.name}  ({card.title}; {card.family}{'; ' + card.paper if card.paper else ''})")
        print(f"  {card.line}")
        rows = [[f"    {s.name}", f"= {s.default}", _range(s), s.help] for s in card.settings]
        for line in aligned(rows, left=4) if rows else ():
            print(line)
        for name, values in card.presets.items():
            print(f"    preset {name}: {', '.join(f'{k} = {v}' for k, v in values.items()) or 'the defaults'}")
        print()
    return 0


def markdown(cards: Iterable[Card]) -> list[str]:
    """The table of the README: name, what it does, what it keeps, its paper."""
    lines = ["| method | in a line | it keeps | paper |", "|---|---|---|---|"]
    for card in sorted(cards, key=lambda card: (card.family, card.name)):
        paper = re.sub(r"arXiv:(\d{4}\.\d{4,5})", r"[arXiv:\1](https://arxiv.org/abs/\1)", card.paper)
        bound = " A bound, not a learner." if card.bound or card.sees != "task" else ""
        lines.append(f"| `{card.name}` | {card.line}{bound} | {card.stores} | {paper} |")
    return lines


def _range(setting) -> str:
    if setting.kind == "choice":
        return " | ".join(map(str, setting.choices))
    return "true | false" if setting.kind == "bool" else f"{setting.low:g} to {setting.high:g}"
