"""The kinds of sites and pages of the demonstration Web, each with its switch and its count.

A kind has the name of the field of `Shape` that switches it. The counts are those of the Web itself, so that the result
of a crawl can be compared with them.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from gossamer.base.errors import UsageError
from gossamer.webs.demo.layout import PAGES as READ
from gossamer.webs.demo.layout import UrlKind
from gossamer.webs.demo.links import only_counted
from gossamer.webs.demo.shape import Shape
from gossamer.webs.demo.site import Down, Robots, Site, SiteNames
from gossamer.webs.demo.truth import Truth
from gossamer.webs.demo.web import DEPTH_DYNAMIC, DemoWeb


@dataclass(frozen=True, slots=True)
class Count:
    """How much there is of a kind."""

    sites: int
    urls: int
    """For a kind of sites: all their URLs that a complete crawl comes to know."""


OfSite = Callable[[DemoWeb, Site], bool]
OfPage = Callable[[Truth], bool]

SITES: Final[dict[str, tuple[str, OfSite]]] = {
    "pace": ("has its own latency and transfer speed", lambda web, s: s.timing.speed > 0),
    "slow": ("slow to answer", lambda web, s: s.timing.slow),
    "delays": ("a Crawl-delay in robots.txt", lambda web, s: s.delay > 0),
    "unavailable": ("robots.txt answers 503", lambda web, s: s.robots is Robots.UNAVAILABLE),
    "shared": ("shares its address with other sites", lambda web, s: _sharing(web, s)),
    "languages": ("other languages and charsets", lambda web, s: s.language not in ("en", "es")),
    "sessions": ("a new session id in its links in every answer", lambda web, s: bool(s.features.session)),
    "calendars": (
        f"an endless calendar: URLs at seeder.depth_dynamic = {DEPTH_DYNAMIC}",
        lambda web, s: s.features.calendar,
    ),
    "soft": ("answers 200 where there is no page", lambda web, s: s.features.soft),
    "mirrors": ("the pages of another site, byte for byte", lambda web, s: s.ties.mirror_of >= 0),
    "twins": ("a name with www. in addition to the bare name", lambda web, s: s.names is not SiteNames.BARE),
    "torn": ("pages whose connection breaks off halfway", lambda web, s: s.features.torn > 0),
    "old": ("speaks HTTP/1.0", lambda web, s: s.http.old),
    "tls": ("speaks https only", lambda web, s: s.http.secure),
    "moody": ("answers 429, 503, 500 or 402 at times; --with moody=2", lambda web, s: s.moods.moody),
    "changing": ("its robots.txt changes; --with changing=2", lambda web, s: s.moods.changing),
    "failing": ("its robots.txt fails at times; --with failing=2", lambda web, s: s.moods.failing),
    "sitemaps": ("a sitemap, and pages that only it lists", lambda web, s: bool(s.features.sitemap)),
    "down": ("cannot be reached", lambda web, s: s.down in (Down.REFUSED, Down.NAMELESS)),
    "silent": ("accepts connections and never answers; --with silent=2", lambda web, s: s.down is Down.SILENT),
}
PAGES: Final[dict[str, tuple[str, OfPage]]] = {
    "dynamic": ("pages with a query", lambda t: "?" in t.url and t.kind in READ),
    "duplicates": ("text and links of another page of the site", lambda t: t.kind is UrlKind.DUPLICATE),
    "plain": ("plain text, without links", lambda t: t.kind is UrlKind.PLAIN),
    "broken": ("linked, but missing", lambda t: t.kind in (UrlKind.BROKEN, UrlKind.SOFT)),
    "redirects": ("redirects", lambda t: t.kind is UrlKind.REDIRECT),
    "errors": ("answer 500", lambda t: t.kind is UrlKind.ERROR),
    "busy": ("answer 429 with Retry-After", lambda t: t.kind is UrlKind.BUSY),
    "forbidden": ("forbidden by robots.txt", lambda t: t.kind is UrlKind.FORBIDDEN),
    "nofollow": ("only nofollow links lead to it", lambda t: t.kind is UrlKind.HIDDEN),
    "descriptions": ("with a description", lambda t: bool(t.description)),
}
COUNTED: Final = "counted"
HEAVY: Final = "heavy"
NATIONAL: Final = "national"
ABOUT: Final = {
    **{kind: text for kind, (text, _) in (*SITES.items(), *PAGES.items())},
    COUNTED: "links to images, files, other domains and schemes: counted, never fetched",
    HEAVY: "page sizes as in the HTTP Archive: half above 35 KB, a tenth above 152 KB; --with heavy=1",
    NATIONAL: "distributions as on the Web of Chile (thesis, chapter 8); --with national=1",
}
SWITCHES: Final = tuple(ABOUT)


def without(web: DemoWeb, kinds: Iterable[str]) -> DemoWeb:
    """The Web with these kinds switched off."""
    return having(web, [f"{kind}=0" for kind in kinds])


def having(web: DemoWeb, wanted: Iterable[str]) -> DemoWeb:
    """The Web with other numbers for some kinds: KIND=NUMBER, as in `Shape`."""
    return replace(web, **dict(_number(web, one) for one in wanted))


def _number(web: DemoWeb, wanted: str) -> tuple[str, Any]:
    kind, _, number = wanted.partition("=")
    if kind not in SWITCHES:
        near = difflib.get_close_matches(kind, SWITCHES, 1)
        cure = f"Did you mean {near[0]}?" if near else f"The kinds are {', '.join(SWITCHES)}."
        raise UsageError(f"The demonstration Web has no kind {kind!r}.", cure)
    usual = getattr(Shape(), kind)
    what, most = _range(web, usual)
    try:
        found = type(usual)(float(number))
    except ValueError:
        found = -1
    if not 0 <= found <= most:
        raise UsageError(f"{wanted}: {kind} needs {what}.", f"Example: {kind}={usual or 2:g}")
    return kind, found


def _range(web: DemoWeb, usual: float) -> tuple[str, int]:
    """The meaning of the number of a kind, and its maximum."""
    if isinstance(usual, bool):
        return "0 or 1", 1
    return ("a number of sites", web.sites) if isinstance(usual, int) else ("a number between 0 and 1", 1)


def counts(web: DemoWeb) -> dict[str, Count]:
    """The count of each kind."""
    truths = web.truth() if not web.bulk else {}
    known = Counter(truths[url].site for url in web.reachable()) if truths else Counter()
    out = {}
    for kind, (_, is_so) in SITES.items():
        numbers = [s.number for s in web.all_sites if is_so(web, s)] if truths else []
        out[kind] = Count(len(numbers), sum(known[n] for n in numbers))
    for kind, (_, of_page) in PAGES.items():
        found = [t for t in truths.values() if of_page(t)]
        out[kind] = Count(len({t.site for t in found}), len(found))
    pages = ((t.site, only_counted(web, t.site, t.number)) for t in truths.values())
    linked = {(site, url) for site, urls in pages for url in urls}
    out[COUNTED] = Count(len({site for site, _ in linked}), len({url for _, url in linked}))
    read = [t for t in truths.values() if web.heavy and t.kind in READ]
    everything = Count(len(web.all_sites), len(truths)) if web.national else Count(0, 0)
    return out | {HEAVY: Count(len({t.site for t in read}), len(read)), NATIONAL: everything}


def lines(found: dict[str, Count]) -> Iterator[str]:
    """The table for people, one line per kind."""
    yield f"{'kind':<14}{'sites':>6}{'URLs':>9}  what it is"
    for kind, count in found.items():
        yield f"{kind:<14}{count.sites:>6,}{count.urls:>9,}  {ABOUT[kind]}"


def _sharing(web: DemoWeb, site: Site) -> bool:
    return sum(s.address == site.address for s in web.all_sites) > 1
