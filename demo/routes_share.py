"""Routes of comparing and sharing: the leaderboard, and everything one can take away or bring along."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, JSONResponse, Response

from forget_me_not.demo import claims, compare, figures_compare, measured
from forget_me_not.demo.disk import explained, read_json, room_for
from forget_me_not.demo.project import Project
from forget_me_not.demo.routes import VERSION
from forget_me_not.demo.session import Session
from forget_me_not.demo.share import fmn, fmn_in, report, script, tables, weights
from forget_me_not.demo.share.results import Result, Shelf
from forget_me_not.demo.words import LANGUAGES, words
from forget_me_not.models.problem import Problem

MOST = 2 * 2**30
"""Bytes of a project one may bring."""
ONLY_A_FILE = {"Cache-Control": "no-store", "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}


def routes(session: Session) -> APIRouter:
    """The routes over one session."""
    api, shelf = APIRouter(), Shelf(session)

    def results(project: Project) -> list[Result]:
        return shelf.of(list(project.data["runs"]))

    @api.get("/projects/{pid}/compare")
    def compared(pid: str, lang: str = "en", stream: str = "", picked: str = "", aim: bool = False,
                 width: int = 0, height: int = 0) -> Any:  # fmt: skip
        project = session.project(pid)
        said = board(session, project, results(project), lang, stream, picked[:4000], aim, (width, height))
        return _fresh(said | fmn.size_of(project, shelf))

    @api.get("/claims")
    def claimed(lang: str = "en") -> Any:
        return JSONResponse(claims.table(lang if lang in LANGUAGES else "en"), headers={"Cache-Control": "no-cache"})

    @api.get("/projects/{pid}/share/project.fmn")
    def project_file(pid: str) -> Response:
        project = session.project(pid)
        room_for(session.home, fmn.size_of(project, shelf)["bytes"])
        path = session.home / "incoming" / secrets.token_hex(16)
        try:
            fmn.export(project, shelf, path, f"Forget-Me-Not {VERSION}")
        except OSError as error:
            path.unlink(missing_ok=True)
            raise explained(error, path) from error
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return FileResponse(path, media_type="application/zip", headers=_named(f"{_stem(project)}.fmn"),
                            background=BackgroundTask(path.unlink, missing_ok=True))  # fmt: skip

    @api.get("/projects/{pid}/share/report.html")
    def report_page(pid: str, lang: str = "en", stream: str = "") -> Response:
        project = session.project(pid)
        lang = lang if lang in LANGUAGES else "en"
        found = results(project)
        rows = compare.rows(found, _stream(found, stream), _bounds(session))
        page = report.report(project.data["name"], rows, words(lang), titles(session, lang), lang, VERSION)
        return _file(page.encode("utf-8", "replace"), "text/html; charset=utf-8", f"{_stem(project)}.html")

    @api.get("/projects/{pid}/share/numbers.csv")
    def numbers_csv(pid: str) -> Response:
        project = session.project(pid)
        return _file(tables.as_csv(_some(results(project))), "text/csv; charset=utf-8", f"{_stem(project)}.csv")

    @api.get("/projects/{pid}/share/numbers.json")
    def numbers_json(pid: str) -> Response:
        project = session.project(pid)
        return _file(tables.as_json(_some(results(project))), "application/json", f"{_stem(project)}.json")

    @api.get("/projects/{pid}/share/run.py")
    def run_script(pid: str, run: str) -> Response:
        project = session.project(pid)
        one = shelf.one(project.data["runs"], run)
        folder = session.home / "runs" / one.id
        asked, facts = read_json(folder / "request.json", {}), read_json(folder / "run.json", {})
        here, needed = ({p["sha"] for p in photos} for photos in (project.data["photos"], asked["photos"]))
        text = script.script(one, facts.get("size", 0), here, needed)
        return _file(text.encode(), "text/x-python; charset=utf-8", script.file_of(one))

    @api.get("/projects/{pid}/share/weights.safetensors")
    def run_weights(pid: str, run: str) -> Response:
        one = shelf.one(session.project(pid).data["runs"], run)
        folder = session.home / "runs" / one.id
        data = weights.weights(folder, about(one, read_json(folder / "run.json", {})), len(one.tasks))
        return _file(data, "application/octet-stream", f"{one.method}_seed{one.seed}.safetensors")

    @api.post("/projects/import")
    async def bring(request: Request) -> Any:
        with session.draft() as path:
            await receive(request, path, session)
            project = await run_in_threadpool(fmn_in.open_file, session, path)
        return _fresh(await run_in_threadpool(lambda: {"id": project.id, "project": project.view()}))

    return api


def board(session: Session, project: Project, found: list[Result], lang: str, stream: str, picked: str,
          aim: bool = False, size: tuple[int, int] = (0, 0)) -> dict[str, Any]:  # fmt: skip
    """All that the Compare tab draws: the sets of photos and tasks, the rows of one of them, the plane, and the sentences.

    aim: the plane also shows where methods not trained yet may land. size: pixels of the chart in this window.
    """
    said, named = words(lang), titles(session, lang)
    unfinished = sum(session.status(rid)["status"] in ("queued", "running", "paused") for rid in project.data["runs"][-64:])
    start = {"project": project.id, "streams": compare.streams(found), "unfinished": unfinished}
    if not found:
        return start | {"stream": None, "estimates": [], "rows": [], "figure": None, "say": {"board": "", "plane": ""}}
    chosen = _stream(found, stream)
    rows = compare.rows(found, chosen, _bounds(session))
    hints = measured.estimates({row.method for row in rows}, named) if aim else []
    size = size if min(size) >= 200 else figures_compare.SIZE
    on = any(r.points and not r.bound for r in rows)
    figure = figures_compare.plane(rows, said, named, picked, hints, size) if on else None
    return start | {"stream": chosen, "estimates": hints, "rows": [compare.as_json(row, named) for row in rows], "figure": figure,
                    "say": {"board": compare.say(rows, said, named), "plane": compare.say_plane(rows, said, named)}}  # fmt: skip


def titles(session: Session, lang: str) -> dict[str, str]:
    """Method -> what it is called in a language; its card's title where the language has none."""
    cards, said = _cards(session), words(lang)
    own = {key.split(".")[1]: text for key, text in said.items() if key.startswith("method.") and key.endswith(".title")}
    return {card["name"]: card["title"] for card in cards} | own


