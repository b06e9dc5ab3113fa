"""The truth: what is there, and what a complete polite crawl must make of it. Tests compare a finished collection with
it.

All URLs are canonical, with the bare name of their site: `www.` and the bare name are one site (A.2.5). Depths are
those of a crawl with the usual limits; only calendars go deeper, so only there the limits decide what is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gossamer.base.errors import UsageError
from gossamer.base.model import Outcome
from gossamer.webs.demo.bulk import bulk_target
from gossamer.webs.demo.layout import LAST_MONTH, PAGES, UrlKind
from gossamer.webs.demo.links import FOLLOWED, description, links, title
from gossamer.webs.demo.places import Places

_OUTCOME: Final = {
    UrlKind.REDIRECT: Outcome.REDIRECT,
    UrlKind.BROKEN: Outcome.NOT_FOUND,
    UrlKind.ERROR: Outcome.SERVER_ERROR,
    UrlKind.BUSY: Outcome.TOO_MANY_REQUESTS,
    UrlKind.TORN: Outcome.BROKEN_OFF,
}
"""The outcomes of requests; OK for all other kinds that are requested."""
_WAITS: Final = (UrlKind.ERROR, UrlKind.BUSY, UrlKind.TORN)
_READ: Final = (*PAGES, UrlKind.CALENDAR, UrlKind.SOFT)
"""Kinds whose text a crawl reads."""

Place = tuple[int, int]
"""Site and number."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What is behind a URL."""

    url: str
    kind: UrlKind
    site: int
    number: int
    status: int
    """0: nobody answers."""
    level: int
    """Clicks from the home page; 0 for targets to which no page links."""
    leads_to: str | None = None
    """Target of a redirect."""
    same_as: str | None = None
    """The original of a group of duplicates; the original names itself."""
    copy_of: str | None = None
    """For a page of a mirror: the page of the other site that has the same bytes. If it has links, they lead elsewhere:
    then the page is no duplicate, but its body repeats another."""
    language: str = ""
    """Language of its text; "": it has none."""
    charset: str = ""
    """Python's name of the charset that its label means on the Web."""
    title: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """What becomes of a URL in a complete crawl from the seeds."""

    url: str
    kind: UrlKind
    outcomes: frozenset[Outcome]
    """The allowed outcomes of its requests; empty: it must never be requested."""
    same_as: str | None = None
    """The original of its group of duplicates: exactly one page of the group is OK, the others are DUPLICATE; which one
    depends on the order."""
    waits: bool = False
    """It, or its site, is to be tried again later."""
    too_deep: bool = False

    @property
    def excluded(self) -> bool:
        """Whether it must never be requested."""
        return not self.outcomes


def truth(web: Places) -> dict[str, Truth]:
    """Every URL of the Web, except robots.txt, files, and months beyond the layout."""
    if web.bulk:
        return {
            s.home[:-1] + bulk_target(n): Truth(
                s.home[:-1] + bulk_target(n), UrlKind.PAGE, s.number, n, 200, 0, None, None, None, "en", "utf-8"
            )
            for s in web.all_sites
            for n in range(s.pages)
        }
    places = ((s.number, n) for s in web.all_sites for n in range(len(web.layout(s.number).kind)))
    return {t.url: t for t in (_truth(web, *place) for place in places)}


def _truth(web: Places, number: int, n: int) -> Truth:
    site, layout = web.all_sites[number], web.layout(number)
    kind, source = layout.kind[n], web.source(site)
    group, original = _group(web, number, n), layout.original.get(n, n)
    is_repeated = kind is UrlKind.PLAIN and (site.ties.mirrored or site.ties.mirror_of >= 0)
    has_twins = n in layout.original or n in layout.twins or is_repeated
    read = kind in _READ
    return Truth(
        web.url(number, n),
        kind,
        number,
        n,
        layout.status(n),
        layout.level[n],
        leads_to=web.url(*layout.leads_to[n]) if kind is UrlKind.REDIRECT else None,
        same_as=web.url(*group) if has_twins else None,
        copy_of=web.url(source.number, n) if read and source is not site else None,
        language=site.language if read else "",
        charset=site.charset.meant if read else "",
        title=_title(web, number, original) if read else "",
        description=description(web, source, original) if kind in (UrlKind.PAGE, UrlKind.DUPLICATE) else "",
    )


