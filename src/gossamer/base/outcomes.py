"""The outcomes of requests: one closed set, a sentence each, and beside it what follows from each. At the end, why
whole sites wait (`Aside`) and why pages are excluded (`Reason`).

Tables, logs, JSON, reports and docs use these words and no others. Which outcomes are tried again, when and how often,
which slow a site down and which set it aside is decided here alone (`TREATMENTS`), and so is for how long a site is set
aside for each reason (`ASIDE`); `manager/learn.py`, `patience.py`, `crawl.py` and `desk.py` act on these tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from math import inf
from typing import Final

from gossamer.base.units import Duration


class Outcome(IntEnum):
    """What became of a request."""

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
    WORKER_LOST = 19
    PAYMENT_REQUIRED = 20
    CHALLENGED = 21
    SOFT_404 = 22

    @property
    def sentence(self) -> str:
        return TREATMENTS[self].sentence

    @property
    def word(self) -> str:
        return self.name.lower()


class Again(Enum):
    """Whether a page is asked for again after an outcome."""

    NEVER = "no"
    LATER = "yes"
    AT_ONCE = "at once"


RETRY: Final = -1.0
"""As a time: `harvester.retry`."""
TRIES: Final = -1
"""As a number: `harvester.tries`."""


@dataclass(frozen=True, slots=True)
class Treatment:
    """What follows from an outcome."""

    sentence: str
    again: Again = Again.NEVER
    slows: bool = False
    """The site's factor doubles (`patience.py`)."""
    ends: int = 0
    """After so many in a row of those that slow, the whole site is set aside for harvester.retry; 0: it is not."""
    after: float = RETRY
    """Seconds until the page is tried again later; a longer Retry-After goes before."""
    tries: int = TRIES
    """How often it is tried in all."""

    def pause(self, retry: float) -> float:
        """`after`, with the setting at hand."""
        return retry if self.after == RETRY else self.after

    def most(self, tries: int) -> int:
        """`tries`, with the setting at hand."""
        return tries if self.tries == TRIES else self.tries


_LATER, _AT_ONCE = Again.LATER, Again.AT_ONCE

TREATMENTS: Final = {
    Outcome.OK: Treatment("The page was fetched and gathered, and stored unless it says noindex or noarchive."),
    Outcome.DUPLICATE: Treatment("The page was fetched, and has the text and links of a page known before."),
    Outcome.REDIRECT: Treatment("The server names another address; it is followed as a link."),
    Outcome.NOT_FOUND: Treatment("The server says that there is no such page (404, 410)."),
    Outcome.REFUSED: Treatment(
        "The server refuses the request (any other 4xx), or shows a log-in in place of the page."
    ),
    Outcome.SERVER_ERROR: Treatment("The server failed (5xx).", _LATER, slows=True, ends=10),
    Outcome.TOO_MANY_REQUESTS: Treatment("The server asks us to slow down (429).", _LATER, slows=True, ends=10),
    Outcome.OTHER_TYPE: Treatment(
        "Not a type that is gathered, by its header or by its first bytes; the body was not read further."
    ),
    Outcome.NO_CONTENT: Treatment(
        "The server answered without a body, or with a status that means nothing for a page."
    ),
    Outcome.CONNECT_FAILED: Treatment("No connection to the address could be opened.", _LATER, slows=True, ends=5),
    Outcome.TIMED_OUT: Treatment(
        "The time limit for connecting, for the first byte or for the whole answer was reached.",
        _LATER,
        slows=True,
        ends=5,
    ),
    Outcome.TOO_SLOW: Treatment(
        "The answer came more slowly than the lowest speed allowed.", _LATER, slows=True, ends=10
    ),
    Outcome.BROKEN_OFF: Treatment("The connection ended before the answer did.", _LATER, slows=True, ends=10),
    Outcome.TLS_FAILED: Treatment(
        "No secure connection could be agreed on in time, or the certificate is not valid.",
        _LATER,
        slows=True,
        ends=5,
    ),
    Outcome.PROTOCOL_ERROR: Treatment(
        "The answer is not HTTP, or breaks its rules so that it cannot be read.", slows=True, ends=5
    ),
    Outcome.BAD_ENCODING: Treatment("The body does not follow its Content-Encoding, or would grow beyond the bound."),
    Outcome.FORBIDDEN_ADDRESS: Treatment("The name leads to an address that must not be visited."),
    Outcome.WORKER_DIED: Treatment("The worker that gathered the page died or hung over it, twice."),
    Outcome.RETURNED: Treatment(
        "The request was not made, or not to its end, by our own doing; the page goes back.", _AT_ONCE
    ),
    Outcome.WORKER_LOST: Treatment("The worker died or hung, more than once, while the page was on its way.", _LATER),
    Outcome.PAYMENT_REQUIRED: Treatment("The server wants to be paid for the page (402).", slows=True, ends=10),
    Outcome.CHALLENGED: Treatment(
        "The server wants proof that a person asks, such as a CAPTCHA; none is given.", slows=True, ends=5
    ),
    Outcome.SOFT_404: Treatment(
        "The server answers what it answers for a page that does not exist, or redirects many pages to this address."
    ),
}

TRANSIENT: Final = frozenset(outcome for outcome, follows in TREATMENTS.items() if follows.again is Again.LATER)
"""Outcomes after which a page is tried again, and the tries are counted."""

