"""What a person can repair, as an exception that needs no torch: pages and planners raise and catch it too."""

from __future__ import annotations

from typing import Any


class Problem(Exception):  # noqa: N818 - it is what the person sees, not a programming error
    """Something a person can repair. `code` names the sentence (demo/text holds it), `values` fill its blanks."""

    def __init__(self, code: str, **values: Any):
        self.code, self.values = code, values
        super().__init__(f"{code}: " + ", ".join(f"{k}={v}" for k, v in values.items()) if values else code)
