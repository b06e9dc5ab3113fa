"""The answers of the demonstration Web: a pure function of the Web, the site, the target and a few headers.

Heads and bodies are made once and cached, compressed, up to a limit; the oldest are dropped first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.utils import formatdate
from typing import Final

from gossamer.webs.demo import dice, national
from gossamer.webs.demo.bulk import BulkPages, bulk_number
from gossamer.webs.demo.conditional import is_fresh, kept
from gossamer.webs.demo.layout import UrlKind
from gossamer.webs.demo.pieces import Body
from gossamer.webs.demo.places import Places
from gossamer.webs.demo.render import (
    MARK,
    UNCHANGING,
    Edition,
    render,
    render_missing,
    render_month,
    robots_text,
    without_session,
)
from gossamer.webs.demo.site import Declared, Robots, Site
from gossamer.webs.demo.sitemaps import sitemap_body

CACHE_BYTES: Final = 160_000_000
"""Enough for all pages of the usual Web; a crawl requests a page once."""
_YEAR: Final = 365.25 * 86400
_MONTH: Final = re.compile(r"/calendar\?month=(0|-?[1-9]\d{0,8})")
_LOCATION: Final = re.compile(rb"^Location: (.*)\r$", re.MULTILINE)
_LENGTH: Final = re.compile(rb"Content-Length: \d+\r\n")
_REASONS: Final = {
    200: "OK", 301: "Moved Permanently", 302: "Found", 304: "Not Modified", 308: "Permanent Redirect",
    400: "Bad Request", 402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    410: "Gone", 421: "Misdirected Request", 429: "Too Many Requests", 431: "Headers Too Large",
    500: "Internal Server Error", 503: "Service Unavailable",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DemoAnswer:
    """An answer, complete except for the headers that depend on the connection."""

    status: int
    fields: bytes
    """Header lines except Date and Connection, each with its line end."""
    body: bytes
    retry_after: str = ""
    modified: str = ""
    etag: str = ""
    mark: bytes = b""
    """The placeholder for a session id in the body; b"": none."""
    torn: bool = False
    """Only half of the body is sent."""

    @property
    def location(self) -> str:
        """Target of a redirect; "": it is none."""
        found = _LOCATION.search(self.fields) if 300 <= self.status < 400 else None
        return found[1].decode("latin-1") if found else ""

    def not_modified(self) -> DemoAnswer:
        """The 304 in its place."""
        return DemoAnswer(304, kept(self.fields, bool(self.etag)), b"")

    def under(self, fields: Mapping[str, str]) -> DemoAnswer:
        """The answer to a request with these fields, which may be conditional; names are in lower case."""
        fresh = self.status == 200 and is_fresh(self.etag, self.modified, fields)
        return self.not_modified() if fresh else self


def status_line(code: int, old: bool = False) -> bytes:
    return f"HTTP/1.{0 if old else 1} {code} {_REASONS[code]}\r\n".encode()


def simple(
    code: int, *fields: str, retry_after: str = "", body: bytes | None = None, mime: str = "text/html"
) -> DemoAnswer:
    if body is None:
        body = f"<html><head><title>{code}</title></head><body>{code} {_REASONS[code]}</body></html>\n".encode()
    lines = [*fields, f"Content-Type: {mime}", f"Content-Length: {len(body)}"]
    if retry_after:
        lines.append(f"Retry-After: {retry_after}")
    return DemoAnswer(code, "".join(f"{line}\r\n" for line in lines).encode(), body, retry_after)


class DemoAnswers:
    """Answers of a Web, made on demand."""

    def __init__(self, web: Places, cache_bytes: int = CACHE_BYTES) -> None:
        self.web = web
        self.bulk = BulkPages(web) if web.bulk else None
        self._kept: dict[tuple[int, str, bool], DemoAnswer] = {}
        self._bytes = 0
        self._most = cache_bytes
        self.given = 0
        """How often `get` was called."""

    def made(self) -> dict[tuple[int, str, bool], DemoAnswer]:
        """The cached answers, by site, target and whether they are compressed."""
        return dict(self._kept)

    def answer(self, site: Site, target: str, fields: Mapping[str, str], wall: float) -> DemoAnswer:
        """The answer to a request; `fields` are its header fields, with names in lower case. The time does not matter
        here."""
        return self.get(site, target, "gzip" in fields.get("accept-encoding", "")).under(fields)

    def get(self, site: Site, target: str, gzip: bool) -> DemoAnswer:
        self.given += 1
        if site.features.session:
            target = without_session(site, target)
        key = (site.number, target, gzip and not (site.features.session or site.http.old))
        found = self._kept.get(key)
        if found is None:
            found = self._make(site, target, key[2])
            self._keep(key, found)
        return found

    def _keep(self, key: tuple[int, str, bool], answer: DemoAnswer) -> None:
        self._kept[key] = answer
        self._bytes += len(answer.body) + 500
        while self._bytes > self._most:
            oldest = next(iter(self._kept))
            self._bytes -= len(self._kept.pop(oldest).body) + 500

    def _make(self, site: Site, target: str, gzip: bool) -> DemoAnswer:
        if target == "/robots.txt":
            return self._robots(site)
        if target.startswith(("/img/", "/files/", "/media/", "/down/", "/src/")) and self.web.counted:
            return simple(200, body=b"A file of the demonstration Web.\n", mime="application/octet-stream")
        if self.bulk:
            return self._bulk_page(self.bulk, site, target, gzip)
        found = self._of_layout(site, target, gzip)
        if site.http.old and len(target) % 2:  # the end of the connection is the end of the body
            return replace(found, fields=_LENGTH.sub(b"", found.fields))
        return found

    def _of_layout(self, site: Site, target: str, gzip: bool) -> DemoAnswer:
        layout = self.web.layout(site.number)
        number = layout.number.get(target)
        if number is None and (sitemap := sitemap_body(site, layout, target)) is not None:
            return simple(200, body=sitemap[0], mime=sitemap[1])
        if number is None:
            return self._unknown(site, target, gzip)
        kind, code = layout.kind[number], layout.status(number)
        if kind is UrlKind.REDIRECT:
            return simple(code, f"Location: {self._location(site, number)}")
        if kind is UrlKind.BUSY:
            return simple(code, retry_after=str(self.web.retry_after))
        if kind is UrlKind.SOFT:
            return _html(site, render_missing(site), gzip)
        return simple(code) if code != 200 else self._page(site, number, gzip)

    def _unknown(self, site: Site, target: str, gzip: bool) -> DemoAnswer:
        month = _MONTH.fullmatch(target) if site.features.calendar else None
        if month:
            return _html(site, render_month(self.web, site, int(month[1])), gzip)
        return _html(site, render_missing(site), gzip) if site.features.soft else simple(404)

    def _robots(self, site: Site) -> DemoAnswer:
        if site.robots is Robots.UNAVAILABLE:
            return simple(503)
        text = robots_text(self.web, site)
        if text is not None:
            return simple(200, body=text, mime="text/html" if site.features.soft else "text/plain")
        return simple(403 if site.robots is Robots.REFUSED else 404)

    def _location(self, site: Site, number: int) -> str:
        other, there = self.web.layout(site.number).leads_to[number]
        path, target = self.web.layout(other).target[there], self.web.all_sites[other]
        return path if other == site.number and number % 3 else f"{target.scheme}://{target.name}{path}"

    def _bulk_page(self, bulk: BulkPages, site: Site, target: str, gzip: bool) -> DemoAnswer:
        number = bulk_number(site, target)
        if number is None:
            return simple(404)
        return _with_body("text/html; charset=utf-8", bulk.body(site, number), gzip)

    def _page(self, site: Site, number: int, gzip: bool, edition: Edition | None = None) -> DemoAnswer:
        """`edition`: that of a living Web, which adds its own validators."""
        layout, source = self.web.layout(site.number), self.web.source(site)
        if layout.kind[number] in (UrlKind.LISTED, UrlKind.HIDDEN, UrlKind.FORBIDDEN):
            listed = layout.kind[number] is UrlKind.LISTED
            text = "Only the sitemap lists this." if listed else "You should not read this."
            return simple(200, body=f"<title>{site.host} {number}</title><p>{text}\n".encode())
        body = render(self.web, source, number, edition or UNCHANGING)
        plain = layout.kind[number] is UrlKind.PLAIN
        declaring = {Declared.HEADER: True, Declared.META: plain, Declared.MIXED: number % 3 != 0}
        declared = declaring.get(site.charset.declared, False)
        mime = ("text/plain" if plain else "text/html") + (f"; charset={site.charset.label}" if declared else "")
        bits = _bits(self.web, source, number)
        date = fixed_date(self.web, source, number)
        modified = formatdate(date, usegmt=True) if site.http.dated and not edition else ""
        etag = f'"{bits:016x}"' if site.http.tagged and not (site.features.session or edition) else ""
        made = _with_body(mime, body, gzip, modified, etag)
        mark = MARK.encode(site.charset.codec) if site.features.session else b""
        return replace(made, mark=mark, torn=layout.kind[number] is UrlKind.TORN)


def _html(site: Site, body: Body, gzip: bool) -> DemoAnswer:
    declared = f"; charset={site.charset.label}" if site.charset.declared is Declared.HEADER else ""
    return _with_body(f"text/html{declared}", body, gzip)


def _bits(web: Places, source: Site, number: int) -> int:
    return dice.number(web.seed, "head", source.number, number)


def fixed_date(web: Places, source: Site, number: int) -> int:
    """Last-Modified of a page that never changes, in seconds since 1970. Ages decrease exponentially; more than 60 % of
    the pages changed within the last year (8.3.3)."""
    if web.national:
        return int(web.now - national.age(web.seed, source, number) * _YEAR)
    return int(web.now + math.log((_bits(web, source, number) + 1) / 2**64) * _YEAR)


def _with_body(mime: str, body: Body, gzip: bool, modified: str = "", etag: str = "") -> DemoAnswer:
    data = body.gzip() if gzip else body.plain
    lines = [f"Content-Type: {mime}", f"Content-Length: {len(data)}", "Vary: Accept-Encoding"]
    if gzip:
        lines.append("Content-Encoding: gzip")
    if modified:
        lines.append(f"Last-Modified: {modified}")
    if etag:
        lines.append(f"ETag: {etag}")
    return DemoAnswer(200, "".join(f"{line}\r\n" for line in lines).encode(), data, "", modified, etag)
