"""The reader: turns what was fetched into a result, by URL and settings alone. It runs in the worker."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Final

from gossamer.base.model import Ask, Outcome, VisitFlag
from gossamer.config import Settings
from gossamer.gatherer.challenge import challenged
from gossamer.gatherer.directives import of_header
from gossamer.gatherer.gather import Gathered, charset_of, gather, redirected
from gossamer.gatherer.result import Result, encode, encode_links
from gossamer.gatherer.sitemaps import MOST_BYTES, further, listed, read
from gossamer.robots import Rules
from gossamer.robots.parse import LIMIT
from gossamer.urls import Scope, are_twins, canonical, host
from gossamer.web.archive.archive import Archive, Exchange, Place
from gossamer.web.fetch.decode import Decoded, decode, salvaged
from gossamer.web.fetch.fetch import Fetched
from gossamer.web.fetch.magic import kind_of, lie
from gossamer.web.fetch.response import mime, outcome_of

LARGE: Final = 300_000
"""Bytes of a body, decoded, above which it is read beside the loop: some 20 ms."""
_NOWHERE: Final = "http://localhost/"
_NOTHING: Final = Gathered()
_EMPTY: Final = Decoded(b"", True, True)
_LIKE_PAGES: Final = (Ask.PAGE, Ask.PROBE)
_GZIP: Final = b"\x1f\x8b"
_RESPELLED, _OTHER_NAME = int(VisitFlag.RESPELLED), int(VisitFlag.OTHER_NAME)
_NOINDEX, _PRIVATE = int(VisitFlag.NOINDEX), int(VisitFlag.NOINDEX | VisitFlag.NOARCHIVE)


class Reader:
    """Turns what was fetched into a result: the heavy part of a page. `read` may run in two threads at a time."""

    def __init__(self, settings: Settings, seed: int) -> None:
        self._settings = settings
        self._seed = seed
        self._scope = Scope.of(settings.seeder)
        self._own = self._scope.joiner(_NOWHERE)
        """The canonical form of a URL that is asked for, which may have `www.`; quicker than `canonical`."""
        self._origins: dict[str, int] = {}
        self.archive: Archive | None = None
        self.max_stored = int(settings.gatherer.max_stored)
        self.markup = bool(settings.gatherer.keep)

    def result(self, fetched: Fetched) -> bytes:
        """A RESULT frame."""
        return self.finish(self.read(fetched))

    def finish(self, read: Result) -> bytes:
        """A RESULT frame. Request and response are in the archive before it exists, if they are kept."""
        place = self._store(read.fetched, read.decoded, read.gathered.text) if read.kept else None
        return encode(read, place, self.archive.number if self.archive else 0)

    def read_at_once(self, fetched: Fetched) -> Result | None:
        """None if there are more than `LARGE` bytes to be read, or it is a sitemap, which may be of 50 MB."""
        if fetched.failure is not None:
            return self.read(fetched)
        if fetched.assignment.ask == Ask.SITEMAP or len(fetched.body) > LARGE:
            return None
        most = self._most_decoded(fetched)
        decoded = self._decoded(fetched, min(most, LARGE))
        return self.read(fetched, decoded) if decoded.ok or most <= LARGE else None

    @staticmethod
    def _decoded(fetched: Fetched, most: int) -> Decoded:
        return decode(fetched.body, fetched.headers.get("content-encoding", ""), most)

    def read(self, fetched: Fetched, decoded: Decoded | None = None) -> Result:
        """`decoded`: its body, if that is done already."""
        if decoded is None:
            most = self._most_decoded(fetched)
            decoded = self._decoded(fetched, most) if fetched.failure is None else _EMPTY
        outcome, gathered, rules, target = fetched.failure, _NOTHING, Rules(), ""
        sitemaps: tuple[str, ...] = ()
        ask, flags, body = fetched.assignment.ask, 0, b""
        if outcome is None:
            outcome, body = self._outcome(fetched, decoded), decoded.data
            if outcome is Outcome.BAD_ENCODING and (body := self._salvaged(fetched, decoded)):
                outcome = Outcome.OK
            elif outcome is Outcome.OK and ask in _LIKE_PAGES and (found := kind_of(body)):
                outcome = fetched.failure = Outcome.OTHER_TYPE
                fetched.detail, fetched.body, decoded = lie(mime(fetched.headers), found), b"", _EMPTY
        if outcome is Outcome.REDIRECT:
            target, gathered, flags = self._redirected(fetched)
        elif outcome is Outcome.OK and ask == Ask.ROBOTS:
            rules = Rules.parse(body, self._settings.harvester.agent)
            sitemaps = rules.sitemaps
        elif outcome is Outcome.OK and ask == Ask.SITEMAP:
            gathered, sitemaps = self._listed(fetched, body)
        elif outcome is Outcome.OK:
            gathered = self._gather(fetched, body)
            if ask == Ask.PROBE:
                gathered = replace(gathered, links=[], counted=_NOTHING.counted, seen=b"")
        if ask in _LIKE_PAGES:
            flags |= gathered.flags
            if outcome is not Outcome.OK and (tags := _robots_tags(fetched)):
                flags |= of_header(tags, self._settings.harvester.agent, time.time())
        kept = not flags & _PRIVATE or self._settings.gatherer.keep_noindex
        if flags & _NOINDEX and not kept:
            gathered = gathered.withheld()
        links = encode_links(gathered.links, self._seed, self._origins)
        return Result(fetched, outcome, flags, decoded, gathered, rules, sitemaps, target, links, kept)

    def _most_decoded(self, fetched: Fetched) -> int:
        ask, most = fetched.assignment.ask, int(self._settings.gatherer.max_decoded)
        if ask not in _LIKE_PAGES:
            most = MOST_BYTES if ask == Ask.SITEMAP else max(most, LIMIT + 1)
        return max(most, len(fetched.body))

    @staticmethod
    def _salvaged(fetched: Fetched, decoded: Decoded) -> bytes:
        """Of a sitemap that is damaged or too large, what comes before that; of robots.txt too, if it is all that is
        ever looked at. Nothing of a page."""
        ask, encoding = fetched.assignment.ask, fetched.headers.get("content-encoding", "")
        if ask in _LIKE_PAGES:
            return b""
        if decoded.data is not fetched.body and "," not in encoding:
            return decoded.data  # too large, and nothing else: it is at hand
        found = salvaged(fetched.body, encoding, MOST_BYTES if ask == Ask.SITEMAP else LIMIT + 1)
        return found if ask == Ask.SITEMAP or len(found) > LIMIT else b""

    @staticmethod
    def _outcome(fetched: Fetched, decoded: Decoded) -> Outcome:
        outcome = outcome_of(fetched.status, fetched.headers, fetched.body)
        if fetched.assignment.ask == Ask.ROBOTS:
            if outcome is Outcome.NO_CONTENT and fetched.status == 200:
                outcome = Outcome.OK
            asks = challenged(fetched.status, fetched.headers, decoded.data) if fetched.status < 300 else None
            if asks is not None and asks.outcome is Outcome.CHALLENGED:
                fetched.detail = asks.detail
                return asks.outcome
        elif outcome is Outcome.NO_CONTENT and 300 <= fetched.status < 400 and fetched.status != 304:
            fetched.detail = "a redirect without a target"
        elif asks := challenged(fetched.status, fetched.headers, decoded.data):
            fetched.detail = asks.detail
            return asks.outcome
        return Outcome.BAD_ENCODING if outcome is Outcome.OK and not decoded.ok else outcome

    def _gather(self, fetched: Fetched, body: bytes) -> Gathered:
        own = self._own(fetched.assignment.url.decode()) or ""
        return gather(
            own,
            fetched.headers.get("content-type", ""),
            _robots_tags(fetched),
            body,
            self._settings.gatherer,
            self._scope,
            self._settings.harvester.agent,
            fetched.headers.get("content-language", ""),
            time.time(),
        )

    def _listed(self, fetched: Fetched, body: bytes) -> tuple[Gathered, tuple[str, ...]]:
        """The pages that a sitemap lists, and the sitemaps that it names; it may be a gzip file."""
        if body.startswith(_GZIP):
            decoded = decode(body, "gzip", MOST_BYTES)
            body = decoded.data if decoded.ok else salvaged(body, "gzip", MOST_BYTES)
        asked = fetched.assignment.url.decode()
        sitemap = read(body, charset_of(fetched.headers.get("content-type", "")), time.time())
        own = self._scope.canonical(asked) or asked
        return listed(sitemap, own, self._scope), further(sitemap, asked, self._settings.seeder.sitemaps_per_site)

    def _redirected(self, fetched: Fetched) -> tuple[str, Gathered, int]:
        """Where a redirect leads, the one link that it is, and whether it goes to the site's other name (OTHER_NAME),
        and does nothing else (RESPELLED).

        Such a target, and that of robots.txt and of a sitemap, is named as the server has it.
        """
        asked, raw = fetched.assignment.url.decode(), _location(fetched)
        as_said = canonical(raw, asked) or ""
        own, target = self._scope.canonical(asked) or asked, self._scope.canonical(raw, asked) or ""
        flags, no_page = 0, fetched.assignment.ask != Ask.PAGE
        if self._scope.www and as_said and are_twins(host(as_said), host(asked)):
            flags = _OTHER_NAME | (_RESPELLED if target == own else 0)
        if flags or no_page:
            target = as_said
        if len(target) > self._scope.url_length:
            target = ""
        if no_page or flags & _RESPELLED:
            return target, _NOTHING, flags
        if not as_said:
            fetched.detail = "a redirect to no page of the Web"
        elif target == own:
            fetched.detail = "a redirect to the page itself" + (", with a cookie" if _sets_cookie(fetched) else "")
        return target, redirected(raw, own, self._scope), flags

    def _store(self, fetched: Fetched, decoded: Decoded, text: bytes | None) -> Place | None:
        """Archived is what came to its end, and what we broke off ourselves.

        robots.txt is archived whatever its X-Robots-Tag says: it is no page, but our permission.
        """
        if self.archive is None or fetched.failure not in (None, Outcome.OTHER_TYPE):
            return None
        assignment = fetched.assignment
        cut = fetched.cut or fetched.failure is not None
        wall = time.time() - (time.monotonic() - fetched.start)
        return self.archive.write(
            Exchange(
                assignment.url,
                assignment.address,
                wall,
                fetched.request,
                fetched.line,
                fetched.fields,
                fetched.body,
                decoded,
                cut,
            ),
            text,
        )


def _location(fetched: Fetched) -> str:
    """Servers send UTF-8 where only ASCII is allowed; octets that are not even that are meant as they are."""
    raw = fetched.headers["location"].encode("latin-1")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "".join([chr(octet) if octet < 0x80 else f"%{octet:02X}" for octet in raw])


def _sets_cookie(fetched: Fetched) -> bool:
    """Cookies are not kept: a server that goes on only with one sends us round and round."""
    return "set-cookie" in fetched.headers


def _robots_tags(fetched: Fetched) -> list[str]:
    """Each header by itself: what it says may be addressed to a name."""
    if "x-robots-tag" not in fetched.headers:
        return []
    return [value.decode("latin-1") for name, value in fetched.fields if name.lower() == b"x-robots-tag"]
