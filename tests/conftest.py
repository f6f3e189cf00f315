"""What tests share: real photos (FMN_PHOTOS), the starter backbone (fetched once), a place to keep things, a lab that learns.

With FMN_REQUIRE_PHOTOS=1 a test of real photos or of the starter fails where it would otherwise be skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from forget_me_not.demo.session import Session

ROOT = Path(__file__).resolve().parent.parent
NEED = ("photos", "starter")


def required() -> bool:
    """Whether skipping is not allowed."""
    return os.environ.get("FMN_REQUIRE_PHOTOS") == "1"


@cache
def starter_problem() -> str:
    """Why the starter cannot be had, or "": fetched the first time, kept on this machine afterwards."""
    from forget_me_not.models import starter
    from forget_me_not.models.problem import Problem

    try:
        starter.load()
    except Problem as problem:
        return str(problem)
    return ""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("photos") and not os.environ.get("FMN_PHOTOS"):
        pytest.skip("FMN_PHOTOS names no folder of photos")
    if item.get_closest_marker("starter") and (why := starter_problem()):
        pytest.skip(f"the starter backbone cannot be had: {why}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = yield
    if report.skipped and required() and any(item.get_closest_marker(name) for name in NEED):
        report.outcome, report.longrepr = "failed", f"{item.nodeid} may not be skipped: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def real_photos() -> Path:
    """The folder that holds caltech24, generic, pacs and cifar10; for tests marked photos."""
    return Path(os.environ["FMN_PHOTOS"]).resolve()


@pytest.fixture(scope="session")
def lab_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for FORGET_ME_NOT_HOME, the same all session: its own activations and runs, this machine's backbones."""
    from forget_me_not.models.folders import cache_folder

    home = tmp_path_factory.mktemp("home")
    backbones = cache_folder() / "backbones"
    backbones.mkdir(exist_ok=True)
    (home / "cache").mkdir()
    (home / "cache" / "backbones").symlink_to(backbones, target_is_directory=True)
    return home


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A lab with a tiny random backbone, its worker started; once a file."""
    from forget_me_not.demo.client import COMMAND, Client
    from forget_me_not.demo.session import Session

    home = tmp_path_factory.mktemp("home") / "data"
    home.mkdir()
    client = Client(home, [*COMMAND, "--home", str(home), "--backbone", "random"], {"FORGET_ME_NOT_HOME": str(home.parent)})
    session = Session(home, client)
    client.start()
    yield session
    client.stop()
