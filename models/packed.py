"""Tensors in a file that carries its own checksum: safetensors whose metadata "crc32" covers header and data."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from forget_me_not.models.disk import NO_SUM, Damaged, Header, read_whole

DTYPES = {"F16": torch.float16, "F32": torch.float32}


def pack(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> tuple[bytes, memoryview]:
    """(header, data) of a safetensors file whose metadata "crc32" covers header (with crc32 as zeros) and data."""
    # cloned: safetensors refuses tensors that share memory, and a state may hold views of one tensor
    whole = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    view = memoryview(save(whole, {**metadata, "crc32": "00000000"}))
    start = 8 + int.from_bytes(view[:8], "little")
    header = bytes(view[:start])
    checksum = zlib.crc32(view[start:], zlib.crc32(header))
    return header.replace(NO_SUM, b'"crc32":"%08x"' % checksum, 1), view[start:]


def unpack(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """(tensors, metadata) of a packed file. Errors: Damaged; OSError."""
    header, content = read_whole(path)
    try:
        return load(content), header.metadata
    except SafetensorError as error:
        raise Damaged(str(error)) from error


def map_rows(path: Path, header: Header) -> Tensor:
    """The tensor "rows" of a packed file, verified, its pages read only when touched. Errors: Damaged; OSError."""
    content = np.memmap(path, np.uint8, "c")  # copy on write: torch wants a writable buffer, the file is never written
    start = len(header.raw)
    header.verify(content[start:])
    dtype, shape, begin, end = header.tensors["rows"]
    return torch.from_numpy(content[start + begin : start + end]).view(DTYPES[dtype]).view(shape)
