"""The collection as an SQL database: DuckDB, in this process, over the segment files that the manifest names.

Nothing is loaded and nothing is locked: the views of `columns.VIEWS` name the files, and a query reads what it needs of
them. Each file is compared with its checksum before (`collection/checked.py`).

The collection cannot be changed: only queries are run, after every node of them was examined (`statements.py`). DuckDB
itself is restricted too: it may open the files of the tables, and folders given for other files, and nothing else; it
loads no extensions, and its settings are locked.

Cost: 0.3 s to import and open; counting 10^6 visits by outcome takes another 0.02 s.
"""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb

from gossamer.base.errors import GossamerError, UsageError
from gossamer.base.escape import for_sql
from gossamer.collection.layout import ROWS, merged_away, read_segment
from gossamer.collection.runs import tables_before
from gossamer.config import Settings
from gossamer.desk.shown import Column, Shown
from gossamer.plugins.rows import DUCKDB_TYPES, Table
from gossamer.rank.names import PARTS
from gossamer.read.sql.changes import changes_view
from gossamer.read.sql.clocks import CLOCKS_VIEW
from gossamer.read.sql.columns import SCORES, SHOWN, VIEWS, View, view_of_plugin, views_of
from gossamer.read.sql.desk_columns import aside_of, desk_table
from gossamer.read.sql.dynamics import LIVES_VIEW
from gossamer.read.sql.sources import File, Sources, missing
from gossamer.read.sql.statements import only_query
from gossamer.read.sql.views import ORDERS_VIEW, PREFERENCES_VIEW, pages_view

if TYPE_CHECKING:
    import pyarrow as pa

_TIME: Final = "TIMESTAMP"
_ZONED: Final = "TIMESTAMP WITH TIME ZONE"
_PARTS: Final = ", ".join(f"'{part}'" for part in PARTS)
_MADE_FROM: Final = {
    "pages": ("pages", "visits", "verdicts", "links"),
    "addresses": ("sites", "events"),
    "changes": ("pages", "visits"),
    "preferences": ("pages", "visits"),
    "lives": ("pages", "visits"),
    "clocks": ("pages", "visits"),
    "orders": ("orders", "ticks"),
    "speeds": (),
    "calibration": (),
    "freshness": (),
}
"""The stored tables that a view reads, if they are not just the table of its name."""
_FIXED: Final = {
    "addresses": "select e.site, any_value(s.name) as name, e.address, min(e.time) as first_seen, "
    "max(e.time) as last_seen, count(*) as lookups from stored.events e "
    "left join (select site, max(name) as name from stored.sites group by site) s on s.site = e.site "
    "where e.event in ('resolved', 'moved') group by e.site, e.address",
    "changes": changes_view(),
    "preferences": PREFERENCES_VIEW,
    "lives": LIVES_VIEW,
    "clocks": CLOCKS_VIEW,
    "orders": ORDERS_VIEW,
    "counts": "select site, class, extension, domain, sum(number)::bigint as number from stored.counts "
    "group by site, class, extension, domain",
}
"""SQL of the views that are the same for every collection."""
_OF_DESK: Final = ("speeds", "calibration", "freshness")
_SUMS: Final = ("pages", "static", "dynamic", "visits", "ok", "errors", "bytes")

Row = tuple[Any, ...]
_Shown = Sequence[Shown]
_BATCH: Final = 10_000
_PARQUET: Final = re.compile(r"/[^\"'\n]*\.parquet")
_RESTRICTED: Final = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,  # our own variables are not tables
}
HELD: Final = 50
"""Files of a table that are kept open, at most."""
_HELD_FILE: Final = re.compile(r"/proc/self/fd/\d+")
STORED: Final = re.compile(r"\bstored\.([a-z][a-z0-9_]*)\b")


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of a query; its rows are computed as they are read."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    """DuckDB's names of the types."""
    rows: Iterator[Row]


