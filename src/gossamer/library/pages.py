"""The stored pages of a collection that meet some conditions: one row for each, its last copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from gossamer.library.frames import to_pandas, to_polars
from gossamer.library.page import COLUMNS, Archive, Batch, Page
from gossamer.read.copies import copies, views_in
from gossamer.read.sql.database import Database

if TYPE_CHECKING:
    import pyarrow as pa

ROWS: Final = 5_000
"""Pages that are read together: their rows are in memory, never their bodies."""
_SHOWN: Final = tuple(name for name in COLUMNS.split(", ") if not name.startswith("body_"))


@dataclass(frozen=True, slots=True)
class Pages:
    """Stored pages. Nothing is read before they are iterated over, counted or turned into a table."""

    opened: Callable[[], tuple[Database, Archive]]
    where: tuple[str, ...] = ()
    """Conditions in SQL, on the columns of the views `visits` and `pages`; `?` stands for a value."""
    given: tuple[Any, ...] = ()
    order: str = ""
    most: int | None = None

    def filter(self, where: str, *values: Any) -> Pages:
        """The pages among them that meet one more condition: `web.pages().filter("depth < ?", 3)`."""
        return replace(self, where=(*self.where, where), given=(*self.given, *values))

    def sorted(self, order: str) -> Pages:
        """The same in another order: `web.pages().sorted("time desc")`. Without it, in the order of the archive."""
        return replace(self, order=order)

    def first(self, most: int) -> Pages:
        """The first pages of them."""
        return replace(self, most=most)

    def _statement(self, columns: str) -> tuple[str, tuple[str, ...]]:
        where = " and ".join(f"({each})" for each in self.where) or "true"
        views = views_in(f"{where} {self.order} {columns}")
        limit = "" if self.most is None else f" limit {self.most:d}"
        order = f" order by {self.order}" if self.order else ""
        return f"{copies(views=views)} select {columns} from copies where {where}{order}{limit}", views

    def _read(self, database: Database, columns: str, rows: int) -> pa.RecordBatchReader:
        statement, views = self._statement(columns)
        return database.batches(statement, self.given, views, rows)

    def __iter__(self) -> Iterator[Page]:
        database, archive = self.opened()
        for rows in self._read(database, COLUMNS, ROWS):
            yield from Batch(archive, rows).pages()

    def __len__(self) -> int:
        database, _ = self.opened()
        statement, views = self._statement("page")
        return int(database.run(f"select count(*) from ({statement})", self.given, views)[0][0])

    def __bool__(self) -> bool:
        return any(True for _ in self.first(1))

    def to_arrow(self, columns: Sequence[str] = _SHOWN) -> pa.Table:
        """A table of these columns of the views `visits` and `pages`."""
        return self._read(self.opened()[0], _quoted(columns), 100_000).read_all()

    def to_pandas(self, columns: Sequence[str] = _SHOWN) -> Any:
        return to_pandas(self.to_arrow(columns))

    def to_polars(self, columns: Sequence[str] = _SHOWN) -> Any:
        return to_polars(self.to_arrow(columns))

    def __repr__(self) -> str:
        return f"<Pages{' where ' + ' and '.join(self.where) if self.where else ''}>"


def _quoted(columns: Sequence[str]) -> str:
    return ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
