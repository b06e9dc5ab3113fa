"""The values that flow between the stages: closed sets of words, and the typed records.

One record, `VISIT`, describes a request from the worker that made it to the row in the `visits` table: the worker fills
it, the desk adds what needs state (wall time, duplicate), the journal stores it as it is. Texts of a visit travel
beside it, in the order of `VISIT_TEXTS`, their lengths in `VISIT["texts"]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

NONE: Final = 0xFFFFFFFF
"""No page, no site, no origin (numbers are uint32 inside a shard)."""
SHARD_SHIFT: Final = 40
"""A page's number in tables and messages is shard << 40 | local number, from the first day."""


class State(IntEnum):
    """Where a known page stands. known = pending + waiting + done + excluded, always."""

    PENDING = 0
    """May be planned (or is planned, or in flight)."""
    WAITING = 1
    """Tried without success; may be planned again when its time comes."""
    DONE = 2
    """Ended in a final outcome."""
    EXCLUDED = 3
    """Known, but not to be asked for: its `Reason` says why."""


class Reason(IntEnum):
    """Why a page is excluded."""

    NONE = 0
    ROBOTS = 1
    """robots.txt forbids it."""
    DEPTH = 2
    """It lies deeper in its site than the settings allow."""


class LinkKind(IntEnum):
    """How a page refers to another."""

    ANCHOR = 0
    FRAME = 1
    EMBEDDED = 2
    CANONICAL = 3
    ALTERNATE = 4
    REDIRECT = 5
    SEED = 6


class LinkFlag(IntFlag):
    """What the page or the worker says about a link."""

    NOFOLLOW = 1
    DYNAMIC = 2


class Counted(IntEnum):
    """Link targets that never enter the known-page table: counted by class, page by page."""

    IMAGE = 0
    AUDIO = 1
    VIDEO = 2
    DOCUMENT = 3
    SOFTWARE = 4
    SOURCE = 5
    ARCHIVE = 6
    OUT_OF_SCOPE = 7
    TOO_LONG = 8
    NOFOLLOW = 9
    NOT_HTTP = 10
    SITE_FULL = 11
    """The site already has as many known pages as the settings allow."""
    COLLECTION_FULL = 12


class PageFlag(IntFlag):
    DYNAMIC = 1
    """The URL looks like the output of a program: the smaller depth limit holds."""
    SEED = 2
    JUDGED = 4
    """The robots rules in force have been applied to it."""
    ASSIGNED = 8
    """In flight. Volatile: never stored."""


class VisitFlag(IntFlag):
    CUT = 1
    """The body was longer than the largest download; the rest was not read."""
    STORED = 2
    """The body is in the archive."""
    NOINDEX = 4
    NOFOLLOW = 8
    NOARCHIVE = 16
    REUSED = 32
    """Fetched over a connection that was open already."""
    EMPTY = 64
    """Almost no text: never taken for a duplicate."""
    MANY_LINKS = 128
    """More links than the gatherer keeps; the rest was not read."""
    NOT_FOLLOWED = 256
    """A redirect of robots.txt that leads nowhere, or too far: as if there were none."""


class Ask(IntEnum):
    """What an assignment asks for."""

    PAGE = 0
    ROBOTS = 1


class Outcome(IntEnum):
    """What became of a request. One word each, used by tables, logs, JSON and reports; `sentence` explains it."""

    OK = 0
    DUPLICATE = 1
    REDIRECT = 2
    NOT_FOUND = 3
    REFUSED = 4
    SERVER_ERROR = 5
    TOO_MANY_REQUESTS = 6
    OTHER_TYPE = 7
    NO_CONTENT = 8
    CONNECT_FAILED = 9
    TIMED_OUT = 10
    TOO_SLOW = 11
    BROKEN_OFF = 12
    TLS_FAILED = 13
    PROTOCOL_ERROR = 14
    BAD_ENCODING = 15
    FORBIDDEN_ADDRESS = 16
    WORKER_DIED = 17
    RETURNED = 18

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]

    @property
    def word(self) -> str:
        return self.name.lower()


