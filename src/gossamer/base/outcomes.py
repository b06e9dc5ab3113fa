"""The outcomes of requests: one closed set, with a sentence and a treatment for each. At the end, the reasons why whole
sites wait (`Aside`) and why pages are excluded (`Reason`).

Tables, logs, JSON, reports and docs use these words and no others. `TREATMENTS` alone decides which outcomes are
retried, when and how often, which slow a site down and which suspend it; `ASIDE` alone decides how long a site is
suspended for each reason. `manager/learn.py`, `harvester/backoff.py`, `harvester/robots.py` and `crawler/loop.py` act
on these tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from math import inf
from typing import Final

from gossamer.base.units import Duration


class Worded(IntEnum):
    """A member of a closed set, written as its name in lower case."""

    @property
    def word(self) -> str:
        return self.name.lower()


class Outcome(Worded):
    """The outcome of a request."""

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
    NOT_MODIFIED = 23
    FORGOTTEN = 24

    @property
    def sentence(self) -> str:
        return TREATMENTS[self].sentence


NO_OUTCOME: Final = 255
"""In a column of outcomes: the page has not been requested yet."""


class Again(Enum):
    """Whether a page is requested again after an outcome."""

    NEVER = "no"
    LATER = "yes"
    AT_ONCE = "at once"


RETRY: Final = -1.0
"""Stands for the time `harvester.retry`."""
TRIES: Final = -1
"""Stands for the number `harvester.tries`."""


@dataclass(frozen=True, slots=True)
class Treatment:
    """What the crawl does after an outcome."""

    sentence: str
    again: Again = Again.NEVER
    ends: int = 0
    """After this many consecutive outcomes that slow, the whole site is suspended for harvester.retry; 0: it does not
    slow."""
    after: float = RETRY
    """Seconds until the page is retried; a longer Retry-After takes precedence."""
    tries: int = TRIES
    """How often the page is tried in total."""

    @property
    def slows(self) -> bool:
        """The site's factor doubles (`harvester/backoff.py`)."""
        return self.ends > 0

    def pause(self, retry: float) -> float:
        """`after`, given the setting harvester.retry."""
        return retry if self.after == RETRY else self.after

    def most(self, tries: int) -> int:
        """`tries`, given the setting harvester.tries."""
        return tries if self.tries == TRIES else self.tries


_LATER, _AT_ONCE = Again.LATER, Again.AT_ONCE
# fmt: off
TREATMENTS: Final = {
    Outcome.OK: Treatment("The page was fetched and gathered, and stored unless it says noindex or noarchive."),
    Outcome.DUPLICATE: Treatment("The page was fetched; it has the same text and links as a page fetched before."),
    Outcome.REDIRECT: Treatment("The server redirects to another URL, which is treated as a link."),
    Outcome.NOT_FOUND: Treatment("The page does not exist (404, 410)."),
    Outcome.REFUSED: Treatment("The server refuses the request (any other 4xx), or shows a login page instead."),
    Outcome.SERVER_ERROR: Treatment("The server failed (5xx).", _LATER, ends=10),
    Outcome.TOO_MANY_REQUESTS: Treatment("The server asks for fewer requests (429).", _LATER, ends=10),
    Outcome.OTHER_TYPE: Treatment(
        "The type of the page, by its header or its first bytes, is not gathered; the rest of the body was not read."),
    Outcome.NO_CONTENT: Treatment("The response has no body, or a status that has no meaning for a page."),
    Outcome.CONNECT_FAILED: Treatment("No connection to the server could be opened.", _LATER, ends=5),
    Outcome.TIMED_OUT: Treatment(
        "A timeout was reached: for connecting, for the first byte or for the whole response.", _LATER, ends=5),
    Outcome.TOO_SLOW: Treatment("The response was slower than the minimum speed.", _LATER, ends=10),
    Outcome.BROKEN_OFF: Treatment("The connection was closed before the end of the response.", _LATER, ends=10),
    Outcome.TLS_FAILED: Treatment(
        "The TLS handshake failed or timed out, or the certificate is not valid.", _LATER, ends=5),
    Outcome.PROTOCOL_ERROR: Treatment("The response is not HTTP, or violates HTTP so that it cannot be read.", ends=5),
    Outcome.BAD_ENCODING: Treatment(
        "The body does not match its Content-Encoding, or exceeds the size limit when decompressed."),
    Outcome.FORBIDDEN_ADDRESS: Treatment("The host name resolves to an address that must not be visited."),
    Outcome.WORKER_DIED: Treatment("The worker that gathered the page crashed or hung, twice."),
    Outcome.RETURNED: Treatment(
        "The request was not made, or not completed, for a reason of our own; the page is requested again.", _AT_ONCE),
    Outcome.WORKER_LOST: Treatment(
        "The worker crashed or hung more than once while the page was being fetched.", _LATER),
    Outcome.PAYMENT_REQUIRED: Treatment("The server demands payment for the page (402).", ends=10),
    Outcome.CHALLENGED: Treatment(
        "The server demands proof that a person requests the page, such as a CAPTCHA; none is given.", ends=5),
    Outcome.SOFT_404: Treatment(
        "The server responds as it does for a page that does not exist, or redirects many pages to the same URL."),
    Outcome.NOT_MODIFIED: Treatment("The page is the same as when it was last fetched (304); nothing was sent."),
    Outcome.FORGOTTEN: Treatment("It was forgotten (`gossamer forget`), and is kept out."),
}
# fmt: on

TRANSIENT: Final = frozenset(outcome for outcome, follows in TREATMENTS.items() if follows.again is Again.LATER)
"""Outcomes after which a page is retried; the tries are counted."""

