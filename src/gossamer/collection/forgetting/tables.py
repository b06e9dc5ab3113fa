"""Rewrites the segments in which forgotten pages and sites occur. Segments without them stay as they are.

A segment is read as the effects that it was made from, these are changed, and tables are made of them again: so ticks,
sums and order are right by construction. The tables that no effects come from (`FILTERED`) are filtered.

    pages      number, site, depth stay; URL and fingerprint are those of the number, the reason is `forgotten`
    visits     when, where, how long and how many bytes stay; all that tells of the content goes, with the links
    links      those from and to forgotten pages go, in both directions
    verdicts   those on forgotten pages go; so do link texts, hints and what forgotten pages mention
    sites      the name of a forgotten site is that of its number; events and counts go
    texts      redirects, sitemaps, mentions and link texts that name what is forgotten name `INVALID` instead

The visits of a single page keep the numbers of the links that it only counted: the table `counts` has them in sums of
its site that cannot be taken apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import xxhash

from gossamer.base import disk
from gossamer.base.arrays import Array, Bools, Records
from gossamer.base.errors import GossamerError
from gossamer.base.model import NONE, VISIT, VISIT_TEXTS, Ask, Outcome, PageFlag, Reason, State, Texts, VisitFlag
from gossamer.collection.forgetting.tombstones import INVALID, Names, Tombstone, page_fingerprint, page_text, site_text
from gossamer.collection.journal.effects import Effects
from gossamer.collection.journal.order import Order
from gossamer.collection.layout import INDEX, ROWS, read_segment, table_of
from gossamer.collection.manifest import Contents, Line
from gossamer.collection.tables import seal, segments


class Filtered(NamedTuple):
    """A table that effects do not come from: it is filtered."""

    pages: tuple[str, ...]
    """Columns of pages; `site` is filtered where there is one."""
    texts: tuple[str, ...]
    """Columns that may name what is forgotten."""


FILTERED: Final = {
    "anchors": Filtered(("source", "target"), ("text",)),
    "hints": Filtered(("page",), ("sitemap",)),
    "mentions": Filtered(("page",), ("url", "text")),
    "counts": Filtered((), ("domain",)),
}
"""Tables of plug-ins are filtered too (`_filter_of`)."""
_BROUGHT: Final = (Outcome.OK, Outcome.DUPLICATE, Outcome.REDIRECT)
"""Outcomes that say that something was fetched: they become `forgotten`. Others tell how the server behaved."""
_KEPT_FLAGS: Final = int(
    VisitFlag.REUSED | VisitFlag.HELD | VisitFlag.UNVERIFIED | VisitFlag.RESPELLED | VisitFlag.OTHER_NAME
)
_RESPELLED, _OTHER_NAME, _PAGE = int(VisitFlag.RESPELLED), int(VisitFlag.OTHER_NAME), int(Ask.PAGE)
_EMPTIED: Final = ("length", "text_length", "digest", "sketch", "numberless", "payload", "out_degree", "links")
_EMPTIED_TOO: Final = ("lifetime", "change", "validators", "seen")
_NAMING: Final = ("redirect", "detail", "sitemaps", "title")
"""Texts of visits that may name other pages; the title only where no page was requested: there it is a URL."""
_TELLING: Final = ("flags", "length", "text_length", "digest", "sketch", "out_degree", "links")
_TEXTS: Final = tuple(name for name in VISIT_TEXTS if name not in ("address", "rules"))
_LOOKED_AT: Final = ("pages", "visits", "verdicts", "events", "orders", "sites", "links", *FILTERED)


@dataclass(frozen=True, slots=True)
class Gone:
    """What is forgotten, by number."""

    pages: Bools
    sites: Bools
    names: Names
    seed: int
    shard: int

    def has_page(self, numbers: Array) -> Bools:
        """Which of these numbers, local or not, are of forgotten pages. NONE is no page."""
        return _marked(self.pages, numbers & NONE)

    def has_site(self, numbers: Array) -> Bools:
        return _marked(self.sites, numbers)


def _marked(mask: Bools, numbers: Array) -> Bools:
    numbers = numbers.astype(np.int64)
    known = numbers < len(mask)
    found: Bools = known & mask[np.where(known, numbers, 0)] if len(mask) else np.zeros(len(numbers), np.bool_)
    return found


def gone_of(shard: Path, contents: Contents, tombstones: Sequence[Tombstone]) -> Gone:
    """The pages and sites that the tombstones mean. One pass over the tables `pages` and `sites`."""
    lines = ordered(contents)
    pages = np.zeros(sum(_rows(line, "pages") for line in lines), np.bool_)
    known = [column(shard, line, "sites", "site") for line in lines if _rows(line, "sites")]
    sites = np.zeros(max((int(each.max()) + 1 for each in known if len(each)), default=0), np.bool_)
    for each in tombstones:
        if each.number is not None:
            (sites if each.site else pages)[each.number] = True
    if sites.any():
        for line in lines:
            if _rows(line, "pages"):
                numbers = column(shard, line, "pages", "page") & NONE
                pages[numbers[_marked(sites, column(shard, line, "pages", "site"))]] = True
    return Gone(pages, sites, Names(tombstones), contents.meta.seed, contents.meta.shard)


def number_of(shard: Path, contents: Contents, order: Tombstone) -> int | None:
    """The number of the page or the site of an order; None: it is not known."""
    table, name = ("sites", "site") if order.site else ("pages", "page")
    for line in ordered(contents):
        found = columns(shard, line, table, [name, "name" if order.site else "fingerprint"])
        if found is None:
            continue
        wanted = pa.scalar(order.name) if order.site else pa.scalar(order.fingerprint, pa.uint64())
        column = found.column("name").cast(pa.string()) if order.site else found.column("fingerprint").cast(pa.uint64())
        rows = found.filter(pc.equal(column, wanted))
        if len(rows):
            return int(numbers_of(rows, name)[0]) & NONE
    return None


def ordered(contents: Contents) -> list[Line]:
    return [line for _, line in sorted(contents.segments.items())]


def _rows(line: Line, table: str) -> int:
    return sum(int(file["rows"]) for path, file in line["files"].items() if path.startswith(f"{table}/"))


def columns(shard: Path, line: Line, table: str, names: Sequence[str]) -> pa.Table | None:
    """Columns of a table of a segment, compared with its checksum; None if it has none, or none of the columns."""
    for path, file in line["files"].items():
        if path.startswith(f"{table}/"):
            with disk.naming("read", shard / path):
                data = read_segment(shard / path, Path.read_bytes)
            if xxhash.xxh3_64_hexdigest(data) != file["checksum"]:
                cure = "Restore it from a backup: what is to be forgotten may be in it."
                raise GossamerError(f"{shard / path} is damaged: its checksum is not that of the manifest", cure)
            there = [name for name in names if name in pq.read_schema(pa.BufferReader(data)).names]
            return pq.read_table(pa.BufferReader(data), columns=there) if there else None
    return None


def column(shard: Path, line: Line, table: str, name: str) -> Array:
    """A column of numbers; NONE stands for null."""
    found = columns(shard, line, table, [name])
    return np.zeros(0, np.int64) if found is None else numbers_of(found, name)


def numbers_of(table: pa.Table, name: str) -> Array:
    values: Array = pc.fill_null(table.column(name).cast(pa.int64()), NONE).to_numpy()
    return values


# --- which segments -------------------------------------------------------------------------------------------------


def touched(shard: Path, line: Line, gone: Gone) -> bool:
    """Whether anything of a segment is forgotten that was not forgotten before."""
    return any(_touched(shard, line, table, gone) for table in (*_LOOKED_AT, *_of_plugins(line)))


def _of_plugins(line: Line) -> list[str]:
    """The tables of plug-ins in a segment."""
    return sorted({table for path in line["files"] if (table := table_of(path)).startswith(ROWS)})


def _filter_of(shard: Path, line: Line, table: str) -> Filtered:
    """How a table is filtered. In one of a plug-in, every column of texts may name what is forgotten."""
    if table in FILTERED:
        return FILTERED[table]
    path = next(path for path in line["files"] if table_of(path) == table)
    with disk.naming("read", shard / path):
        schema = read_segment(shard / path, pq.read_schema)
    return Filtered(("page",), tuple(field.name for field in schema if _is_text(field.type)))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind.value_type if pa.types.is_list(kind) else kind))


def _touched(shard: Path, line: Line, table: str, gone: Gone) -> bool:
    read = partial(columns, shard, line, table)
    match table:
        case "pages":
            found = read(["page", "reason"])
            if found is None:
                return False
            fresh = np.array(pc.not_equal(found.column("reason"), Reason.FORGOTTEN.word))
            return bool((gone.has_page(numbers_of(found, "page")) & fresh).any())
        case "visits":
            found = read(["page", "site", *_TELLING, *_TEXTS])
            return found is not None and _fresh_visits(found, gone)
        case "links":
            return any(gone.has_page(column(shard, line, table, name)).any() for name in ("source", "target"))
        case "verdicts":
            return bool(gone.has_page(column(shard, line, table, "page")).any())
        case "sites":
            found = read(["site", "name"])
            if found is None:
                return False
            fresh = ~np.array(pc.fill_null(pc.ends_with(found.column("name"), f".{INVALID}"), True))
            return bool((gone.has_site(numbers_of(found, "site")) & fresh).any())
        case "events":
            return bool(gone.has_site(column(shard, line, table, "site")).any())
        case "orders":
            found = read(["target"])
            return found is not None and _named(found, "target", gone)
        case _:
            how = _filter_of(shard, line, table)
            found = read(["site", *how.pages, *how.texts])
            if found is None:
                return False
            return any(_named(found, name, gone) for name in how.texts) or not _left(how, found, gone).all()


def _fresh_visits(found: pa.Table, gone: Gone) -> bool:
    here = gone.has_page(numbers_of(found, "page")) | gone.has_site(numbers_of(found, "site"))
    full = (numbers_of(found, "flags") & ~_KEPT_FLAGS) != 0
    for name in found.column_names:
        if name in _TELLING and name != "flags":
            zero = pa.scalar(0, found.schema.field(name).type)  # a plain 0 is signed, and digests have 64 bits
            full |= np.array(pc.fill_null(pc.not_equal(found.column(name), zero), False))
        elif name == "redirect":
            full |= ~np.array(pc.fill_null(pc.match_substring(found.column(name), INVALID), True))
        elif name in _TEXTS:
            full |= np.array(found.column(name).is_valid())
    return bool((here & full).any()) or any(_named(found, name, gone) for name in _NAMING)


def _named(found: pa.Table, name: str, gone: Gone) -> bool:
    if name not in found.column_names or not gone.names.hint:
        return False
    texts = found.column(name)
    texts = (pc.list_flatten(texts) if pa.types.is_list(texts.type) else texts).cast(pa.large_string())
    some = texts.filter(pc.fill_null(pc.match_substring_regex(texts, gone.names.hint), False)).to_pylist()
    return any(gone.names.scrub(text.encode()) != text.encode() for text in some)


# --- what becomes of them -------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """Where the records of a visit are that were moved, and its flags from then on."""

    file: int
    offset: int
    end: int
    flags: int


def rewritten(shard: Path, line: Line, gone: Gone, moved: Mapping[int, Place]) -> Line:
    """Writes the changed tables of a segment under new names; returns its new line. `moved`: by row of `visits`."""
    pa.set_memory_pool(pa.system_memory_pool())
    before = {path.partition("/")[0]: (path, file) for path, file in line["files"].items()}

    def read(table: str) -> pa.Table | None:
        return seal.read_file(shard / before[table][0], before[table][1]["checksum"]) if table in before else None

    effects = list(_changed(segments.effects(read, gone.shard), gone, moved))
    made = segments.tables(effects, gone.shard)
    for table in (*FILTERED, *_of_plugins(line)):
        made.pop(table, None)
        if (old := read(table)) is not None and len(kept := filtered(_filter_of(shard, line, table), old, gone)):
            made[table] = kept
    files: dict[str, Any] = {path: file for path, file in line["files"].items() if path.startswith(f"{INDEX}/")}
    for table, new in made.items():
        old = read(table)
        if old is not None and _plain(old).equals(_plain(new)):
            files[before[table][0]] = before[table][1]
        else:
            name = f"{table}/{next_name(line)}.parquet"
            files[name] = seal.write_file(shard / name, new)
    return {**line, "files": files}


def _plain(table: pa.Table) -> pa.Table:
    """The table without dictionaries, so that equal rows are equal."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    return table


