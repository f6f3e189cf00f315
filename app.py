"""Forget-Me-Not's command line: `python app.py` opens the lab, `python app.py --help` names the rest."""

from __future__ import annotations

import importlib
import sys


def main(argv: list[str] | None = None) -> int:
    """Runs one command. Returns 0 done, 1 something is wrong (check, doctor), 2 bad arguments or data, 130 stopped by Ctrl-C."""
    from forget_me_not.demo.cli import words
    from forget_me_not.demo.cli.arguments import parse
    from forget_me_not.models.problem import Problem

    options = parse(sys.argv[1:] if argv is None else argv)
    command = importlib.import_module(f"forget_me_not.demo.cli.{options.module}")  # only what this command needs
    try:
        return command.main(options)
    except Problem as problem:
        words.complain(words.sentence(problem.code, problem.values))
        return 2
    except KeyboardInterrupt:
        words.complain("Stopped.")
        return 130
    except BrokenPipeError:  # whoever read our output has seen enough
        sys.stderr.close()
        return 0


if __name__ == "__main__":
    try:
        importlib.import_module("forget_me_not.demo.cli")
    except ModuleNotFoundError:
        sys.exit("Forget-Me-Not is not installed yet: run 'pip install -e .' in this folder first.")
    sys.exit(main())
