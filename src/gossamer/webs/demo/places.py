"""Sites and layouts of the demonstration Web, made when first needed: the basis of links, pages and truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.layout import Layout, make_layout, statics
from gossamer.webs.demo.shape import Shape
from gossamer.webs.demo.site import WWW, Site, SiteNames
from gossamer.webs.demo.sites import make_sites


@dataclass(frozen=True)
class Places(Shape):
    """A shape with its sites and layouts."""

    @cached_property
    def all_sites(self) -> list[Site]:
        """By number. After the first `sites` come the sites that are down, and the mirrors."""
        return make_sites(self)

    @cached_property
    def by_host(self) -> Mapping[str, Site]:
        """Sites by all their names."""
        return {name: s for s in self.all_sites for name in {s.host, *s.all_names}}

    @cached_property
    def linked_sites(self) -> list[Site]:
        """Sites with links from others, the most linked first."""
        return [s for s in self.all_sites if s.ties.linked]

    @cached_property
    def _layouts(self) -> dict[int, Layout]:
        return {}

    def layout(self, site: int) -> Layout:
        found = self._layouts.get(site)
        if found is None:
            found = self._layouts[site] = self._make_layout(self.all_sites[site])
        return found

    @cached_property
    def _statics(self) -> dict[int, list[int]]:
        return {}

    def statics(self, site: int) -> list[int]:
        """Pages that any page of the site may link to, on a national Web, by level."""
        found = self._statics.get(site)
        if found is None:
            found = self._statics[site] = statics(self.layout(site), self.all_sites[site].pages)
        return found

    def _make_layout(self, site: Site) -> Layout:
        """A mirror has the layout of its original, but redirects to itself where the original does."""
        if site.ties.mirror_of < 0:
            others = [] if self.national else [s for s in self.linked_sites if s.number != site.number]
            return make_layout(self, site, others)
        original = self.layout(site.ties.mirror_of)
        leads_to = {
            n: (site.number if to == site.ties.mirror_of else to, there) for n, (to, there) in original.leads_to.items()
        }
        return replace(original, leads_to=leads_to)

    def source(self, site: Site) -> Site:
        """The site whose pages it serves: itself, or the original of a mirror."""
        return site if site.ties.mirror_of < 0 else self.all_sites[site.ties.mirror_of]

    def promised(self, site: int) -> list[Site]:
        """Sites that the home page of this site links to: every linked site gets a link, and every linking site gives
        one."""
        if self.national:
            return [self.all_sites[n] for n in self.all_sites[site].ties.promised]
        givers = [s.number for s in self.all_sites if s.ties.linking and s.ties.mirror_of < 0]
        found = []
        for n in range(max(len(givers), len(self.linked_sites))):
            target, giver = self.linked_sites[n % len(self.linked_sites)], n % len(givers)
            if givers[giver] == target.number:
                giver = (giver + 1) % len(givers)
            if givers[giver] == site and target.number != site:
                found.append(target)
        return found

    def url(self, site: int, number: int) -> str:
        """The canonical URL, with the bare name."""
        return self.all_sites[site].home[:-1] + self.layout(site).target[number]

    def spelled(self, site: Site, dice: Dice) -> str:
        """The root of the site as a link writes it: with either name, if it has two."""
        name = site.host if site.names is SiteNames.BARE or dice.chance(0.5) else WWW + site.host
        return f"{site.scheme}://{name}"
