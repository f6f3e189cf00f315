"""What tests of a class share: the room, its teacher and a phone."""

import pytest
from class_made import TEACHER, Clock, entered
from starlette.testclient import TestClient

from forget_me_not.demo.classroom import Room
from forget_me_not.demo.client import Client
from forget_me_not.demo.server import application
from forget_me_not.demo.session import Session


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def room(tmp_path, clock):
    return Room(Session(tmp_path, Client(tmp_path)), clock)


@pytest.fixture
def app(room):
    return application(room.session, page=False, room=room, network="http://192.168.1.5:7860")


@pytest.fixture
def teacher(app):
    return TestClient(app, client=TEACHER)


@pytest.fixture
def phone(app, room):
    """A phone in the room."""
    return entered(app, room)
