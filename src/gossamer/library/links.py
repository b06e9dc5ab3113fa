"""The links between the known pages of a collection."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from gossamer.library.frames import needed, to_pandas, to_polars
from gossamer.read.sql.database import Database

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS: Final = 1_000_000
_LOCAL: Final = (1 << 40) - 1
"""Bits of a page's number that count the pages of a shard."""


class Links:
    """A row for each link: `source` and `target` are numbers of pages (`Page.number`)."""

    def __init__(self, opened: Callable[[], Database]) -> None:
        self._opened = opened

    def to_arrow(self) -> pa.Table:
        """source, target, kind and flags of each link."""
        return self._opened().batches("select * from stored.links", rows=_ROWS).read_all()

    def to_pandas(self) -> Any:
        return to_pandas(self.to_arrow())

    def to_polars(self) -> Any:
        return to_polars(self.to_arrow())

    def to_scipy(self) -> Any:
        """A sparse matrix with a 1 for each pair of pages with a link from row to column. Row n is the page with the
        number n; a known page without links has an empty row."""
        sparse = needed("scipy.sparse")
        database = self._opened()
        known = int(database.run(f"select coalesce(max(page & {_LOCAL}) + 1, 0) from stored.pages")[0][0])
        found = database.arrays(
            f"select distinct source & {_LOCAL} as source, target & {_LOCAL} as target from stored.links"
        )
        ones = needed("numpy").ones(len(found["source"]), "int8")
        return sparse.csr_array((ones, (found["source"], found["target"])), shape=(known, known))

    def to_networkx(self, site: str | None = None) -> Any:
        """A directed graph of URLs; `site`: only links between pages of this site. It needs 1 kB for each link."""
        graph = needed("networkx").DiGraph()
        where, given = "true", list[Any]()
        if site is not None:
            of_site = "(select min(site) from stored.sites where name = ?)"
            where, given = f"s.site = {of_site} and t.site = {of_site}", [site, site]
        statement = (
            "select s.url, t.url from stored.links l join stored.pages s on s.page = l.source"
            f" join stored.pages t on t.page = l.target where {where}"
        )
        for batch in self._opened().batches(statement, given):
            graph.add_edges_from(zip(*(column.to_pylist() for column in batch.columns), strict=True))
        return graph
