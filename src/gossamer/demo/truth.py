"""What is there, and what a complete polite crawl must make of it: tests compare a finished collection with this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gossamer.demo.bulk import bulk_target
from gossamer.demo.layout import PAGES, Kind
from gossamer.demo.links import FOLLOWED, links
from gossamer.demo.sites import Robots
from gossamer.model import Outcome

if TYPE_CHECKING:
    from gossamer.demo.web import DemoWeb

STATUS: Final = {
    Kind.PAGE: 200, Kind.PLAIN: 200, Kind.DUPLICATE: 200, Kind.HIDDEN: 200, Kind.FORBIDDEN: 200, Kind.BROKEN: 404,
    Kind.ERROR: 500, Kind.BUSY: 429,
}  # fmt: skip
_OUTCOME: Final = {
    Kind.PAGE: Outcome.OK, Kind.PLAIN: Outcome.OK, Kind.DUPLICATE: Outcome.OK, Kind.REDIRECT: Outcome.REDIRECT,
    Kind.BROKEN: Outcome.NOT_FOUND, Kind.ERROR: Outcome.SERVER_ERROR, Kind.BUSY: Outcome.TOO_MANY_REQUESTS,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Truth:
    """What is behind a URL."""

    url: str
    kind: Kind
    site: int
    number: int
    status: int
    level: int
    """Clicks from the home page (of what no page links to: 0)."""
    leads_to: str | None = None
    """Of a redirect."""
    same_as: str | None = None
    """The original of a group of duplicates; the original names itself."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What becomes of a URL in a complete crawl from the seeds."""

    url: str
    kind: Kind
    outcomes: frozenset[Outcome]
    """The outcomes that its requests may have; empty: it must never be asked for."""
    same_as: str | None = None
    """In a group of duplicates exactly one page is OK, the others DUPLICATE; which one depends on the order."""

    @property
    def excluded(self) -> bool:
        return not self.outcomes


def status(web: DemoWeb, site: int, number: int) -> int:
    kind = web.layout(site).kind[number]
    return STATUS[kind] if kind is not Kind.REDIRECT else (301, 302)[number % 2]


def truth(web: DemoWeb) -> dict[str, Truth]:
    """Every URL that the Web knows (robots.txt and files apart)."""
    if web.bulk:
        return {
            s.home[:-1] + bulk_target(n): Truth(s.home[:-1] + bulk_target(n), Kind.PAGE, s.number, n, 200, 0)
            for s in web.all_sites for n in range(s.pages)
        }  # fmt: skip
    out = {}
    for site in web.all_sites:
        layout = web.layout(site.number)
        for n, kind in enumerate(layout.kind):
            original = layout.original.get(n, n if n in layout.twins else None)
            url = web.url(site.number, n)
            out[url] = Truth(
                url, kind, site.number, n, status(web, site.number, n), layout.level[n],
                web.url(*layout.leads_to[n]) if kind is Kind.REDIRECT else None,
                web.url(site.number, original) if original is not None else None,
            )  # fmt: skip
    return out


def reachable(web: DemoWeb) -> dict[str, Expected]:
    """Every canonical URL that a complete crawl from the seeds comes to know."""
    if web.bulk:
        return {url: Expected(url, Kind.PAGE, frozenset({Outcome.OK})) for url in truth(web)}
    found = _walk(web)
    groups: dict[tuple[int, int], int] = {}
    for site, number in found:
        key = (site, web.layout(site).original.get(number, number))
        groups[key] = groups.get(key, 0) + 1
    return {e.url: e for e in (_expected(web, site, number, groups) for site, number in found)}


def _walk(web: DemoWeb) -> list[tuple[int, int]]:
    found = dict.fromkeys((s.number, 0) for s in web.all_sites)
    todo = list(found)
    for place in todo:
        for target in _next(web, *place):
            if target not in found:
                found[target] = None
                todo.append(target)
    return todo


def _next(web: DemoWeb, site: int, number: int) -> list[tuple[int, int]]:
    layout, place = web.layout(site), web.all_sites[site]
    if place.robots is Robots.UNAVAILABLE or number in layout.quiet:
        return []
    if layout.kind[number] is Kind.REDIRECT:
        return [layout.leads_to[number]]
    if layout.kind[number] not in PAGES:
        return []
    return [(link.site, link.number) for link in links(web, place, number) if link.role in FOLLOWED and link.site >= 0]


def _expected(web: DemoWeb, site: int, number: int, groups: dict[tuple[int, int], int]) -> Expected:
    layout, url = web.layout(site), web.url(site, number)
    kind = layout.kind[number]
    if kind is Kind.FORBIDDEN or web.all_sites[site].robots is Robots.UNAVAILABLE:
        return Expected(url, kind, frozenset())
    original = layout.original.get(number, number)
    if groups[site, original] > 1:
        return Expected(url, kind, frozenset({Outcome.OK, Outcome.DUPLICATE}), web.url(site, original))
    return Expected(url, kind, frozenset({_OUTCOME[kind]}))
