"""What a method may change inside the frozen ViT, and the one functional ViT block every method shares.

An Edit has five points: tokens, attend, weight, mlp and read. With nothing edited a block equals timm's.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from forget_me_not.models.core import Problem
from forget_me_not.models.linear import linear


class Edit:
    """Changes nothing; a method overrides the points it needs. Blocks are 0-based.

    key: names the edit's content for the cache once it no longer changes; None = still learning, never cached.
    first: the first block it touches, so that everything below can be reused.
    """

    key: str | None = None
    first: int = 0

    def tokens(self, block: int, h: Tensor) -> Tensor:
        """(B, L', D): what enters the block instead of h (B, L, D). L2P prepends its prompts here, after [CLS]."""
        return h

    def attend(self, block: int, q: Tensor) -> tuple[Tensor, Tensor, Tensor | None] | None:
        """None, or prefix keys and values (B, H, P, d) and a bias (B, H, Lq, P) added to their scores.

        q: (B, H, Lq, d) the queries; Lq is 1 in a last block read only at [CLS]. NoRGa's gate is exactly such a bias.
        """
        return None

    def weight(self, block: int, name: str, w: Tensor) -> Tensor:
        """The parameter to use instead of w; names as in timm: "attn.qkv.weight", "norm1.bias", "ls1.gamma", …"""
        return w

    def mlp(self, block: int, x: Tensor, y: Tensor) -> Tensor:
        """(B, L, D): what the MLP branch adds instead of y; x (B, L, D) is the stream before norm2 (AdaptFormer)."""
        return y

    def read(self, h: Tensor) -> Tensor:
        """(B, D) from the final tokens (B, L, D) after the last norm; default [CLS]."""
        return h[:, 0]


NO_EDIT = Edit()


def reads_cls_only(edit: Edit) -> bool:
    """Whether only [CLS] leaves the last block, so that its other queries need not be computed."""
    return type(edit).read is Edit.read


def run_block(block: nn.Module, index: int, h: Tensor, edit: Edit = NO_EDIT, *, cls_only: bool = False) -> Tensor:
    """(B, L, D) -> (B, L, D), or (B, 1, D) when `cls_only`: all tokens are looked at, but only [CLS] looks (exact)."""

    def w(name: str, value: Tensor | None) -> Tensor | None:
        return None if value is None else edit.weight(index, name, value)

    def norm(name: str, layer: nn.LayerNorm, x: Tensor) -> Tensor:
        gain, shift = w(f"{name}.weight", layer.weight), w(f"{name}.bias", layer.bias)
        return F.layer_norm(x, layer.normalized_shape, gain, shift, layer.eps)

    def multiplied(name: str, layer: nn.Linear, x: Tensor) -> Tensor:
        return linear(x, w(f"{name}.weight", layer.weight), w(f"{name}.bias", layer.bias))

    def scale(name: str, layer: nn.Module, x: Tensor) -> Tensor:
        gamma = getattr(layer, "gamma", None)
        return x if gamma is None else x * w(f"{name}.gamma", gamma)

    h = edit.tokens(index, h)
    attention = block.attn
    heads = attention.num_heads
    x = norm("norm1", block.norm1, h)
    weight, bias = w("attn.qkv.weight", attention.qkv.weight), w("attn.qkv.bias", attention.qkv.bias)
    plain = isinstance(attention.q_norm, nn.Identity) and isinstance(attention.k_norm, nn.Identity)
    if cls_only:
        h = h[:, :1]
    if cls_only and plain:
        x = _cls_attention(x, weight.unflatten(0, (3, heads, -1)), bias, lambda q: edit.attend(index, q))  # (B, 1, D)
    else:
        q, k, v = linear(x, weight, bias).unflatten(-1, (3, heads, -1)).unbind(2)  # (B, L, H, d) each
        q, k, v = attention.q_norm(q.transpose(1, 2)), attention.k_norm(k.transpose(1, 2)), v.transpose(1, 2)  # (B, H, L, d)
        q, mask = q[:, :, : h.shape[1]], None
        if (prefix := edit.attend(index, q)) is not None:
            keys, values, gate = prefix
            if gate is not None:
                mask = torch.cat([gate, gate.new_zeros(*gate.shape[:-1], k.shape[2])], -1)  # (B, H, Lq, P + L)
            k, v = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        x = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)  # (B, Lq, D)
    h = h + scale("ls1", block.ls1, multiplied("attn.proj", attention.proj, attention.norm(x)))

    x = norm("norm2", block.norm2, h)
    y = block.mlp.norm(block.mlp.act(multiplied("mlp.fc1", block.mlp.fc1, x)))
    y = scale("ls2", block.ls2, multiplied("mlp.fc2", block.mlp.fc2, y))
    return h + edit.mlp(index, h, y)


def _cls_attention(x: Tensor, weight: Tensor, bias: Tensor | None, attend: Callable) -> Tensor:
    """(B, 1, D) what [CLS] alone takes from tokens x (B, L, D); weight (3, H, d, D), bias (3 D,).

    Neither K nor V is formed: q'(Wk x) = (Wk'q)'x and sum p (Wv x) = Wv (sum p x), the same numbers for a tenth of the work.
    """
    _, heads, d, _ = weight.shape
    (wq, wk, wv) = weight.unbind(0)
    bq, bk, bv = (weight.new_zeros(3, heads, d) if bias is None else bias.view(3, heads, d)).unbind(0)
    q = linear(x[:, 0], wq.flatten(0, 1), bq.flatten()).unflatten(-1, (heads, d))  # (B, H, d)
    toward = torch.einsum("bhd,hdw->bhw", q, wk)  # (B, H, D)
    scores = (toward @ x.mT + (q * bk).sum(-1, keepdim=True)) * d**-0.5  # (B, H, L)
    if (prefix := attend(q[:, :, None])) is None:
        share = scores.softmax(-1)
        met, given = 1, 0
    else:
        keys, values, gate = prefix
        ahead = (q[:, :, None] @ keys.mT)[:, :, 0] * d**-0.5 + (0 if gate is None else gate[:, :, 0])  # (B, H, P)
        before, share = torch.cat([ahead, scores], -1).softmax(-1).split([ahead.shape[-1], scores.shape[-1]], -1)
        met, given = share.sum(-1, keepdim=True), (before[:, :, None] @ values)[:, :, 0]
    return (torch.einsum("bhw,hdw->bhd", share @ x, wv) + met * bv + given).flatten(1)[:, None]


def check_block(block: nn.Module, name: str) -> None:
    """Problem("backbone_unknown_block") unless the block is made of the parts `run_block` knows."""
    parts = {"norm1": nn.LayerNorm, "norm2": nn.LayerNorm, "attn.qkv": nn.Linear, "attn.proj": nn.Linear,
             "mlp.fc1": nn.Linear, "mlp.fc2": nn.Linear}  # fmt: skip
    for path, kind in parts.items():
        try:
            fits = isinstance(block.get_submodule(path), kind)
        except AttributeError:
            fits = False
        if not fits:
            raise Problem("backbone_unknown_block", name=name, part=path)
