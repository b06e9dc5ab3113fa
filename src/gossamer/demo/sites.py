"""The sites of the demonstration Web: how many pages each has, where it listens, how it behaves.

Proportions are those of the thesis' chapter 8: pages per site by a Zipf law of exponent 1.77 (8.4.1), 36 % of the
sites with links from others, 28 % with links to others, 47 % with either (table 8.3), 83 % with usable Last-Modified
(8.3.3). What costs a polite crawl time (latency, Crawl-delay, a shared address) is given to small sites, so that the
largest site alone bounds its duration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from gossamer.demo.dice import Dice
from gossamer.demo.words import PLAIN
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.demo.web import DemoWeb

DOMAIN: Final = "gossamer.test"
ZIPF: Final = 1.77


class Robots(StrEnum):
    """What a site answers when asked for robots.txt."""

    MISSING = "404: everything is allowed"
    REFUSED = "403: everything is allowed"
    EMPTY = "rules that allow everything"
    FOLDERS = "a folder is forbidden, but for one folder in it"
    PATTERNS = "paths are forbidden by wildcards"
    NAMED = "everything is forbidden, but our name has rules of its own"
    UNAVAILABLE = "503: nothing is allowed"


_USUAL: Final = (
    (0.34, Robots.MISSING), (0.39, Robots.REFUSED), (0.55, Robots.EMPTY), (0.75, Robots.FOLDERS),
    (0.90, Robots.PATTERNS), (1.0, Robots.NAMED),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Site:
    number: int
    host: str
    address: str
    pages: int
    """Pages that answer with 200 and are meant to be found."""
    language: str
    charset: str
    robots: Robots
    dated: bool
    """Sends Last-Modified."""
    tagged: bool
    """Sends ETag."""
    delay: float = 0.0
    """Crawl-delay in robots.txt; 0: none."""
    latency: float = 0.0
    """Seconds before each answer."""
    linked: bool = False
    """Some other site has links to it."""
    linking: bool = False
    """It has links to other sites."""

    @property
    def home(self) -> str:
        return f"http://{self.host}/"

    @property
    def has_rules(self) -> bool:
        return self.robots in (Robots.FOLDERS, Robots.PATTERNS, Robots.NAMED)


def sizes(sites: int, pages: int, largest: int, exponent: float = ZIPF) -> list[int]:
    """Pages per site, largest first, `pages` in all.

    A density ~ n^-exponent means that the site of rank r has c r^(-1/(exponent-1)) pages; c follows from the sum by
    bisection, sites above `largest` are cut to it and sites below one page raised to it.
    """
    if not sites <= pages <= sites * largest:
        raise UsageError(
            f"{pages} pages cannot be spread over {sites} sites of 1 to {largest} pages.",
            "Choose other numbers of sites and pages.",
        )

    def shares(c: float) -> list[float]:
        return [min(largest, max(1.0, c * rank ** (-1 / (exponent - 1)))) for rank in range(1, sites + 1)]

    low, high = 0.0, float(largest) * sites**2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(shares(middle)) < pages else (low, middle)
    exact = shares(high)
    whole = [int(x) for x in exact]
    by_rest = sorted((r for r in range(sites) if whole[r] < largest), key=lambda r: (whole[r] - exact[r], r))
    missing = pages - sum(whole)
    for n in range(missing):
        whole[by_rest[n % len(by_rest)]] += 1
    return whole


def hosts(dice: Dice, n: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < n:
        word = dice.pick(PLAIN) + dice.pick(PLAIN) + ("" if len(found) < 1_000 else str(len(found)))
        found[f"{word}.{DOMAIN}"] = None
    return list(found)


def addresses(dice: Dice, n: int) -> list[str]:
    """Different addresses all over 127.0.0.0/8, but none in 127.0.0.0/16, which others use."""
    found: dict[str, None] = {}
    while len(found) < n:
        found[f"127.{1 + dice.below(254)}.{dice.below(256)}.{1 + dice.below(254)}"] = None
    return list(found)


def make_sites(web: DemoWeb) -> list[Site]:
    dice = Dice(web.seed, "sites")
    names, places = hosts(dice, web.sites), addresses(dice, web.sites)
    if web.bulk:
        share, rest = divmod(web.pages, web.sites)
        return [
            Site(n, names[n], places[n], share + (n < rest), "en", "utf-8", Robots.MISSING, False, False)
            for n in range(web.sites)
        ]
    pages = dice.shuffled(sizes(web.sites, web.pages, web.largest))
    plain = [_plain(dice, n, names[n], places[n], pages[n]) for n in range(web.sites)]
    return _connect(dice, _distinguish(web, plain))


def _plain(dice: Dice, number: int, host: str, address: str, pages: int) -> Site:
    throw = dice.unit()
    robots = next(kind for limit, kind in _USUAL if throw < limit)
    language = "es" if dice.chance(0.67) else "en"
    charset = "latin-1" if language == "es" and dice.chance(0.4) else "utf-8"
    return Site(number, host, address, pages, language, charset, robots, dice.chance(0.83), dice.chance(0.5))


def _distinguish(web: DemoWeb, sites: list[Site]) -> list[Site]:
    """Gives the special parts to the smallest sites that have more than a few pages, a different one to each."""
    out = list(sites)
    small = iter(sorted((s for s in sites if s.pages >= 4), key=lambda s: (s.pages, s.number)))
    most = max(1, web.sites // 10)

    def some(n: int) -> list[Site]:
        return [s for _, s in zip(range(min(n, most)), small, strict=False)]

    for s in some(web.delays):
        out[s.number] = replace(s, robots=Robots.FOLDERS, delay=1.0)
    for s in some(web.unavailable):
        out[s.number] = replace(s, robots=Robots.UNAVAILABLE)
    for s in some(web.slow):
        out[s.number] = replace(s, latency=web.latency * (0.5 + Dice(web.seed, "latency", s.number).unit()))
    for group in range(web.shared):
        members = some(2 + group % 3)
        for s in members[1:]:
            out[s.number] = replace(s, address=members[0].address)
    return out


def _connect(dice: Dice, sites: list[Site]) -> list[Site]:
    """Chooses which sites have links from and to others: 36 %, 28 %, and 47 % with either."""
    order = dice.shuffled(sites)
    order.sort(key=lambda s: s.robots is Robots.UNAVAILABLE)
    n = len(sites)
    linked = {s.number for s in order[: round(0.36 * n)]}
    linking = {s.number for s in order[round(0.19 * n) : round(0.47 * n)]}
    return [replace(s, linked=s.number in linked, linking=s.number in linking) for s in sites]
