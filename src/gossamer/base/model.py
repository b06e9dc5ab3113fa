"""The values that flow between the stages: enumerations and typed records.

One record, `VISIT`, describes a request all the way from the worker to its row in the `visits` table: the worker fills
it, the desk adds what needs state (wall time, duplicate), the journal stores it unchanged. The texts of a visit travel
with it in a separate buffer, in the order of `VISIT_TEXTS`; `VISIT["texts"]` has their lengths.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import I64, Indices, Integers, Records
from gossamer.base.outcomes import SITE_FAILURES as SITE_FAILURES
from gossamer.base.outcomes import TRANSIENT as TRANSIENT
from gossamer.base.outcomes import Outcome as Outcome
from gossamer.base.outcomes import Reason as Reason

NONE: Final = 0xFFFFFFFF
"""No page, no site, no origin (numbers are uint32 within a shard)."""
SHARD_SHIFT: Final = 40
"""A page's number in tables and messages is shard << 40 | local number."""


class State(IntEnum):
    """The state of a known page. Always: known = pending + waiting + done + excluded."""

    PENDING = 0
    """May be planned, is planned, or is in flight."""
    WAITING = 1
    """Tried without success; may be planned again when it is due."""
    DONE = 2
    """Its last outcome is final."""
    EXCLUDED = 3
    """Known, but never requested: its `Reason` says why."""


class LinkKind(IntEnum):
    """How a page refers to another page."""

    ANCHOR = 0
    FRAME = 1
    EMBEDDED = 2
    CANONICAL = 3
    ALTERNATE = 4
    REDIRECT = 5
    SEED = 6
    SITEMAP = 7
    """Not a link: a sitemap of the site lists the page. Never in the `links` table."""


class LinkFlag(IntFlag):
    """Properties of a link that the page or the worker found."""

    NOFOLLOW = 1
    DYNAMIC = 2
    HEADING = 4
    """The link is in a heading, or around one."""
    BOLD = 8
    """The link is in bold text (strong, b), or around some."""
    WWW = 16
    """The link was written with `www.`, which the canonical form drops. It is not stored: four flags are."""


class Tag(IntEnum):
    """The HTML element that contains a link."""

    OTHER = 0
    A = 1
    AREA = 2
    LINK = 3
    META = 4
    FRAME = 5
    IFRAME = 6
    IMG = 7
    SCRIPT = 8
    SOURCE = 9
    VIDEO = 10
    AUDIO = 11
    EMBED = 12
    OBJECT = 13
    HEADER = 14
    """Not an element: a header field (Location, Refresh, Link)."""


class Counted(IntEnum):
    """Classes of link targets that never become known pages: only counted, page by page."""

    IMAGE = 0
    AUDIO = 1
    VIDEO = 2
    DOCUMENT = 3
    SOFTWARE = 4
    SOURCE = 5
    ARCHIVE = 6
    OUT_OF_SCOPE = 7
    """Its host is not in `seeder.domains`, or its port is not in `seeder.ports`."""
    TOO_LONG = 8
    NOFOLLOW = 9
    NOT_HTTP = 10
    SITE_FULL = 11
    """The site already has as many known pages as the settings allow."""
    COLLECTION_FULL = 12
    REJECTED = 13
    """A `seeder.reject` pattern matches it, or no `seeder.accept` pattern does."""
    TRAP = 14
    """Its URL repeats a part more often than `seeder.repeats` allows: a/b/c/c/c (A.6.2)."""


class Mentioned(IntEnum):
    """What a page says that no decision of the crawl needs (`gatherer/mentions.py`). No name is one of `Counted`."""

    H1 = 0
    """Its first heading, and how many it has."""
    CANONICAL = 1
    """An address that it names as its own."""
    HREFLANG = 2
    """A version of it in another language."""
    EXTERNAL = 3
    """A link to a host out of scope."""
    PART = 4
    """A part of it, such as a script, from a host out of scope; or a part by http, if the page comes by https."""


class PageFlag(IntFlag):
    """Properties of a known page."""

    DYNAMIC = 1
    """The URL looks like the output of a program: the smaller depth limit applies."""
    SEED = 2
    JUDGED = 4
    """The robots rules in force have been applied to it."""
    ASSIGNED = 8
    """In flight. Volatile: never stored."""
    HOPS = 0xF0
    """A four-bit counter: the number of redirects in a row by which the page was found."""


HOPS_SHIFT: Final = 4
MOST_REDIRECTS: Final = 10
"""A page behind more redirects in a row is not requested. (Browsers give up after 20, search engines after 5 to 10.)"""


