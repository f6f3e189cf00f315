"""Gradient ID: the task whose mask, given more weight, would make the superposed network surest (SupSup; Soft-TF's gradient id).

With M = sum_t alpha_t M_t at alpha = 1/T and H the entropy of the answer, g_t = dH/dalpha_t = <dH/dM, M_t>, which is
<dH/dW~, W M_t> for the masked weight W~ = W M, summed over all masked weights. The task with the least g_t is chosen.
Wortsman et al., NeurIPS 2020, arXiv:2006.14769, section 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from forget_me_not.models.masks import Masks, superposed

SHOTS = 7
"""Photos of a batch that public code looks at."""

Entropy = Callable[[Mapping[str, Tensor]], Tensor]
"""Entropy of each photo's answer (B,) as a function of the masks (M - 1 by name)."""


def entropy_of_top(logits: Tensor, tasks: int) -> Tensor:
    """Entropy (B,) over the C/T largest logits of each photo (B, C), at least two of them: one class alone has none to lose."""
    classes = logits.shape[-1]
    kept = logits.topk(min(classes, max(2, classes // tasks)), -1).values
    p = kept.softmax(-1)
    return -(p * p.clamp_min(torch.finfo(p.dtype).tiny).log()).sum(-1)


def of_batch(entropy: Entropy, masks: Sequence[Masks], shots: int | None = None) -> Tensor:
    """g (T,) of the mean entropy of a batch, or of its first `shots` photos: one backward pass, then T inner products.

    As published it shares one choice among photos of one task: a labelled view, never the headline.
    """
    mean = {name: value.detach().requires_grad_() for name, value in superposed(masks).items()}
    with torch.enable_grad():
        slopes = torch.autograd.grad(entropy(mean)[:shots].mean(), list(mean.values()))
    named = dict(zip(mean, slopes, strict=True))
    return torch.stack([sum((named[n] * (1 + m[n])).sum() for n in named) for m in masks])


def per_photo(entropy: Entropy, masks: Sequence[Masks]) -> Tensor:
    """g (B, T) of each photo's own entropy H_x, without a weight-sized tensor a photo.

    <d(sum_x v_x H_x)/dM, M_t> is linear in v, and what stands before v_x is g of photo x: one backward pass that can be
    differentiated again, then T passes back to v.
    """
    mean = {name: value.detach().requires_grad_() for name, value in superposed(masks).items()}
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):  # the fused kernel cannot be differentiated twice
        each = entropy(mean)
        v = torch.ones_like(each).requires_grad_()
        slopes = torch.autograd.grad(each, list(mean.values()), v, create_graph=True)
        named = dict(zip(mean, slopes, strict=True))
        along = [sum((named[n] * (1 + m[n])).sum() for n in named) for m in masks]
        return torch.stack([torch.autograd.grad(a, v, retain_graph=True)[0] for a in along], -1)


def choose(slopes: Tensor) -> Tensor:
    """The task of steepest descent: g (…, T) -> (…)."""
    return slopes.argmin(-1)
