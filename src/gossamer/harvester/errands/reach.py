"""Which origins and sites are worth requests for sitemaps: origins in scope, and sites with a page that is wanted."""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer import urls
from gossamer.base.arrays import Array, Bools
from gossamer.base.model import State
from gossamer.desk.desk import Desk
from gossamer.desk.places import Places

WELL_KNOWN: Final = "/sitemap.xml"
SCAN_EVERY: Final = 3_600.0
"""Seconds between scans of all pages for sites without a wanted page."""
_INSIDE, _OUTSIDE = 1, 2
_EXCLUDED: Final = int(State.EXCLUDED)


class Reach:
    """Remembers which origins are in scope, and which sites have no wanted page."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._columns = desk, desk.columns
        self._origins = np.zeros(desk.columns.origin.limit, np.uint8)
        """By origin: whether it is in scope; 0: not checked yet."""
        self._unwanted = np.zeros(0, np.bool_)
        """By site: whether all its pages were excluded at the last scan."""
        self._scanned = -np.inf

    def inside(self, origin: int) -> bool:
        """Whether the origin is in scope, and patterns do not reject both its start page and its sitemap."""
        if not self._origins[origin]:
            scope = self._desk.scope
            home = urls.canonical(self._desk[Places].origin_text(origin) + "/") or ""
            inside = scope.admits(home) and not (scope.shuns(home) and scope.shuns(home[:-1] + WELL_KNOWN))
            self._origins[origin] = _INSIDE if inside else _OUTSIDE
        return bool(self._origins[origin] == _INSIDE)

    def those_inside(self, origins: Array) -> Array:
        """The origins that are inside."""
        for origin in origins[self._origins[origins] == 0].tolist():
            self.inside(origin)
        found: Array = origins[self._origins[origins] == _INSIDE]
        return found

    def lost(self, sites: Array) -> Bools:
        """Which sites have no wanted page any more: settings or robots.txt exclude all their pages."""
        columns, now = self._columns, self._desk.wall
        if now >= self._scanned + SCAN_EVERY:
            state, count = columns.page.state[: columns.page.count], columns.site.count
            wanted = columns.page.origin[: len(state)][state != _EXCLUDED]
            self._unwanted = np.ones(count, np.bool_)
            self._unwanted[columns.origin.site[wanted]] = False
            self._scanned = now
        found = np.zeros(len(sites), np.bool_)
        scanned = sites < len(self._unwanted)
        found[scanned] = self._unwanted[sites[scanned]] & (columns.site.pending[sites[scanned]] == 0)
        return found