_SENTENCES: Final = {
    Outcome.OK: "The page was fetched, gathered and stored.",
    Outcome.DUPLICATE: "The page was fetched, and has the text and links of a page known before.",
    Outcome.REDIRECT: "The server names another address; it is followed as a link.",
    Outcome.NOT_FOUND: "The server says that there is no such page (404, 410).",
    Outcome.REFUSED: "The server refuses the request (any other 4xx).",
    Outcome.SERVER_ERROR: "The server failed (5xx).",
    Outcome.TOO_MANY_REQUESTS: "The server asks us to slow down (429).",
    Outcome.OTHER_TYPE: "Not a type that is gathered; the body was not read further.",
    Outcome.NO_CONTENT: "The server answered without a body, or with a status that means nothing for a page.",
    Outcome.CONNECT_FAILED: "No connection to the address could be opened.",
    Outcome.TIMED_OUT: "The time limit for connecting, for the first byte or for the whole answer was reached.",
    Outcome.TOO_SLOW: "The answer came more slowly than the lowest speed allowed.",
    Outcome.BROKEN_OFF: "The connection ended before the answer did.",
    Outcome.TLS_FAILED: "No secure connection could be agreed on, or the certificate is not valid.",
    Outcome.PROTOCOL_ERROR: "The answer is not HTTP.",
    Outcome.BAD_ENCODING: "The body does not follow its Content-Encoding, or would grow beyond the bound.",
    Outcome.FORBIDDEN_ADDRESS: "The name leads to an address that must not be visited.",
    Outcome.WORKER_DIED: "The worker that gathered the page died twice over it.",
    Outcome.RETURNED: "The request was not made, or not to its end, by our own doing; the page goes back.",
}

TRANSIENT: Final = frozenset(
    {
        Outcome.SERVER_ERROR,
        Outcome.TOO_MANY_REQUESTS,
        Outcome.CONNECT_FAILED,
        Outcome.TIMED_OUT,
        Outcome.TOO_SLOW,
        Outcome.BROKEN_OFF,
    }
)
"""Outcomes after which a page is tried again."""

SITE_FAILURES: Final = frozenset(
    {
        Outcome.SERVER_ERROR,
        Outcome.TOO_MANY_REQUESTS,
        Outcome.CONNECT_FAILED,
        Outcome.TIMED_OUT,
        Outcome.TOO_SLOW,
        Outcome.BROKEN_OFF,
        Outcome.TLS_FAILED,
        Outcome.PROTOCOL_ERROR,
    }
)
"""Outcomes that make us more patient with the whole site: its wait doubles with each in a row."""

VISIT_TEXTS: Final = (
    "mime", "charset", "etag", "last_modified", "redirect", "title", "address", "detail", "rules", "sitemaps",
)  # fmt: skip

VISIT: Final = np.dtype(
    [
        ("number", "<u8"),  # of the assignment
        ("page", "<u4"),  # NONE for robots.txt
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
        ("duplicate_of", "<u4"),  # page (the desk fills it)
        ("out_degree", "<u4"),  # distinct links of the page, counted ones included
        ("links", "<u4"),  # links that crossed
        ("retry_after", "<f4"),  # seconds from the end; negative = not said
        ("delay", "<f4"),  # Crawl-delay of robots.txt; negative = not said
        ("warc_file", "<u2"),
        ("warc_offset", "<u8"),  # of the response record
        ("warc_end", "<u8"),  # length of the file after this visit's records; 0 = nothing written
        ("counted", "<u2", (len(Counted),)),
        ("texts", "<u4", (len(VISIT_TEXTS),)),
    ]
)

Visits = npt.NDArray[np.void]


@dataclass(frozen=True, slots=True)
class Assignment:
    """Work for a worker: one request, to one pinned address."""

    number: int
    ask: Ask
    page: int
    origin: int
    site: int
    url: bytes
    address: str
    """IP address in text form; the socket may connect to nothing else."""
    port: int
    """Port at that address (differs from the URL's only under `harvester.resolve`)."""
    alone: bool = False
    """The page killed a worker once: nothing else runs in the worker beside it."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Many short byte strings in one buffer: `lengths[i]` bytes each, in order."""

    lengths: npt.NDArray[np.integer]
    buffer: bytes

    def offsets(self) -> npt.NDArray[np.int64]:
        """Where each starts, and the end of the last."""
        out = np.zeros(len(self.lengths) + 1, dtype=np.int64)
        np.cumsum(self.lengths, out=out[1:])
        return out

    def split(self) -> list[bytes]:
        at = self.offsets().tolist()
        return [self.buffer[a:b] for a, b in pairwise(at)]

    def last(self, count: int) -> list[bytes]:
        """The last `count`, or all if there are fewer."""
        lengths = self.lengths[-count:]
        return Texts(lengths, self.buffer[len(self.buffer) - int(lengths.sum()) :]).split()

    @staticmethod
    def join(items: list[bytes], dtype: str = "<u4") -> Texts:
        return Texts(np.array([len(i) for i in items], dtype=dtype), b"".join(items))
