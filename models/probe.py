"""What the pictures of a run need: how modules move features and overlap, where masks moved, where [CLS] looks, keys, layouts.

Everything is read-only: nothing here trains, and no answer depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from forget_me_not.models.backbone import FrozenViT
from forget_me_not.models.edit import NO_EDIT, Edit
from forget_me_not.models.masks import Masked, moved_by_head
from forget_me_not.models.routing import vote


def shift(u: Tensor, z: Tensor) -> Tensor:
    """(…, N, D) what modules with outputs u (…, N, D) add to features z (N, D): L_i(z) - LN z."""
    return u - F.layer_norm(z, z.shape[-1:])


def module_displacement(u: Tensor, z: Tensor) -> list[float]:
    """For each of T modules the mean norm of L(z)/|L(z)| - LN z/|LN z|, u (T, N, D), z (N, D); 0 = it does nothing."""
    return turn(u, z).norm(dim=-1).mean(-1).tolist()


def turn(u: Tensor, z: Tensor) -> Tensor:
    """(…, N, D) how modules turn features, lengths apart: L_i(z)/|L_i(z)| - LN z/|LN z|. A cosine head sees nothing else."""
    return F.normalize(u, dim=-1) - F.normalize(F.layer_norm(z, z.shape[-1:]), dim=-1)


def functional_overlap(u: Tensor, z: Tensor) -> Tensor:
    """(T, T) mean cosine over N photos between what two modules do to the same photo, L_i(z) - LN z; u (T, N, D), z (N, D).

    1 = they do the same, 0 = they have nothing to do with each other. A photo a module leaves exactly still counts as 0.
    A gate near one half shrinks every photo alike, and that counts as doing the same; `turn_overlap` leaves it out.
    """
    return _cosines(shift(u, z))


def turn_overlap(u: Tensor, z: Tensor) -> Tensor:
    """(T, T) as `functional_overlap`, of `turn`."""
    return _cosines(turn(u, z))


def _cosines(moved: Tensor) -> Tensor:
    moved = F.normalize(moved.float(), dim=-1)  # (T, N, D)
    return torch.einsum("ind,jnd->ij", moved, moved) / moved.shape[1]


def mean_overlap(overlap: Tensor) -> float | None:
    """Mean of functional_overlap (T, T) over pairs of different modules; None with fewer than two."""
    count = len(overlap)
    return None if count < 2 else float((overlap.sum() - overlap.diagonal().sum()) / (count * (count - 1)))


def modules_say(learner: Any, z: Tensor) -> Tensor | None:
    """(T, N, D) the outputs of the learner's LuCA modules on features z (N, D); None for a learner without such modules."""
    modules, apply = getattr(learner, "modules", ()), getattr(learner, "apply", None)
    if not modules or apply is None:
        return None
    with torch.no_grad():
        return torch.stack([apply(z, module) for module in modules])


def mask_deviation(masks: Mapping[str, Tensor], heads: int) -> dict[str, list[list[float]]]:
    """Mean |M - 1| of one task's masks: block "011" -> rows Q, K, V, O (O only where it is masked) of one number a head."""
    return {block: rows.tolist() for block, rows in sorted(moved_by_head(masks, heads).items())}


def masked_edit(learner: Any, module: int | None) -> Edit:
    """The edit of the learner's module, where it is a mask on the network's own weights; else nothing is edited."""
    masks = getattr(learner, "masks", ())
    if module is None or module >= len(masks) or not masks[module]:
        return NO_EDIT
    return Masked(masks[module], min(int(name.split(".")[0]) for name in masks[module]))


