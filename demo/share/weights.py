"""What a run has learnt as one safetensors file, put together byte by byte: the page needs no torch for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forget_me_not.models.disk import Damaged, Header, read_header, read_whole
from forget_me_not.models.problem import Problem

LIMIT = 2**30


def weights(folder: Path, about: Mapping[str, Any], tasks: int) -> bytes:
    """The learner's state after its last task. about: becomes the file's metadata, as text.

    Problems: run_broken; share_big beyond 1 GiB.
    """
    last = folder / "state" / f"{tasks - 1:03d}.safetensors"
    try:
        where: dict[str, int] = json.loads(read_header(last).metadata["where"])
        files: dict[int, tuple[Header, bytes]] = {}
        for task in sorted(set(where.values())):
            files[task] = read_whole(folder / "state" / f"{task:03d}.safetensors")
            if sum(len(content) for _, content in files.values()) > LIMIT:
                raise Problem("share_big", limit=LIMIT // 2**30)
        return joined(where, files, about)
    except (OSError, Damaged, KeyError, ValueError, AttributeError) as error:
        raise Problem("run_broken", path=folder.name[:8], file="state") from error


def joined(where: Mapping[str, int], files: Mapping[int, tuple[Header, bytes]], about: Mapping[str, Any]) -> bytes:
    """A safetensors file of the named tensors, each from the file of its task; the widest kinds of numbers first, as it asks."""
    parts: list[bytes] = []
    header: dict[str, Any] = {"__metadata__": {k: v if isinstance(v, str) else json.dumps(v) for k, v in about.items()}}
    at = 0
    wide = {name: _width(files[task][0].tensors[name]) for name, task in where.items()}
    for name in sorted(where, key=lambda name: (-wide[name], name)):
        head, content = files[where[name]]
        dtype, shape, begin, end = head.tensors[name]
        start = len(head.raw)
        parts.append(content[start + begin : start + end])
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + end - begin]}
        at += end - begin
    raw = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    raw += b" " * (-len(raw) % 8)
    return b"".join([len(raw).to_bytes(8, "little"), raw, *parts])


def _width(tensor: tuple[str, tuple[int, ...], int, int]) -> int:
    """Bytes of one number."""
    digits = "".join(c for c in tensor[0].split("_")[0] if c.isdigit())
    return int(digits or 8) // 8