class Database:
    """A collection opened for queries. Each view is created when a query first uses it."""

    def __init__(
        self, sources: Sources, settings: Settings, memory: str = "", spilled: Path | None = None, shown: _Shown = SHOWN
    ) -> None:
        """`memory`: DuckDB's limit, like "2GB"; `spilled`: folder for data beyond; `shown`: by parts of the desk."""
        self._sources, self._shown, self._views = sources, shown, views_of(shown)
        options = dict[str, Any](_RESTRICTED)
        if memory:
            options["memory_limit"] = memory
        options["temp_directory"] = "" if spilled is None else str(spilled)
        self._connection = duckdb.connect(":memory:", config=options)
        self._connection.execute("set timezone = 'UTC'; create schema stored")
        self._score_files = sources.scores()
        self._close(spilled)
        self._fresh = fresh_tables(sources)
        self._recorded = _recorded(sources)
        names = (*sources.names, *self._fresh, *self._recorded)
        self._of_plugins = {name.removeprefix(ROWS): name for name in names if name.startswith(ROWS)}
        for name, table in self._fresh.items():
            self._connection.register(f"fresh_{name}", table)
        self._settings, self._held = settings, dict[Path, int]()
        weakref.finalize(self, _close_all, self._held)
        self._made, self._made_stored = set[str](), dict[str, str]()

    def _close(self, spilled: Path | None) -> None:
        """Restricts DuckDB to the files of the tables. It compares resolved paths: any may be a symbolic link."""
        tables = self._sources.tables.values()
        files = [
            *(path for these in tables for f in these for path in (f.place, merged_away(f.place))),
            *(path for path in self._score_files if path is not None),
        ]
        paths, folders = (
            ", ".join(sorted({for_sql(str(path.resolve())) for path in these}))
            for these in (files, [spilled] if spilled else [])
        )
        self._connection.execute(
            f"set allowed_paths = [{paths}]; set allowed_directories = [{folders}]; "
            "set enable_external_access = false; set lock_configuration = true"
        )

    def close(self) -> None:
        self._connection.close()

    def interrupt(self) -> None:
        """Ends the query that runs, with an error. Any thread may call this."""
        self._connection.interrupt()

    def register(self, name: str, table: Any) -> None:
        """Gives trusted statements a table of this name: an Arrow table, or numpy's arrays by column."""
        self._connection.register(name, table)

    @property
    def sources(self) -> Sources:
        """The files that it reads."""
        return self._sources

    def run(self, statement: str, parameters: Sequence[Any] = (), views: Sequence[str] = ()) -> list[Row]:
        """Runs a trusted statement (unlike `query`). Opens these views, and the tables of `stored` that it names."""
        with _naming(statement):
            self._prepare(statement)
            self._make(views)
            rows: list[Row] = self._connection.execute(statement, parameters).fetchall()
        return rows

    def arrays(self, statement: str) -> dict[str, Any]:
        """The same as `run`, by column, as numpy's arrays; masked where values are missing."""
        with _naming(statement):
            self._prepare(statement)
            found: dict[str, Any] = self._connection.execute(statement).fetchnumpy()
        return found

    def stream(self, statement: str) -> Iterator[Row]:
        """The same as `run`, row by row. Read all rows before the next query."""
        with _naming(statement):
            self._prepare(statement)
            self._begin(statement)
        return self._rows(statement)

    def batches(
        self, statement: str, parameters: Sequence[Any] = (), views: Sequence[str] = (), rows: int = _BATCH
    ) -> pa.RecordBatchReader:
        """The same as `run`, as Arrow batches of at most `rows` rows. Read all of them before the next query."""
        with _naming(statement):
            self._prepare(statement)
            self._make(views)
            return self._relation(statement, parameters).to_arrow_reader(rows)

    def _relation(self, statement: str, parameters: Sequence[Any]) -> Any:
        return self._connection.sql(statement, params=list(parameters) or None)

    def _prepare(self, statement: str) -> None:
        for name in (*STORED.findall(statement), *self._made_stored):
            self._make_stored(name)

    def _make_stored(self, name: str) -> None:
        """Creates the view, also once more if files of it were merged meanwhile and have moved. A query that runs reads
        on: the newest files, which are merged next, are open, and stay so."""
        if name in self._of_plugins.values() and name not in self._views:
            self._sources.check(name)
            self._views[name] = _view_of(name, self._recorded.get(name, {}), self._parts(name), self._connection)
        if name in self._views and self._made_stored.get(name) != (made := self._stored(name)):
            self._sources.check(name)
            self._made_stored[name] = made
            self._connection.execute(f"create or replace view stored.{name} as {made}")

    def _make(self, names: Iterable[str]) -> None:
        """Creates these views and the tables that they read; only these, because DuckDB reads the end of each file."""
        for name in names:
            if name not in self._made:
                self._made.add(name)
                for table in _MADE_FROM.get(name, (self._of_plugins.get(name, name),)):
                    self._make_stored(table)
                self._connection.execute(f"create view main.{name} as {self._select(name)}")

    def _stored(self, name: str) -> str:
        """SQL for all rows of a table, as they are in the segments; every column exists and has its type."""
        columns = [c for c in self._views[name].columns if c.stored]
        empty = ", ".join(f'null::{_zoned(c.type)} as "{c.name}"' for c in columns)
        parts = [f"select {empty} where false", *self._parts(name)]
        return f"select {', '.join(map(_typed, columns))} from ({' union all by name '.join(parts)})"

    def _parts(self, name: str) -> list[str]:
        """SQL for the rows in segments, and for those that are not sealed."""
        parts, found = [], self._sources.table(name)
        files = [for_sql(str(f.path)) for f in found[:-HELD]]
        files += [for_sql(self._opened(f)) for f in found[-HELD:]]
        if files:
            parts.append(f"select * from read_parquet([{', '.join(files)}], union_by_name = true)")
        if name in self._fresh:
            parts.append(f"select * from fresh_{name}")
        return parts

    def views(self) -> dict[str, View]:
        """All views of this collection, those of plug-ins too."""
        for name in self._of_plugins.values():
            self._make_stored(name)
        return VIEWS | {name: self._views[table] for name, table in self._of_plugins.items() if name not in VIEWS}

    def _opened(self, file: File) -> str:
        """The name of the file by its descriptor; its own name if too many files are open."""
        if file.place not in self._held:
            try:
                self._held[file.place] = read_segment(
                    file.place, lambda path: os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                )
            except FileNotFoundError as error:
                raise missing(file.place) from error
            except OSError:
                return str(file.path)
        return f"/proc/self/fd/{self._held[file.place]}"

    def _select(self, name: str) -> str:
        """SQL of a view."""
        of_pages, of_sites = self._score_files
        if name == "pages":
            return pages_view(self._settings, *self._scores("pages", of_pages, "n.page"))
        if name == "sites":
            scores, joined = self._scores("sites", of_sites, "t.site")
            sums = ", ".join(f"sum({c})::bigint as {c}" for c in _SUMS)
            self._register_aside()
            return (
                f"select t.*, {scores}, a.aside, make_timestamp((a.until * 1e6)::bigint) as until "
                "from (select site, max(name) as name, bool_or(coalesce(www, false)) as www, "
                f"{sums}, min(tick) as tick from stored.sites group by site) t {joined} "
                "left join stored.aside a on a.site = t.site"
            )
        if name in _FIXED:
            return _FIXED[name]
        if name in _OF_DESK:
            columns, source = self._desk(name)
            return f"select {', '.join(columns)} {f'from {source}' if source else 'where false'}"
        return f"select * from stored.{self._of_plugins.get(name, name)}"

    def _register_aside(self) -> None:
        self._connection.execute("create table stored.aside (site bigint, aside varchar, until double)")
        suspended = aside_of(self._sources)
        if suspended:
            sites, why, until = (list(column) for column in zip(*suspended, strict=True))
            rows = "select unnest(?), unnest(?), unnest(?)"
            self._connection.execute(f"insert into stored.aside {rows}", [sites, why, until])

    def _scores(self, name: str, path: Path | None, key: str) -> tuple[str, str]:
        """Columns and join of the values that only the desk knows, and of the scores; missing ones are null."""
        own, there = key.partition(".")[2], set[str]()
        columns, source = self._desk(name)
        joined = f"left join {source} on y.{own} = {key}" if source else ""
        if path is not None:
            self._sources.check_scores(path)
            read = f"select * from read_parquet({for_sql(str(path))})"
            there = {str(row[0]) for row in self._connection.execute(f"describe {read}").fetchall()}
            self._connection.execute(f"create view stored.{name}_scores as {read}")
        if own in there:
            joined += f" left join stored.{name}_scores x on x.{own} = {key}"
        columns += [_score(c) if own in there and c.name in there else _null(c) for c in SCORES[name]]
        return ", ".join(columns), joined

    def _desk(self, name: str) -> tuple[list[str], str]:
        """Columns and table of the values that only the desk knows; without a table, the columns are null."""
        table = desk_table(name, self._sources, self._settings, self._shown)
        if table:
            self._connection.register(f"desk_{name}", table)
        declared = [c for part in self._shown if part.view == name for c in part.columns]
        columns = [f"y.{c.name}::{c.type} as {c.name}" if c.name in table else _null(c) for c in declared]
        return columns, f"desk_{name} y" if table else ""

    def query(self, text: str) -> QueryResult:
        """The result of one query. Its rows are computed as they are read: read them before the next query.

        Raises UsageError, with DuckDB's message, if the text is not a query.
        """
        with _naming(text):
            statement = only_query(self._connection, text)
            self._prepare(statement)
            self._make(self._named(text) or VIEWS)
            columns, types = self._begin(statement)
            if _ZONED in types and len(set(columns)) == len(columns):
                columns, types = self._begin(_without_zones(statement, columns, types))
            return QueryResult(columns, types, self._rows(text))

    def arrow(self, text: str, parameters: Sequence[Any] = (), rows: int = _BATCH) -> pa.RecordBatchReader:
        """The result of one query, checked as by `query`, as Arrow batches."""
        with _naming(text):
            statement = only_query(self._connection, text)
            return self.batches(statement, parameters, self._named(text) or tuple(VIEWS), rows)

    def _named(self, text: str) -> list[str]:
        """The views that a query may use. The crawler's own go before those of plug-ins, should names be the same."""
        names = (*VIEWS, *(name for name in self._of_plugins if name not in VIEWS))
        return [name for name in names if re.search(rf"\b{name}\b", text, re.IGNORECASE)]

    def _begin(self, statement: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Starts a statement: names and types of its columns. Nothing is computed yet."""
        described = self._connection.execute(statement).description or []
        return tuple(str(d[0]) for d in described), tuple(str(d[1]) for d in described)

    def _rows(self, text: str) -> Iterator[Row]:
        while True:
            with _naming(text):
                batch = self._connection.fetchmany(_BATCH)
            if not batch:
                return
            yield from batch


def _close_all(held: dict[Path, int]) -> None:
    for descriptor in held.values():
        os.close(descriptor)


@contextmanager
def _naming(text: str) -> Iterator[None]:
    """Translates DuckDB's errors about a query, or about the files of the collection, into our errors."""
    try:
        yield
    except duckdb.Error as error:
        message = _HELD_FILE.sub(lambda found: os.readlink(found[0]), str(error).strip())
        of_file = ".parquet" in message and isinstance(error, duckdb.IOException | duckdb.InvalidInputException)
        if of_file or type(error) is duckdb.Error:  # the latter: its Parquet reader failed
            raise _of_file(message) from error
        raise UsageError(message, _at_hand(text, message)) from error


def _of_file(message: str) -> GossamerError:
    """The error for a missing or damaged file, without DuckDB's statement, which means nothing to the user."""
    path = _PARQUET.search(message)
    if path is not None and not Path(path[0]).exists():
        return missing(Path(path[0]))
    return GossamerError(
        f"a file of a table in the query is damaged: {message.partition(chr(10))[0]}",
        "Other tables can be queried; `gossamer verify` names the file.",
    )


def _at_hand(text: str, message: str) -> str:
    """The cure for an error in a query: the columns of the views that it names, or the list of views."""
    named = [name for name in VIEWS if re.search(rf"\b{name}\b", text, re.IGNORECASE)]
    if "column" in message.lower() and named:
        lines = (f"{name} has the columns {', '.join(c.name for c in VIEWS[name].columns)}." for name in named)
        return "\n          ".join(lines)
    return f"Views: {', '.join(VIEWS)}. Without a query, `gossamer sql DIR` lists their columns."


def _null(column: Column) -> str:
    return f"null::{column.type} as {column.name}"


def _score(column: Column) -> str:
    """SQL of a score column; a part of the bow-tie is stored as a number and shown as a word."""
    value = f"([{_PARTS}])[x.part + 1]" if column.name == "part" else f"x.{column.name}"
    return f"{value}::{column.type} as {column.name}"


def fresh_tables(sources: Sources) -> dict[str, pa.Table]:
    """The committed effects that are not sealed yet, as tables. Imports pyarrow only if there are any."""
    if not sources.fresh:
        return {}
    from gossamer.collection.journal.effects import Effects
    from gossamer.collection.tables import segments

    effects = [Effects.decode(body) for part in sources.fresh for body in part.bodies]
    return segments.tables(effects, sources.contents.meta.shard)


def _without_zones(statement: str, columns: Sequence[str], types: Sequence[str]) -> str:
    """Casts columns with a time zone (such as `now()`) to UTC: DuckDB needs another package to return time zones."""
    names = ['"' + name.replace('"', '""') + '"' for name in columns]
    shown = [f"{n}::timestamp as {n}" if t == _ZONED else n for n, t in zip(names, types, strict=True)]
    return f"select {', '.join(shown)} from ({statement})"


def _recorded(sources: Sources) -> dict[str, dict[str, str]]:
    """The types of the columns of the tables that plug-ins may fill, as runs recorded them: a table without rows yet is
    a view too."""
    found = dict[str, dict[str, str]]()
    with suppress(GossamerError, ValueError):  # the list is damaged: there are the files
        for name, columns in (item for run in tables_before(sources.shard) for item in run.items()):
            types = {c.name: f"{DUCKDB_TYPES[c.type]}{'[]' * c.many}" for c in Table.parse(name, columns).columns}
            found.setdefault(f"{ROWS}{name}", {}).update(types)
    return found


def _view_of(name: str, recorded: Mapping[str, str], parts: Sequence[str], connection: Any) -> View:
    """The view of a table of plug-ins, with the columns that runs recorded, and those of its files."""
    nulls = ", ".join(f'null::{_zoned(kind)} as "{column}"' for column, kind in recorded.items())
    every = [f"select {nulls or 'null as page'} where false", *parts]
    described = connection.execute(f"describe {' union all by name '.join(every)}").fetchall()
    types = {str(row[0]): str(row[1]).replace(_ZONED, _TIME) for row in described}
    return view_of_plugin(name.removeprefix(ROWS), types)


def _zoned(kind: str) -> str:
    return kind.replace(_TIME, _ZONED)


def _typed(column: Column) -> str:
    name = f'"{column.name}"'
    if column.type == _TIME:
        value = f"make_timestamp(epoch_us({name}))"
    elif column.type == f"{_TIME}[]":
        value = f"list_transform({name}, each -> make_timestamp(epoch_us(each)))"
    else:
        value = f"{name}::{column.type}"
    return f"{value} as {name}"