def next_name(line: Line) -> str:
    """The name of the next files of a segment: its first and last journal files, and how often it was rewritten."""
    names = [PurePath(path).name for path in line["files"]]
    stems = [name.partition(".")[0] for name in names] or [f"{line['segment']:012d}"]
    first = min(stem.partition("-")[0] for stem in stems)
    return f"{first}-{line['segment']:012d}.{1 + max(map(generation, names), default=0)}"


def generation(name: str) -> int:
    """How often the segment had been rewritten when this file of it was written."""
    parts = PurePath(name).name.split(".")
    return int(parts[1]) if len(parts) == len(("stem", "generation", "suffix")) else 0


def _changed(effects: Iterable[Effects], gone: Gone, moved: Mapping[int, Place]) -> Iterator[Effects]:
    row = 0
    for each in effects:
        here = {place - row: moved[place] for place in range(row, row + len(each.visits)) if place in moved}
        row += len(each.visits)
        yield changed(each, gone, here)


def changed(effects: Effects, gone: Gone, moved: Mapping[int, Place] | None = None) -> Effects:
    """The effects of a tick without what is forgotten."""
    visits, texts, links = _visits(effects, gone, moved or {})
    return replace(
        effects,
        sites=_site_names(effects, gone),
        pages=_pages(effects, gone),
        urls=_urls(effects, gone),
        visits=visits,
        visit_texts=texts,
        link_targets=effects.link_targets[links],
        link_kinds=effects.link_kinds[links],
        verdicts=effects.verdicts[~gone.has_page(effects.verdicts["page"])],
        site_events=effects.site_events[~gone.has_site(effects.site_events["site"])],
        orders=_orders(effects.orders, gone.names),
    )


