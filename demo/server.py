"""The lab's web server: our routes, the page, and the worker behind them. The command line calls `serve`; no torch here."""

from __future__ import annotations

import contextlib
import errno
import inspect
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # before gradio is imported

import fastapi
import uvicorn
from fastapi.exceptions import RequestValidationError
from starlette.requests import Request
from starlette.responses import Response

from forget_me_not.demo import (
    lan,
    routes_class,
    routes_experiments,
    routes_folder,
    routes_lessons,
    routes_packs,
    routes_plasticity,
    routes_share,
)
from forget_me_not.demo.classroom import Room
from forget_me_not.demo.client import COMMAND, Client
from forget_me_not.demo.door import Door
from forget_me_not.demo.guard import Guard, problem_answer
from forget_me_not.demo.routes import routes
from forget_me_not.demo.routes_inside import inside_routes
from forget_me_not.demo.session import Session
from forget_me_not.demo.squeeze import Squeeze
from forget_me_not.demo.still import ReadOnly, Still
from forget_me_not.demo.words import say
from forget_me_not.models.folders import HOME, data_folder
from forget_me_not.models.problem import Problem

PORTS_TRIED = 20
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def application(session: Session, local: bool = True, page: bool = True, room: Room | None = None,
                network: str | None = None) -> fastapi.FastAPI:  # fmt: skip
    """The whole app. page: with Gradio's page at "/"; tests of the routes do without.

    room: a class may follow, at the address `network`; the lab itself then opens at this computer alone.
    """
    app = fastapi.FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(routes(session, local, room is not None))
    app.include_router(routes_class.routes(room, network))
    app.include_router(routes_packs.routes(session))
    app.include_router(routes_share.routes(session))
    app.include_router(routes_experiments.routes(session))
    app.include_router(inside_routes(session))
    app.include_router(routes_plasticity.routes(session))
    app.include_router(routes_folder.routes(session, local and room is None))
    app.include_router(routes_lessons.routes())
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(RequestValidationError, _unfit)
    app.add_api_route("/openapi.json", lambda: problem_answer(Problem("file_unknown")))  # Gradio would list its own
    if page:
        with no_stubs():
            import gradio as gr

        from forget_me_not.demo import lab
        from forget_me_not.demo.early import EarlyHead

        app.add_middleware(EarlyHead)
        app = gr.mount_gradio_app(app, lab.build(), "/", theme=lab.theme(), i18n=lab.i18n, footer_links=[], run_history=False,
                                  enable_monitoring=False, ssr_mode=False, show_error=True)  # fmt: skip
    if isinstance(session.client, Still):
        app.add_middleware(ReadOnly)
    app.add_middleware(Squeeze)
    if room is not None:
        app.add_middleware(Door)
    app.add_middleware(Guard)
    return app


def serve(host: str | None = None, port: int = 7860, open_browser: bool = False, home: Path | str | None = None,
          backbone: str = "starter", size: int = 112, plugins: Sequence[str] = (), classroom: bool = False,
          read_only: bool = False) -> None:  # fmt: skip
    """Opens the lab and returns when it is closed. A port that is taken gives way to the next free one, with a sentence.

    host: by default this computer alone, in class its whole network. home: moves everything the lab keeps. backbone, size,
    plugins: for the worker (see backbone.create and registry.load_plugin). classroom: phones may follow (see classroom.Room).
    read_only: nothing is trained or taken in, what was recorded is played (see still.Still).
    """
    if home is not None:
        os.environ[HOME] = str(Path(home).expanduser().absolute())
    host = host or ("0.0.0.0" if classroom else LOOPBACK[0])
    for path in plugins:
        if not Path(path).is_file():  # what is in it, the worker finds out
            raise Problem("plugin_missing", path=str(path))
    folder = data_folder()
    listener = listen(host, port)
    given = listener.getsockname()[1]
    if given != port and port:
        tell(say("en", "server.port_taken", port=port, given=given))
    arguments = ["--home", str(folder), "--backbone", backbone, "--size", str(size)]
    worker = Client(folder, [*COMMAND, *arguments, *(part for path in plugins for part in ("--plugin", str(path)))])
    client = Still(plugins) if read_only else worker
    session = Session(folder, client)
    local = host in LOOPBACK
    address = f"http://{'localhost' if local or host in ('0.0.0.0', '::') else host}:{given}"
    room = Room(session) if classroom else None
    here = lan.network_address(host)
    network = f"http://{f'[{here}]' if ':' in here else here}:{given}" if here else None

    def opened() -> None:
        client.start()  # now that the page can be had: its imports would slow ours
        if room is not None:
            invite(address if local or host in lan.ANYWHERE else network, network, room)
        else:
            tell(say("en", "server.open" if local else "server.open_network", address=address, port=given))
        if open_browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    app = application(session, local, room=room, network=network)
    config = uvicorn.Config(app, log_level="warning", proxy_headers=True, server_header=False, timeout_graceful_shutdown=3)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            _Server(config, opened).run(sockets=[listener])
    finally:
        client.stop()
        listener.close()


class _Server(uvicorn.Server):
    """uvicorn that says when the page can be had."""

    def __init__(self, config: uvicorn.Config, opened):
        super().__init__(config)
        self._opened = opened

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._opened()


def listen(host: str, port: int) -> socket.socket:
    """A listening socket at `port`, or at the next free one of 20; Problems: port_bad, address_bad, ports_taken."""
    if not 0 <= port < 65536:
        raise Problem("port_bad", port=port)
    try:
        family, *_ = socket.getaddrinfo(host, port or None, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, OverflowError):
        raise Problem("address_bad", host=host, port=port) from None
    for tried in range(port, min(port + PORTS_TRIED, 65536)) if port else [0]:
        listener = socket.socket(family, socket.SOCK_STREAM)
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, tried))
            listener.listen(128)
            return listener
        except OSError as error:
            listener.close()
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                continue
            raise Problem("address_bad", host=host, port=port) from error
    raise Problem("ports_taken", first=port, last=port + PORTS_TRIED - 1)


def tell(sentence: str) -> None:
    """A line for who started the lab."""
    sys.stdout.write(sentence + "\n")
    sys.stdout.flush()


def invite(address: str, network: str | None, room: Room) -> None:
    """Says where the teacher finds the lab, and shows the class the way in."""
    tell(say("en", "classroom.open", address=address))
    if network is None:
        tell(say("en", "classroom.no_network"))
        return
    tell(say("en", "classroom.invite", address=f"{network}/join", code=room.code))
    tell(lan.terminal(f"{network}/join?room={room.code}", sys.stdout.encoding, sys.stdout.isatty()))


@contextlib.contextmanager
def no_stubs() -> Iterator[None]:
    """While Gradio is imported here it writes no type stubs of its components: half of its seconds, and only editors read them.

    It passes over classes whose file cannot be told, so that is what it hears.
    """
    known = inspect.getfile

    def getfile(thing: Any) -> str:
        if isinstance(thing, type) and thing.__module__.startswith("gradio."):
            raise OSError("no stub wanted")
        return known(thing)

    inspect.getfile = getfile
    try:
        yield
    finally:
        inspect.getfile = known


async def _unfit(request: Request, error: RequestValidationError) -> Response:
    """A path that cannot be one of ours is not found; other values that make no sense are the request's fault."""
    path = any("path" in one["loc"][:1] for one in error.errors())
    return problem_answer(Problem("file_unknown" if path else "request_bad"))


async def _problem(request: Request, problem: Problem) -> Response:
    return problem_answer(problem)
