"""Where the lab keeps things on this machine: one folder, moved as a whole by FORGET_ME_NOT_HOME."""

from __future__ import annotations

import os
from pathlib import Path

HOME = "FORGET_ME_NOT_HOME"
"""Environment variable that moves everything the lab keeps below one folder of your choice."""


def cache_folder() -> Path:
    """Folder of what can be made again (backbones, activations); exists on return."""
    return _made(_home() / "cache" if _home() else _platform("user_cache_path"))


def data_folder() -> Path:
    """Folder of what cannot be made again (projects, runs); exists on return."""
    return _made(_home() / "data" if _home() else _platform("user_data_path"))


def _home() -> Path | None:
    """The folder named by FORGET_ME_NOT_HOME, absolute, or None where it is unset or empty."""
    home = os.environ.get(HOME)
    return Path(home).expanduser().absolute() if home else None


def _platform(kind: str) -> Path:
    """The platform's own place for files of this kind."""
    import platformdirs

    return getattr(platformdirs, kind)("forget-me-not", appauthor=False)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
