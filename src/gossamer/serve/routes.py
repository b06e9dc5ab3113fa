"""The routes of the server: a table for what can be asked, from which the pages, the API and its document are made.

Each question about a collection has a page at /c/NAME/… and an answer in JSON at /api/v1/collections/NAME/…; the page's
own address gives the same JSON to who asks for `application/json`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Scope

from gossamer import __version__
from gossamer.base.errors import GossamerError, UsageError
from gossamer.library.collection import Collection, UnknownPageError
from gossamer.library.page import Page
from gossamer.serve import answers, metrics, views
from gossamer.serve.safe import COOKIE, Guard, Token

EVERY: Final = 1.0
"""Seconds between two looks at a crawl that somebody watches."""
API: Final = "/api/v1"
STATIC: Final = Path(__file__).parent / "static"


class Problem(msgspec.Struct, frozen=True):
    """An error, as RFC 9457 has it, with its cure."""

    title: str
    status: int
    detail: str
    cure: str
    type: str = "about:blank"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a collection: its name, and what was chosen."""

    name: str
    web: Collection
    given: Mapping[str, str]

    def text(self, key: str) -> str:
        return self.given.get(key, "")

    def number(self, key: str, otherwise: int) -> int:
        if key not in self.given:
            return otherwise
        try:
            return int(self.given[key])
        except ValueError as error:
            raise UsageError(f"{key}={self.given[key]!r} is no whole number", "") from error


@dataclass(frozen=True, slots=True)
class Question:
    """A row of the table: what can be asked of a collection."""

    path: str
    sentence: str
    answer: Callable[[Asked], Any]
    page: Callable[[Asked, Any], str]
    accepts: tuple[tuple[str, str], ...] = ()
    """Names of what can be chosen, with a sentence each."""
    kind: Any = None
    """Type of the answer; None: an object that the command's `--json` describes."""


def _needed(asked: Asked, key: str) -> str:
    if not (given := asked.text(key)):
        raise UsageError(f"{key} is missing", f"Ask with ?{key}=…")
    return given


_ROWS: Final = ("rows", "Rows at most.")
QUESTIONS: Final = (
    Question(
        "",
        "How the crawl stands.",
        lambda a: answers.overview(a.name, a.web),
        lambda a, found: views.overview(found),
        kind=answers.Overview,
    ),
    Question(
        "sites",
        "Sites, sorted and searched by the server.",
        lambda a: answers.sites(
            a.web, a.text("sort") or "pages", a.text("q"), a.number("after", 0), a.number("rows", answers.ROWS)
        ),
        lambda a, found: views.sites(a.name, found, a.text("sort") or "pages", a.text("q"), a.number("after", 0)),
        (("sort", f"{', '.join(answers.SORTS)}."), ("q", "Part of the name."), ("after", "`next` of before."), _ROWS),
        answers.Sites,
    ),
    Question(
        "pages",
        "Known pages in the order of discovery.",
        lambda a: answers.pages(
            a.web,
            a.text("q"),
            a.text("state"),
            a.text("outcome"),
            a.number("after", -1),
            a.number("rows", answers.ROWS),
        ),
        lambda a, found: views.pages(a.name, found, a.text("q"), a.text("state"), a.text("outcome")),
        (
            ("q", "Part of the URL."),
            ("state", f"{', '.join(answers.STATES)}."),
            ("outcome", "Outcome of the last request."),
            ("after", "`next` of before."),
            _ROWS,
        ),
        answers.Pages,
    ),
    Question(
        "page",
        "Everything that is known about a URL: `gossamer explain`.",
        lambda a: a.web.explain(_needed(a, "url")),
        lambda a, found: views.page(a.name, a.text("url"), found, a.web.get(a.text("url")), time.time()),
        (("url", "The URL, in any spelling."),),
    ),
    Question(
        "site",
        "Everything that is known about a site.",
        lambda a: a.web.explain(_needed(a, "name")),
        lambda a, found: views.site(a.name, a.text("name"), found, time.time()),
        (("name", "Its name."),),
    ),
    Question(
        "changes",
        "What became of pages lately, the newest first.",
        lambda a: answers.events(a.web, a.number("rows", answers.ROWS)),
        lambda a, found: views.changes(a.name, found),
        (_ROWS,),
        answers.Events,
    ),
    Question(
        "sql",
        "The result of a query on the views of `gossamer sql`. It needs the token.",
        lambda a: answers.query(a.web, a.text("query")) if a.text("query") else None,
        lambda a, found: views.sql(a.name, a.text("query"), found),
        (("query", "One query in DuckDB's SQL."),),
        answers.Table,
    ),
)


def _again(asked: Asked) -> answers.Carried:
    given = [asked.text(key) for key in ("url", "site", "outcome")]
    urls, site, outcome = ([one] if one else [] for one in given)
    return _carried(asked, asked.web.again(*urls, site=site, outcome=outcome))


def _add(asked: Asked) -> answers.Carried:
    urls = asked.text("url").split()
    return _carried(asked, asked.web.add(*urls))