SITE_FAILURES: Final = frozenset(outcome for outcome, follows in TREATMENTS.items() if follows.slows)
"""Outcomes that make us more patient with the whole site."""

BACK_AS_BEFORE: Final = frozenset(outcome for outcome, follows in TREATMENTS.items() if follows.again is Again.AT_ONCE)
"""Not counted as visits: the page is where it was."""


DAY: Final = 86_400.0
LONGEST_PAUSE: Final = 7 * DAY
"""Seconds: however long a Retry-After, we come back after a week."""
NO_OUTCOME: Final = 255
"""In the column `outcome`: the page was never visited."""
FOR_GOOD: Final = 32_503_680_000.0
"""Wall time, the year 3000: a site that is left alone until then is not asked any more."""


class Aside(IntEnum):
    """Why all pages of a site wait."""

    NONE = 0
    ASKED_TO_WAIT = 1
    FAILING = 2
    ROBOTS_UNREADABLE = 3
    NAME_FAILED = 4
    FORBIDDEN_ADDRESS = 5
    DELAY_TOO_LONG = 6
    JUST_STARTED = 7
    SLOWED = 8
    ADDRESS_FORBIDDEN = 5
    """As it was called once: `standing.json` may have it."""

    @property
    def sentence(self) -> str:
        return ASIDE[self].sentence

    @property
    def word(self) -> str:
        return self.name.lower()


class Then(Enum):
    """How long a site is left alone when all pauses of its reason are used up, and it still is as it was."""

    SAME = "and so on"
    DOUBLED = "then twice as long each time, up to harvester.retry"
    NEVER = "then for good"


@dataclass(frozen=True, slots=True)
class Rest:
    """For how long a site is left alone."""

    sentence: str
    words: str = ""
    """For how long, where something else than this table says so."""
    pauses: tuple[float, ...] = ()
    """Seconds: the first time, the second time in a row …"""
    then: Then = Then.SAME

    @property
    def lasts(self) -> str:
        """For people."""
        return self.words or f"{', then '.join(str(Duration(each)) for each in self.pauses)}, {self.then.value}"

    def until(self, time: float, times: int, most: float = inf) -> float:
        """From `time` on, the `times`-th time in a row; no pause is longer than `most`."""
        more = times - len(self.pauses)
        if more > 0 and self.then is Then.NEVER:
            return FOR_GOOD
        pause = self.pauses[min(times, len(self.pauses)) - 1]
        return time + min(most, pause * 2.0 ** min(20, max(0, more)) if self.then is Then.DOUBLED else pause)


ASIDE: Final = {
    Aside.NONE: Rest("The site may be asked when its turn comes.", "not at all"),
    Aside.ASKED_TO_WAIT: Rest(
        "The server asked us to come back later (Retry-After).", "as long as it asks for, a week at most"
    ),
    Aside.FAILING: Rest(
        "Requests to the site failed, one after the other: it is left in peace twice as long each time.",
        "its wait, doubled with each failure; at least harvester.retry when it is set aside; a week at most",
    ),
    Aside.SLOWED: Rest(
        "The site failed or asked us to slow down, or its answers take longer than usual: it is asked less often.",
        "its wait, times a factor that falls by a tenth with each good answer, and with the time that answers take",
    ),
    Aside.ROBOTS_UNREADABLE: Rest(
        "The site's robots.txt could not be read; until it can, nothing is asked for, for harvester.robots_unreachable "
        "at most.",
        pauses=(300.0,),
        then=Then.DOUBLED,
    ),
    Aside.NAME_FAILED: Rest(
        "The site's name could not be resolved; it is tried again after a day, once more after a week, then no more.",
        pauses=(DAY, 7 * DAY),
        then=Then.NEVER,
    ),
    Aside.FORBIDDEN_ADDRESS: Rest(
        "The site's name leads to an address that must not be visited.", pauses=(DAY, 7 * DAY)
    ),
    Aside.DELAY_TOO_LONG: Rest(
        "The site's robots.txt asks for a longer Crawl-delay than harvester.max_delay.",
        "for good, unless that setting changes",
    ),
    Aside.JUST_STARTED: Rest(
        "The site may have been asked just before the crawl was killed.", "as long as what it was asked for says"
    ),
}


class Reason(IntEnum):
    """Why a page is excluded."""

    NONE = 0
    ROBOTS = 1
    DEPTH = 2
    REJECTED = 3
    TRAP = 4
    REDIRECTS = 5

    @property
    def sentence(self) -> str:
        return REASONS[self]

    @property
    def word(self) -> str:
        return self.name.lower()


REASONS: Final = {
    Reason.NONE: "Nothing speaks against asking for the page.",
    Reason.ROBOTS: "The site's robots.txt forbids it.",
    Reason.DEPTH: "It lies deeper in its site than seeder.depth_static or seeder.depth_dynamic allow.",
    Reason.REJECTED: "It was found under other settings; those of now keep it out (domain, port, patterns, extension).",
    Reason.TRAP: "Its URL says the same thing more often than seeder.repeats allows, as those of mazes without end do.",
    Reason.REDIRECTS: "It was found behind more than ten redirects in a row, and by no other way.",
}
