"""`glossary`: every term of the field that the lab uses, as a Markdown page in both languages."""

from __future__ import annotations

import argparse

from forget_me_not.demo.glossary import markdown


def main(options: argparse.Namespace) -> int:
    """Prints the page that is kept in assets/GLOSSARY.md."""
    print("\n".join(markdown()))
    return 0
