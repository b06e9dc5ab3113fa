"""A collection as plug-ins read it (`plugins/kinds.py`, `Web`): queries that only read, and their results."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

from gossamer.base.model import SHARD_SHIFT
from gossamer.read.sql.database import Database

LOCAL: Final = (1 << SHARD_SHIFT) - 1
"""The bits of the number of a page within its shard."""


class PluginWeb:
    """What a plug-in gets of a collection. It lives as long as the database is open."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @cached_property
    def pages(self) -> int:
        return int(self._database.run(f"select coalesce(max(page & {LOCAL}) + 1, 0) from stored.pages")[0][0])

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        table = self.arrow(query, *values)
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def arrow(self, query: str, *values: Any) -> Any:
        return self._database.arrow(query, values).read_all()
