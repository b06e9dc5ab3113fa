"""Makes the sites of the demonstration Web: how many pages each has, where it listens, which sites link to which.

Proportions are those of chapter 8 of the thesis: pages per site by a Zipf law of exponent 1.77 (8.4.1), 36 % of the
sites with links from others, 28 % with links to others, 47 % with either (table 8.3), 83 % with usable Last-Modified
(8.3.3). Then some sites become special: each kind is given to a few sites of its own. Kinds that cost a polite crawl
time (latency, Crawl-delay, a shared address) go to small sites, so that the largest site alone bounds its duration.
Kinds that should be seen on more than a page or two go to sites of about thirty pages. Languages and paces are given
independently of all other kinds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from gossamer.base.errors import UsageError
from gossamer.webs.demo import national
from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.shape import Shape
from gossamer.webs.demo.site import DOMAIN, Charset, Declared, Down, Http, Robots, Site, SiteNames, Ties, Timing
from gossamer.webs.demo.sitemaps import DATED, FORMS
from gossamer.webs.demo.words import PLAIN

ZIPF: Final = 1.77
_USUAL: Final = (
    (0.34, Robots.MISSING),
    (0.39, Robots.REFUSED),
    (0.55, Robots.EMPTY),
    (0.75, Robots.FOLDERS),
    (0.90, Robots.PATTERNS),
    (1.0, Robots.NAMED),
)
UTF_8: Final = Charset("utf-8", "utf-8", "utf-8", Declared.MIXED)
LATIN_1: Final = Charset("iso-8859-1", "cp1252", "cp1252", Declared.META)
FOREIGN: Final = (
    ("ru", Charset("windows-1251", "cp1251", "cp1251", Declared.HEADER)),
    ("ja", Charset("shift_jis", "shift_jis", "cp932", Declared.META)),
    ("el", Charset("iso-8859-7", "iso8859-7", "iso8859-7", Declared.HEADER)),
    ("de", replace(LATIN_1, declared=Declared.HEADER)),
    ("zh", replace(UTF_8, declared=Declared.META)),
    ("fr", replace(UTF_8, declared=Declared.NOWHERE)),
    ("ja", Charset("utf-16", "utf-16-le", "utf-16-le", Declared.NOWHERE, b"\xff\xfe")),
    ("ru", Charset("koi8-r", "koi8-r", "koi8-r", Declared.META)),
    ("ja", Charset("euc-jp", "euc_jp", "euc_jp", Declared.HEADER)),
    ("ru", Charset("windows-1251", "cp1251", "cp1251", Declared.NOWHERE)),
    ("fr", LATIN_1),
    ("zh", Charset("gb18030", "gb18030", "gb18030", Declared.HEADER)),
)
"""Languages and charsets of the sites that are neither Spanish nor English, in the order in which sites get them."""
SPEED: Final = 2_000_000.0
"""Median over the sites, in bytes per second. Like the median latency, it is a hundred times faster than on a real
Web."""
SPREAD: Final = (0.8, 0.7)
"""Standard deviations of the logarithms of latency and speed over the sites."""
TOGETHER: Final = -0.645
"""Correlation of speed and latency (3.3)."""
ALL_ANSWERS: Final = 5.0
"""Most seconds that all answers of one site may take together; limits the latency and the slowness of large sites."""
_TYPICAL: Final = 30
_SENT: Final = 5_000
"""Approximate bytes of a compressed page."""
TORN_PAGES: Final = 2
Gift = Callable[[Site], Site]
"""Returns the site with what makes it special."""


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
    shares = national.sizes if shape.national else sizes
    pages = dice.shuffled(shares(shape.sites, shape.pages, shape.largest))
    plain = [_plain(dice, n, names[n], places[n], pages[n]) for n in range(shape.sites)]
    if shape.national:
        plain = _speaking_by_size(plain)
        usual = name(shape, national.connected(shape.seed, distinguish(shape, plain)))
    else:
        usual = name(shape, _connect(dice, distinguish(shape, plain)))
    below = [_down(n, names[n], places[n], n - shape.sites < min(shape.down, most)) for n in range(shape.sites, count)]
    return [*(_listing(usual) if shape.speed else usual), *below, *mirrors(usual, count, places[count:])]


def _speaking_by_size(sites: list[Site]) -> list[Site]:
    english = national.in_english(sites)
    return [_speaking("en", UTF_8)(s) if s.number in english else _speaking("es", s.charset)(s) for s in sites]


def _listing(sites: list[Site]) -> list[Site]:
    """Gives every third usual site a sitemap with dates: only a living Web has use for them."""
    free = [s.number for s in sites if s.pages >= 4 and s.readable and not (_is_special(s) or s.features.sitemap)]
    chosen = set(free[::3])
    return [_having("features", sitemap=DATED)(s) if s.number in chosen else s for s in sites]


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


def _having(part: str, **values: Any) -> Gift:
    """Changes one part of a site."""
    return lambda site: replace(site, **{part: replace(getattr(site, part), **values)})


def _soft(site: Site) -> Site:
    return replace(_having("features", soft=True)(site), robots=Robots.MISSING)


_GIVEN: Final[tuple[tuple[str, tuple[Gift, ...]], ...]] = (
    ("mirrors", (_having("ties", mirrored=True),)),
    ("sessions", (_having("features", session="PHPSESSID"), _having("features", session="jsessionid"))),
    ("calendars", (_having("features", calendar=True),)),
    ("soft", (_soft,)),
    ("old", (_having("http", old=True),)),
    ("tls", (_having("http", secure=True),)),
    ("torn", (_having("features", torn=TORN_PAGES),)),
    ("sitemaps", tuple(_having("features", sitemap=form) for form in FORMS)),
)
"""Fields of the shape, and what the sites of the kind get, in turn. Each kind has at most a twentieth of the sites: a
Web of two dozen sites then has some of every kind."""
_TWINS: Final = (SiteNames.BOTH, SiteNames.TO_WWW, SiteNames.WWW_ONLY, SiteNames.TO_BARE)


def most_of(shape: Shape, share: int = 10) -> int:
    """Most sites that one kind may have: a tenth of them, but at least one."""
    return max(1, shape.sites // share)


def distinguish(shape: Shape, sites: list[Site]) -> list[Site]:
    """Gives all kinds except the names; sites keep their places in the list."""
    out = [_paced(shape, s) for s in sites] if shape.pace else list(sites)
    small = iter(sorted((s for s in out if s.pages >= 4), key=lambda s: (s.pages, s.number)))
    _costly(shape, small, out)
    rest = iter(_typical_first(small))
    for kind, gifts in _GIVEN:
        _give(shape, rest, min(getattr(shape, kind), most_of(shape, 20)), out, *gifts)
    most = national.LARGE if shape.national else shape.pages
    order = Dice(shape.seed, "languages").shuffled([s for s in out if 4 <= s.pages <= most and s.readable])
    _give(shape, iter(order), shape.languages, out, *(_speaking(name, of) for name, of in FOREIGN))
    moods = iter(Dice(shape.seed, "moods").shuffled([s for s in out if s.pages >= 4 and _has_no_part(s)]))
    for kind in ("moody", "changing", "failing"):
        _give(shape, moods, getattr(shape, kind), out, _having("moods", **{kind: True}))
    return out


def name(shape: Shape, sites: list[Site]) -> list[Site]:
    """Gives some sites a second name: first the sites that others link to, because links are written with either
    name."""
    out = list(sites)
    free = [s for s in sites if s.pages >= 4 and not _is_special(s)]
    order = sorted(_typical_first(free), key=lambda s: not s.ties.linked)
    _give(shape, iter(order), shape.twins, out, *(_named(names) for names in _TWINS))
    return out


def mirrors(sites: list[Site], first: int, addresses: list[str]) -> list[Site]:
    """One mirror for each mirrored site; `first` is the number of the first mirror."""
    out = []
    for n, s in enumerate(s for s in sites if s.ties.mirrored):
        ties = replace(s.ties, mirrored=False, mirror_of=s.number, linked=False)
        out.append(replace(s, number=first + n, host=f"mirror.{s.host}", address=addresses[n], ties=ties))
    return out


def _give(shape: Shape, candidates: Iterator[Site], n: int, out: list[Site], *gifts: Gift) -> None:
    for turn, s in enumerate(islice(candidates, min(n, most_of(shape)))):
        out[s.number] = gifts[turn % len(gifts)](out[s.number])


def _costly(shape: Shape, small: Iterator[Site], out: list[Site]) -> None:
    _give(shape, small, shape.delays, out, lambda s: replace(s, robots=Robots.FOLDERS, delay=1.0))
    _give(shape, small, shape.unavailable, out, lambda s: replace(s, robots=Robots.UNAVAILABLE))
    for s in islice(small, min(shape.slow, most_of(shape))):
        slowness = 0.5 + Dice(shape.seed, "latency", s.number).unit()
        out[s.number] = _having("timing", latency=shape.latency * slowness, slow=True)(s)
    for group in range(shape.shared):
        members = list(islice(small, min(2 + group % 3, most_of(shape))))
        for s in members[1:]:
            out[s.number] = replace(s, address=members[0].address)


def _speaking(language: str, charset: Charset) -> Gift:
    return lambda site: replace(site, language=language, charset=charset)


def _named(names: SiteNames) -> Gift:
    return lambda site: replace(site, names=names)


def _typical_first(sites: Iterable[Site]) -> list[Site]:
    return sorted(sites, key=lambda s: (abs(math.log(s.pages / _TYPICAL)), s.number))


def _has_no_part(s: Site) -> bool:
    return s.robots in (Robots.EMPTY, Robots.MISSING, Robots.REFUSED) and not (s.features.soft or s.ties.mirrored)


def _is_special(s: Site) -> bool:
    has = s.features
    others = (s.ties.mirrored, has.session, has.calendar, has.soft, has.torn, s.http.old, s.http.secure, s.delay)
    return any(others) or s.robots is Robots.UNAVAILABLE


def _paced(shape: Shape, site: Site) -> Site:
    """Gives a site latency and speed: log-normal over the sites, and sites that send slowly also answer slowly (3.3,
    ERRATA to figure 3.5)."""
    one, two = normal(Dice(shape.seed, "pace", site.number))
    latency = shape.pace * math.exp(SPREAD[0] * one)
    speed = SPEED * math.exp(SPREAD[1] * (TOGETHER * one + math.sqrt(1 - TOGETHER**2) * two))
    latency = min(latency, ALL_ANSWERS / site.pages)
    return replace(site, timing=Timing(latency, max(speed, site.pages * _SENT / ALL_ANSWERS)))


def normal(dice: Dice) -> tuple[float, float]:
    """Two independent numbers of the standard normal distribution (Box and Muller)."""
    radius, angle = math.sqrt(-2 * math.log(1 - dice.unit())), 2 * math.pi * dice.unit()
    return radius * math.cos(angle), radius * math.sin(angle)
