"""The desk's memory: columns by page, by site and by origin, reserved at their limits so that they never move.

Each column belongs to a part of the desk, which declares it (`desk/desk.py`). Only `crawler/apply.py` writes durable
columns, but for its `EXCEPTIONS`, from the effects of a tick; other threads read them at any time. `ASSIGNED` in
`page.flags` and everything in the site queue is volatile.

Readers in other threads rely on an order. Invariant, a test of the same name: the count of pages is published after
their columns.

A known page costs 38 bytes here, 16 of them only once they are used, and 15 to 19 in the known-page table; a fetched
page costs 15 to 19 more for its digest, and 20 once it was visited again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gossamer.desk.table import Table, reserve

Array = npt.NDArray[Any]
Layout = dict[str, dict[str, str]]
"""Types of the columns, by group and name."""


class Group:
    """Columns of equal length. `count` rows are in use."""

    def __init__(self, limit: int, columns: dict[str, str]) -> None:
        self.limit = limit
        self.count = 0
        self._arrays = {name: reserve(limit, dtype)[0] for name, dtype in columns.items()}
        self.__dict__.update(self._arrays)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Array: ...

    def used(self) -> dict[str, Array]:
        """The rows in use of every column."""
        return {name: array[: self.count] for name, array in self._arrays.items()}


class Columns:
    """All columns and tables of the desk."""

    def __init__(self, max_pages: int, max_sites: int, layout: Layout) -> None:
        self.page = Group(max_pages, layout["page"])
        self.site = Group(max_sites, layout["site"])
        self.origin = Group(4 * max_sites, layout["origin"])
        self.ranking = np.zeros(2)
        """Completed PageRank: its base, and the number of pages known when it was computed."""
        self.habits = np.zeros(256)
        """What is known of the changes of all pages together (`manager/revisits/habits.py`)."""
        self.known = Table(max_pages)
        """Maps the fingerprint of a URL to its page."""
        self.digests = Table(max_pages)
        """Maps the digest of a page's contents to the first page with these contents."""
        self.origins = Table(4 * max_sites)
        """Maps the fingerprint of an origin to its number."""
        self.hosts = Table(max_sites)
        """Maps the fingerprint of a host to its site."""
        self.domains = Table(max_sites)
        """Maps the fingerprint of a registrable domain to its first site."""

    def groups(self) -> dict[str, Group]:
        return {"page": self.page, "site": self.site, "origin": self.origin}

    def tables(self) -> dict[str, Table]:
        names = ("known", "digests", "hosts", "origins", "domains")
        return {name: getattr(self, name) for name in names}
