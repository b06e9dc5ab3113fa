"""The demonstration Web: about a hundred sites and twenty thousand pages that exist only as a seed and a few shares.

The content of a page is a pure function of (seed, site, page): any process can compute what any URL answers, and what a
complete crawl must find, without serving or storing anything. Sites and layouts are made when first needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from gossamer.webs.demo.life import Event, Life, Standing
from gossamer.webs.demo.moods import changed
from gossamer.webs.demo.places import Places
from gossamer.webs.demo.render import robots_text
from gossamer.webs.demo.site import DOMAIN, WWW, Down, Site, SiteNames
from gossamer.webs.demo.truth import Expected, Truth, reachable, truth

DEPTH_DYNAMIC = 5
"""The default of the setting `seeder.depth_dynamic`."""


@dataclass(frozen=True)
class DemoWeb(Places):
    """The whole Web; see `Shape` for its options."""

    @property
    def seeds(self) -> list[str]:
        """Every home page, because most sites have no link from another. Some seeds are written with www."""
        return [f"{s.scheme}://{WWW + s.host if s.names is SiteNames.TO_BARE else s.name}/" for s in self.all_sites]

    @property
    def domains(self) -> list[str]:
        return [DOMAIN]

    def resolve(self, port: int) -> dict[str, str]:
        """For the setting `harvester.resolve`: from host to address and port, or to "none"."""
        out: dict[str, str] = {}
        for s in self.all_sites:
            place = "none" if s.down is Down.NAMELESS else f"{s.address}:{port}"
            out |= {s.host: "none"} | dict.fromkeys(s.all_names, place)
        return out

    def truth(self) -> dict[str, Truth]:
        """Every URL of the Web, except robots.txt, files and far months, and what is behind it."""
        return truth(self)

    def reachable(self, depth_dynamic: int = DEPTH_DYNAMIC) -> dict[str, Expected]:
        """Every canonical URL that a complete polite crawl from the seeds comes to know, and what becomes of it.

        `depth_dynamic`: the limit of the crawl; at least 4, because a lower limit cuts off other pages than calendars.
        """
        return reachable(self, depth_dynamic)

    @cached_property
    def life(self) -> Life:
        return Life(self)

    def located(self, url: str) -> tuple[Site, str]:
        """The site of a canonical URL, and its path and query."""
        name, slash, path = url.partition("://")[2].partition("/")
        return self.by_host[name], slash + path

    def standing(self, url: str, at: float) -> Standing | None:
        """What a URL of a living Web is at a wall time; None: it has no life of its own, or none yet."""
        return self.life.standing(*self.located(url), at * self.speed)

    def history(self, url: str, begin: float, end: float) -> Iterator[Event]:
        """What happened to a URL of a living Web after `begin`, up to `end`, in wall time."""
        events = self.life.history(*self.located(url), begin * self.speed, end * self.speed)
        return (Event(time / self.speed, what) for time, what in events)

    def born(self, begin: float, end: float) -> Iterator[str]:
        """URLs of the news that came after `begin`, up to `end`, in wall time."""
        for site in (s for s in self.all_sites if s.down is Down.NO):
            times = (begin * self.speed, end * self.speed)
            yield from (site.home[:-1] + target for target in self.life.born(site, *times))

    def birth(self, url: str) -> float:
        """The wall time at which news came; 0: they never do."""
        return self.life.birth(*self.located(url)) / self.speed

    def robots_of(self, origin: str, at: float | None = None) -> bytes | None:
        """The robots.txt that an origin ("http://host") serves with status 200; None if it serves none.

        `at`: the time, where it changes (see `moods`).
        """
        name = origin.partition("://")[2].partition("/")[0].partition(":")[0].lower()
        site = self.by_host.get(name)
        if site is None or name == site.moved_name:
            return None
        return changed(self, site, at) if site.moods.changing and at is not None else robots_text(self, site)