def _orders(given: Texts, names: Names) -> Texts:
    """Orders about sites that are forgotten name `INVALID` instead."""
    if not len(given.lengths):
        return given
    orders = [Order.decode(text) for text in given.split()]
    kept = [each._replace(target=INVALID) if names.named(each.target.encode()) else each for each in orders]
    return Texts.join([each.encode() for each in kept], "<u2")


def _of_new(mask: Bools, first: int, count: int) -> list[int]:
    """Which of `count` new numbers from `first` on are marked, counted from `first`."""
    return np.flatnonzero(_marked(mask, np.arange(first, first + count))).tolist() if count else []


def _site_names(effects: Effects, gone: Gone) -> Texts:
    rows = _of_new(gone.sites, effects.first_site, len(effects.sites.lengths))
    names = effects.sites.split() if rows else []
    for row in rows:
        names[row] = site_text(effects.first_site + row)
    return Texts.join(names, "<u2") if rows else effects.sites


def _pages(effects: Effects, gone: Gone) -> Records:
    rows = _of_new(gone.pages, effects.first_page, len(effects.pages))
    if not rows:
        return effects.pages
    pages = effects.pages.copy()
    pages["fingerprint"][rows] = [page_fingerprint(effects.first_page + row, gone.seed) for row in rows]
    pages["state"][rows], pages["reason"][rows] = int(State.EXCLUDED), int(Reason.FORGOTTEN)
    pages["flags"][rows] &= int(PageFlag.DYNAMIC)
    pages["flags"][rows] |= int(PageFlag.JUDGED)
    return pages


