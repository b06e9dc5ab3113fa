"""What the demonstration Web answers to a request: a pure function of the Web, the site, the target and a few headers.

A head and a body are made once and kept, compressed, within a bound; the oldest go first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from email.utils import formatdate
from typing import Final

from gossamer.demo import dice
from gossamer.demo.bulk import BulkPages, bulk_number
from gossamer.demo.layout import Kind
from gossamer.demo.render import render
from gossamer.demo.sites import Robots, Site
from gossamer.demo.truth import status
from gossamer.demo.web import DemoWeb, robots_text

CACHE_BYTES: Final = 160_000_000
"""Enough for the usual Web once; a crawl asks for a page once."""
_NOW: Final = 1_767_225_600
"""The first of January 2026: ages are counted from there, so that a seed is always the same Web."""
_YEAR: Final = 365.25 * 86400
_REASONS: Final = {
    200: "OK", 301: "Moved Permanently", 302: "Found", 304: "Not Modified", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed", 421: "Misdirected Request", 429: "Too Many Requests", 431: "Headers Too Large",
    500: "Internal Server Error", 503: "Service Unavailable", 400: "Bad Request",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    fields: bytes
    """Header lines but Date and Connection, each with its end of line."""
    body: bytes
    retry_after: str = ""
    modified: str = ""
    etag: str = ""

    def is_fresh(self, etag: str, since: str) -> bool:
        """Whether a conditional request is answered with 304 (RFC 9110: the entity tag goes before the date)."""
        return bool(etag == self.etag and etag) or bool(not etag and since == self.modified and since)


def status_line(code: int) -> bytes:
    return f"HTTP/1.1 {code} {_REASONS[code]}\r\n".encode()


def simple(
    code: int, *fields: str, retry_after: str = "", body: bytes | None = None, mime: str = "text/html"
) -> Answer:
    if body is None:
        body = f"<html><head><title>{code}</title></head><body>{code} {_REASONS[code]}</body></html>\n".encode()
    lines = [*fields, f"Content-Type: {mime}", f"Content-Length: {len(body)}"]
    if retry_after:
        lines.append(f"Retry-After: {retry_after}")
    return Answer(code, "".join(f"{line}\r\n" for line in lines).encode(), body, retry_after)


class Answers:
    """Answers of a Web, made on demand."""

    def __init__(self, web: DemoWeb, cache_bytes: int = CACHE_BYTES) -> None:
        self.web = web
        self.bulk = BulkPages(web) if web.bulk else None
        self._kept: dict[tuple[int, str, bool], Answer] = {}
        self._bytes = 0
        self._most = cache_bytes

    def made(self) -> dict[tuple[int, str, bool], Answer]:
        """What is kept, by site, target and whether it is compressed."""
        return dict(self._kept)

    def get(self, site: Site, target: str, gzip: bool) -> Answer:
        key = (site.number, target, gzip)
        found = self._kept.get(key)
        if found is None:
            found = self._make(site, target, gzip)
            self._keep(key, found)
        return found

    def _keep(self, key: tuple[int, str, bool], answer: Answer) -> None:
        self._kept[key] = answer
        self._bytes += len(answer.body) + 500
        while self._bytes > self._most:
            oldest = next(iter(self._kept))
            self._bytes -= len(self._kept.pop(oldest).body) + 500

    def _make(self, site: Site, target: str, gzip: bool) -> Answer:
        if target == "/robots.txt":
            return self._robots(site)
        if target.startswith(("/img/", "/files/", "/media/", "/down/", "/src/")) and self.web.counted:
            return simple(200, body=b"A file of the demonstration Web.\n", mime="application/octet-stream")
        if self.bulk:
            return self._bulk_page(self.bulk, site, target, gzip)
        layout = self.web.layout(site.number)
        number = layout.number.get(target)
        if number is None:
            return simple(404)
        kind, code = layout.kind[number], status(self.web, site.number, number)
        if kind is Kind.REDIRECT:
            return simple(code, f"Location: {self._location(site, number)}")
        if kind is Kind.BUSY:
            return simple(code, retry_after=str(self.web.retry_after))
        return simple(code) if code != 200 else self._page(site, number, gzip)

    def _robots(self, site: Site) -> Answer:
        if site.robots is Robots.UNAVAILABLE:
            return simple(503)
        text = robots_text(self.web, site)
        if text is None:
            return simple(403 if site.robots is Robots.REFUSED else 404)
        return simple(200, body=text, mime="text/plain")

    def _location(self, site: Site, number: int) -> str:
        other, there = self.web.layout(site.number).leads_to[number]
        path = self.web.layout(other).target[there]
        return path if other == site.number and number % 3 else self.web.all_sites[other].home[:-1] + path

    def _bulk_page(self, bulk: BulkPages, site: Site, target: str, gzip: bool) -> Answer:
        number = bulk_number(site, target)
        if number is None:
            return simple(404)
        body = bulk.body(site, number)
        return _with_body("text/html; charset=utf-8", body.gzip() if gzip else body.plain, gzip)

    def _page(self, site: Site, number: int, gzip: bool) -> Answer:
        layout = self.web.layout(site.number)
        if layout.kind[number] in (Kind.HIDDEN, Kind.FORBIDDEN):
            return simple(200, body=f"<title>{site.host} {number}</title><p>You should not read this.\n".encode())
        body = render(self.web, site, number)
        mime = "text/plain" if layout.kind[number] is Kind.PLAIN else "text/html"
        if site.charset != "latin-1" and number % 3:
            mime += "; charset=utf-8"
        bits = dice.number(self.web.seed, "head", site.number, number)
        modified = _modified(bits) if site.dated else ""
        etag = f'"{bits:016x}"' if site.tagged else ""
        return _with_body(mime, body.gzip() if gzip else body.plain, gzip, modified, etag)


def _modified(bits: int) -> str:
    """Ages fall off exponentially; more than 60 % of the pages changed within the last year (8.3.3)."""
    return formatdate(int(_NOW + math.log((bits + 1) / 2**64) * _YEAR), usegmt=True)


def _with_body(mime: str, body: bytes, gzip: bool, modified: str = "", etag: str = "") -> Answer:
    lines = [f"Content-Type: {mime}", f"Content-Length: {len(body)}", "Vary: Accept-Encoding"]
    if gzip:
        lines.append("Content-Encoding: gzip")
    if modified:
        lines.append(f"Last-Modified: {modified}")
    if etag:
        lines.append(f"ETag: {etag}")
    return Answer(200, "".join(f"{line}\r\n" for line in lines).encode(), body, "", modified, etag)