class VerdictFlag(IntFlag):
    """What a verdict says in addition to the page's state. If the verdict repeats the state, only this changes."""

    ROBOTS = 1
    """The robots rules in force made the verdict; without this flag, settings or seeds did."""
    SEED = 2
    """The page becomes a seed: its depth is 0, and it is never rejected."""
    DYNAMIC = 4
    STATIC = 8
    """The page becomes dynamic, or static."""
    AGAIN = 16
    """A page that is done is requested once more."""
    LISTED = 32
    """A sitemap of its site lists the page: its depth becomes 1 at most."""
    DATED = 64
    """A sitemap of its site says when the page was last changed."""
    SIGNALLED = 128
    """That time is later than our copy: a signal that the page has changed."""


class VisitFlag(IntFlag):
    """Properties of a visit."""

    CUT = 1
    """The body was longer than the maximum download; the rest was not read."""
    STORED = 2
    """The body is in the archive."""
    NOINDEX = 4
    NOFOLLOW = 8
    NOARCHIVE = 16
    REUSED = 32
    """Fetched over a connection that was already open."""
    EMPTY = 64
    """Almost no text: never treated as a duplicate. (Only said of pages.)"""
    NAMED = EMPTY
    """Only said of robots.txt: its Crawl-delay is for this crawler by name."""
    MANY_LINKS = 128
    """More links than the gatherer keeps; the rest was not read."""
    NOT_FOLLOWED = 256
    """A redirect of robots.txt to nowhere, or over too many steps: treated as if there were no robots.txt."""
    REPEATED = 512
    """Archived as a revisit record: an earlier visit stored the same body."""
    RESPELLED = 1024
    """A redirect to the same page, with `www.` added to its host or removed from it."""
    OTHER_NAME = 4096
    """A redirect to the site's other name: with `www.`, or without it."""
    TEXT = 2048
    """Its cleaned text is also in the archive."""
    UNAVAILABLE = 8192
    """The page is past its `unavailable_after` date: NOINDEX is set as well."""
    UNVERIFIED = 16384
    """Fetched although the server's certificate is not valid, as the settings allow; `detail` says what is wrong."""
    HELD = 32768
    """The bandwidth limit slowed the transfer: the server is at least as fast as the visit says."""


class Change(IntEnum):
    """What a visit found, compared with the version of the page that was seen before."""

    UNKNOWN = 0
    """Not compared: it is the first version, the version before is not known, or the visit brought none."""
    NONE = 1
    """The server says so (304), or body, or text and links, are the same."""
    MINOR = 2
    """Only dates or numbers differ, or so little that the sketches are almost the same."""
    MAJOR = 3


class Validators(IntFlag):
    """What became of the validators (ETag, Last-Modified) of the version before, at a visit of a page that has one."""

    BY_ETAG = 1
    """The page was requested with If-None-Match."""
    BY_DATE = 2
    """The page was requested with If-Modified-Since."""
    SAME_ETAG = 4
    OTHER_ETAG = 8
    SAME_DATE = 16
    OTHER_DATE = 32
    """The answer has the same Last-Modified as the version before, or another. The same for the ETag."""
    TESTED = 64
    """The page was requested in full although it has validators: to find out whether they can be believed."""


class Ask(IntEnum):
    """What an assignment requests."""

    PAGE = 0
    ROBOTS = 1
    SITEMAP = 2
    PROBE = 3
    """A page that cannot exist, to learn how its site answers (A.3.4)."""
    PROOF = 4
    """The file in which a site may prove that it belongs to the operator (`web/owner/proof.py`)."""


ERRAND: Final = 255
"""In the site queue only, where a request is `Ask.PAGE`, `Ask.ROBOTS` or this: the site's next errand of any kind."""


# fmt: off
VISIT_TEXTS: Final = (
    "mime", "charset", "etag", "last_modified", "redirect", "title", "address", "detail", "rules", "sitemaps",
    "language", "description", "preferences",
)
# fmt: on

