"""The result of an SQL query: rows for Python, Arrow for everything else."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from gossamer.base.errors import UsageError
from gossamer.library.frames import to_pandas, to_polars
from gossamer.read.sql.database import Database, QueryResult
from gossamer.read.sql.show import as_table

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN: Final = 20
"""Rows that are shown in a terminal or a notebook."""


class Result:
    """Rows of a query. It is run when it is read, and once more each time it is read again."""

    def __init__(self, opened: Callable[[], Database], text: str, parameters: Sequence[Any] = ()) -> None:
        self._opened, self._text, self._parameters = opened, text, parameters
        self._schema = self._reader(1).schema  # a query that cannot run fails here

    def _reader(self, rows: int) -> pa.RecordBatchReader:
        return self._opened().arrow(self._text, self._parameters, rows)

    @property
    def columns(self) -> list[str]:
        return list(self._schema.names)

    def batches(self, rows: int = 10_000) -> Iterator[pa.RecordBatch]:
        """The rows as Arrow batches of at most `rows` rows: memory is bounded, whatever the number of rows."""
        yield from self._reader(rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for batch in self.batches():
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def value(self) -> Any:
        """The only value of a result that has one row and one column."""
        rows = list(islice(iter(self), 2))
        if len(rows) != 1 or len(rows[0]) != 1:
            raise UsageError("the result is not one value", "Iterate over it, or use to_arrow().")
        return rows[0][0]

    def to_arrow(self) -> pa.Table:
        return self._reader(100_000).read_all()

    def to_pandas(self) -> Any:
        return to_pandas(self.to_arrow())

    def to_polars(self) -> Any:
        return to_polars(self.to_arrow())

    def __repr__(self) -> str:
        out = io.StringIO()
        shown = QueryResult(tuple(self.columns), tuple(str(t).upper() for t in self._schema.types), iter(self))
        as_table(shown, out, SHOWN, "Iterate to read all.")
        return out.getvalue().rstrip()

    def _repr_html_(self) -> str:
        """For notebooks."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        rows = list(islice(iter(self), SHOWN + 1))
        body = "".join(f"<tr>{''.join(f'<td>{escape(str(value))}</td>' for value in row)}</tr>" for row in rows[:SHOWN])
        more = "<caption>The first rows; iterate to read all.</caption>" if len(rows) > SHOWN else ""
        return f"<table>{more}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
