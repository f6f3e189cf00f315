"""`cache show|clear`: what is kept of encoded photos."""

from __future__ import annotations

import argparse
import time

from forget_me_not.demo.cli.tables import aligned


def main(options: argparse.Namespace) -> int:
    """Lists what is kept, or gives its room back; what a living run uses stays."""
    from forget_me_not.models.cache import Cache
    from forget_me_not.models.folders import cache_folder

    cache = Cache(cache_folder() / "activations")
    if options.what == "clear":
        print(f"{_size(cache.clear())} given back.")
        if cache.kept():
            print(f"{_size(cache.bytes)} are used by a run and stay.")
        return 0
    kept = cache.kept()
    print(f"{cache.folder}: {_size(cache.bytes)} of at most {_size(cache.budget)}")
    if kept:
        rows = [["backbone", "pixels", "from block", "photos", "size", "last used", ""]]
        for one in kept:
            about, cut = one.about, one.about.get("cut")
            used = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.used))
            rows.append([str(about.get("backbone", "?")), str(about.get("size", "?")), "[CLS]" if cut == -1 else str(cut),
                         f"{one.photos:,}", _size(one.bytes), used, "in use" if one.pinned else ""])  # fmt: skip
        print("\n".join(aligned(rows)))
    return 0


def _size(count: float) -> str:
    return f"{count / 2**30:.1f} GB" if count >= 2**30 else f"{count / 2**20:.1f} MB"