def _urls(effects: Effects, gone: Gone) -> Texts:
    rows = _of_new(gone.pages, effects.first_page, len(effects.pages))
    urls = effects.urls.split() if rows else []
    for row in rows:
        urls[row] = page_text(effects.first_page + row)
    return Texts.join(urls, "<u2") if rows else effects.urls


def _visits(effects: Effects, gone: Gone, moved: Mapping[int, Place]) -> tuple[Records, bytes, Bools]:
    """The visits, their texts, and which links stay."""
    visits = effects.visits
    if not len(visits):
        return visits, effects.visit_texts, np.ones(len(effects.link_targets), np.bool_)
    of_site = gone.has_site(visits["site"])
    rows = of_site | ((visits["ask"] == _PAGE) & gone.has_page(visits["page"]))
    source = np.repeat(np.arange(len(visits)), visits["links"])
    links = ~(rows[source] | gone.has_page(effects.link_targets))
    visits, raw = visits.copy(), effects.visit_texts
    visits["links"] = np.bincount(source[links], minlength=len(visits))
    if rows.any() or gone.names.named(raw):
        texts = _texts(effects, rows, of_site, gone)
        visits["texts"], raw = [[len(text) for text in each] for each in texts], b"".join(map(b"".join, texts))
    visits[rows] = _emptied(visits[rows])
    visits["counted"][of_site] = 0
    for row, place in moved.items():
        visits["warc_file"][row], visits["warc_offset"][row] = place.file, place.offset
        visits["warc_end"][row], visits["flags"][row] = place.end, place.flags
    return visits, raw, links


