"""What tests under fire share: one lab a file, since its start takes seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forget_me_not.demo.soak.lab import Lab


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A real lab with a tiny random backbone."""
    with Lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab
