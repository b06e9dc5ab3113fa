"""The demonstration Web: some hundred sites and twenty thousand pages that exist only as a seed and a few shares.

What a page holds is a pure function of (seed, site, page): any process can say what any URL answers, and what a
complete crawl must find, without serving or storing anything. Sites and layouts are made when first needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from gossamer.demo.layout import Layout, make_layout
from gossamer.demo.sites import DOMAIN, Robots, Site, make_sites
from gossamer.demo.truth import Expected, Truth, reachable, truth


@dataclass(frozen=True)
class DemoWeb:
    """A share of 0 switches its kind off. Shares count per page, but `broken` per link and the last ones in sites."""

    seed: int = 1
    sites: int = 120
    pages: int = 20_000
    largest: int = 2_000
    """Most pages of one site. One site is asked for one page at a time, so this bounds how soon a crawl can end."""
    agent: str = "Gossamer"
    """The product token that some robots.txt files name."""
    dynamic: float = 0.34
    duplicates: float = 0.06
    plain: float = 0.02
    broken: float = 0.09
    redirects: float = 0.04
    errors: float = 0.003
    busy: float = 0.0005
    forbidden: float = 0.02
    nofollow: float = 0.01
    counted: bool = True
    """Links to images, files, other domains and schemes."""
    retry_after: int = 1
    """Seconds that a busy page asks for."""
    slow: int = 3
    latency: float = 0.3
    """Seconds, about, before a slow site answers."""
    delays: int = 2
    """Sites with a Crawl-delay of 1."""
    unavailable: int = 2
    """Sites whose robots.txt answers 503."""
    shared: int = 3
    """Addresses with two to four sites."""
    bulk: bool = False
    """Plain pages of `size` bytes and `links` links, all alike, for benchmarks; all shares above are off."""
    size: int = 25_000
    links: int = 75

    @cached_property
    def all_sites(self) -> list[Site]:
        return make_sites(self)

    @cached_property
    def by_host(self) -> Mapping[str, Site]:
        return {s.host: s for s in self.all_sites}

    @cached_property
    def linked_sites(self) -> list[Site]:
        """Sites with links from others, the most linked first."""
        return [s for s in self.all_sites if s.linked]

    @cached_property
    def _layouts(self) -> dict[int, Layout]:
        return {}

    def layout(self, site: int) -> Layout:
        found = self._layouts.get(site)
        if found is None:
            found = self._layouts[site] = make_layout(self, self.all_sites[site])
        return found

    def promised(self, site: int) -> list[Site]:
        """Sites that this one's home page links to: every linked site gets a link, every linking one gives one."""
        givers = [s.number for s in self.all_sites if s.linking]
        found = []
        for n in range(max(len(givers), len(self.linked_sites))):
            target, giver = self.linked_sites[n % len(self.linked_sites)], n % len(givers)
            if givers[giver] == target.number:
                giver = (giver + 1) % len(givers)
            if givers[giver] == site and target.number != site:
                found.append(target)
        return found

    def url(self, site: int, number: int) -> str:
        return self.all_sites[site].home[:-1] + self.layout(site).target[number]

    @property
    def seeds(self) -> list[str]:
        """Every home page: most sites have no link from another."""
        return [s.home for s in self.all_sites]

    @property
    def domains(self) -> list[str]:
        return [DOMAIN]

    def resolve(self, port: int) -> dict[str, str]:
        """For the setting `harvester.resolve`: host to address and port."""
        return {s.host: f"{s.address}:{port}" for s in self.all_sites}

    def truth(self) -> dict[str, Truth]:
        """Every URL that the Web knows (robots.txt and files apart), and what is behind it."""
        return truth(self)

    def reachable(self) -> dict[str, Expected]:
        """Every canonical URL that a complete polite crawl from the seeds comes to know, and what becomes of it."""
        return reachable(self)

    def robots_of(self, origin: str) -> bytes | None:
        """The robots.txt that an origin ("http://host") serves with status 200; None if it serves none."""
        site = self.by_host.get(origin.partition("://")[2].partition("/")[0].partition(":")[0].lower())
        return robots_text(self, site) if site else None


def robots_text(web: DemoWeb, site: Site) -> bytes | None:
    delay = f"Crawl-delay: {site.delay:g}\n" if site.delay else ""
    folders = "Disallow: /private/\nAllow: /private/open/\n"
    match site.robots:
        case Robots.EMPTY:
            text = f"# come in\nUser-agent: *\nDisallow:\n{delay}"
        case Robots.FOLDERS:
            text = f"User-agent: *\n{folders}{delay}"
        case Robots.PATTERNS:
            text = f"User-agent: *\nDisallow: /*?*print=1$\nDisallow: /*/draft-*.html$ # not ready\n{delay}"
        case Robots.NAMED:
            text = f"User-agent: *\nDisallow: /\n\nUser-agent: {web.agent}\n{folders}{delay}"
        case _:
            return None
    return text.encode()
