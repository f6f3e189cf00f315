"""The frozen Vision Transformer every method shares: photos in, tokens at any block or the final [CLS] feature out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import timm
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional as F

from forget_me_not.models import hub, neck, starter
from forget_me_not.models.core import Problem
from forget_me_not.models.edit import NO_EDIT, Edit, check_block, reads_cls_only, run_block

CODE = "1"
"""Raised whenever the code changes what a photo becomes; part of every fingerprint."""


@dataclass(frozen=True)
class Origin:
    """A backbone people can ask for by name: timm architecture, where its weights come from, what it is."""

    name: str
    architecture: str
    hub: str | None
    about: str


BACKBONES: dict[str, Origin] = {
    o.name: o
    for o in (
        Origin("starter", "vit_small_patch14_dinov2", None, "DINOv2 ViT-S/14 fine-tuned for saliency; from a package index"),
        Origin("dinov2_s", "vit_small_patch14_dinov2", "lvd142m", "DINOv2 ViT-S/14 (Oquab et al. 2023)"),
        Origin("dinov2_b", "vit_base_patch14_dinov2", "lvd142m", "DINOv2 ViT-B/14 (Oquab et al. 2023)"),
        Origin("vit_ti", "vit_tiny_patch16_224", "augreg_in21k", "ViT-Ti/16 AugReg IN-21k (Steiner et al. 2022)"),
        Origin("vit_s", "vit_small_patch16_224", "augreg_in21k", "ViT-S/16 AugReg IN-21k (Steiner et al. 2022)"),
        Origin("vit_b", "vit_base_patch16_224", "augreg_in21k", "ViT-B/16 AugReg IN-21k, the papers' backbone (TOSCA, PILOT)"),
        Origin("vit_l", "vit_large_patch16_224", "augreg_in21k", "ViT-L/16 AugReg IN-21k (Steiner et al. 2022)"),
    )
}


class FrozenViT:
    """A ViT that never changes. z everywhere means features(h, cut, edit) = neck(norm(blocks(h))[CLS]).

    Args: network: a timm VisionTransformer; name; mean, std of its pixels; neck: (weight (D, D), bias (D,)) or None.
    Attributes: name, width D, depth, heads, size S (pixels), length L (tokens), device, fingerprint.
    """

    def __init__(self, network: nn.Module, name: str, mean: tuple, std: tuple, neck: tuple[Tensor, Tensor] | None = None):
        if network.global_pool != "token" or not isinstance(network.fc_norm, nn.Identity) or network.num_prefix_tokens != 1:
            raise Problem("backbone_unknown_block", name=name, part="[CLS] pooling")
        for block in network.blocks:
            check_block(block, name)
        self.network = network.eval().requires_grad_(False)
        self.name, self.mean, self.std, self.neck = name, tuple(mean), tuple(std), neck
        self.width, self.depth = network.embed_dim, len(network.blocks)
        self.heads = network.blocks[0].attn.num_heads
        self.size = network.patch_embed.img_size[0]
        self.length = network.patch_embed.num_patches + 1
        self._check_equals_timm()
        self.fingerprint = self._fingerprint()

    @property
    def device(self) -> torch.device:
        """Where the weights are; methods keep their tensors there too."""
        return self.network.cls_token.device

    def to(self, device: str | torch.device) -> FrozenViT:
        """The same backbone on another device (in place)."""
        self.network.to(device)
        if self.neck is not None:
            self.neck = (self.neck[0].to(device), self.neck[1].to(device))
        return self

    def preprocess(self, image: Image.Image, view: int = 0, key: str = "") -> Tensor:
        """(3, S, S) normalised pixels: short side to S (bicubic, antialias), centre crop. An upright RGB image comes in.

        view >= 1: a crop of 50-100 % of the area (ratio 3/4 to 4/3) and a flip, drawn from hash(key, view) alone.
        """
        width, height = image.size
        if view == 0:
            scale = self.size / min(width, height)
            size = (max(self.size, round(width * scale)), max(self.size, round(height * scale)))
            left, top = (size[0] - self.size) // 2, (size[1] - self.size) // 2
            image = image.resize(size, Image.Resampling.BICUBIC).crop((left, top, left + self.size, top + self.size))
        else:
            seed = int.from_bytes(hashlib.sha256(f"{key}:{view}".encode()).digest()[:8], "big")
            rng = np.random.default_rng(seed)
            area, ratio = rng.uniform(0.5, 1) * width * height, np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
            w, h = min(width, round((area * ratio) ** 0.5)), min(height, round((area / ratio) ** 0.5))
            left, top = rng.integers(0, width - w + 1), rng.integers(0, height - h + 1)
            box = (left, top, left + w, top + h)
            image = image.resize((self.size, self.size), Image.Resampling.BICUBIC, box=box)
            if rng.random() < 0.5:
                image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        pixels = torch.from_numpy(np.asarray(image, dtype=np.float32) / 255).permute(2, 0, 1)  # (3, S, S)
        return (pixels - torch.tensor(self.mean).view(3, 1, 1)) / torch.tensor(self.std).view(3, 1, 1)

    def below(self, images: Tensor, cut: int) -> Tensor:
        """(B, L, D) tokens entering block `cut` of images (B, 3, S, S)."""
        net = self.network
        return self.between(net.norm_pre(net.patch_drop(net._pos_embed(net.patch_embed(images.to(self.device))))), 0, cut)

    def between(self, h: Tensor, first: int, last: int, edit: Edit | None = None) -> Tensor:
        """(B, L, D) tokens entering block `last` of tokens h (B, L, D) that enter block `first`."""
        for i in range(first, last):
            h = run_block(self.network.blocks[i], i, h, edit or NO_EDIT)
        return h

    def above(self, h: Tensor, cut: int, edit: Edit | None = None) -> Tensor:
        """(B, D) the read-out after the final norm of tokens h (B, L, D) that enter block `cut`; before the neck."""
        edit = edit or NO_EDIT
        for i in range(cut, self.depth):
            h = run_block(self.network.blocks[i], i, h, edit, cls_only=i == self.depth - 1 and reads_cls_only(edit))
        return edit.read(self.network.norm(h))

    def neck_of(self, z: Tensor) -> Tensor:
        """(B, D) the fixed affine map after the read-out, the same for every method; identity where there is none."""
        return z if self.neck is None else F.linear(z, *self.neck)

    def features(self, h: Tensor, cut: int, edit: Edit | None = None) -> Tensor:
        """z (B, D) of tokens h (B, L, D) that enter block `cut`."""
        return self.neck_of(self.above(h, cut, edit))

    def encode(self, images: Tensor) -> Tensor:
        """z (B, D) of images (B, 3, S, S) with nothing edited."""
        return self.features(self.below(images, self.depth - 1), self.depth - 1)

    def _check_equals_timm(self) -> None:
        generator = torch.Generator().manual_seed(0)
        images = torch.randn(1, 3, self.size, self.size, generator=generator).to(self.device)
        with torch.no_grad():
            theirs = self.network.forward_head(self.network.forward_features(images), pre_logits=True)
            try:
                ours = self.above(self.below(images, 0), 0)
            except (AttributeError, RuntimeError) as error:  # a part or a shape `run_block` does not know
                raise Problem("backbone_unknown_block", name=self.name, part="forward") from error
        if not torch.allclose(theirs, ours, rtol=1e-4, atol=1e-4 * float(theirs.abs().max())):
            raise Problem("backbone_unknown_block", name=self.name, part="forward")

    def _fingerprint(self) -> str:
        digest = hashlib.blake2b(digest_size=16)
        parts: Mapping[str, Tensor] = dict(sorted(self.network.state_dict().items()))
        if self.neck is not None:
            parts = {**parts, "neck.weight": self.neck[0], "neck.bias": self.neck[1]}
        for name, value in parts.items():
            digest.update(f"{name}{tuple(value.shape)}".encode())
            digest.update(value.detach().cpu().contiguous().numpy().data)
        digest.update(f"{CODE} {self.size} {self.mean} {self.std} bicubic centre".encode())
        return digest.hexdigest()


def best_device() -> str:
    """"cuda", "mps" or "cpu": the fastest there is."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def create(name: str = "starter", *, size: int = 112, neck_name: str = "auto", device: str = "auto",
           progress: Callable[[int, int], None] | None = None) -> FrozenViT:  # fmt: skip
    """The backbone called `name` at `size` pixels. neck_name: "auto" (ours where one is shipped) or "none".

    progress(bytes done, bytes in all; 0 = unknown) hears of fetching. Problems: backbone_unknown, size_bad, hub_unreachable,
    starter_…
    """
    if name not in BACKBONES:
        raise Problem("backbone_unknown", name=name, known=", ".join(BACKBONES))
    origin = BACKBONES[name]
    patch = 14 if "patch14" in origin.architecture else 16
    if size % patch or not 2 * patch <= size <= 1024:
        raise Problem("size_bad", size=size, patch=patch, near=max(2, round(size / patch)) * patch)
    with torch.random.fork_rng(devices=[]):
        network = timm.create_model(origin.architecture, pretrained=False, img_size=size, num_classes=0)
    if origin.hub is None:
        kept = starter.load(progress)
        weights, name = kept.weights, kept.name  # the hub's stand-in for the starter is another backbone: no neck of ours
    else:
        weights = hub.weights(origin.architecture, origin.hub, progress)
    network.load_state_dict(_fitted(weights, network), strict=True)
    config = network.pretrained_cfg
    if origin.hub and "augreg" in origin.hub:
        mean = std = (0.5, 0.5, 0.5)  # the AugReg checkpoints were trained on pixels in [-1, 1]
    else:
        mean, std = config["mean"], config["std"]
    shipped = neck.shipped(name) if neck_name == "auto" else None
    return FrozenViT(network, name, mean, std, shipped).to(best_device() if device == "auto" else device)


def _fitted(weights: Mapping[str, Tensor], network: nn.Module) -> dict[str, Tensor]:
    from timm.models.vision_transformer import checkpoint_filter_fn

    return {k: v for k, v in checkpoint_filter_fn(dict(weights), network).items() if not k.startswith("head.")}


def random_vit(*, depth: int = 3, width: int = 64, heads: int = 4, patch: int = 16, size: int | None = None,
               layer_scale: float | None = 1.0, seed: int = 0) -> FrozenViT:  # fmt: skip
    """A small ViT with drawn weights, for tests and lessons; layer scale 1, for timm's 1e-5 would hide its blocks."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = timm.models.VisionTransformer(
            img_size=size or 2 * patch, patch_size=patch, embed_dim=width, depth=depth, num_heads=heads, num_classes=0,
            init_values=layer_scale,
        )  # fmt: skip
    draw = torch.Generator().manual_seed(seed)  # of its own: how much timm itself draws differs from version to version
    for parameter in network.parameters():  # timm draws weights of .02; these make attention matter
        if parameter.ndim > 1:
            nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5, generator=draw)
    return FrozenViT(network, f"random_{depth}x{width}_p{patch}_s{seed}", (0.5,) * 3, (0.5,) * 3)
