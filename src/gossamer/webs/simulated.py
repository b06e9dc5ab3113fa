"""A simulated Web: a function from URL to reply, under a virtual clock. The whole desk runs against it at CPU speed.

It is the second implementation of the web seam, and the fake of the tests: its results have exactly the layout that
workers send. It records every request with its virtual times, so that a test can check politeness.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gossamer import urls
from gossamer.base.clock import VirtualClock
from gossamer.base.model import (
    NONE,
    VISIT,
    VISIT_TEXTS,
    Ask,
    Assignment,
    LinkFlag,
    LinkKind,
    Outcome,
    Texts,
    Validators,
    VisitFlag,
    Visits,
)
from gossamer.collection.versions import Version, target_digest
from gossamer.urls.names import bare
from gossamer.web.fetch.caching import compared, conditions
from gossamer.web.message import HEAD, Links, Results, decode_results, encode_result
from gossamer.web.seam import Answer

_START, _SIZE = struct.Struct("<d"), struct.Struct("<I")
_START_AT, _SIZE_AT = (int(VISIT.fields[name][1]) for name in ("start", "received"))  # type: ignore[index]
_PRIVATE = VisitFlag.NOINDEX | VisitFlag.NOARCHIVE


@dataclass(frozen=True, slots=True)
class Sitemaps:
    """What a reply tells of sitemaps."""

    named: Sequence[str] = ()
    """Sitemaps that a robots.txt or a sitemap index names."""
    changed: Sequence[str] = ()
    """For a sitemap: when each page of `Reply.links` changed, in seconds since 1970, or ""."""


@dataclass(frozen=True, slots=True)
class Labels:
    """What a page says about itself."""

    flags: int = 0
    """`VisitFlag`; a page with NOINDEX or NOARCHIVE is not stored."""
    preferences: str = ""
    detail: str = ""
    """For a robots.txt or a file of proof: the proofs that it shows, as the gatherer writes them."""
    etag: str = ""
    modified: str = ""
    """Last-Modified."""
    unchanged: bool | None = None
    """The answer to a request on condition is always 304, or never; None: it depends on the validators."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a simulated server answers to one request."""

    outcome: Outcome = Outcome.OK
    status: int = 200
    links: Sequence[str] = ()
    """Canonical URLs, except that a page may write a `www.`; of a sitemap: the pages that it lists."""
    kind: LinkKind = LinkKind.ANCHOR
    digest: int = 0
    sketch: int = 0
    title: str = ""
    seconds: float = 0.1
    size: int = 10_000
    rules: bytes = b""
    """Compiled robots rules."""
    sitemaps: Sitemaps = Sitemaps()
    redirect: str = ""
    retry_after: float = -1.0
    delay: float = -1.0
    labels: Labels = Labels()


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was made; tests check politeness with it."""

    ask: Ask
    url: str
    site: int
    address: str
    start: float
    end: float
    retry_after: float
    status: int = 0
    """0: no answer."""
    redirect: str = ""


@dataclass(slots=True)
class SimulatedWeb:
    """The simulated Web behind the web seam: requests end in the order of their virtual ends."""

    reply: Callable[[str], Reply]
    clock: VirtualClock
    seed: int
    connections: int = 300
    www: bool = True
    """The setting `seeder.www`."""
    asked: list[Asked] = field(default_factory=list)
    gather: float = 0.0
    """Seconds for which results are collected after the first one, before they are handed over."""
    granted: int = 0
    """The last grant. It is not enforced here; only the caps of requests are."""
    asking: float = 0.0
    """When the request begins that `reply` is asked about, by the monotonic clock."""
    _open: list[tuple[float, int, bytes]] = field(default_factory=list)
    _received: int = 0

    def grant(self, speed: int) -> None:
        self.granted = speed

    def tell_time(self) -> None:
        """There is no archive."""

    def received(self) -> int:
        """Bytes received until now; the body of an open request arrives at a steady rate."""
        now, total = self.clock.monotonic(), self._received
        for end, _, body in self._open:
            start, size = _START.unpack_from(body, _START_AT)[0], _SIZE.unpack_from(body, _SIZE_AT)[0]
            total += int(size * min(1.0, max(0.0, now - start) / (end - start))) if end > start else size
        return total

    @property
    def open(self) -> int:
        return len(self._open)

    def free(self) -> int:
        return self.connections - len(self._open)

    def assign(self, assignments: list[Assignment]) -> None:
        now = self.clock.monotonic()
        for a in assignments:
            self.asking = start = max(now, a.not_before)
            reply = self.reply(a.url.decode())
            if a.cap and reply.size > a.cap * reply.seconds:
                labels = replace(reply.labels, flags=reply.labels.flags | VisitFlag.HELD)
                reply = replace(reply, seconds=reply.size / a.cap, labels=labels)
            end = start + reply.seconds
            answer = (reply.retry_after, reply.status, reply.redirect)
            self.asked.append(Asked(a.ask, a.url.decode(), a.site, a.address, start, end, *answer))
            heapq.heappush(self._open, (end, a.number, result_body(a, reply, start, end, self.seed, self.www)))

    def results(self, timeout: float, gather: float = 0.0) -> Results:
        now = self.clock.monotonic()
        until = now + timeout
        if self._open:
            until = min(until, max(now, self._open[0][0] + self.gather))
        self.clock.advance(until - now)
        bodies = []
        while self._open and self._open[0][0] <= until:
            bodies.append(heapq.heappop(self._open)[2])
            self._received += _SIZE.unpack_from(bodies[-1], _SIZE_AT)[0]
        return decode_results(bodies)

    def warc_lengths(self) -> dict[str, int]:
        return {}

    def stop(self, grace: float) -> Results:
        """Requests that end within `grace` seconds are completed; the others are returned."""
        end = self.clock.monotonic() + grace
        bodies = []
        for ends, _, body in sorted(self._open):
            visit = np.frombuffer(body[: VISIT.itemsize], VISIT).copy()
            if ends > end:
                visit["outcome"], visit["end"], visit["links"] = Outcome.RETURNED, end, 0
                visit["texts"] = 0
                bodies.append(visit.tobytes())
            else:
                bodies.append(body)
        if bodies:
            self.clock.advance(grace)
        self._open.clear()
        return decode_results(bodies)

    def cpu_seconds(self) -> float:
        return 0.0


@dataclass(slots=True)
class SimulatedNames:
    """The simulated name server: `address` gives the address of a host, or several, separated by spaces. None: the name
    does not exist; "forbidden": it leads to an address that must not be visited."""

    address: Callable[[str], str | None]
    ttl: float = 86_400.0
    _answers: list[Answer] = field(default_factory=list)

    @property
    def open(self) -> int:
        return len(self._answers)

    def ask(self, site: int, host: str, fresh: bool = False) -> None:
        found = self.address(host)
        error = "no such name" if found is None else "forbidden" if found == "forbidden" else ""
        several = () if error or found is None else tuple(found.split())
        address = several[0] if several else None
        self._answers.append(Answer(site, host, address, 0, self.ttl, error, several, "simulated"))

    def forget(self) -> None:
        """Does nothing: no answer is cached."""

    def answers(self) -> list[Answer]:
        out, self._answers = self._answers, []
        return out


def result_body(a: Assignment, reply: Reply, start: float, end: float, seed: int, www: bool = True) -> bytes:
    """A RESULT frame without its head, as a worker sends it."""
    asked = conditions(a)[0]
    if asked and reply.status == 200 and _is_unchanged(Version.read(a.version), asked, reply.labels):
        reply = replace(reply, outcome=Outcome.NOT_MODIFIED, status=304, links=(), digest=0, sketch=0, size=200)
    visit: Visits = np.zeros(1, VISIT)
    visit["number"], visit["page"], visit["origin"], visit["site"] = a.number, a.page, a.origin, a.site
    visit["ask"], visit["outcome"], visit["status"] = a.ask, reply.outcome, reply.status
    visit["start"], visit["end"], visit["first"] = start, end, (end - start) / 2
    visit["received"] = visit["length"] = reply.size
    visit["digest"], visit["sketch"], visit["duplicate_of"] = reply.digest, reply.sketch, NONE
    stored = reply.outcome == Outcome.OK and a.ask == Ask.PAGE and not reply.labels.flags & _PRIVATE
    visit["flags"] = reply.labels.flags | (VisitFlag.STORED if stored else 0)
    visit["retry_after"], visit["delay"] = reply.retry_after, reply.delay
    texts = {
        "rules": reply.rules,
        "redirect": reply.redirect.encode(),
        "sitemaps": "\n".join(reply.sitemaps.named).encode(),
        "title": _title(a, reply),
        "preferences": reply.labels.preferences.encode(),
        "detail": reply.labels.detail.encode(),
        "etag": reply.labels.etag.encode(),
        "last_modified": reply.labels.modified.encode(),
    }
    if a.version:
        unmodified = reply.outcome == Outcome.NOT_MODIFIED
        visit["change"], visit["validators"] = compared(a, _version_of(reply), unmodified)
    targets = list(dict.fromkeys(reply.links))
    if www and reply.outcome == Outcome.REDIRECT and _to_other_name(a.url.decode(), reply.redirect):
        visit["flags"] = VisitFlag.OTHER_NAME
        if bare(reply.redirect) == bare(a.url.decode()):
            visit["flags"], targets = VisitFlag.OTHER_NAME | VisitFlag.RESPELLED, []
    visit["out_degree"] = len(targets)
    kind = LinkKind.SITEMAP if a.ask == Ask.SITEMAP else reply.kind
    links = links_of(targets, kind, seed, www) if a.ask in (Ask.PAGE, Ask.SITEMAP) else Links.none()
    if reply.sitemaps.changed:
        links = replace(links, anchors=Texts.join([text.encode() for text in reply.sitemaps.changed], "<u2"))
    return encode_result(visit, [texts.get(name, b"") for name in VISIT_TEXTS], links)[HEAD.size :]


def _is_unchanged(before: Version, asked: int, now: Labels) -> bool:
    if now.unchanged is not None:
        return now.unchanged
    if asked & Validators.BY_ETAG:
        return before.etag == now.etag.encode()
    return before.modified == now.modified.encode()


def _version_of(reply: Reply) -> Version | None:
    """The version of the page that the reply brings."""
    etag, modified = reply.labels.etag.encode(), reply.labels.modified.encode()
    if reply.outcome == Outcome.REDIRECT:
        digest = target_digest(reply.redirect.encode())
        return Version(digest=digest, redirect=True, etag=etag, modified=modified)
    if reply.outcome != Outcome.OK:
        return None
    return Version(digest=reply.digest, sketch=reply.sketch, etag=etag, modified=modified)


def _title(a: Assignment, reply: Reply) -> bytes:
    if a.ask == Ask.PROBE:
        return a.url + b" " + reply.title.encode()
    return a.url if a.ask in (Ask.SITEMAP, Ask.PROOF) else reply.title.encode()


def _to_other_name(asked: str, target: str) -> bool:
    """Whether a redirect leads to the other name of the same host."""
    return bool(target) and urls.are_twins(urls.host(asked), urls.host(target))


def links_of(targets: Sequence[str], kind: LinkKind, seed: int, www: bool = True) -> Links:
    if not targets:
        return Links.none()
    canonical = [bare(t) for t in targets] if www else targets
    flags = [
        (LinkFlag.WWW if c != t else 0) | (LinkFlag.DYNAMIC if urls.classify(c).dynamic else 0)
        for t, c in zip(targets, canonical, strict=True)
    ]
    return Links.plain(
        np.array([urls.fingerprint(t, seed) for t in canonical], np.uint64),
        np.array([urls.fingerprint(urls.origin(t), seed) for t in canonical], np.uint64),
        np.full(len(canonical), kind, np.uint8),
        np.array(flags, np.uint8),
        Texts.join([t.encode() for t in canonical], "<u2"),
    )
