"""The small trainable ViT of the plasticity track: timm's, drawn from a generator of its own.

Pre-norm, GELU, a [CLS] token, one linear head: 152,202 numbers at the defaults on 8 x 8 grey digits (patch 4, so L = 5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from timm.models.vision_transformer import VisionTransformer as VisionTransformer
from torch import Tensor, nn

SPREAD = 0.5
"""Weights start as a normal of sd SPREAD / sqrt(D), cut at two sd: the usual .02 starts too slowly at D = 64 (measured)."""

TOKENS = 0.02
"""Sd of the [CLS] token and the position embedding, as in timm."""

NORMS = (nn.LayerNorm,)


def small_vit(*, size: int = 8, channels: int = 1, classes: int = 10, patch: int = 4, width: int = 64, depth: int = 3,
              heads: int = 4) -> VisionTransformer:  # fmt: skip
    """A ViT for pixels (B, channels, size, size) -> logits (B, classes); call `initialise` before use.

    The global generator is left as it was.
    """
    with torch.random.fork_rng(devices=[]):
        return VisionTransformer(
            img_size=size, patch_size=patch, in_chans=channels, num_classes=classes, embed_dim=width, depth=depth, num_heads=heads
        )


@torch.no_grad()
def initialise(network: VisionTransformer, rng: torch.Generator) -> None:
    """Draws every number of `network` afresh, in place: norms are the identity, biases 0, all else normal."""
    norms = {p for m in network.modules() if isinstance(m, NORMS) for p in m.parameters()}
    for name, p in network.named_parameters():
        if p in norms:
            p.fill_(1.0 if name.endswith("weight") else 0.0)
        elif name.endswith("bias"):
            p.zero_()
        elif name in ("cls_token", "pos_embed"):
            nn.init.normal_(p, std=TOKENS, generator=rng)
        else:
            p.copy_(drawn(p.shape, network.embed_dim, rng))


def drawn(shape: Sequence[int], width: int, rng: torch.Generator) -> Tensor:
    """Fresh weights of `shape` as a network of `width` starts with."""
    sd = SPREAD / math.sqrt(width)
    return nn.init.trunc_normal_(torch.empty(shape), std=sd, a=-2 * sd, b=2 * sd, generator=rng)


def attention(network: VisionTransformer) -> list[list[nn.Parameter]]:
    """qkv and proj, weights and biases, of every block."""
    return [[b.attn.qkv.weight, b.attn.qkv.bias, b.attn.proj.weight, b.attn.proj.bias] for b in network.blocks]


def feed_forward(network: VisionTransformer) -> list[list[nn.Parameter]]:
    """fc1 and fc2, weights and biases, of every block."""
    return [[b.mlp.fc1.weight, b.mlp.fc1.bias, b.mlp.fc2.weight, b.mlp.fc2.bias] for b in network.blocks]


def matrices(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The six matrices of every block, "q.0", "k.0", "v.0", "proj.0", "fc1.0", "fc2.0", "q.1", …, each (out, in), as views.

    tensors: weights, or their gradients, by the network's parameter names.
    """
    found, block = {}, 0
    while f"blocks.{block}.attn.qkv.weight" in tensors:
        start = f"blocks.{block}."
        q, k, v = tensors[start + "attn.qkv.weight"].chunk(3)
        rest = {"proj": "attn.proj", "fc1": "mlp.fc1", "fc2": "mlp.fc2"}
        found |= {f"q.{block}": q, f"k.{block}": k, f"v.{block}": v}
        found |= {f"{part}.{block}": tensors[f"{start}{name}.weight"] for part, name in rest.items()}
        block += 1
    return found