def about(one: Result, facts: dict[str, Any]) -> dict[str, Any]:
    """What a file of weights says of itself."""
    return {"made_by": f"Forget-Me-Not {VERSION}", "method": one.method, "seed": str(one.seed), "settings": dict(one.settings),
            "tasks": [dict(t) for t in one.tasks], "classes": facts["classes"], "backbone": one.backbone,
            "fingerprint": facts["fingerprint"]}  # fmt: skip


async def receive(request: Request, path: Path, session: Session) -> None:
    """Streams a project into `path`; Problems upload_big, fmn_not (nothing, or no zip), disk_full."""
    said = request.headers.get("content-length", "")
    room_for(session.home, int(said) if said.isdigit() else 0)
    size = 0
    try:
        with open(path, "wb") as file:
            async for part in request.stream():
                if not size and part and part[:2] != b"PK"[: len(part)]:
                    raise Problem("fmn_not")
                size += len(part)
                if size > MOST:
                    raise Problem("fmn_big", limit=f"{MOST // 2**30} GB")
                await run_in_threadpool(file.write, part)
    except OSError as error:
        raise explained(error, path) from error
    if not size:
        raise Problem("fmn_not")


def _cards(session: Session) -> list[dict[str, Any]]:
    try:
        return session.cards()
    except Problem:  # before the worker's first start
        return []


def _bounds(session: Session) -> set[str]:
    return {card["name"] for card in _cards(session) if card["bound"]} | {"joint"}


def _stream(found: list[Result], asked: str) -> str:
    known = [one["key"] for one in compare.streams(_some(found))]
    return asked if asked in known else known[0]


def _some(found: list[Result]) -> list[Result]:
    if not found:
        raise Problem("share_none")
    return found


def _stem(project: Project) -> str:
    return project.data["name"] or "forget-me-not"


def _named(name: str) -> dict[str, str]:
    """Headers that make a browser save under `name`, whatever letters it has."""
    safe = "".join(c if c not in '\\/:*?"<>|' and c.isprintable() else "_" for c in name).strip(". ") or "file"
    plain = safe.encode("ascii", "replace").decode().replace("?", "_")
    return {**ONLY_A_FILE, "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(safe, safe='')}"}


def _file(data: bytes, kind: str, name: str) -> Response:
    return Response(data, media_type=kind, headers=_named(name))


def _fresh(content: Any) -> JSONResponse:
    return JSONResponse(content, headers={"Cache-Control": "no-store"})

