"""Makes some sites special: each kind is given to a few sites of its own.

Kinds that cost a polite crawl time (latency, Crawl-delay, a shared address) go to small sites, so that the largest site
alone bounds its duration. Kinds that should be seen on more than a page or two go to sites of about thirty pages.
Languages and paces are given independently of all other kinds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from gossamer.webs.demo.charsets import FOREIGN, Charset
from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.shape import Shape
from gossamer.webs.demo.site import Robots, Site, SiteNames, Timing
from gossamer.webs.demo.sitemaps import FORMS

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
    order = Dice(shape.seed, "languages").shuffled([s for s in out if s.pages >= 4 and s.readable])
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
    _give(
        shape,
        iter(sorted(_typical_first(free), key=lambda s: not s.ties.linked)),
        shape.twins,
        out,
        *(_named(names) for names in _TWINS),
    )
    return out


def mirrors(sites: list[Site], first: int, addresses: list[str]) -> list[Site]:
    """One mirror for each mirrored site; `first` is the number of the first mirror."""
    wanted = [s for s in sites if s.ties.mirrored]
    return [
        replace(
            s,
            number=first + n,
            host=f"mirror.{s.host}",
            address=addresses[n],
            ties=replace(s.ties, mirrored=False, mirror_of=s.number, linked=False),
        )
        for n, s in enumerate(wanted)
    ]


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
    others = (
        s.ties.mirrored,
        s.features.session,
        s.features.calendar,
        s.features.soft,
        s.features.torn,
        s.http.old,
        s.http.secure,
        s.delay,
    )
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
