"""What tests of sharing share: a project with four finished runs, its routes, and the file it is saved as."""

import time

import photos_made as made
import pytest
from share_made import COUNTS, EVIL
from starlette.testclient import TestClient

from forget_me_not.demo.server import application


@pytest.fixture(scope="module")
def project(session, tmp_path_factory):
    """Four classes in two tasks, learnt by three methods, one of them with two seeds; one class has a name that is markup."""
    root = tmp_path_factory.mktemp("photos")
    project = session.new_project()
    session.upload(project, made.zipped(made.folder(root / "in", COUNTS), root / "photos.zip"), "photos.zip", "", "")
    project.edit({"do": "rename_class", "class": project.data["classes"][0]["id"], "name": EVIL})
    project.edit({"do": "rename_project", "name": '果物 & "things"'})
    settings = {"tosca": {"epochs": 2}}
    runs = session.train(project, {"methods": ["tosca", "simplecil", "joint"], "seed": 0, "settings": settings})
    runs += session.train(project, {"methods": ["tosca"], "seed": 1, "settings": settings})
    end = time.monotonic() + 90
    while any(session.status(rid)["status"] != "finished" for rid in runs):
        assert time.monotonic() < end, [session.status(rid) for rid in runs]
        time.sleep(0.05)
    return project


@pytest.fixture(scope="module")
def web(session):
    with TestClient(application(session, page=False)) as client:
        yield client


@pytest.fixture(scope="module")
def saved(web, project):
    return web.get(f"/projects/{project.id}/share/project.fmn").content