def _title(web: Places, number: int, n: int) -> str:
    """The text of the title element."""
    site = web.source(web.all_sites[number])
    match web.layout(number).kind[n]:
        case UrlKind.PLAIN:
            return ""
        case UrlKind.SOFT:
            return "404"
        case UrlKind.CALENDAR:
            return title(web, site, n)
    return f"{title(web, site, n)} {n}"


def _group(web: Places, number: int, n: int) -> Place:
    """The first of all pages with the same text and links. Pages without links are the same on a mirror."""
    layout = web.layout(number)
    if layout.kind[n] is UrlKind.PLAIN:
        return web.source(web.all_sites[number]).number, n
    return number, layout.original.get(n, n)


def reachable(web: Places, depth_dynamic: int) -> dict[str, Expected]:
    """Every canonical URL that a complete crawl from the seeds comes to know."""
    if web.bulk:
        return {url: Expected(url, UrlKind.PAGE, frozenset({Outcome.OK})) for url in truth(web)}
    if depth_dynamic > LAST_MONTH:
        raise UsageError(f"The truth has calendars only to depth {LAST_MONTH}.", "Crawl with a smaller depth limit.")
    found = _walk(web, depth_dynamic)
    groups: dict[Place, int] = {}
    for place in found:
        group = _group(web, *place)
        groups[group] = groups.get(group, 0) + web.all_sites[place[0]].readable
    return {e.url: e for e in (_expected(web, *place, groups, depth_dynamic) for place in found)}


def _walk(web: Places, depth_dynamic: int) -> list[Place]:
    found = dict.fromkeys((s.number, 0) for s in web.all_sites)
    found |= dict.fromkeys(
        (s.number, n)
        for s in web.all_sites
        if s.features.sitemap and s.readable
        for n, kind in enumerate(web.layout(s.number).kind)
        if kind is UrlKind.LISTED
    )
    todo = list(found)
    for place in todo:
        for target in _next(web, *place, depth_dynamic):
            if target not in found:
                found[target] = None
                todo.append(target)
    return todo


def _next(web: Places, site: int, number: int, depth_dynamic: int) -> list[Place]:
    layout, place = web.layout(site), web.all_sites[site]
    if not place.readable or number in layout.quiet or _is_too_deep(web, site, number, depth_dynamic):
        return []
    if layout.kind[number] is UrlKind.REDIRECT:
        return [layout.leads_to[number]]
    if layout.kind[number] not in _READ:
        return []
    return [(link.site, link.number) for link in links(web, place, number) if link.role in FOLLOWED and link.site >= 0]


def _is_too_deep(web: Places, site: int, number: int, depth_dynamic: int) -> bool:
    layout = web.layout(site)
    return layout.kind[number] is UrlKind.CALENDAR and layout.level[number] > depth_dynamic


def _expected(web: Places, site: int, number: int, groups: dict[Place, int], depth_dynamic: int) -> Expected:
    layout, url = web.layout(site), web.url(site, number)
    kind, nothing = layout.kind[number], frozenset[Outcome]()
    if not web.all_sites[site].readable:
        return Expected(url, kind, nothing, waits=True)
    if kind is UrlKind.FORBIDDEN:
        return Expected(url, kind, nothing)
    if _is_too_deep(web, site, number, depth_dynamic):
        return Expected(url, kind, nothing, too_deep=True)
    group, recognised = _group(web, site, number), {Outcome.SOFT_404} if kind is UrlKind.SOFT else set()
    if groups[group] > 1:
        return Expected(url, kind, frozenset({Outcome.OK, Outcome.DUPLICATE} | recognised), web.url(*group))
    return Expected(url, kind, frozenset({_OUTCOME.get(kind, Outcome.OK)} | recognised), waits=kind in _WAITS)
