"""A lab whose worker has told the page of every arm, and the end of a start, for tests of Keep learning."""

import time
from contextlib import contextmanager

from starlette.testclient import TestClient

from forget_me_not.demo.server import application


@contextmanager
def ready(session):
    """A client of the session's page, once the arms are known."""
    with TestClient(application(session, page=False)) as client:
        end = time.monotonic() + 120
        while client.get("/plasticity").status_code == 503:
            assert time.monotonic() < end
            time.sleep(0.2)
        yield client


def wait(web, tid, *over, seconds=240):
    """What a start says when each of its arms is in one of the states `over`."""
    end = time.monotonic() + seconds
    while True:
        said = web.get(f"/plasticity/{tid}").json()
        if all(one["status"] in over for one in said["arms"]):
            return said
        assert time.monotonic() < end, said["arms"]
        time.sleep(0.1)
