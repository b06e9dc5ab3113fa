"""Makes the sites of the demonstration Web: how many pages each has, where it listens, which sites link to which.

Proportions are those of chapter 8 of the thesis: pages per site by a Zipf law of exponent 1.77 (8.4.1), 36 % of the
sites with links from others, 28 % with links to others, 47 % with either (table 8.3), 83 % with usable Last-Modified
(8.3.3). `special` then makes some of them different.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from gossamer.base.errors import UsageError
from gossamer.webs.demo.charsets import LATIN_1, UTF_8
from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.shape import Shape
from gossamer.webs.demo.site import DOMAIN, Down, Http, Robots, Site, Ties
from gossamer.webs.demo.special import distinguish, mirrors, most_of, name
from gossamer.webs.demo.words import PLAIN

__all__ = ["DOMAIN", "Robots", "Site", "make_sites", "sizes"]

ZIPF: Final = 1.77
_USUAL: Final = (
    (0.34, Robots.MISSING),
    (0.39, Robots.REFUSED),
    (0.55, Robots.EMPTY),
    (0.75, Robots.FOLDERS),
    (0.90, Robots.PATTERNS),
    (1.0, Robots.NAMED),
)


def sizes(sites: int, pages: int, largest: int, exponent: float = ZIPF) -> list[int]:
    """Pages per site, largest first, `pages` in total.

    A density ~ n^-exponent means that the site of rank r has c r^(-1/(exponent-1)) pages. c follows from the sum by
    bisection; sites above `largest` are cut to it, and sites below one page are raised to it.
    """
    if not sites <= pages <= sites * largest:
        raise UsageError(
            f"{pages} pages do not fit {sites} sites of 1 to {largest} pages.",
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
    """Different addresses all over 127.0.0.0/8, but none in 127.0.0.0/16, which other programs use."""
    found: dict[str, None] = {}
    while len(found) < n:
        found[f"127.{1 + dice.below(254)}.{dice.below(256)}.{1 + dice.below(254)}"] = None
    return list(found)


def make_sites(shape: Shape) -> list[Site]:
    """The usual sites first, then the sites that are down, then the mirrors."""
    dice = Dice(shape.seed, "sites")
    most = most_of(shape)
    unreachable = 0 if shape.bulk else min(shape.down, most) + min(shape.silent, most)
    count = shape.sites + unreachable
    names, places = hosts(dice, count), addresses(dice, count + min(shape.mirrors, most))
    if shape.bulk:
        share, rest = divmod(shape.pages, shape.sites)
        return [
            Site(n, names[n], places[n], share + (n < rest), "en", UTF_8, Robots.MISSING) for n in range(shape.sites)
        ]
    pages = dice.shuffled(sizes(shape.sites, shape.pages, shape.largest))
    plain = [_plain(dice, n, names[n], places[n], pages[n]) for n in range(shape.sites)]
    usual = name(shape, _connect(dice, distinguish(shape, plain)))
    below = [_down(n, names[n], places[n], n - shape.sites < min(shape.down, most)) for n in range(shape.sites, count)]
    return [*usual, *below, *mirrors(usual, count, places[count:])]


def _plain(dice: Dice, number: int, host: str, address: str, pages: int) -> Site:
    throw = dice.unit()
    robots = next(kind for limit, kind in _USUAL if throw < limit)
    language = "es" if dice.chance(0.67) else "en"
    charset = LATIN_1 if language == "es" and dice.chance(0.4) else UTF_8
    http = Http(dated=dice.chance(0.83), tagged=dice.chance(0.5))
    return Site(number, host, address, pages, language, charset, robots, http=http)


def _down(number: int, host: str, address: str, unreachable: bool) -> Site:
    """A site that is down: every second unreachable one has no address for its name. Other sites link to all of
    them."""
    why = (Down.REFUSED, Down.NAMELESS)[number % 2] if unreachable else Down.SILENT
    return Site(number, host, address, 1, "en", UTF_8, Robots.MISSING, down=why, ties=Ties(linked=True))


def _connect(dice: Dice, sites: list[Site]) -> list[Site]:
    """Chooses the sites with links from others (36 %), to others (28 %), and with either (47 %)."""
    order = dice.shuffled(sites)
    order.sort(key=lambda s: s.robots is Robots.UNAVAILABLE)
    n = len(sites)
    linked = {s.number for s in order[: round(0.36 * n)]}
    linking = {s.number for s in order[round(0.19 * n) : round(0.47 * n)]}
    return [replace(s, ties=replace(s.ties, linked=s.number in linked, linking=s.number in linking)) for s in sites]
