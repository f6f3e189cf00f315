"""The starter's ONNX file, read as the weights of timm's `vit_small_patch14_dinov2`.

The file holds an encoder exported from transformers' Dinov2Model, followed by a saliency decoder that is left behind.
Norms, biases and layer scales kept their names; the exporter folded the transposes of the linear layers into
anonymous initialisers, so those are found through the MatMul node that uses them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from forget_me_not.models.core import Problem

if TYPE_CHECKING:
    from numpy import ndarray

DEPTH = 12
CLS_POSITION, PATCH_POSITIONS = "onnx::Concat_1957", "onnx::Reshape_1962"

_NAMED = {
    "norm1.weight": "norm1.weight",
    "norm1.bias": "norm1.bias",
    "attn.proj.bias": "attention.output.dense.bias",
    "ls1.gamma": "layer_scale1.lambda1",
    "norm2.weight": "norm2.weight",
    "norm2.bias": "norm2.bias",
    "mlp.fc1.bias": "mlp.fc1.bias",
    "mlp.fc2.bias": "mlp.fc2.bias",
    "ls2.gamma": "layer_scale2.lambda1",
}
_LINEAR = {"attn.proj.weight": "attention/output/dense", "mlp.fc1.weight": "mlp/fc1", "mlp.fc2.weight": "mlp/fc2"}
_QKV = ("query", "key", "value")


def convert(data: bytes) -> dict[str, Tensor]:
    """float32 weights by timm name, ready for a strict load at `img_size=518, num_classes=0` (1.2 s).

    Args: data, the bytes of the ONNX file. Problem "starter_not_onnx" where an expected weight is missing.
    """
    import onnx  # lazily: needed once in the life of an installation

    try:
        graph = onnx.load_from_string(data).graph
        values = {i.name: onnx.numpy_helper.to_array(i) for i in graph.initializer}
        return _weights(values, {n.name: n for n in graph.node})
    except Exception as broken:  # a protobuf parser and its caller fail in many ways; all mean: not this file
        raise Problem("starter_not_onnx", reason=str(broken) or type(broken).__name__) from broken


def _weights(values: dict[str, ndarray], nodes: dict[str, Any]) -> dict[str, Tensor]:
    """timm's names over the initialisers `values`, the anonymous ones found through `nodes`."""

    def named(name: str) -> Tensor:
        return torch.tensor(values[name], dtype=torch.float32)

    def linear(node: str) -> Tensor:
        return named(nodes[f"/backbone/encoder/{node}/MatMul"].input[1]).T.contiguous()  # x W in ONNX, x W^T in torch

    embeddings = "backbone.embeddings"
    weights = {
        "cls_token": named(f"{embeddings}.cls_token"),  # (1, 1, D)
        "pos_embed": torch.cat([named(CLS_POSITION), named(PATCH_POSITIONS)], dim=1),  # (1, 1 + 37 * 37, D)
        "patch_embed.proj.weight": named(f"{embeddings}.patch_embeddings.projection.weight"),  # (D, 3, 14, 14)
        "patch_embed.proj.bias": named(f"{embeddings}.patch_embeddings.projection.bias"),
        "norm.weight": named("backbone.layernorm.weight"),
        "norm.bias": named("backbone.layernorm.bias"),
    }
    for i in range(DEPTH):
        layer, block = f"backbone.encoder.layer.{i}", f"blocks.{i}"
        for ours, theirs in _NAMED.items():
            weights[f"{block}.{ours}"] = named(f"{layer}.{theirs}")
        for ours, theirs in _LINEAR.items():
            weights[f"{block}.{ours}"] = linear(f"layer.{i}/{theirs}")
        weights[f"{block}.attn.qkv.weight"] = torch.cat([linear(f"layer.{i}/attention/attention/{n}") for n in _QKV])  # (3D, D)
        weights[f"{block}.attn.qkv.bias"] = torch.cat([named(f"{layer}.attention.attention.{n}.bias") for n in _QKV])  # (3D,)
    return weights
