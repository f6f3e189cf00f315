"""Our own routes: events, photos, projects, static files. Ids are looked up only in the form we make them; names are text."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections import OrderedDict
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, JSONResponse, Response

from forget_me_not.demo import figures, packs
from forget_me_not.demo.disk import explained, room_for
from forget_me_not.demo.early import styles
from forget_me_not.demo.guard import AWAY, UNKNOWN, problem_answer
from forget_me_not.demo.session import SHA, Session
from forget_me_not.demo.still import Still, shown
from forget_me_not.demo.uploads import IMAGE_BYTES, ZIP_BYTES
from forget_me_not.demo.view import RunView, reduce
from forget_me_not.demo.words import LANGUAGES, PARTS, page_words, words
from forget_me_not.models.events import from_json
from forget_me_not.models.problem import Problem

STATIC = Path(__file__).with_name("static")
PLOTLY = Path(find_spec("plotly").origin).parent / "package_data" / "plotly.min.js"
VERSION = version("forget-me-not")
ANSWER_BYTES = 60_000
"""Events in one answer; a page that is far behind asks again."""
BODY_BYTES = 2**20
PHOTO_HEADERS = {"Cache-Control": "private, max-age=31536000, immutable",
                 "Content-Security-Policy": "default-src 'none'; sandbox"}  # fmt: skip
VIEWS = 64

TYPES = {".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".woff2": "font/woff2", ".txt": "text/plain",
         ".svg": "image/svg+xml", ".png": "image/png", ".webp": "image/webp"}  # fmt: skip


@dataclass
class Watched:
    """One run's view after its first n events, so that the next question only folds what is new."""

    n: int
    view: RunView


class Views:
    """Views of runs by (run, number of events); the least recently asked for are forgotten."""

    def __init__(self, session: Session):
        self.session = session
        self._kept: OrderedDict[str, Watched] = OrderedDict()

    def at(self, rid: str, n: int | None) -> RunView:
        """The view after the first n events (all, where n is None)."""
        kept = self._kept.get(rid)
        start = kept if kept is not None and (n is None or kept.n <= n) else Watched(0, RunView())
        view, count = start.view, start.n
        for line in self.session.lines(rid, count):
            if n is not None and count >= n:
                break
            view, count = reduce(view, from_json(line["event"])), count + 1
        self._kept[rid] = Watched(count, view)
        self._kept.move_to_end(rid)
        while len(self._kept) > VIEWS:
            self._kept.popitem(last=False)
        return view