SITE_FAILURES: Final = frozenset(outcome for outcome, follows in TREATMENTS.items() if follows.slows)
"""Outcomes after which the whole site is requested more slowly."""

BACK_AS_BEFORE: Final = frozenset(outcome for outcome, follows in TREATMENTS.items() if follows.again is Again.AT_ONCE)
"""Outcomes that do not count as visits: the page is where it was before."""


DAY: Final = 86_400.0
LONGEST_PAUSE: Final = 7 * DAY
"""Seconds. A longer Retry-After is cut to a week."""
FOR_GOOD: Final = 32_503_680_000.0
"""Wall time, the year 3000: a site that waits until then is never requested again."""


class Aside(Worded):
    """The reason why all pages of a site wait."""

    NONE = 0
    ASKED_TO_WAIT = 1
    FAILING = 2
    ROBOTS_UNREADABLE = 3
    NAME_FAILED = 4
    FORBIDDEN_ADDRESS = 5
    DELAY_TOO_LONG = 6
    JUST_STARTED = 7
    SLOWED = 8
    FORGOTTEN = 9
    BLOCKED = 10
    ADDRESS_FORBIDDEN = 5
    """The former name, which `standing.json` may have."""

    @property
    def sentence(self) -> str:
        return ASIDE[self].sentence


class Then(Enum):
    """How long a site is suspended after all pauses of its reason, if the reason persists."""

    SAME = "and so on"
    DOUBLED = "then twice as long each time, up to harvester.retry"
    NEVER = "then permanently"


@dataclass(frozen=True, slots=True)
class Rest:
    """How long a site is suspended."""

    sentence: str
    words: str = ""
    """The duration in words, if something other than this table decides it."""
    pauses: tuple[float, ...] = ()
    """Seconds: the first time, the second time in a row, …"""
    then: Then = Then.SAME

    @property
    def lasts(self) -> str:
        """The duration, in words."""
        return self.words or f"{', then '.join(str(Duration(each)) for each in self.pauses)}, {self.then.value}"

    def until(self, time: float, times: int, most: float = inf) -> float:
        """The end of a pause that begins at `time`, for the `times`-th time in a row; `most` limits its length."""
        more = times - len(self.pauses)
        if more > 0 and self.then is Then.NEVER:
            return FOR_GOOD
        pause = self.pauses[min(times, len(self.pauses)) - 1]
        return time + min(most, pause * 2.0 ** min(20, max(0, more)) if self.then is Then.DOUBLED else pause)


# fmt: off
ASIDE: Final = {
    Aside.NONE: Rest("The site is requested when its turn comes.", "not at all"),
    Aside.ASKED_TO_WAIT: Rest(
        "The server asked us to come back later (Retry-After).", "as long as the server asks, a week at most"),
    Aside.FAILING: Rest(
        "Consecutive requests to the site failed: it is backing off, twice as long each time.",
        "its wait, doubled with each failure; at least harvester.retry when it is suspended; a week at most"),
    Aside.SLOWED: Rest(
        "The site failed, asked us to slow down, or responds more slowly than usual: it is requested less often.",
        "its wait, times a factor that falls by a tenth with each good response; longer while its responses are slow"),
    Aside.ROBOTS_UNREADABLE: Rest(
        "The site's robots.txt could not be read; nothing else is requested until it can be, for "
        "harvester.robots_unreachable at most.", pauses=(300.0,), then=Then.DOUBLED),
    Aside.NAME_FAILED: Rest(
        "The site's name could not be resolved; it is retried after a day, once more after a week, then never.",
        pauses=(DAY, 7 * DAY), then=Then.NEVER),
    Aside.FORBIDDEN_ADDRESS: Rest(
        "The site's name resolves to an address that must not be visited.", pauses=(DAY, 7 * DAY)),
    Aside.DELAY_TOO_LONG: Rest(
        "The site's robots.txt asks for a longer Crawl-delay than harvester.max_delay.",
        "permanently, unless that setting changes"),
    Aside.JUST_STARTED: Rest(
        "The site may have been requested just before the crawl was killed.",
        "as long as its last, uncommitted requests demand"),
    Aside.FORGOTTEN: Rest(
        "The site is to be forgotten as soon as the crawl stops (`gossamer forget`).", "permanently"),
    Aside.BLOCKED: Rest(
        "It was ordered that nothing is requested from the site (`gossamer steer`).", "until the order is undone"),
}
# fmt: on


class Reason(Worded):
    """The reason why a page is excluded."""

    NONE = 0
    ROBOTS = 1
    DEPTH = 2
    REJECTED = 3
    TRAP = 4
    REDIRECTS = 5
    UNLISTED = 6
    FORGOTTEN = 7

    @property
    def sentence(self) -> str:
        return REASONS[self]


REASONS: Final = {
    Reason.NONE: "The page is not excluded.",
    Reason.ROBOTS: "The site's robots.txt forbids it.",
    Reason.DEPTH: "It lies deeper in its site than seeder.depth_static or seeder.depth_dynamic allow.",
    Reason.REJECTED: (
        "It was found under earlier settings and is excluded by the current ones (domain, port, patterns, extension)."
    ),
    Reason.TRAP: "Its URL repeats a path segment or a parameter more often than seeder.repeats allows.",
    Reason.REDIRECTS: "It was found only behind more than ten consecutive redirects.",
    Reason.UNLISTED: (
        "Only links lead to it, and by seeder.follow only seeds, or what sitemaps list, are fetched (--only-list, "
        "--only-sitemaps)."
    ),
    Reason.FORGOTTEN: "It was forgotten (`gossamer forget`), and is kept out.",
}
