"""A simulated Web with moods: everything that a polite crawl must cope with, as a function of URL and time.

Depending on the number of the site, its robots.txt fails (5xx, 429, no answer), changes, asks for a Crawl-delay (some
by our name for less than the usual wait, some for more than any crawler honours), has moved to another site, or does
not exist. Independently, pages sometimes answer 429, 503, 500 or 402, with or without Retry-After. Four of eight sites
share an address; two sites belong to one registrable domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from gossamer import urls
from gossamer.base.model import Outcome, VisitFlag
from gossamer.harvester.errands.probes import NAME
from gossamer.robots import Rules
from gossamer.web.fetch.response import outcome_of
from gossamer.webs.simulated import Labels, Reply

AGENT: Final = "Gossamer"
_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF
_PAGES: Final = ((429, -1.0), (429, 30.0), (503, -1.0), (503, 60.0), (503, 400.0), (500, -1.0), (402, -1.0))
"""Status and Retry-After of pages while a site is in a bad mood."""
_FILES: Final = (503, 500, 429, 0, -1)
"""Status of a failing robots.txt; 0: no answer in time, -1: the connection broke."""
_NO_ANSWER: Final = {0: Outcome.TIMED_OUT, -1: Outcome.BROKEN_OFF}
_CROSS: Final = 1 / 7
"""Share of a period in which a site is in a bad mood."""


def unit(*key: int) -> float:
    """A pseudo-random number in [0, 1) for a key."""
    x = 0x9E37_79B9_7F4A_7C15
    for part in key:
        x = (x ^ part) * 0xBF58_476D_1CE4_E5B9 & _MASK
        x ^= x >> 31
    return (x * 0x94D0_49BB_1331_11EB & _MASK) / 2.0**64


@dataclass(frozen=True, slots=True)
class MixedWeb:
    sites: int
    pages: int
    """Pages per site."""
    seed: int = 1
    mood: float = 600.0
    """Seconds after which sites change their mood."""

    @property
    def seeds(self) -> list[str]:
        return [f"http://{self.host(n)}/" for n in range(self.sites)]

    def host(self, site: int) -> str:
        return f"s{site}.d{site // 2}.example"

    def address(self, host: str) -> str | None:
        site = _number(host)
        place = site // 8 * 8 if site % 8 < 4 else site
        return f"10.{place >> 16}.{place >> 8 & 255}.{place & 255}"

    def reply(self, url: str, at: float) -> Reply:
        site, path = _number(urls.host(url)), url.split("/", 3)[3]
        if path == "robots.txt":
            return self._file(site, at)
        status, retry = self._cross(site, at)
        if path.startswith(NAME):
            return Reply(Outcome.NOT_FOUND, 404)
        page = 0 if path in ("", "sitemap.xml") else int(path[1:-5])
        seconds = 0.02 + 2.0 * unit(self.seed, 1, site, page) ** 4
        if status != 200:
            return Reply(outcome_of(status, {}, b"x"), status, seconds=seconds, retry_after=retry)
        if path == "sitemap.xml":
            return Reply(Outcome.NOT_FOUND, 404, seconds=seconds)
        root = f"http://{self.host(site)}/"
        links = [f"{root}p{n}.html" for n in (2 * page + 1, 2 * page + 2) if n < self.pages]
        if page < 3:
            links.append(f"http://{self.host((7 * site + page + 1) % self.sites)}/")
        return Reply(links=links, digest=site * self.pages + page + 1, seconds=seconds)

    def robots(self, host: str, at: float) -> bytes:
        """The content of robots.txt when it answers with 200."""
        site, period = _number(host), self._period(at)
        match site % 12:
            case 2 | 3:
                one = int(10 * unit(self.seed, 2, site, period))
                delay = unit(self.seed, 3, site, period)
                slow = "Crawl-delay: 9\n" if delay < 0.3 else "Crawl-delay: 2\n" if delay < 0.5 else ""
                return f"User-agent: {AGENT}\nDisallow: /*{one}.html$\n{slow}".encode()
            case 4:
                return b"User-agent: *\nCrawl-delay: 20\nDisallow: /p7\n"
            case 11 if site % 120 == 11:
                return b"User-agent: *\nCrawl-delay: 9000\nDisallow:\n"
            case 8:
                return f"User-agent: *\nDisallow: /\n\nUser-agent: {AGENT}\nDisallow: /p3\nAllow: /p33\n".encode()
        return b"User-agent: *\nDisallow:\n"

    def _file(self, site: int, at: float) -> Reply:
        kind, period = site % 12, self._period(at)
        if kind < 2 and unit(self.seed, 4, site, period) < 0.4:
            status = _FILES[int(len(_FILES) * unit(self.seed, 5, site, period))]
            outcome = _NO_ANSWER[status] if status <= 0 else outcome_of(status, {}, b"x")
            return Reply(outcome, max(0, status), seconds=0.1 if status else 30.0)
        if kind == 5:
            return Reply(Outcome.NOT_FOUND, 404)
        if kind == 6 and site + 1 < self.sites:
            return Reply(Outcome.REDIRECT, 301, redirect=f"http://{self.host(site + 1)}/robots.txt")
        rules = _parsed(self.robots(self.host(site), at))
        delay, labels = -1.0 if rules.delay is None else rules.delay, Labels(flags=VisitFlag.NAMED * rules.named)
        return Reply(rules=rules.compiled(), delay=delay, labels=labels)

    def _cross(self, site: int, at: float) -> tuple[int, float]:
        period, now = self._period(at), round(at, 6) % self.mood
        begin = unit(self.seed, 6, site, period) * (1 - _CROSS) * self.mood
        if site % 5 or not begin <= now < begin + _CROSS * self.mood:
            return 200, -1.0
        return _PAGES[int(len(_PAGES) * unit(self.seed, 7, site, period))]

    def _period(self, at: float) -> int:
        """The time as in the log, to the microsecond."""
        return int(round(at, 6) // self.mood)


@lru_cache(maxsize=1_000)
def _parsed(text: bytes) -> Rules:
    return Rules.parse(text, AGENT)


def _number(host: str) -> int:
    return int(host[1 : host.index(".")])