def routes(session: Session, local: bool, classroom: bool = False) -> APIRouter:
    """All routes over one session. local: the page is served to this machine only; classroom: a class may follow."""
    api, views = APIRouter(), Views(session)
    titles: dict[str, str] = {}

    @api.get("/lab/{name:path}")
    def static(name: str) -> Response:
        if name.startswith("text/"):
            part, _, language = name.removeprefix("text/").removesuffix(".json").rpartition("/")
            if language not in LANGUAGES or part not in ("", *PARTS):
                raise Problem("file_unknown")
            return JSONResponse(dict(page_words(language, part)), headers={"Cache-Control": "no-cache"})
        if name == "all.css":
            return Response(styles(), media_type="text/css", headers={"Cache-Control": "no-cache"})
        path = _inside(STATIC, name)
        return FileResponse(path, media_type=TYPES[path.suffix], headers={"Cache-Control": _age(path)})

    @api.get("/plotly.js")
    def plotly() -> Response:
        return FileResponse(PLOTLY, media_type="text/javascript", headers={"Cache-Control": "public, max-age=86400"})

    @api.get("/status")
    def status() -> Any:
        said = session.client.status
        still = {"read_only": True, "shown": shown(session.home)} if isinstance(session.client, Still) else {}
        return _fresh({"worker": said["worker"], "backbone": said["backbone"], "version": VERSION, "local": local,
                       "classroom": classroom, **still})  # fmt: skip

    @api.post("/status")
    async def repair(request: Request) -> Any:
        if (await _json(request)).get("do") != "retry":
            raise Problem("edit_unknown", do="status")
        await run_in_threadpool(_retry, session)
        return status()

    @api.get("/cards")
    def cards() -> Any:
        return _fresh(session.cards())

    @api.post("/projects")
    def new_project() -> Any:
        return _fresh({"id": session.new_project().id})

    @api.get("/projects/{pid}")
    def project(pid: str, have: int = -1) -> Any:
        found = session.project(pid)
        return Response(status_code=304) if found.data["version"] == have else _fresh(found.view())

    @api.get("/projects/{pid}/classes/{cid}")
    def of_class(pid: str, cid: int) -> Any:
        data = session.project(pid).data
        return _fresh({"version": data["version"], "photos": [p["sha"] for p in data["photos"] if p["class"] == cid]})

    @api.post("/projects/{pid}/edit")
    async def edit(pid: str, request: Request) -> Any:
        asked = await _json(request)

        def do() -> dict[str, Any]:
            project = session.project(pid)
            project.edit(asked)
            return project.view()

        return _fresh(await run_in_threadpool(do))

    @api.post("/projects/{pid}/photos")
    async def upload(pid: str, request: Request) -> Any:
        project = await run_in_threadpool(session.project, pid)
        asked = request.query_params
        name, label, domain, burst = (asked.get(key, "") for key in ("name", "class", "domain", "burst"))
        try:
            with session.draft() as path:
                await _receive(request, path, session)
                return _fresh(await run_in_threadpool(session.upload, project, path, name, label, domain, burst))
        except Problem as problem:
            if problem.code in (*UNKNOWN, "disk_full"):
                raise
            return _fresh(await run_in_threadpool(session.refused, project, name, problem))  # a bad file is no bad request

    @api.get("/projects/{pid}/photos/{sha}")
    def photo(pid: str, sha: str, size: str = "thumb") -> Response:
        if not SHA.fullmatch(sha):
            raise Problem("photo_unknown")
        return FileResponse(session.project(pid).rendition(sha, size), media_type="image/webp", headers=PHOTO_HEADERS)

    @api.post("/projects/{pid}/train")
    async def train(pid: str, request: Request) -> Any:
        asked = await _json(request)
        try:
            return _fresh({"runs": await run_in_threadpool(lambda: session.train(session.project(pid), asked))})
        except Problem as problem:
            known = problem.code in (*UNKNOWN, *AWAY, "disk_full", "request_bad")
            return problem_answer(problem, None if known else 409)

    @api.get("/projects/{pid}/runs")
    def runs(pid: str) -> Any:
        return _fresh({"runs": session.runs(session.project(pid))})

    @api.get("/runs/{rid}")
    def run(rid: str) -> Any:
        return _fresh(session.run(rid))

    @api.get("/runs/{rid}/events")
    def events(rid: str, request: Request, since: int = 0) -> Response:
        lines, size = [], 0
        status = session.status(rid) if session.folder(rid) else {}
        for line in session.lines(rid, max(0, since)):
            size += len(json.dumps(line))
            if lines and size > ANSWER_BYTES:
                break
            lines.append(line)
        body = json.dumps({"events": lines, **status}, separators=(",", ":")).encode()
        tag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(body, media_type="application/json", headers=headers)

    @api.post("/runs/{rid}/do")
    async def control(rid: str, request: Request) -> Any:
        what = (await _json(request)).get("do")
        return _fresh(await run_in_threadpool(session.control, rid, what))

    @api.get("/runs/{rid}/figures")
    def drawn(rid: str, at: int | None = None, lang: str = "en") -> Any:
        view = packs.in_language(views.at(rid, at), session.folder(rid), lang)
        if view.method not in titles:
            with contextlib.suppress(Problem):
                titles.update({card["name"]: card["title"] for card in session.cards()})
        return _fresh(figures.draw(view, words(lang), titles.get(view.method, view.method)))

    @api.get("/runs/{rid}/inside")
    def inside(rid: str) -> Any:
        made = session.inside(rid)
        return JSONResponse({"state": "computing"}, 202, headers={"Cache-Control": "no-store"}) if made is None else _fresh(made)

    @api.post("/runs/{rid}/ask")
    async def ask(rid: str, request: Request, photo: str | None = None) -> Any:
        if photo is not None:
            return _fresh(await run_in_threadpool(session.ask, rid, photo))
        with session.draft() as path:
            await _receive(request, path, session, IMAGE_BYTES)
            return _fresh(await run_in_threadpool(session.ask, rid, None, path, _named(request)))

    return api


def _retry(session: Session) -> None:
    session.client.retry()
    session.client.call("retry", patience=10)


def _fresh(content: Any) -> JSONResponse:
    return JSONResponse(content, headers={"Cache-Control": "no-store"})


def _age(path: Path) -> str:
    return "public, max-age=604800, immutable" if path.suffix == ".woff2" else "no-cache"


def _inside(root: Path, name: str) -> Path:
    """The file `name` below `root` of a type we serve; Problem("file_unknown")."""
    path = (root / name.replace("\0", "")).resolve()
    if not path.is_relative_to(root.resolve()) or path.suffix not in TYPES or not path.is_file():
        raise Problem("file_unknown")
    return path


async def _json(request: Request) -> dict[str, Any]:
    """The request's body as a JSON object of at most 1 MB; Problem("request_bad")."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > BODY_BYTES:
            raise Problem("request_bad")
    try:
        asked = json.loads(body or b"{}")
        json.dumps(asked, ensure_ascii=False, allow_nan=False).encode()  # what cannot be written again cannot be answered either
    except (ValueError, RecursionError):
        raise Problem("request_bad") from None
    if not isinstance(asked, dict):
        raise Problem("request_bad")
    return asked


def _named(request: Request) -> str:
    """What the client calls the file it sends."""
    return request.query_params.get("name", "photo")[:200].rsplit("/", 1)[-1]


async def _receive(request: Request, path: Path, session: Session, most: int = ZIP_BYTES, limit: int = 0) -> None:
    """Streams the request's body into `path`: an image of up to `limit` bytes (0: IMAGE_BYTES), a zip of up to `most`.

    Problems: upload_big, upload_empty, disk_full.
    """
    said = request.headers.get("content-length", "")
    room_for(session.home, int(said) if said.isdigit() else 0)
    name, size, limit = _named(request), 0, limit or IMAGE_BYTES
    try:
        with open(path, "wb") as file:
            async for part in request.stream():
                if not size and part[:4] == b"PK\x03\x04":
                    limit = most
                size += len(part)
                if size > limit:
                    raise Problem("upload_big", name=name, limit=limit // 2**20)
                await run_in_threadpool(file.write, part)
    except OSError as error:
        raise explained(error, path) from error
    if not size:
        raise Problem("upload_empty", name=name)
