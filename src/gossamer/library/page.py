"""A stored page: what a visit found, and its body in the archive."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selectolax.lexbor import LexborHTMLParser

from gossamer.base.errors import StorageError
from gossamer.gatherer.charset import charset_of, decode
from gossamer.gatherer.markup.limits import bounded
from gossamer.read.sql.sources import missing
from gossamer.read.texts import Answer, Cleaner, read_answer

if TYPE_CHECKING:
    import pyarrow as pa
    from selectolax.lexbor import LexborNode

    from gossamer.config import Settings

COLUMNS: Final = (
    "page, url, time, outcome, status, mime, charset, language, title, description, etag, modified, length, "
    "text_length, out_degree, depth, change, digest, sketch, tick, number, body_file, body_at, body_end"
)
"""What is read of each copy (`read/copies.py`)."""


class Archive:
    """Reads bodies and texts from the archive of a collection."""

    def __init__(self, shard: Path, settings: Settings) -> None:
        self._shard, self._settings, self._cleaner = shard, settings, Cleaner(settings)

    def answer(self, file: str, at: int, end: int) -> Answer:
        return read_answer(self._place(file), at, end, self._settings.gatherer.max_decoded)

    def text(self, file: str, at: int, end: int, url: str) -> str:
        return self._cleaner.text(self._place(file), at, end, url)

    def _place(self, file: str) -> Path:
        if not (path := self._shard / file).exists():
            raise missing(path)
        return path


class Batch:
    """Copies that were read together. A column becomes Python values when a page is first asked for it: a loop over
    titles pays for titles alone."""

    def __init__(self, archive: Archive, rows: pa.RecordBatch) -> None:
        self.archive, self._rows = archive, rows
        self._columns = dict[str, list[Any]]()

    def __len__(self) -> int:
        return int(self._rows.num_rows)

    def pages(self) -> Iterator[Page]:
        return (Page(self, row) for row in range(len(self)))

    def column(self, name: str) -> list[Any]:
        if name not in self._columns:
            self._columns[name] = self._rows.column(name).to_pylist()
        return self._columns[name]


class Page:
    """A stored page. Its columns were read with it; `body`, `html`, `text` and `headers` are read when first used."""

    __slots__ = ("__dict__", "_batch", "_row")

    def __init__(self, batch: Batch, row: int) -> None:
        self._batch, self._row = batch, row

    def __repr__(self) -> str:
        return f"<Page {self.url}>"

    @property
    def url(self) -> str:
        """Canonical URL."""
        return str(self._batch.column("url")[self._row])

    @property
    def number(self) -> int:
        """Number of the page in the collection: `page` in SQL."""
        return int(self._batch.column("page")[self._row])

    @property
    def time(self) -> datetime:
        """When it was fetched, in UTC."""
        found: datetime = self._batch.column("time")[self._row]
        return found.replace(tzinfo=UTC)

    @property
    def outcome(self) -> str:
        """ok, or duplicate: its text and links are those of another page."""
        return str(self._batch.column("outcome")[self._row])

    @property
    def status(self) -> int:
        """HTTP status."""
        return int(self._batch.column("status")[self._row])

    @property
    def mime(self) -> str:
        """Media type."""
        return self._batch.column("mime")[self._row] or ""

    @property
    def charset(self) -> str:
        return self._batch.column("charset")[self._row] or ""

    @property
    def language(self) -> str:
        """ISO 639-1; empty if it is not known."""
        return self._batch.column("language")[self._row] or ""

    @property
    def title(self) -> str:
        return self._batch.column("title")[self._row] or ""

    @property
    def description(self) -> str:
        """Description that the page gives of itself."""
        return self._batch.column("description")[self._row] or ""

    @property
    def modified(self) -> datetime | None:
        """Its Last-Modified, in UTC, if that can be believed."""
        found: datetime | None = self._batch.column("modified")[self._row]
        return None if found is None else found.replace(tzinfo=UTC)

    @property
    def depth(self) -> int:
        """Depth when it was found."""
        return int(self._batch.column("depth")[self._row])

    @property
    def change(self) -> str:
        """What this visit found, compared with the version before: none, minor, major or unknown."""
        return self._batch.column("change")[self._row] or "unknown"

    @property
    def mark(self) -> tuple[int, int]:
        """Its place in the order of visits: tick, and number of the assignment."""
        return int(self.value("tick")), int(self.value("number"))

    def value(self, column: str) -> Any:
        """The value of another column that was read with the page: digest, sketch, etag, length …"""
        return self._batch.column(column)[self._row]

    @cached_property
    def _answer(self) -> Answer:
        file, at, end = self._place()
        return self._batch.archive.answer(file, at, end)

    def _place(self) -> tuple[str, int, int]:
        file, at, end = (self._batch.column(name)[self._row] for name in ("body_file", "body_at", "body_end"))
        if file is None:
            raise StorageError(
                f"the body of {self.url} is not in the archive", "`gossamer verify` tells what is missing."
            )
        return file, at, end

    @property
    def headers(self) -> dict[str, str]:
        """The header fields of the answer by lower-case name; values of the same field are joined by commas."""
        return self._answer.headers

    @property
    def body(self) -> bytes:
        """The body as the server sent it, uncompressed."""
        return self._answer.body

    @cached_property
    def html(self) -> str:
        """The body as text, in the charset that the crawl found."""
        text, _ = decode(self.body, charset_of(self._answer.field("content-type")))
        return text

    @cached_property
    def text(self) -> str:
        """The cleaned text, without markup, menus and scripts."""
        return self._batch.archive.text(*self._place(), self.url)

    @cached_property
    def tree(self) -> LexborHTMLParser:
        """The parsed page, by selectolax. A page that is made to exhaust a parser is cut where the crawl cuts it."""
        return LexborHTMLParser(bounded(self.html)[0])

    def css(self, selector: str) -> list[LexborNode]:
        """The elements that a CSS selector finds."""
        return self.tree.css(selector)
