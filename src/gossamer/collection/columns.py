"""The desk's memory: columns by page, by site and by origin, reserved at their limits so that they never move.

Only `desk.apply` writes the durable columns, from the effects of a tick; other threads read them at any time.
`ASSIGNED` in `page.flags` and all that the site queue holds is volatile.

A known page costs 22 bytes here and 15 to 19 in the known-page table; a fetched one 15 to 19 more for its digest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gossamer.collection.table import Table, reserve

Array = npt.NDArray[Any]

PAGE_COLUMNS = {
    "origin": "<u4",
    "state": "u1",  # State
    "reason": "u1",  # Reason, when excluded; when done: why it is not fetched again
    "depth": "u1",
    "flags": "u1",  # PageFlag
    "outcome": "u1",  # Outcome of the last visit
    "tries": "u1",  # visits without success in a row
    "due": "<u4",  # wall, seconds: when waiting, not before; when done, time of the visit
    "cash": "<u8",  # OPIC: what the page holds; with the top bit set, what it held and has handed on
    "merit": "<f4",  # weighted sum of its link scores; untouched while there are none
    "completed": "<f4",  # completed PageRank, without the base of pages found since it was computed
    "boost": "<f4",  # by pattern of its URL; untouched while there are no patterns
}

SITE_COLUMNS = {
    "pages": "<u4",  # known pages
    "pending": "<u4",  # of these, pending
    "asked": "<u4",  # requests made
    "failures": "u1",  # requests in a row that speak against the site
    "name_failures": "u1",  # lookups in a row without an address
    "refused": "u1",  # it asks for a longer delay than is honoured: left alone
    "resolved": "<f8",  # wall: until when the address holds; 0: none
    "next": "<f8",  # wall: not to be asked before
    "delay": "<f4",  # the longest Crawl-delay of its origins, seconds
    "port": "<u2",  # port to use instead of the origin's
    "address": "<u4",  # number of its address, NONE without
    "www": "u1",  # asked with `www.` before its name
    "respelled": "u1",  # how often that has changed
    "why": "u1",  # Aside: why it is not asked before `next`
    "rest": "<f8",  # `next` and `why` as they were before its name made it wait longer
    "rest_why": "u1",
    "home": "<u8",  # the last address that its name had, folded; 0: none yet
    "moves": "u1",  # how often it had another one
    "moved": "<f8",  # wall: before which another one opens no duplicates again
    "slow": "<f4",  # factor of its wait: doubled by what slows, a tenth less with each good answer, at least 1
    "stretch": "<f4",  # factor of its wait while its pages come more slowly than they usually do, at least 1
    "usual": "<f4",  # seconds until the first byte of a page, as a rule; 0 while none has come
    "lately": "<f4",  # the same of the last few pages
    "sitemap_due": "<f8",  # wall: its sitemaps are not asked for before; 0: they never were
    "probe": "<u4",  # the last row of `Probes` that is about it, counted from 1; 0: none
}

ORIGIN_COLUMNS = {
    "site": "<u4",
    "port": "<u2",
    "secure": "u1",
    "valid": "<f8",  # wall: until when its robots rules hold; 0: never asked
    "rules_start": "<u4",  # where its compiled rules lie in the buffer of rules: those of the last good answer
    "rules_end": "<u4",
    "delay": "<f4",  # Crawl-delay, seconds
    "failures": "u1",  # robots.txt requests in a row without an answer
    "unreachable": "<f8",  # wall: since when, less the time in which nobody asked; 0: it could be read
    "moved_to": "<u8",  # where most of its redirects lead: fingerprint
    "moved": "<u2",  # by how many more than elsewhere: see `probes.vote`
}


class Group:
    """Columns of equal length. `count` rows are in use."""

    def __init__(self, limit: int, columns: dict[str, str]) -> None:
        self.limit = limit
        self.count = 0
        self._columns = columns
        self._arrays = {name: reserve(limit, dtype)[0] for name, dtype in columns.items()}
        self.__dict__.update(self._arrays)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Array: ...

    def used(self) -> dict[str, Array]:
        """The rows in use of every column."""
        return {name: array[: self.count] for name, array in self._arrays.items()}


class Columns:
    def __init__(self, max_pages: int, max_sites: int) -> None:
        self.page = Group(max_pages, PAGE_COLUMNS)
        self.site = Group(max_sites, SITE_COLUMNS)
        self.origin = Group(4 * max_sites, ORIGIN_COLUMNS)
        self.ranking = np.zeros(2)
        """Of the completed PageRank: its base, and how many pages were known when it was computed."""
        self.known = Table(max_pages)
        """Fingerprint of a URL to its page."""
        self.digests = Table(max_pages)
        """Digest of a page's contents to the first page that had them."""
        self.origins = Table(4 * max_sites)
        """Fingerprint of an origin to its number."""
        self.hosts = Table(max_sites)
        """Fingerprint of a host to its site."""
