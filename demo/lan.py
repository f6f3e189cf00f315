"""How a phone in the room finds this computer: its address on the network, and that address as a QR code."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Sequence

QUIET = 4
"""Light modules a scanner wants around a code."""
ANYWHERE = ("0.0.0.0", "::", "")
BLACK_ON_WHITE, PLAIN = "\x1b[38;5;16;48;5;231m", "\x1b[0m"


def network_address(host: str) -> str | None:
    """The address others reach a server under that listens at `host`; None where this computer is on no network."""
    if host not in ANYWHERE:
        return host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # a documentation address; nothing is sent, the system only picks the way out
            found = ipaddress.ip_address(probe.getsockname()[0])
        except OSError:
            return None
    return None if found.is_unspecified or found.is_loopback else str(found)


def is_here(client: str | None, server: str | None) -> bool:
    """Whether who asks sits at this computer: a loopback address, or the very address that was asked."""
    try:
        asker = ipaddress.ip_address(client or "")
    except ValueError:
        return False
    asker = getattr(asker, "ipv4_mapped", None) or asker
    return asker.is_loopback or str(asker) == server


def modules(text: str) -> list[list[bool]]:
    """The QR code of `text` without its quiet zone: True is dark."""
    from qrcode.constants import ERROR_CORRECT_M
    from qrcode.main import QRCode

    code = QRCode(error_correction=ERROR_CORRECT_M, border=0)
    code.add_data(text)
    code.make(fit=True)
    return [[bool(dark) for dark in row] for row in code.get_matrix()]


def path(code: Sequence[Sequence[bool]]) -> str:
    """The dark modules as the `d` of an SVG path, a unit square each; runs of a row are one rectangle."""
    parts = []
    for y, row in enumerate(code):
        x = 0
        while x < len(row):
            end = x
            while end < len(row) and row[end]:
                end += 1
            if end > x:
                parts.append(f"M{x} {y}h{end - x}v1h-{end - x}z")
            x = end + 1
    return "".join(parts)


def blocks(code: Sequence[Sequence[bool]], coloured: bool) -> str:
    """The code as lines of text, two rows a line. coloured: black on white by terminal colours; else for light text on dark."""
    side = len(code) + 2 * QUIET
    rows = [[False] * side for _ in range(QUIET)]
    rows += [[False] * QUIET + list(row) + [False] * QUIET for row in code]
    rows += [[False] * side for _ in range(QUIET + side % 2)]
    signs = " ▄▀█" if coloured else "█▀▄ "
    lines = ["".join(signs[2 * above + below] for above, below in zip(rows[y], rows[y + 1], strict=True))
             for y in range(0, len(rows), 2)]  # fmt: skip
    return "\n".join(f"{BLACK_ON_WHITE}{line}{PLAIN}" if coloured else line for line in lines)


def terminal(text: str, encoding: str | None, is_terminal: bool) -> str:
    """`text` as a QR code for this terminal; "" where it cannot show half blocks."""
    drawn = blocks(modules(text), is_terminal and os.name == "posix")
    try:
        drawn.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return ""
    return drawn
