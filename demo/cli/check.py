"""`check FILE`: a method of your own against the rules every method of the lab keeps."""

from __future__ import annotations

import argparse


def main(options: argparse.Namespace) -> int:
    """Prints every check; 0 where all passed, 1 where one did not.

    Problems: plugin_missing, plugin_folder, plugin_failed, plugin_empty.
    """
    from forget_me_not.models import registry
    from forget_me_not.models.check import check_method

    failed = 0
    for name in registry.load_plugin(options.file):
        print(f"{name}:")
        for result in check_method(registry.card(name)):
            failed += not result.passed
            print(f"  {'ok' if result.passed else '!!'}  {result.name}", flush=True)
            if not result.passed and result.detail:
                print(f"        {result.detail}")
    print("All checks passed." if not failed else f"{failed} failed.")
    return int(failed > 0)