def _carried(asked: Asked, counts: dict[str, int]) -> answers.Carried:
    return answers.Carried(bool(counts), {name: count for name, count in counts.items() if count})


ORDERS: Final = (
    ("add", "Add URLs; known pages are requested again.", _add, (("url", "URLs, with spaces between them."),)),
    (
        "again",
        "Ask again for pages that meet all of this.",
        _again,
        (("url", "A URL."), ("site", "Name of a site."), ("outcome", "Outcome of the last request.")),
    ),
)
"""What can be ordered by POST: name, sentence, function, and what can be chosen. Each may be given twice: the second
time changes nothing more."""


class Server:
    """The application of some collections, by name."""

    def __init__(self, webs: Mapping[str, Collection], token: Token, hosts: frozenset[str], closed: bool) -> None:
        self._webs, self._token = dict(webs), token
        routes = [
            Route("/", self._home),
            Route("/token", self._enter, methods=["GET", "POST"]),
            Route("/health", self._health),
            Route("/ready", self._ready),
            Route("/metrics", self._metrics),
            Route(f"{API}/openapi.json", self._document),
            Route(f"{API}/collections", self._home),
            Mount("/static", StaticFiles(directory=STATIC)),
            Route("/c/{name}/live", self._live),
            Route("/c/{name}/copy", self._copy),
        ]
        for question in QUESTIONS:
            methods = ["GET", "POST"] if question.path == "sql" else ["GET"]
            at = f"{API}/collections/{{name}}{'/' if question.path else ''}{question.path}"
            routes.append(Route(f"/c/{{name}}/{question.path}", self._asking(question), methods=methods))
            routes.append(Route(at, self._asking(question), methods=methods))
        for name, _, order, _ in ORDERS:
            routes.append(Route(f"{API}/collections/{{name}}/{name}", self._ordering(order), methods=["POST"]))
        plain = Starlette(routes=routes, exception_handlers={Exception: _failed, HTTPException: _not_found})
        self.application: ASGIApp = Guard(plain, token, hosts, closed, _refusal)

    def _web(self, name: str) -> Collection:
        if name not in self._webs:
            raise HTTPException(404, f"there is no collection {name!r}")
        return self._webs[name]

    def _asking(self, question: Question) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            asked = Asked(request.path_params["name"], self._web(request.path_params["name"]), await _given(request))
            return await run_in_threadpool(_answered, question, asked, wants_json(request.scope))

        return endpoint

    def _ordering(self, order: Callable[[Asked], answers.Carried]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            asked = Asked(request.path_params["name"], self._web(request.path_params["name"]), await _given(request))
            try:
                return _json(await run_in_threadpool(order, asked))
            except GossamerError as error:
                return _problem(request.scope, 400, error.message, error.cure)

        return endpoint

    def _overviews(self) -> list[answers.Overview | tuple[str, str]]:
        found = list[answers.Overview | tuple[str, str]]()
        for name, web in self._webs.items():
            try:
                found.append(answers.overview(name, web))
            except GossamerError as error:
                found.append((name, error.message))
        return found

    async def _home(self, request: Request) -> Response:
        found = await run_in_threadpool(self._overviews)
        if wants_json(request.scope):
            return _json([one for one in found if isinstance(one, answers.Overview)])
        if len(found) == 1 and request.url.path == "/":
            return RedirectResponse(views.at(next(iter(self._webs))))
        return _html(views.collections(found))

    async def _enter(self, request: Request) -> Response:
        if request.method == "GET":
            return _html(views.token(wrong=False))
        if not self._token.fits((await _given(request)).get("token", "")):
            return _html(views.token(wrong=True), 429 if self._token.closed() else 401)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, (await _given(request))["token"], httponly=True, samesite="strict")
        return answer

    async def _health(self, _: Request) -> Response:
        return Response("ok\n", media_type="text/plain")

    async def _ready(self, _: Request) -> Response:
        """Whether every collection can be read."""
        failed = any(not isinstance(one, answers.Overview) for one in await run_in_threadpool(self._overviews))
        return Response("not ready\n" if failed else "ready\n", 503 if failed else 200, media_type="text/plain")

    async def _metrics(self, _: Request) -> Response:
        found = [one for one in await run_in_threadpool(self._overviews) if isinstance(one, answers.Overview)]
        return Response(metrics.exposed(found), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _document(self, _: Request) -> Response:
        return _json(document())

    async def _live(self, request: Request) -> Response:
        """Server-sent events: the figures of the overview that changed."""
        name = request.path_params["name"]
        web = self._web(name)

        async def told() -> AsyncIterator[str]:
            before: dict[str, str] = {}
            while not await request.is_disconnected():
                with suppress(GossamerError):
                    now = views.live(await run_in_threadpool(answers.overview, name, web))
                    if changed := {key: text for key, text in now.items() if before.get(key) != text}:
                        yield f"data: {json.dumps(changed)}\n\n"
                    before = now
                await asyncio.sleep(EVERY)

        return StreamingResponse(told(), media_type="text/event-stream")

    async def _copy(self, request: Request) -> Response:
        """The stored copy of a page. The browser runs nothing of it, loads nothing for it, and gives it no origin."""
        asked = Asked(request.path_params["name"], self._web(request.path_params["name"]), await _given(request))
        try:
            found = await run_in_threadpool(lambda: _shown(asked.web[_needed(asked, "url")]))
        except GossamerError as error:
            status = 404 if isinstance(error, UnknownPageError) else 400
            return _problem(request.scope, status, error.message, error.cure)
        policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
        return Response(
            found,
            media_type="text/html; charset=utf-8",
            headers={"content-security-policy": policy, "x-frame-options": "SAMEORIGIN"},
        )


def _shown(page: Page) -> str:
    return page.html


async def _given(request: Request) -> dict[str, str]:
    """What was chosen: by the address, and by the body of a form or of JSON."""
    given = dict(request.query_params)
    if request.method == "POST":
        body = await request.body()
        if request.headers.get("content-type", "").startswith("application/json"):
            try:
                sent = msgspec.json.decode(body, type=dict[str, str])
            except msgspec.DecodeError as error:
                raise HTTPException(400, f"the body is no JSON object of texts: {error}") from error
        else:
            sent = {key: values[-1] for key, values in parse_qs(body.decode(errors="replace")).items()}
        given |= sent
    return given


def _answered(question: Question, asked: Asked, as_json: bool) -> Response:
    try:
        found = question.answer(asked)
        if as_json:
            return _json(found)
        return _html(question.page(asked, found))
    except GossamerError as error:
        if question.path == "sql" and not as_json:
            shown = "\n".join(filter(None, (error.message, error.cure)))
            return _html(views.sql(asked.name, asked.text("query"), None, shown), 400)
        return _problem_of(as_json, 400, error.message, error.cure)


def wants_json(scope: Scope) -> bool:
    if scope["path"].startswith(API):
        return True
    accepted = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    return b"application/json" in accepted and b"text/html" not in accepted


def _html(text: str, status: int = 200) -> Response:
    return Response(text, status, media_type="text/html; charset=utf-8")


def _json(found: Any, status: int = 200, kind: str = "application/json") -> Response:
    return Response(msgspec.json.encode(found), status, media_type=kind)


def _problem(scope: Scope, status: int, detail: str, cure: str) -> Response:
    return _problem_of(wants_json(scope), status, detail, cure)


def _problem_of(as_json: bool, status: int, detail: str, cure: str) -> Response:
    titles = {400: "The request makes no sense", 401: "A token is needed", 403: "Refused", 404: "Not found"}
    title = titles.get(status, "Refused" if status < 500 else "The server has failed")
    if as_json:
        return _json(Problem(title, status, detail, cure), status, "application/problem+json")
    return _html(views.problem(title, detail, cure), status)


def _refusal(scope: Scope, status: int, detail: str, cure: str) -> Response:
    if status == 401 and not wants_json(scope) and scope["method"] == "GET":
        return _html(views.token(wrong=False), 401)
    return _problem(scope, status, detail, cure)


async def _failed(request: Request, error: Exception) -> Response:
    return _problem(request.scope, 500, f"{type(error).__name__}: {error}", "Its traceback is in the server's output.")


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _problem(request.scope, error.status_code, str(error.detail), "")


def document() -> dict[str, Any]:
    """The OpenAPI document of the API, made from the tables above."""
    kinds = [question.kind for question in QUESTIONS if question.kind is not None]
    schemas, components = msgspec.json.schema_components(
        [*kinds, answers.Carried, Problem], ref_template="#/components/schemas/{name}"
    )
    by_kind = dict(zip([*kinds, answers.Carried, Problem], schemas, strict=True))
    failed = {
        "description": "What is wrong, and the cure.",
        "content": {"application/problem+json": {"schema": by_kind[Problem]}},
    }
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}

    def operation(sentence: str, accepts: tuple[tuple[str, str], ...], kind: Any) -> dict[str, Any]:
        schema = by_kind.get(kind, {"type": "object"})
        chosen = [
            {
                "name": key,
                "in": "query",
                "description": text,
                "schema": {"type": "integer" if key in ("rows", "after") else "string"},
            }
            for key, text in accepts
        ]
        answered = {"description": sentence, "content": {"application/json": {"schema": schema}}}
        return {"summary": sentence, "parameters": [name, *chosen], "responses": {"200": answered, "default": failed}}

    paths: dict[str, Any] = {}
    for question in QUESTIONS:
        at = f"{API}/collections/{{name}}{'/' if question.path else ''}{question.path}"
        paths[at] = {"get": operation(question.sentence, question.accepts, question.kind)}
    for word, sentence, _, accepts in ORDERS:
        paths[f"{API}/collections/{{name}}/{word}"] = {"post": operation(sentence, accepts, answers.Carried)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Gossamer", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