def _emptied(visits: Records) -> Records:
    """These visits without what they tell of content."""
    visits = visits.copy()
    brought = np.isin(visits["outcome"], _BROUGHT)
    brought &= (visits["ask"] != _PAGE) | (visits["flags"] & _RESPELLED == 0)
    visits["outcome"][brought], visits["status"][brought] = int(Outcome.FORGOTTEN), 0
    visits["flags"] &= _KEPT_FLAGS
    for name in (*_EMPTIED, *_EMPTIED_TOO):
        visits[name] = np.zeros((), VISIT[name])
    visits["duplicate_of"] = NONE
    return visits


def _texts(effects: Effects, rows: Bools, of_site: Bools, gone: Gone) -> list[list[bytes]]:
    found, flags = list[list[bytes]](), effects.visits["flags"].tolist()
    asks = effects.visits["ask"].tolist()
    for row, texts in enumerate(effects.texts().all()):
        if rows[row]:
            address = b"" if of_site[row] else texts["address"]
            www = b"www." if b"://www." in texts["redirect"] else b""
            led = b"http://%s%s/" % (www, INVALID.encode()) if flags[row] & _OTHER_NAME else b""
            texts = dict.fromkeys(VISIT_TEXTS, b"") | {"address": address, "redirect": led}
        elif gone.names.hint:
            names = _NAMING if asks[row] != _PAGE else _NAMING[:-1]
            texts |= {name: gone.names.scrub(texts[name]) for name in names}
        found.append(list(texts.values()))
    return found


def filtered(how: Filtered, old: pa.Table, gone: Gone) -> pa.Table:
    """The rows that stay of a table that effects do not come from, without the names of what is forgotten."""
    kept = old.filter(pa.array(_left(how, old, gone)))
    for name in how.texts:
        kept = _scrubbed(kept, name, gone)
    return kept


def _left(how: Filtered, old: pa.Table, gone: Gone) -> Bools:
    """Which rows stay."""
    left = ~gone.has_site(numbers_of(old, "site")) if "site" in old.column_names else np.ones(len(old), np.bool_)
    for name in how.pages:
        left &= ~gone.has_page(numbers_of(old, name))
    return left


def _without_names(value: Any, gone: Gone) -> Any:
    """A text, or a list of texts, without the names of what is forgotten."""
    if isinstance(value, list):
        return [_without_names(each, gone) for each in value]
    return None if value is None else gone.names.scrub(value.encode()).decode()


def _scrubbed(table: pa.Table, name: str, gone: Gone) -> pa.Table:
    if not _named(table, name, gone):
        return table
    place, kind = table.column_names.index(name), table.schema.field(name).type
    texts = [_without_names(each, gone) for each in table.column(name).to_pylist()]
    plain = pa.array(texts, kind.value_type if pa.types.is_dictionary(kind) else kind)
    return table.set_column(place, name, plain.dictionary_encode() if pa.types.is_dictionary(kind) else plain)
