"""Answers as HTTP sends them: HTML, JSON, and errors with their cure."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from gossamer.serve.shell import problem as problem_page
from gossamer.serve.shell import token as token_page

API: Final = "/api/v1"


class Problem(msgspec.Struct, frozen=True):
    """An error, as RFC 9457 has it, with its cure."""

    title: str
    status: int
    detail: str
    cure: str
    type: str = "about:blank"


def wants_json(scope: Scope) -> bool:
    if scope["path"].startswith(API):
        return True
    accepted = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    return b"application/json" in accepted and b"text/html" not in accepted


def html(text: str, status: int = 200) -> Response:
    return Response(text, status, media_type="text/html; charset=utf-8")


def json_(found: Any, status: int = 200, kind: str = "application/json") -> Response:
    return Response(msgspec.json.encode(found), status, media_type=kind)


def problem(scope: Scope, status: int, detail: str, cure: str) -> Response:
    return problem_of(wants_json(scope), status, detail, cure)


def problem_of(as_json: bool, status: int, detail: str, cure: str) -> Response:
    titles = {400: "The request is invalid", 401: "A token is needed", 403: "Refused", 404: "Not found"}
    title = titles.get(status, "Refused" if status < 500 else "The server has failed")
    if as_json:
        return json_(Problem(title, status, detail, cure), status, "application/problem+json")
    return html(problem_page(title, detail, cure), status)


def refusal(scope: Scope, status: int, detail: str, cure: str) -> Response:
    if status == 401 and not wants_json(scope):
        return html(token_page(wrong=False, to=_wanted(scope)), 401)
    return problem(scope, status, detail, cure)


def _wanted(scope: Scope) -> str:
    """The page that was asked for, or whose form was sent."""
    if scope["method"] == "GET":
        query = scope["query_string"].decode("ascii", "replace")
        return f"{scope['raw_path'].decode('ascii', 'replace')}{f'?{query}' if query else ''}"
    parts = scope["path"].split("/")
    return f"{'/'.join(parts[:3])}/orders" if parts[1:2] == ["c"] and len(parts) > 3 else ""


async def failed(request: Request, error: Exception) -> Response:
    return problem(request.scope, 500, f"{type(error).__name__}: {error}", "Its traceback is in the server's output.")


async def not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(request.scope, error.status_code, str(error.detail), "")
