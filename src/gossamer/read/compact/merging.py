"""Merges the tables of several neighbouring segments.

Tables in the order of the journal are concatenated. `links`, `anchors` and `mentions` are sorted by the site of their
page, so they are sorted again, and rows of the same site keep their order. `sites` and `counts` are added up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gossamer.base.arrays import Array
from gossamer.collection.layout import ROWS, TABLES
from gossamer.collection.manifest import Line
from gossamer.collection.tables import seal

Parts = list[pa.Table | None]

_COUNTED: Final = ("site", "class", "extension", "domain")
_OF_PAGES: Final = {"anchors": "source", "mentions": "page"}
"""Tables that are sorted by the site of a page, and the column of the page."""
_SUMS: Final = ("pages", "static", "dynamic", "visits", "ok", "errors", "bytes")


def write_tables(shard: Path, group: Sequence[Line], name: str, out: Path) -> dict[str, dict[str, int | str]]:
    """Writes one file per table into `out`, named `name`, one at a time; returns their entries for the manifest."""
    pa.set_memory_pool(pa.system_memory_pool())  # returns the memory of a table to the system
    files = [{path.partition("/")[0]: (path, file) for path, file in line["files"].items()} for line in group]

    def read(table: str) -> Parts:
        entries = [part.get(table) for part in files]
        return [None if e is None else seal.read_file(shard / e[0], e[1]["checksum"]) for e in entries]

    written: dict[str, dict[str, int | str]] = {}
    of_plugins = sorted({table for part in files for table in part if table.startswith(ROWS)})
    for table in (*TABLES, *of_plugins):
        made = merged(table, read)
        if made is not None and len(made):
            written[f"{table}/{name}.parquet"] = seal.write_file(out / f"{table}/{name}.parquet", made)
    return written


def merged(table: str, read: Callable[[str], Parts]) -> pa.Table | None:
    """The merged table; None if no part has it. `read` returns a table by name, part by part; None where it lacks."""
    parts = read(table)
    if not any(part is not None for part in parts):
        return None
    if table == "links":
        return _joined(parts).take(_by_site(_sites_of_links(read("visits"))))
    if table in _OF_PAGES:
        joined = _joined(parts)
        return joined.take(_by_site(_sites_of(_numbers(joined, _OF_PAGES[table]), read("visits"))))
    if table == "sites":
        return _added_sites(_joined(parts))
    if table == "counts":
        totals = _joined(parts).group_by(list(_COUNTED), use_threads=False).aggregate([("number", "sum")])
        totals = totals.rename_columns([*_COUNTED, "number"])
        return totals.sort_by([(name, "ascending") for name in _COUNTED])
    return _joined(parts)


def _joined(parts: Parts) -> pa.Table:
    """The parts concatenated. Columns that older parts lack are null."""
    there = [part for part in parts if part is not None]
    return pa.concat_tables(there, promote_options="default").unify_dictionaries()


def _by_site(sites: Array) -> pa.Array:
    return pa.array(np.argsort(sites, kind="stable"))


def _sites_of_links(visits: Parts) -> Array:
    """The sites of the sources of all links, part by part, each sorted by site, as its table is."""
    sites = [np.zeros(0, np.int64)]
    for part in visits:
        if part is not None:
            sites.append(np.sort(np.repeat(_numbers(part, "site"), _numbers(part, "links")), kind="stable"))
    return np.concatenate(sites)


def _sites_of(which: Array, visits: Parts) -> Array:
    """The site of each of these pages, from the visits: a page has one site."""
    there = [part for part in visits if part is not None]
    pages = np.concatenate([_numbers(part, "page") for part in there])
    sites = np.concatenate([_numbers(part, "site") for part in there])
    known, first = np.unique(pages, return_index=True)
    found: Array = sites[first][np.searchsorted(known, which)]
    return found


def _numbers(table: pa.Table, column: str) -> Array:
    """A column as integers; -1 for null (a robots.txt has no page)."""
    values = table.column(column).cast(pa.int64())
    filled: Array = pc.fill_null(values, -1).to_numpy()
    return filled


def _added_sites(rows: pa.Table) -> pa.Table:
    """The sums by site: first the new sites, by number, which is the order of discovery, then those known before."""
    how = [("name", "max"), ("tick", "max"), *((name, "sum") for name in _SUMS)]
    if "www" in rows.column_names:
        rows = rows.set_column(rows.column_names.index("www"), "www", pc.fill_null(rows.column("www"), False))
        how.append(("www", "max"))
    added = rows.group_by("site", use_threads=False).aggregate(how)
    names = [name for name, _ in how]
    added = added.rename_columns([n if n == "site" else n.rpartition("_")[0] for n in added.column_names])
    known = pc.is_null(added.column("tick"))
    order = pc.sort_indices(added.append_column("known", known), [("known", "ascending"), ("site", "ascending")])
    return added.take(order).select([n for n in rows.column_names if n == "site" or n in names]).cast(rows.schema)
