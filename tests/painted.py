"""Figures as a browser has them: the stylesheet's values for their tokens."""

import re
from pathlib import Path

from forget_me_not.demo import marks

TOKENS = "".join((Path(marks.__file__).parent / "static" / file).read_text() for file in ("tokens.css", "inside.css"))


def painted(value):
    """The figure as the browser has it: every token replaced by its value."""
    if isinstance(value, str) and value.startswith("@"):
        return re.search(rf"--{value[1:]}: ([^;]+);", TOKENS)[1].strip()
    if isinstance(value, dict):
        return {k: painted(v) for k, v in value.items()}
    return [painted(v) for v in value] if isinstance(value, (list, tuple)) else value
