"""Pages that the user has asked for go before all others of their sites (`gossamer add`).

Only their place in the plan changes: waits, back-off, suspensions, robots.txt and the share of a site are as ever. The
wish is not stored: after a kill such a page has the place that it is worth.

Invariants, each a property test of the same name: wanted pages come first at their sites; other pages keep their order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import numpy as np

from gossamer.base.arrays import U32
from gossamer.base.askable import is_new, is_suspended
from gossamer.base.model import State
from gossamer.desk.columns import Columns
from gossamer.manager.plan import Plan
from gossamer.manager.slices import by_site

_LOW: Final = np.uint64(0xFFFFFFFF)
_PENDING: Final = int(State.PENDING)


class Wanted:
    """The pages that are wanted and not answered yet, in the order of the wishes."""

    def __init__(self) -> None:
        self._pages = dict[int, None]()
        self.sites: tuple[int, ...] = ()
        """Sites whose pages are planned before all others."""
        self.pressing = False
        """No plan was begun since the last wish."""

    def prefer(self, sites: Iterable[int]) -> None:
        self.sites, self.pressing = tuple(sites), True

    def add(self, pages: Iterable[int]) -> None:
        self._pages |= dict.fromkeys(pages)
        self.pressing = bool(self._pages)

    def now(self, columns: Columns, until: float) -> U32:
        """The wanted pages that may be planned: pending, at sites that are not suspended until after `until`. Pages
        that were answered or excluded are no longer wanted."""
        self.pressing = False
        if not self._pages:
            return np.zeros(0, np.uint32)
        pages = np.array(list(self._pages), np.uint32)
        pages = pages[columns.page.state[pages] == _PENDING]
        self._pages = dict.fromkeys(pages.tolist())
        site, of = columns.site, columns.origin.site[columns.page.origin[pages]]
        ready = is_new(columns.page.state[pages], columns.page.flags[pages])
        found: U32 = pages[ready & ~is_suspended(site.refused[of], site.next[of], until)]
        return found


def put_first(plan: Plan, wanted: U32, columns: Columns) -> Plan:
    """The plan, with the wanted pages before all others."""
    if not len(wanted):
        return plan
    others = plan.pages[np.argsort(plan.ranks)]
    pages = np.concatenate([wanted, others[~np.isin(others, wanted)]])
    keys = _LOW - pages.astype(np.uint64)
    sites, offsets, grouped, ranks = by_site(keys, columns.page.origin, columns.origin.site, columns.site.count)
    return replace(plan, sites=sites, offsets=offsets, pages=grouped, ranks=ranks)
