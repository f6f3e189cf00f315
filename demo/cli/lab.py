"""`python app.py`: opens the lab in the browser."""

from __future__ import annotations

import argparse


def main(options: argparse.Namespace) -> int:
    """Serves the lab until Ctrl-C."""
    from forget_me_not.demo.server import serve

    serve(options.host, options.port, not options.no_browser, options.home, options.backbone, options.size, options.plugin,
          options.classroom, options.read_only)  # fmt: skip
    return 0
