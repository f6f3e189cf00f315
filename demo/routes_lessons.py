"""Routes of the lessons: their steps for the page's panel, and a page to print for the teacher."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import HTMLResponse, JSONResponse, Response

from forget_me_not.demo import lesson, teacher
from forget_me_not.models.problem import Problem


def routes() -> APIRouter:
    """The routes; lessons are the same for everybody."""
    api = APIRouter()

    @api.get("/lessons")
    def known() -> Any:
        return JSONResponse([lesson.as_json(one) for one in lesson.lessons()], headers={"Cache-Control": "no-cache"})

    @api.get("/lesson/{name}")
    def printed(name: str, lang: str = "en") -> Response:
        if name not in lesson.ORDER:
            raise Problem("file_unknown")
        page = teacher.page(lesson.load(name), lang)
        return HTMLResponse(page, headers={"Cache-Control": "no-cache", "Content-Security-Policy": teacher.POLICY})

    return api
