"""Published weights from a model hub, for the papers' backbones; a hub that does not answer costs seconds, not minutes."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Callable

from safetensors.torch import load_file
from torch import Tensor

from forget_me_not.models.core import Problem

PATIENCE = 8.0
"""Seconds a hub may stay silent before we say so."""


def repository(architecture: str, tag: str) -> str:
    """The hub's repository of a timm checkpoint, as timm itself names it."""
    from timm.models import get_pretrained_cfg

    config = get_pretrained_cfg(f"{architecture}.{tag}")
    return config.hf_hub_id if config and config.hf_hub_id else f"timm/{architecture}.{tag}"


def weights(architecture: str, tag: str, progress: Callable[[str, int, int], None] | None = None,
            endpoint: str | None = None) -> dict[str, Tensor]:  # fmt: skip
    """The checkpoint's tensors by timm's names, downloaded once into the hub's own cache.

    Problem("hub_unreachable") within about PATIENCE seconds where nobody answers and nothing is cached.
    """
    from huggingface_hub import constants, hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    name = repository(architecture, tag)
    cached = try_to_load_from_cache(name, "model.safetensors")
    if isinstance(cached, str):
        return load_file(cached)
    endpoint = endpoint or constants.ENDPOINT
    if not answers(endpoint, PATIENCE):
        raise Problem("hub_unreachable", name=name, seconds=round(PATIENCE))
    if progress:
        progress("fetching", 0, 0)
    try:
        path = hf_hub_download(name, "model.safetensors", endpoint=endpoint, etag_timeout=PATIENCE)
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise Problem("hub_failed", name=name, reason=str(error).splitlines()[0]) from error
    return load_file(path)


def answers(endpoint: str, seconds: float) -> bool:
    """Whether anything speaks HTTP there within `seconds`, name look-up included."""
    heard = threading.Event()

    def ask() -> None:
        try:
            with urllib.request.urlopen(urllib.request.Request(endpoint, method="HEAD"), timeout=seconds):
                heard.set()
        except urllib.error.HTTPError:
            heard.set()  # an error page is an answer too
        except OSError:
            pass

    thread = threading.Thread(target=ask, daemon=True)  # a name look-up has no time limit of its own
    thread.start()
    thread.join(seconds)
    return heard.is_set()
