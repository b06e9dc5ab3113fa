"""The reader: turns a fetched response into a result. It runs in the worker.

A response is a page, a probe, a robots.txt, a sitemap or a proof. The result depends on response, URL and settings
alone.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from gossamer.base.clock import DeskTime
from gossamer.base.model import Ask, Counted, Outcome, VisitFlag
from gossamer.collection.versions import Version
from gossamer.config import Settings
from gossamer.gatherer.challenge import challenged
from gossamer.gatherer.charset import charset_of
from gossamer.gatherer.directives import of_header
from gossamer.gatherer.extract.named import extractor
from gossamer.gatherer.gather import gather, redirected
from gossamer.gatherer.gathered import Gathered
from gossamer.gatherer.link_field import field_text
from gossamer.gatherer.links import Seen
from gossamer.gatherer.result import Result, encode, encode_links
from gossamer.gatherer.sitemaps import MOST_BYTES, further, listed, read
from gossamer.robots import Rules
from gossamer.robots.parse import LIMIT
from gossamer.urls import Scope, are_twins, canonical, host
from gossamer.web.archive.archive import Archive, Copy, Exchange, Place
from gossamer.web.fetch.caching import conditions
from gossamer.web.fetch.decode import Decoded, decode, salvaged
from gossamer.web.fetch.fetch import Fetched
from gossamer.web.fetch.response import kind_of, lie, mime, outcome_of
from gossamer.web.owner.proof import NAME, shown

LARGE: Final = 300_000
"""Bytes of a decoded body. Larger ones, which take more than about 20 ms, are read in the background thread."""
_NOT_MODIFIED: Final = 304
_NOWHERE: Final = "http://localhost/"
_NOTHING: Final = Gathered()
_EMPTY: Final = Decoded(b"", True, True)
_LIKE_PAGES: Final = (Ask.PAGE, Ask.PROBE)
_GZIP: Final = b"\x1f\x8b"
_RESPELLED, _OTHER_NAME = int(VisitFlag.RESPELLED), int(VisitFlag.OTHER_NAME)
_NAMED: Final = int(VisitFlag.NAMED)
_NOINDEX, _PRIVATE = int(VisitFlag.NOINDEX), int(VisitFlag.NOINDEX | VisitFlag.NOARCHIVE)


class Reader:
    """Turns fetched responses into results: most of the CPU time of a page. `read` may run in two threads at once."""

    def __init__(self, settings: Settings, seed: int) -> None:
        self._settings = settings
        self._seed = seed
        self._scope = Scope.of(settings.seeder)
        self._own = self._scope.joiner(_NOWHERE)
        """Gives the canonical form of a requested URL, which may have `www.`; faster than `canonical`."""
        self._origins: dict[str, int] = {}
        self._extract = extractor(settings.plugins, self._scope)
        self.archive: Archive | None = None
        self.clock = DeskTime()
        self.max_stored = int(settings.gatherer.max_stored)
        self.markup = bool(settings.gatherer.keep)

    def result(self, fetched: Fetched) -> bytes:
        """Read a response, store it, and return its RESULT frame."""
        return self.finish(self.read(fetched))

    def finish(self, result: Result) -> bytes:
        """The RESULT frame. Request and response, if they are kept, are stored in the archive before it is made."""
        place = self._store(result) if result.kept else None
        return encode(result, place, self.archive.number if self.archive else 0)

    def without(self, result: Result, left_out: Collection[int]) -> Result:
        """The result without the links in these places: they are counted as rejected."""
        gathered, seen = result.gathered, Seen()
        for place in left_out:
            seen.add(Counted.REJECTED, gathered.links[place].url)
        kept = [link for place, link in enumerate(gathered.links) if place not in left_out]
        counted = [number + more for number, more in zip(gathered.counted, seen.counted, strict=True)]
        gathered = replace(gathered, links=kept, counted=counted, seen=seen.lines() + gathered.seen)
        return result._replace(gathered=gathered, links=encode_links(kept, self._seed, self._origins))

    def read_at_once(self, fetched: Fetched) -> Result | None:
        """Read a small response. None if it has more than `LARGE` bytes, or is a sitemap, which may have 50 MB."""
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
        """Read a response. `decoded`: its decoded body, if it is decoded already."""
        if decoded is None:
            decoded = self._decoded(fetched, self._most_decoded(fetched)) if fetched.failure is None else _EMPTY
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
            sitemaps, flags = rules.sitemaps, _NAMED if rules.named else 0
            if self._settings.harvester.mine:
                fetched.detail = fetched.detail or _proofs(body)
        elif outcome is Outcome.OK and ask == Ask.PROOF:
            fetched.detail = fetched.detail or _proofs(body)
        elif outcome is Outcome.OK and ask == Ask.SITEMAP:
            gathered, sitemaps = self._listed(fetched, body)
        elif outcome is Outcome.OK:
            gathered = self._gather(fetched, body)
            if ask == Ask.PROBE:
                gathered = replace(gathered, links=[], counted=_NOTHING.counted, seen=b"", rows=b"")
        if ask in _LIKE_PAGES:
            flags |= gathered.flags
            if outcome is not Outcome.OK and (tags := _robots_tags(fetched)):
                flags |= of_header(tags, self._settings.harvester.agent, time.time())
        kept = not flags & _PRIVATE or self._settings.gatherer.keep_noindex
        if flags & _NOINDEX and not kept:
            gathered = gathered.withheld()
        elif gathered.rows and not kept:
            gathered = replace(gathered, rows=b"")
        links = encode_links(gathered.links, self._seed, self._origins)
        return Result(fetched, outcome, flags, decoded, gathered, rules, sitemaps, target, links, kept)

    def _most_decoded(self, fetched: Fetched) -> int:
        """Maximum bytes of the decoded body."""
        ask, most = fetched.assignment.ask, int(self._settings.gatherer.max_decoded)
        if ask not in _LIKE_PAGES:
            most = MOST_BYTES if ask == Ask.SITEMAP else max(most, LIMIT + 1)
        return max(most, len(fetched.body))

    @staticmethod
    def _salvaged(fetched: Fetched, decoded: Decoded) -> bytes:
        """The usable beginning of a body that could not be decoded. For a sitemap it is the part before the damage or
        the limit. For a robots.txt it counts only if it reaches the limit up to which the file is read anyway. For a
        page it is empty."""
        ask, encoding = fetched.assignment.ask, fetched.headers.get("content-encoding", "")
        if ask in _LIKE_PAGES:
            return b""
        if decoded.data is not fetched.body and "," not in encoding:
            return decoded.data  # too large but not damaged: the beginning is decoded already
        beginning = salvaged(fetched.body, encoding, MOST_BYTES if ask == Ask.SITEMAP else LIMIT + 1)
        return beginning if ask == Ask.SITEMAP or len(beginning) > LIMIT else b""

    @staticmethod
    def _outcome(fetched: Fetched, decoded: Decoded) -> Outcome:
        """The outcome of a response that arrived; also sets `fetched.detail`."""
        outcome = outcome_of(fetched.status, fetched.headers, fetched.body)
        if fetched.status == _NOT_MODIFIED and conditions(fetched.assignment)[0]:
            return Outcome.NOT_MODIFIED
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
        own, headers = self._own(fetched.assignment.url.decode()) or "", fetched.headers
        kind, spoken = headers.get("content-type", ""), headers.get("content-language", "")
        tags, settings, agent = _robots_tags(fetched), self._settings.gatherer, self._settings.harvester.agent
        proven, now = fetched.assignment.proven, time.time()
        extract = self._extract(own, proven) if self._extract is not None else None
        return gather(own, kind, tags, body, settings, self._scope, agent, spoken, now, headers, proven, extract)

    def _listed(self, fetched: Fetched, body: bytes) -> tuple[Gathered, tuple[str, ...]]:
        """The pages that a sitemap lists, and the sitemaps that it names. The file may be compressed with gzip."""
        if body.startswith(_GZIP):
            decoded = decode(body, "gzip", MOST_BYTES)
            body = decoded.data if decoded.ok else salvaged(body, "gzip", MOST_BYTES)
        asked = fetched.assignment.url.decode()
        sitemap = read(body, charset_of(fetched.headers.get("content-type", "")), time.time())
        own = self._scope.canonical(asked) or asked
        pages = listed(sitemap, own, self._scope, fetched.assignment.proven)
        return pages, further(sitemap, asked, self._settings.seeder.sitemaps_per_site)

    def _redirected(self, fetched: Fetched) -> tuple[str, Gathered, int]:
        """The target of a redirect, its one link, and flags.

        OTHER_NAME: the target is at the other name of the host, with or without `www.`; RESPELLED: nothing else is
        different. The target of such a redirect, and of a redirect of robots.txt or a sitemap, keeps the `www.` of the
        server; other targets have the canonical form of the crawl.
        """
        asked, raw = fetched.assignment.url.decode(), field_text(fetched.headers["location"])
        as_sent = canonical(raw, asked) or ""
        own, scope, proven = self._scope.canonical(asked) or asked, self._scope, fetched.assignment.proven
        target = scope.proving(lambda reference: scope.canonical(reference, asked), asked, proven)(raw) or ""
        flags, no_page = 0, fetched.assignment.ask != Ask.PAGE
        if self._scope.www and as_sent and are_twins(host(as_sent), host(asked)):
            flags = _OTHER_NAME | (_RESPELLED if target == own else 0)
        if flags or no_page:
            target = as_sent
        if len(target) > self._scope.url_length:
            target = ""
        if no_page or flags & _RESPELLED:
            return target, _NOTHING, flags
        if not as_sent:
            fetched.detail = "a redirect to something that is not a Web page"
        elif target == own:
            # we keep no cookies, so a server that requires one redirects us endlessly
            with_cookie = ", with a cookie" if "set-cookie" in fetched.headers else ""
            fetched.detail = f"a redirect to the page itself{with_cookie}"
        return target, redirected(raw, own, scope, proven), flags

    def _store(self, result: Result) -> Place | None:
        """Archive a response that is complete, or that we cut off ourselves. robots.txt is archived whatever its
        X-Robots-Tag says: it is not a page but the proof of our permission. That a page has not changed is archived if
        the page is."""
        fetched, copy = result.fetched, None
        if result.outcome is Outcome.NOT_MODIFIED:
            before = Version.read(fetched.assignment.version)
            copy = Copy(before.payload, before.warc_file, before.warc_offset)
            if not copy.offset:
                return None
        if self.archive is None or fetched.failure not in (None, Outcome.OTHER_TYPE):
            return None
        url, address = fetched.assignment.url, fetched.assignment.address
        cut = "length" if fetched.cut else "unspecified" if fetched.failure is not None else ""
        wall = self.clock.wall() - (time.monotonic() - fetched.start)
        exchange = Exchange(
            url, address, wall, fetched.request, fetched.head, fetched.body, result.decoded, cut, fetched.tls
        )
        return self.archive.write(exchange, result.gathered.text, copy)


def _robots_tags(fetched: Fetched) -> list[str]:
    """The values of X-Robots-Tag, one per header: each may be addressed to a crawler by name."""
    if "x-robots-tag" not in fetched.headers:
        return []
    return [value.decode("latin-1") for name, value in fetched.head.fields if name.lower() == b"x-robots-tag"]


def _proofs(body: bytes) -> str:
    """The proofs that a file shows, as the detail of its visit: only the desk has the key to judge them. A visit whose
    detail says that the certificate is not valid shows none."""
    found = shown(body)
    return f"{NAME}: {' '.join(found)}" if found else ""