def cls_attention(vit: FrozenViT, images: Tensor, edit: Edit = NO_EDIT) -> Tensor:
    """(B, G, G) where the [CLS] token of the last block looks: its attention to each patch, mean over heads, images (B, 3, S, S).

    The weights of a photo sum to 1 less what [CLS] gives itself. Blocks are run with `edit`, its prompts left out.
    """
    last = vit.depth - 1
    block = vit.network.blocks[last]
    with torch.no_grad():
        h = vit.between(vit.below(images, 0), 0, last, edit)  # (B, L, D)
        weight = {name: edit.weight(last, name, value) for name, value in block.named_parameters()}
        x = F.layer_norm(h, block.norm1.normalized_shape, weight["norm1.weight"], weight["norm1.bias"], block.norm1.eps)
        qkv = F.linear(x, weight["attn.qkv.weight"], weight.get("attn.qkv.bias"))
        q, k, _ = qkv.unflatten(-1, (3, vit.heads, -1)).unbind(2)  # (B, L, H, d)
        q, k = block.attn.q_norm(q.transpose(1, 2)), block.attn.k_norm(k.transpose(1, 2))  # (B, H, L, d)
        share = (q[:, :, :1] @ k.mT * q.shape[-1] ** -0.5).softmax(-1).mean(1)[:, 0, 1:]  # (B, L - 1)
    side = round(share.shape[-1] ** 0.5)
    return share.unflatten(-1, (side, -1))


def prompt_keys(learner: Any) -> Tensor | None:
    """(T, D) unit keys, one a task, of a learner that chooses prompts or masks from the frozen feature; None of others."""
    keys = getattr(getattr(learner, "memory", None), "keys", ())
    return torch.stack([key.detach().cpu() for key in keys]) if keys and getattr(learner, "chooses_by_key", False) else None


def pool_keys(learner: Any) -> Tensor | None:
    """(P, D) unit keys of a pool of prompts that all tasks share, of which each photo takes the nearest; None of others."""
    keys = getattr(learner, "pool", {}).get("keys")
    return None if keys is None else F.normalize(keys.detach().cpu(), dim=-1)


def aligned(places: np.ndarray, to: np.ndarray) -> np.ndarray:
    """(n, 2) `places` turned, mirrored, scaled and moved to lie nearest `to` (n, 2): orthogonal Procrustes (Schoenemann 1966)."""
    middle, goal = places.mean(0), to.mean(0)
    a, b = places - middle, to - goal
    u, s, vt = np.linalg.svd(a.T @ b)
    size = (a**2).sum()
    scale = s.sum() / size if size > 0 else 1.0
    return scale * a @ (u @ vt) + goal


def tsne(reduced: np.ndarray, perplexity: float, seed: int = 0, start: np.ndarray | None = None) -> np.ndarray:
    """(n, 2) t-SNE of `reduced` (n, k), van der Maaten & Hinton 2008, from its PCA or from `start` (n, 2), and aligned to it.

    A perplexity above (n - 1) / 3 is lowered to it; one thread is the caller's business.
    """
    from sklearn.manifold import TSNE

    init: Any = "pca" if start is None else (start / (start[:, 0].std() or 1.0) * 1e-4).astype(np.float32)
    allowed = max(1.0, min(perplexity, (len(reduced) - 1) / 3))
    places = TSNE(perplexity=allowed, init=init, random_state=seed, n_jobs=1).fit_transform(reduced)
    return places if start is None else aligned(places, start)


def principal(features: np.ndarray, components: int) -> np.ndarray:
    """(n, k) the first principal components of features (n, D), k = min(components, n - 1, D)."""
    from sklearn.decomposition import PCA

    most = min(components, len(features) - 1, features.shape[1])
    return PCA(most, random_state=0).fit_transform(features.astype(np.float64))


def batch_modules(entropy: Tensor | None, module: Tensor, label: Tensor, modules: int, majority: bool) -> Tensor:
    """(N,) the module each photo gets when photos sorted by class share one in batches, as published code does (routing.vote)."""
    itself = torch.arange(modules).expand(len(label), modules)
    return vote(entropy, itself, label, module if majority or entropy is None else None)


def strongest(deviation: Mapping[str, Sequence[Sequence[float]]], count: int = 3) -> list[tuple[str, int, int, float]]:
    """The `count` heads whose masks moved most: (block, row of Q K V O, head, mean |M - 1|), the largest first."""
    every = [(block, row, head, value) for block, rows in deviation.items() for row, values in enumerate(rows)
             for head, value in enumerate(values)]  # fmt: skip
    return sorted(every, key=lambda one: -one[3])[:count]
