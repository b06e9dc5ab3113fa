"""Domains: how many sites and pages each registrable domain has, and how many other domains vouch for it.

A name server can answer for every name below one domain, and a server for every path. So the sites and the pages of one
domain are limited: to a part of the collection that no other domain has to vouch for, and a quarter of that part more
for each domain that links to it. Nobody but other people's pages raises the limit, and a domain costs money.

A domain has no number of its own: it goes by the number of its first site, and its figures are in that site's row.

The domains that vouch are counted in 64 bits: a link from another domain sets the bit that a hash of its number
chooses. So a link costs no search, a domain 8 bytes, and the count is right or a little too low. Refused: a set of
pairs of domains (16 bytes for each pair, and a search for each link).

Invariants, each a property test of the same name: no domain grows beyond its room; a domain does not vouch for itself;
a replay counts the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from gossamer import urls
from gossamer.base.arrays import Array
from gossamer.base.compiled import inlined, njit
from gossamer.base.model import NONE
from gossamer.config.settings import Settings
from gossamer.desk.applied import Applied
from gossamer.desk.desk import Declared, Desk, Part, fingerprints
from gossamer.urls.names import is_address

SHARE: Final = 4
"""A domain gets at most this fraction of the collection: a fourth, or an equal share of fewer domains in scope."""
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_ONE, _SHIFT = np.uint64(1), np.uint64(58)


class Room(NamedTuple):
    """How many sites and pages a domain may have that nobody vouches for."""

    sites: int
    pages: int

    @staticmethod
    def of(settings: Settings) -> Room:
        seeder, collection = settings.seeder, settings.collection
        parts = _parts(seeder.domains)
        if parts == 1:  # nothing else is in scope
            return Room(collection.max_sites, collection.max_pages)
        return Room(
            min(seeder.sites_per_domain, max(1, collection.max_sites // parts)),
            min(seeder.pages_per_domain, max(1, collection.max_pages // parts)),
        )


def _parts(domains: tuple[str, ...]) -> int:
    """Into how many parts the collection is divided: as many as there are domains in scope, at most `SHARE`."""
    names = {name.lstrip(".") for name in domains}
    if not names or any(name == "*" or _holds_domains(name) for name in names):
        return SHARE
    return min(SHARE, len({urls.registrable(name) for name in names}))


def _holds_domains(suffix: str) -> bool:
    """Whether there are several registrable domains below it, as in `cl` and `co.uk`."""
    return not is_address(suffix) and urls.registrable(f"a.{suffix}") != urls.registrable(suffix)


class Domains(Part):
    """The figures of each domain, in the row of its first site."""

    name = "domains"
    columns: ClassVar[Declared] = {
        "site": {
            "domain": "<u4",  # first site of its registrable domain
            "domain_sites": "<u4",  # of a first site: known sites of the domain
            "domain_pages": "<u4",  # of a first site: known pages of the domain
            "vouched": "<u8",  # of a first site: a bit for each domain that links to it
        }
    }

    def __init__(self, desk: Desk) -> None:
        self._columns, self._seed = desk.columns, desk.seed
        self.room = Room.of(desk.settings)

    def explain_site(self, site: int) -> Mapping[str, object]:
        """The figures of its domain, if that may not grow."""
        sites = self._columns.site
        first = int(sites.domain[site])
        vouched = int(sites.vouched[first])
        figures = {"sites": int(sites.domain_sites[first]), "pages": int(sites.domain_pages[first])}
        most = {name: most_of(base, vouched) for name, base in self.room._asdict().items()}
        if all(figures[name] < most[name] for name in figures):
            return {}
        return {**figures, **{f"most_{name}": number for name, number in most.items()}, "vouched": vouched.bit_count()}


def add_sites(desk: Desk, applied: Applied) -> None:
    """Counts the new sites of a tick, after their names were added."""
    names, sites = [name.decode() for name in applied.effects.sites.split()], desk.columns.site
    for site, name in enumerate(names, sites.count - len(names)):
        key = domain_key(name, desk.seed)
        first = int(desk.columns.domains.find(key)[0])
        if first == NONE:
            first = site
            desk.columns.domains.add(key, np.array([site], np.uint32))
        sites.domain[site] = first
        sites.domain_sites[first] += 1


def domain_key(host: str, seed: int) -> Array:
    """The fingerprint of the registrable domain of a host."""
    return fingerprints([urls.registrable(host)], seed)


def vouch(desk: Desk, applied: Applied) -> None:
    """Counts the domains that the links of a tick come from.

    Only targets of depth 0 are looked at: a link from another site has just made it 0."""
    targets = applied.effects.link_targets
    if len(targets):
        if not targets.flags.writeable:  # a journal record: numba would compile the kernel once more
            targets = np.require(targets, np.uint32, ["C", "W"])
        page, site = desk.columns.page, desk.columns.site
        origin = desk.columns.origin.site
        _vouch(applied.for_pages, targets, page.depth, page.origin, origin, site.domain, site.vouched)


@njit
def _vouch(
    visits: Any, targets: Array, depth: Array, page_origin: Array, origin_site: Array, domain: Array, vouched: Array
) -> None:
    end = 0
    for i in range(len(visits)):
        begin, end = end, end + visits[i].links
        if begin == end:
            continue
        own = domain[visits[i].site]
        bit = _ONE << ((np.uint64(own) * _GOLDEN) >> _SHIFT)
        for j in range(begin, end):
            target = targets[j]
            if depth[target] == 0:
                other = domain[origin_site[page_origin[target]]]
                if other != own:
                    vouched[other] |= bit


def most_of(base: int, vouched: int) -> int:
    """How many sites or pages a domain may have, if `base` needs nobody to vouch for it."""
    return base + base * vouched.bit_count() // 4


@inlined
def most_in_kernel(base: int, vouched: np.uint64) -> int:
    """The same as `most_of`, for kernels."""
    count = 0
    while vouched != 0:
        vouched &= vouched - _ONE
        count += 1
    return base + base * count // 4
