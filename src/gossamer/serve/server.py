"""The application: a route for each question, order and file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
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
from starlette.types import ASGIApp

from gossamer.base.errors import GossamerError
from gossamer.library.collection import Collection, UnknownPageError
from gossamer.serve import metrics, tables
from gossamer.serve.answers import LONGEST, Answers, KeyUsedError
from gossamer.serve.document import address, document
from gossamer.serve.html import joined
from gossamer.serve.question import Asked, File, Order, Question
from gossamer.serve.replies import API, failed, html, json_, not_found, problem, problem_of, refusal, wants_json
from gossamer.serve.routes import FILES, ORDERS, PRIVATE, QUESTIONS
from gossamer.serve.safe import COOKIE, Guard, Token
from gossamer.serve.seen import Seen
from gossamer.serve.shell import at, token
from gossamer.serve.subjects import home, orders, overview, sql

EVERY: Final = 1.0
"""Seconds between two updates of a page that somebody watches."""
AGAIN: Final = 1_000
"""Milliseconds after which a browser that has lost the server tries again."""
STATIC: Final = Path(__file__).parent / "static"


class Server:
    """The application of some collections, by name."""

    def __init__(self, webs: Mapping[str, Collection], token: Token, hosts: frozenset[str], closed: bool) -> None:
        self._webs, self._token = dict(webs), token
        self._seen = {name: Seen() for name in webs}
        self._answers = {name: Answers() for name in webs}
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
        ]
        for question in QUESTIONS:
            methods = ["GET", "POST"] if question.path in PRIVATE else ["GET"]
            for place in (f"/c/{{name}}/{question.path}", address(question.path)):
                routes.append(Route(place, self._asking(question), methods=methods))
        for file in FILES:
            routes += [Route(place, self._giving(file)) for place in (f"/c/{{name}}/{file.path}", address(file.path))]
        for order in ORDERS:
            for place in (f"/c/{{name}}/{order.path}", address(order.path)):
                routes.append(Route(place, self._ordering(order), methods=["POST"]))
        plain = Starlette(routes=routes, exception_handlers={Exception: failed, HTTPException: not_found})
        self.application: ASGIApp = Guard(plain, token, hosts, closed, refusal)

    def _web(self, name: str) -> Collection:
        if name not in self._webs:
            raise HTTPException(404, f"there is no collection {name!r}")
        return self._webs[name]

    async def _asked(self, request: Request) -> Asked:
        name = request.path_params["name"]
        web, given = self._web(name), await _given(request)
        key = request.headers.get("idempotency-key", given.pop("key", ""))
        if len(key) > LONGEST or not key.isascii():
            raise HTTPException(400, f"the key of the order is not accepted: at most {LONGEST} ASCII characters")
        via = "the API" if request.url.path.startswith(API) else "the dashboard"
        answered = self._answers[name].of(given.get("done", ""))
        return Asked(name, web, given, self._seen[name], key, via, answered)

    def _asking(self, question: Question) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            asked = await self._asked(request)
            return await run_in_threadpool(_answered, question, asked, wants_json(request.scope))

        return endpoint

    def _giving(self, file: File) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            asked = await self._asked(request)
            try:
                return await run_in_threadpool(file.made, asked)
            except GossamerError as error:
                return problem(request.scope, _status(error), error.message, error.cure)

        return endpoint

    def _ordering(self, order: Order) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            asked = await self._asked(request)
            said = f"{order.path} {sorted(asked.given.items())}"
            try:
                answers = self._answers[asked.name]
                found = await run_in_threadpool(answers.once, asked.key, said, lambda: order.carry_out(asked))
                asked.seen.forget(orders.PATH, tables.DATABASE)
            except GossamerError as error:
                status = 422 if isinstance(error, KeyUsedError) else 400
                return problem(request.scope, status, error.message, error.cure)
            if request.url.path.startswith(API):
                return json_(found)
            return RedirectResponse(at(asked.name, orders.PATH, done=asked.key), 303)

        return endpoint

    def _overviews(self) -> list[overview.Overview | tuple[str, str]]:
        found = list[overview.Overview | tuple[str, str]]()
        for name, web in self._webs.items():
            try:
                found.append(overview.answer_of(name, web, self._seen[name]))
            except GossamerError as error:
                found.append((name, error.message))
        return found

    async def _home(self, request: Request) -> Response:
        found = await run_in_threadpool(self._overviews)
        if wants_json(request.scope):
            return json_([one for one in found if isinstance(one, overview.Overview)])
        if len(found) == 1 and request.url.path == "/":
            return RedirectResponse(at(next(iter(self._webs))))
        return html(home.page_of(found))

    async def _enter(self, request: Request) -> Response:
        if request.method == "GET":
            return html(token(wrong=False))
        given = await _given(request)
        if not self._token.fits(given.get("token", "")):
            return html(token(wrong=True, to=given.get("to", "")), 429 if self._token.closed() else 401)
        answer = RedirectResponse(_inside(given.get("to", "")), 303)
        answer.set_cookie(COOKIE, given["token"], httponly=True, samesite="strict")
        return answer

    async def _health(self, _: Request) -> Response:
        return Response("ok\n", media_type="text/plain")

    async def _ready(self, _: Request) -> Response:
        """Whether every collection can be read."""
        failed = any(not isinstance(one, overview.Overview) for one in await run_in_threadpool(self._overviews))
        return Response("not ready\n" if failed else "ready\n", 503 if failed else 200, media_type="text/plain")

    async def _metrics(self, _: Request) -> Response:
        found = [one for one in await run_in_threadpool(self._overviews) if isinstance(one, overview.Overview)]
        return Response(metrics.exposed(found), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _document(self, _: Request) -> Response:
        return json_(document())

    async def _live(self, request: Request) -> Response:
        """Server-sent events: the updated parts of a page, or why the collection cannot be read."""
        asked = await self._asked(request)
        wanted = {question.path: question.live for question in QUESTIONS if question.live is not None}
        if (pieces := wanted.get(asked.text("page"))) is None:
            raise HTTPException(404, f"the page {asked.text('page')!r} has no live updates")

        def look() -> dict[str, str]:
            try:
                return dict(pieces(asked))
            except GossamerError as error:
                return {"state": joined(f"the collection cannot be read: {error.message}")}

        async def told() -> AsyncIterator[str]:
            before: dict[str, str] = {}
            yield f"retry: {AGAIN}\n\n"
            while not await request.is_disconnected():
                now = await run_in_threadpool(look)
                changed = {key: text for key, text in now.items() if before.get(key) != text}
                yield f"data: {json.dumps(changed)}\n\n" if changed else ": nothing new\n\n"
                before |= now
                await asyncio.sleep(EVERY)

        return StreamingResponse(told(), media_type="text/event-stream")


def _inside(address: str) -> str:
    """An address on this server, as it was given; the first page if it leads elsewhere."""
    plain = address.isascii() and address.isprintable() and "\\" not in address
    return address if plain and address.startswith("/c/") else "/"


def _status(error: GossamerError) -> int:
    return 404 if isinstance(error, UnknownPageError) else 400


async def _given(request: Request) -> dict[str, str]:
    """What was chosen: by the address, and by the body of a form or of JSON."""
    given = dict(request.query_params)
    if request.method == "POST":
        body = await request.body()
        if request.headers.get("content-type", "").startswith("application/json"):
            try:
                sent = msgspec.json.decode(body, type=dict[str, str])
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise HTTPException(400, f"the body is not a JSON object of texts: {error}") from error
        else:
            sent = {key: values[-1] for key, values in parse_qs(body.decode(errors="replace")).items()}
        given |= sent
    return given


def _answered(question: Question, asked: Asked, as_json: bool) -> Response:
    try:
        found = question.answer(asked)
        if as_json:
            return json_(found)
        return html(question.page(asked, found))
    except GossamerError as error:
        if question.path == "sql" and not as_json:
            shown = "\n".join(filter(None, (error.message, error.cure)))
            return html(sql.page_of(asked.name, asked.text("query"), None, shown), 400)
        return problem_of(as_json, _status(error), error.message, error.cure)