VISIT: Final = np.dtype(
    [
        ("number", "<u8"),  # of the assignment
        ("page", "<u4"),  # NONE for robots.txt, sitemaps, probes and proofs
        ("origin", "<u4"),
        ("site", "<u4"),
        ("ask", "u1"),  # Ask
        ("outcome", "u1"),  # Outcome
        ("status", "<u2"),  # HTTP status, 0 without one
        ("flags", "<u2"),  # VisitFlag
        ("time", "<f8"),  # wall clock at the end (the desk fills it)
        ("start", "<f8"),  # monotonic: request handed to libcurl
        ("connect", "<f8"),  # seconds from start until connected (TLS included)
        ("first", "<f8"),  # seconds from start to the first byte
        ("end", "<f8"),  # monotonic: last byte or failure; politeness counts from here
        ("received", "<u4"),  # bytes read from the wire, headers included
        ("sent", "<u4"),
        ("length", "<u4"),  # bytes of the decoded body
        ("text_length", "<u4"),  # characters of the cleaned text
        ("digest", "<u8"),  # of cleaned text and resolved links; 0 without one
        ("sketch", "<u8"),  # simhash of the cleaned text, for near duplicates; 0 without one
        ("numberless", "<u8"),  # of cleaned text and resolved links without their digits; 0 without one
        ("payload", "u1", (20,)),  # SHA-1 of the body as archived; zeros without one
        ("duplicate_of", "<u4"),  # page (the desk fills it)
        ("out_degree", "<u4"),  # distinct links of the page, counted ones included
        ("links", "<u4"),  # links that crossed
        ("retry_after", "<f4"),  # seconds from the end; negative = not given
        ("delay", "<f4"),  # Crawl-delay of robots.txt; negative = not given
        ("lifetime", "<f4"),  # seconds for which the server calls its answer fresh (RFC 9111); 0 = not given
        ("change", "u1"),  # Change
        ("validators", "u1"),  # Validators
        ("warc_file", "<u2"),
        ("warc_offset", "<u8"),  # of the response record
        ("warc_end", "<u8"),  # length of the file after this visit's records; 0 = nothing written
        ("counted", "<u2", (len(Counted),)),
        ("seen", "<u4"),  # bytes of the lines on what was seen but not fetched, in a tick's results (`message.Results`)
        ("texts", "<u4", (len(VISIT_TEXTS),)),
    ]
)

Visits = Records


class Assignment(NamedTuple):
    """Work for a worker: one request to one pinned address. A tuple, since one is made for every request, and a frozen
    dataclass takes three times as long to make."""

    number: int
    ask: Ask
    page: int
    origin: int
    site: int
    url: bytes
    address: str
    """IP address in text form; the socket connects to no other address."""
    port: int
    """Port at that address (differs from the URL's only under `harvester.resolve`)."""
    alone: bool = False
    """The page killed a worker once: nothing else runs in the worker at the same time."""
    cap: int = 0
    """Maximum bytes per second for this request; 0: no cap of its own."""
    not_before: float = 0.0
    """Monotonic time: the request was handed out early, and the worker keeps it until then."""
    proven: int = 0
    """Session parameters that are proven at the site: a bit for each of `seeder.session_ids`."""
    version: bytes = b""
    """The version of the page that the last fetch brought, to compare with (`collection/versions.py`); b"": none."""
    conditions: int = 0
    """Validators: BY_ETAG and BY_DATE if the page may be requested on these conditions; TESTED."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Many short byte strings in one buffer: `lengths[i]` bytes each, in order."""

    lengths: Integers
    buffer: bytes

    def offsets(self) -> I64:
        """Start of each string, and the end of the last."""
        out = np.zeros(len(self.lengths) + 1, dtype=np.int64)
        np.cumsum(self.lengths, out=out[1:])
        return out

    def split(self) -> list[bytes]:
        return [self.buffer[a:b] for a, b in pairwise(self.offsets().tolist())]

    def last(self, count: int) -> list[bytes]:
        """The last `count` strings, or all if there are fewer."""
        lengths = self.lengths[-count:]
        return Texts(lengths, self.buffer[len(self.buffer) - int(lengths.sum()) :]).split()

    @staticmethod
    def join(items: list[bytes], dtype: str = "<u4") -> Texts:
        return Texts(np.array([len(i) for i in items], dtype=dtype), b"".join(items))


@dataclass(frozen=True, slots=True)
class VisitTexts:
    """The texts of many visits in one buffer: all `VISIT_TEXTS` of the first visit, then of the second, and so on."""

    visits: Visits
    buffer: bytes

    def all(self) -> list[dict[str, bytes]]:
        """For each visit, its texts by name."""
        parts = iter(Texts(self.visits["texts"].reshape(-1), self.buffer).split())
        return [{name: next(parts) for name in VISIT_TEXTS} for _ in range(len(self.visits))]

    def at(self, rows: Indices) -> Iterator[tuple[int, dict[str, bytes]]]:
        """For each of these visits: its index, and its texts by name."""
        lengths = self.visits["texts"]
        starts = np.concatenate(([0], np.cumsum(lengths.sum(axis=1, dtype=np.int64))))
        for i in rows.tolist():
            parts = Texts(lengths[i], self.buffer[starts[i] : starts[i + 1]]).split()
            yield i, dict(zip(VISIT_TEXTS, parts, strict=True))

    def text(self, i: int, name: str) -> bytes:
        """One text of visit `i`."""
        lengths, place = self.visits["texts"], VISIT_TEXTS.index(name)
        start = int(lengths[:i].sum()) + int(lengths[i, :place].sum())
        return self.buffer[start : start + int(lengths[i, place])]
