"""What tests of the command line share: photos of six classes, and a place to keep things."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_made import COLOURS, make_photos


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("photos"), list(COLOURS), 8)


@pytest.fixture
def here(lab_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands called in this process keep their things in the session's own folder."""
    monkeypatch.setenv("FORGET_ME_NOT_HOME", str(lab_home))
