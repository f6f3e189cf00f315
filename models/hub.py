"""Published weights from timm's model hub; a hub that does not answer costs seconds, not minutes."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from safetensors.torch import load_file
from torch import Tensor

from forget_me_not.models.download import Progress, download, reason, within
from forget_me_not.models.folders import cache_folder
from forget_me_not.models.problem import Problem

FILE = "model.safetensors"
PATIENCE = 4.0
"""Seconds; the hub is asked twice (what the file is, then for the file), so a silent one costs at most 8."""


def weights(architecture: str, tag: str, progress: Progress | None = None) -> dict[str, Tensor]:
    """A published checkpoint's tensors by timm's names, fetched once. Problem("hub_unreachable") names the reason."""
    from timm.models import get_pretrained_cfg

    name = f"{architecture}.{tag}"
    config = get_pretrained_cfg(name)
    repository = config.hf_hub_id if config and config.hf_hub_id else f"timm/{name}"
    ours = cache_folder() / "backbones" / f"{name}.safetensors"
    try:
        return load_file(ours if ours.is_file() else fetch(repository, ours, progress))
    except OSError as error:
        raise Problem("hub_unreachable", name=name, reason=reason(error)) from error


def fetch(repository: str, target: Path, progress: Progress | None = None) -> Path:
    """The repository's weights on this machine: the hub's own cached copy, or `target`, freshly downloaded.

    HF_ENDPOINT and HF_HUB_OFFLINE are honoured. OSError with the reason where it cannot be had.
    """
    import huggingface_hub

    kept = huggingface_hub.try_to_load_from_cache(repository, FILE)
    if isinstance(kept, str):
        return Path(kept)
    if os.environ.get("HF_HUB_OFFLINE", "0").lower() in ("1", "true", "yes", "on"):
        raise OSError("HF_HUB_OFFLINE is set")
    url = huggingface_hub.hf_hub_url(repository, FILE, endpoint=os.environ.get("HF_ENDPOINT"))
    sha256 = within(PATIENCE, lambda: _stated_sha256(url))
    target.parent.mkdir(parents=True, exist_ok=True)
    return download(url, target, sha256, progress, patience=PATIENCE, tries=1)


class _Stay(HTTPRedirectHandler):
    """Follows no redirect: the hub's own answer carries the sha256, the storage behind it does not."""

    def redirect_request(self, *_: object) -> None:
        return None


def _stated_sha256(url: str) -> str | None:
    """The sha256 the hub states for a large file, None where it states none."""
    request = Request(url, method="HEAD", headers={"User-Agent": "forget-me-not"})
    try:
        headers = build_opener(_Stay).open(request, timeout=PATIENCE).headers
    except HTTPError as answer:
        if answer.code >= 400:
            raise OSError(f"the hub answered {answer.code}") from answer
        headers = answer.headers
    stated = (headers.get("X-Linked-Etag") or "").strip('"')
    return stated if len(stated) == 64 else None
