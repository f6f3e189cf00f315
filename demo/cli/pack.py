"""`pack list|build`: the starter packs, ready to play, and how each is made anew."""

from __future__ import annotations

import argparse

from forget_me_not.demo.cli.progress import bar
from forget_me_not.demo.cli.tables import aligned


def main(options: argparse.Namespace) -> int:
    """Lists what is shipped, or draws, encodes and measures a pack. Problems: pack_unknown, pack_broken, starter_…"""
    from forget_me_not.models.packs import build, load

    if options.what == "list":
        packs = [load.load(name) for name in load.names()]
        rows = [[pack.name, pack.title["en"], pack.line["en"]] for pack in packs]
        print("\n".join(aligned(rows, left=3)) if rows else "No starter pack is shipped.")
        return 0
    with bar(f"building the pack {options.name}") as heard:
        pack = build.build(options.name, options.out or load.FOLDER, progress=lambda stage, done, total: heard(done, total))
    print(f"{pack.name} is in {pack.folder}")
    return 0
