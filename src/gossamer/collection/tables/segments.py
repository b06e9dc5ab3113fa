"""Segments: the contents of a journal file as Parquet tables that every program can read, and the effects from them.

    ticks     one row per tick: time, numbers reached, rows of each other table
    pages     one row per known page, when it became known
    visits    one row per request, with everything known about it except the body
    links     one row per link: source, target, kind, flags
    sites     one row per site that is new (name, tick) or was active: what this segment adds to its counts
    origins   one row per new origin
    events    one row per change of a site's address or waits
    verdicts  one row per page whose state was decided again
    orders    one row per order of the user that stays until it is undone
    anchors   one row per link that has a text: source, target, text, position, tag
    counts    what was seen and not fetched: one row per site, class, extension and target domain, with the number
    hints     one row per page each time a sitemap gives its date of modification
    mentions  what pages say and the crawl does not need: one row per heading, canonical address, other language, and
              address out of scope
    rows_NAME what plug-ins returned: a table for each (`plugin_rows.py`)

Lossless: `effects(tables(e)) == e.essential()`, byte for byte of `Effects.encode()` (see `forms.py`). Columns are only
added at the end of the lists in `Shape`: their places are the field numbers in `exact`.

*Links* are rows of source and target, not lists, because SQL joins and counts rows. They are ordered by the source's
site, then by visit: pages of a site repeat their menus, so repetitions are near each other and zstd finds them (1.2 to
1.3 bytes per link; 2.1 to 2.6 in the order of visits), and a query about one site reads a small part of the file.
`visits` has the number of links of each visit, so a stable sort restores the journal's order. Refused: delta-packed
numbers (1.4 to 1.5), a dictionary (1.4 to 1.9), byte streams (1.0 to 1.1, but readers older than two years do not
support them for integers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from gossamer.base.arrays import F64, I64, U8, Array, Records
from gossamer.base.dates import believed, http_date
from gossamer.base.errors import GossamerError
from gossamer.base.model import (
    NONE,
    SITE_FAILURES,
    VISIT,
    VISIT_TEXTS,
    Ask,
    Change,
    Counted,
    LinkKind,
    Mentioned,
    Outcome,
    PageFlag,
    Reason,
    State,
    Tag,
    Texts,
)
from gossamer.collection.journal.effects import (
    HINT,
    ORIGIN,
    PAGE,
    SITE_EVENT,
    VERDICT,
    Effects,
    SiteEvent,
    concatenated,
)
from gossamer.collection.journal.order import Order
from gossamer.collection.tables import forms
from gossamer.collection.tables.forms import Column, Fields, Page, Plain, Time, Word, fields_of, one_chunk, pack

Tables = dict[str, pa.Table]
Columns = dict[str, pa.Array]

_FIRST: Final = ("first_site", "first_origin", "first_page")
_ROWS: Final = ("sites", "origins", "pages", "visits", "links", "verdicts", "events")
TICK: Final = np.dtype(
    [
        ("tick", "<u8"),
        ("wall", "<f8"),
        ("monotonic", "<f8"),
        *((name, "<u4") for name in (*_FIRST, *_ROWS)),
        ("clock", "<f8"),
    ]
)
LINK: Final = np.dtype([("target", "<u4"), ("kind", "u1"), ("flags", "u1")])
_NO_HINTS: Final = np.zeros(0, HINT)
_SEEN: Final = ("class", "extension", "domain", "number")
"""Names of the four fields of a line on what was seen."""
_RULES: Final = "rules"
"""The one text of a visit that is binary."""


def _plain(*names: str) -> list[Column]:
    return [Column(name, name, Plain()) for name in names]


def _counted(c: Counted) -> Column:
    return Column(f"counted_{c.name.lower()}", f"counted.{int(c)}", Plain())


class Shape:
    """The columns of each table, for the pages of one shard."""

    def __init__(self, shard: int) -> None:
        page = Page(shard)
        self.ticks = [
            Column("time", "wall", Time()),
            *_plain(*(n for n in TICK.names or () if n not in ("wall", "clock"))),
            Column("clock", "clock", Plain(0)),
        ]
        self.pages = [
            *_plain("site", "origin", "fingerprint", "depth", "flags"),
            Column("source", "source", page),
            Column("kind", "kind", Word(LinkKind)),
            Column("state", "state", Word(State)),
            Column("reason", "reason", Word(Reason)),
        ]
        self.visits = [
            *_plain("number", "site", "origin", "flags", "start", "connect", "end", "received", "sent", "length"),
            *_plain("text_length", "out_degree", "links", "warc_offset", "warc_end"),
            Column("page", "page", page),
            Column("duplicate_of", "duplicate_of", page),
            Column("ask", "ask", Word(Ask)),
            Column("outcome", "outcome", Word(Outcome)),
            Column("status", "status", Plain(0)),
            Column("time", "time", Time()),
            Column("latency", "first", Plain()),
            Column("digest", "digest", Plain(0)),
            Column("retry_after", "retry_after", Plain(-1)),
            Column("delay", "delay", Plain(-1)),
            Column("warc_file", "warc_file", forms.Archive()),
            *(_counted(c) for c in Counted if c < Counted.TRAP),
            Column("sketch", "sketch", Plain(0)),
            Column("payload", "payload", forms.Raw(20)),
            *(_counted(c) for c in Counted if c >= Counted.TRAP),
            Column("lifetime", "lifetime", Plain(0)),
            Column("change", "change", Word(Change)),
            Column("numberless", "numberless", Plain(0)),
            Column("validators", "validators", Plain(0)),
        ]
        self.links = [Column("target", "target", page), Column("kind", "kind", Word(LinkKind)), *_plain("flags")]
        self.origins = _plain("site", "port", "secure")
        self.events = [
            *_plain("site", "failures", "port"),
            Column("event", "event", Word(SiteEvent)),
            Column("time", "time", Time()),
            Column("until", "until", Time()),
            Column("address", "address", forms.Address()),
        ]
        self.verdicts = [
            Column("page", "page", page),
            Column("state", "state", Word(State)),
            Column("reason", "reason", Word(Reason)),
            *_plain("judged"),
        ]


def tables(effects: Sequence[Effects], shard: int) -> Tables:
    """The tables that have rows. `effects` are in the order of the journal."""
    return dict(each(effects, shard))


def each(effects: Sequence[Effects], shard: int) -> Iterator[tuple[str, pa.Table]]:
    """The tables that have rows, one by one: each can be written before the next is made. The largest two, links and
    anchors, have three quarters of the memory of all."""
    shape = Shape(shard)
    ticks = _ticks(effects)
    visits = concatenated([e.visits for e in effects])

    def rows(records: Iterable[Records], columns: Sequence[Column], name: str) -> Columns:
        return _rows(concatenated(list(records)), columns, ticks, name)

    makers: dict[str, Callable[[], Columns]] = {
        "ticks": lambda: pack(shape.ticks, fields_of(ticks)),
        "pages": lambda: _pages(effects, ticks, shape, shard),
        "visits": lambda: _visits(visits, b"".join(e.visit_texts for e in effects), ticks, shape),
        "links": lambda: _links(effects, visits, shape, shard),
        "sites": lambda: _sites(effects, ticks, visits),
        "origins": lambda: {
            "origin": pa.array(_numbers(ticks, "first_origin", "origins")),
            **rows((e.origins for e in effects), shape.origins, "origins"),
        },
        "events": lambda: rows((e.site_events for e in effects), shape.events, "events"),
        "verdicts": lambda: rows((e.verdicts for e in effects), shape.verdicts, "verdicts"),
        "anchors": lambda: _anchors(effects, visits, shard),
        "hints": lambda: _hints(effects, shard),
        "orders": lambda: _orders(effects),
    }
    for name, maker in makers.items():
        if len(table := pa.table(maker())):
            yield name, table
        del table
    for name, columns in {
        **_seen(visits, ticks, b"".join(e.seen for e in effects), shard),
        **_of_plugins(effects, visits, ticks, shard),
    }.items():
        if len(table := pa.table(columns)):
            yield name, table


def _ticks(effects: Sequence[Effects]) -> Records:
    rows = []
    for e in effects:
        if int(e.visits["links"].sum()) != len(e.link_targets) or len(e.link_targets) != len(e.link_kinds):
            raise GossamerError(f"the number of links in the visits of tick {e.tick} is wrong")
        added = e.sites.lengths, e.origins, e.pages, e.visits, e.link_targets, e.verdicts, e.site_events
        rows.append(
            (e.tick, e.wall, e.monotonic, e.first_site, e.first_origin, e.first_page, *map(len, added), e.clock)
        )
    return np.array(rows, TICK)


def _per_row(ticks: Records, what: str, table: str) -> Array:
    """A field of each tick, repeated for each of its rows in `table`."""
    repeated: Array = np.repeat(ticks[what], ticks[table])
    return repeated


def _numbers(ticks: Records, first: str, table: str) -> I64:
    """The numbers of the new rows of each tick."""
    count = ticks[table].astype(np.int64)
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    numbers: I64 = _per_row(ticks, first, table).astype(np.int64) + within
    return numbers


def _rows(records: Records, columns: Sequence[Column], ticks: Records, table: str) -> dict[str, pa.Array]:
    return {"tick": pa.array(_per_row(ticks, "tick", table)), **pack(columns, fields_of(records))}


def _pages(effects: Sequence[Effects], ticks: Records, shape: Shape, shard: int) -> dict[str, pa.Array]:
    records = concatenated([e.pages for e in effects])
    urls = forms.joined([e.urls for e in effects])
    page = {"page": _numbers(ticks, "first_page", "pages"), "wall": _per_row(ticks, "wall", "pages")}
    return {
        "page": Page(shard).write(page, "page"),
        "tick": pa.array(_per_row(ticks, "tick", "pages")),
        "time": Time().write(page, "wall"),
        **pack(shape.pages, fields_of(records), {"url": urls}),
    }


def _visits(visits: Records, raw: bytes, ticks: Records, shape: Shape) -> dict[str, pa.Array]:
    texts = forms.by_name(visits["texts"], raw, VISIT_TEXTS)
    rules = texts.pop(_RULES)
    fields = fields_of(visits, ("counted",))
    with np.errstate(all="ignore"):
        seconds = visits["end"] - visits["start"] - visits["first"]
        moving = np.isfinite(seconds) & (seconds > 0)
        speed = (visits["received"] / np.where(moving, seconds, 1)).astype(np.float32)
    modified = {"modified": _modified(texts["last_modified"], visits["time"])}
    return {
        "tick": pa.array(_per_row(ticks, "tick", "visits")),
        **pack(shape.visits, fields, texts),
        "speed": pa.array(np.round(speed), mask=~moving),
        "modified": Time().write(modified, "modified"),
        _RULES: forms.binary_column(rules),
    }


def _modified(texts: Texts, times: F64) -> F64:
    """The believable values of Last-Modified, in seconds; else NaN."""
    seconds = np.full(len(times), np.nan)
    for row, text in enumerate(texts.split()):
        if text and (date := http_date(text.decode("latin-1"))) is not None:
            seconds[row] = date
    return believed(seconds, times)


def _links(effects: Sequence[Effects], visits: Records, shape: Shape, shard: int) -> dict[str, pa.Array]:
    order = link_order(visits)
    kinds = np.concatenate([e.link_kinds for e in effects])[order]
    source = {"page": np.repeat(visits["page"], visits["links"])[order]}
    target = np.concatenate([e.link_targets for e in effects])[order]
    fields: Fields = {"target": target, "kind": kinds & 15, "flags": kinds >> 4}
    return {"source": Page(shard).write(source, "page"), **pack(shape.links, fields)}


def _anchors(effects: Sequence[Effects], visits: Records, shard: int) -> dict[str, pa.Array]:
    """The links that have a text, in the order of `links`."""
    with_texts = [e if len(e.link_tags) == len(e.link_targets) else _without_anchors(e) for e in effects]
    lengths = np.concatenate([e.anchors.lengths for e in with_texts])
    order = link_order(visits)
    order = order[lengths[order] > 0]
    texts, _ = forms.text_column(forms.joined([e.anchors for e in with_texts]))
    tags = np.concatenate([e.link_tags for e in with_texts])[order]
    ends = {
        "source": np.repeat(visits["page"], visits["links"])[order],
        "target": np.concatenate([e.link_targets for e in effects])[order],
    }
    return {
        **{name: Page(shard).write(ends, name) for name in ends},
        "text": texts.take(pa.array(order)),
        "position": pa.array(np.concatenate([e.link_positions for e in with_texts])[order]),
        "tag": Word(Tag).write({"tag": tags}, "tag"),
        "flags": pa.array(np.concatenate([e.link_kinds for e in effects])[order] >> 4),
    }


def _without_anchors(e: Effects) -> Effects:
    n = len(e.link_targets)
    tags, positions, anchors = np.zeros(n, "u1"), np.zeros(n, "<u2"), Texts(np.zeros(n, "<u2"), b"")
    return replace(e, link_tags=tags, link_positions=positions, anchors=anchors)


def _seen(visits: Records, ticks: Records, seen: bytes, shard: int) -> dict[str, dict[str, pa.Array]]:
    """The tables `counts` and `mentions`. `seen` has lines of four fields, in the order of the visits: class,
    extension, domain and number of counted links; kind, text, URL and number of mentions."""
    if not seen:
        return {}
    ends = np.cumsum(visits["seen"], dtype=np.int64)
    newlines = np.concatenate([[0], np.cumsum(np.frombuffer(seen, np.uint8) == ord("\n"))])
    visit = pa.array(np.repeat(np.arange(len(visits)), newlines[ends] - newlines[ends - visits["seen"]]))
    read = csv.read_csv(
        pa.BufferReader(seen),
        csv.ReadOptions(column_names=_SEEN, use_threads=False),
        csv.ParseOptions(delimiter="\t", quote_char=False, newlines_in_values=False, ignore_empty_lines=False),
        csv.ConvertOptions(column_types=dict.fromkeys(_SEEN[:3], pa.string()) | {"number": pa.int64()}),
    ).append_column("visit", visit)
    mentioned = pc.is_in(read["class"], pa.array([kind.name.lower() for kind in Mentioned]))
    return {
        "counts": _counts(visits, read.filter(pc.invert(mentioned))),
        "mentions": _mentions(visits, ticks, read.filter(mentioned), shard),
    }


def _counts(visits: Records, read: pa.Table) -> dict[str, pa.Array]:
    names = _SEEN[:3]
    site = visits["site"][read["visit"].to_numpy()].astype(np.int64)
    rows = read.drop_columns(["visit"]).append_column("site", pa.array(site))
    totals = rows.group_by(["site", *names], use_threads=False).aggregate([("number", "sum")])
    ordered = totals.rename_columns(["site", *_SEEN]).sort_by([(name, "ascending") for name in ("site", *names)])
    return {name: ordered.column(name) for name in ordered.column_names}


def _mentions(visits: Records, ticks: Records, read: pa.Table, shard: int) -> dict[str, pa.Array]:
    """In the order of `links`: pages of a site mention the same addresses."""
    visit = read["visit"].to_numpy()
    order = np.argsort(visits["site"][visit], kind="stable")
    visit, read = visit[order], read.take(pa.array(order))
    return {
        "page": Page(shard).write({"page": visits["page"][visit]}, "page"),
        "kind": one_chunk(read, "class").dictionary_encode(),
        "url": _nulled(one_chunk(read, "domain")),
        "text": _nulled(one_chunk(read, "extension")),
        "number": one_chunk(read, "number").cast(pa.uint32()),
        "tick": pa.array(_per_row(ticks, "tick", "visits")[visit]),
    }


def _nulled(texts: pa.Array) -> pa.Array:
    """Texts in which an empty one is null."""
    return pc.if_else(pc.equal(texts, ""), None, texts)


def _of_plugins(effects: Sequence[Effects], visits: Records, ticks: Records, shard: int) -> dict[str, Any]:
    if not any(e.rows.buffer for e in effects):
        return {}
    from gossamer.collection.tables import plugin_rows

    of_tick = _per_row(ticks, "tick", "visits")
    return plugin_rows.tables([e.rows for e in effects], [len(e.visits) for e in effects], visits, of_tick, shard)


def _hints(effects: Sequence[Effects], shard: int) -> dict[str, pa.Array]:
    with_hints = [e for e in effects if len(e.hints)]
    records = concatenated([_NO_HINTS, *(e.hints for e in with_hints)])
    each = np.repeat(np.arange(len(with_hints)), [len(e.hints) for e in with_hints])
    sitemaps = pa.array([e.hinted_by.decode(errors="replace") for e in with_hints], pa.string())
    wall = {"time": np.array([e.wall for e in with_hints])[each]}
    return {
        "page": Page(shard).write({"page": records["page"]}, "page"),
        "lastmod": Time().write({"lastmod": records["lastmod"]}, "lastmod"),
        "sitemap": pa.DictionaryArray.from_arrays(pa.array(each.astype(np.int32)), sitemaps),
        "time": Time().write(wall, "time"),
        "tick": pa.array(np.array([e.tick for e in with_hints], np.uint64)[each]),
    }


def _orders(effects: Sequence[Effects]) -> dict[str, pa.Array]:
    given = [(e.tick, Order.decode(text)) for e in effects if len(e.orders.lengths) for text in e.orders.split()]
    made = {"tick": pa.array([tick for tick, _ in given], pa.uint64())}
    for name in Order._fields:
        values = [getattr(order, name) for _, order in given]
        made[name] = pa.array(values, pa.uint32() if name == "number" else pa.string())
    return made


def _orders_by_tick(table: pa.Table | None) -> dict[int, list[bytes]]:
    found = dict[int, list[bytes]]()
    for row in [] if table is None else table.to_pylist():
        order = Order(*(row[name] for name in Order._fields))
        found.setdefault(int(row["tick"]), []).append(order.encode())
    return found


def link_order(visits: Records) -> I64:
    """The order of the table: for each row, its place in the journal. By the source's site, then by place."""
    return np.argsort(np.repeat(visits["site"], visits["links"]), kind="stable")


def _sites(effects: Sequence[Effects], ticks: Records, visits: Records) -> dict[str, pa.Array]:
    """New sites in order, then known sites that had visits or new pages.

    Counts are those of this segment alone: pages found (static, dynamic), visits of pages, of which `ok` and failures
    of the site (`errors`), and bytes received, including robots.txt.
    """
    new = _numbers(ticks, "first_site", "sites")
    pages = concatenated([e.pages for e in effects])
    of_pages = visits[visits["ask"] == Ask.PAGE]
    active = np.setdiff1d(np.concatenate([pages["site"], visits["site"]]).astype(np.int64), new)
    sites = np.concatenate([new, active[active != NONE]])
    names, bad = forms.text_column(forms.joined([e.sites for e in effects]))
    if bad:
        raise GossamerError("a site's name is not UTF-8, but host names are ASCII")

    def total(where: Array, weight: Array | None = None) -> pa.Array:
        used, at = np.unique(where, return_inverse=True)
        sums = np.bincount(at, weight, len(used)).astype(np.int64) if len(where) else np.zeros(0, np.int64)
        known = np.searchsorted(used, sites)
        found = (known < len(used)) & (np.append(used, 0)[known] == sites)
        return pa.array(np.where(found, np.append(sums, 0)[known], 0))

    dynamic = (pages["flags"] & PageFlag.DYNAMIC) != 0
    known = pa.nulls(len(sites) - len(new), pa.large_string())
    return {
        "site": pa.array(sites),
        "name": pa.concat_arrays([names, known]),
        "tick": pa.concat_arrays([pa.array(_per_row(ticks, "tick", "sites")), known.cast(pa.uint64())]),
        "pages": total(pages["site"]),
        "static": total(pages["site"][~dynamic]),
        "dynamic": total(pages["site"][dynamic]),
        "visits": total(of_pages["site"]),
        "ok": total(of_pages["site"][of_pages["outcome"] == Outcome.OK]),
        "errors": total(of_pages["site"][np.isin(of_pages["outcome"], list(SITE_FAILURES))]),
        "bytes": total(visits["site"], visits["received"].astype(np.float64)),
        "www": pa.array(np.concatenate([*map(_www, effects), np.zeros(len(known), np.uint8)]) != 0),
    }


def _www(e: Effects) -> U8:
    """Whether each new site was written with `www.`; ticks of format 1 do not contain it."""
    return e.sites_www if len(e.sites_www) else np.zeros(len(e.sites.lengths), np.uint8)


def visits_of(table: pa.Table, shard: int) -> tuple[Records, bytes]:
    """The visits of the table `visits`, and their texts."""
    visits, texts = _with_texts(table, Shape(shard).visits, VISIT, VISIT_TEXTS)
    return visits, forms.ByRow(list(texts.values())).rows(slice(0, len(visits)))


def effects(read: Callable[[str], pa.Table | None], shard: int) -> Iterator[Effects]:
    """The inverse of `tables`. `read` returns a table by name, None if there is none; it is called for one at a
    time."""
    shape = Shape(shard)
    ticks = _records(read("ticks"), shape.ticks, TICK)
    pages, page_texts = _with_texts(read("pages"), shape.pages, PAGE, ("url",))
    visits, visit_texts = _with_texts(read("visits"), shape.visits, VISIT, VISIT_TEXTS)
    texts = forms.ByRow(list(visit_texts.values()))
    links = _records(read("links"), shape.links, LINK)
    order = link_order(visits)
    targets, kinds = np.zeros(len(links), "<u4"), np.zeros(len(links), "u1")
    targets[order], kinds[order] = links["target"], links["kind"] | links["flags"] << 4
    origins = _records(read("origins"), shape.origins, ORIGIN)
    events = _records(read("events"), shape.events, SITE_EVENT)
    verdicts = _records(read("verdicts"), shape.verdicts, VERDICT)
    (names, www), urls = _names(read("sites")), page_texts["url"]
    orders = _orders_by_tick(read("orders"))
    names_at, urls_at = names.offsets(), urls.offsets()
    at = {name: np.concatenate([[0], np.cumsum(ticks[name], dtype=np.int64)]).tolist() for name in _ROWS}
    for i, t in enumerate(ticks):
        here = {name: slice(ends[i], ends[i + 1]) for name, ends in at.items()}
        head: tuple[int, float, float, int, int, int] = t.item()[:6]
        yield Effects(
            *head,
            sites=_some(names, names_at, here["sites"]),
            origins=origins[here["origins"]],
            pages=pages[here["pages"]],
            urls=_some(urls, urls_at, here["pages"]),
            visits=visits[here["visits"]],
            visit_texts=texts.rows(here["visits"]),
            link_targets=targets[here["links"]],
            link_kinds=kinds[here["links"]],
            verdicts=verdicts[here["verdicts"]],
            site_events=events[here["events"]],
            sites_www=www[here["sites"]],
            orders=Texts.join(orders.get(head[0], []), "<u2"),
            clock=float(t["clock"]),
        )


def _records(table: pa.Table | None, columns: Sequence[Column], dtype: np.dtype[np.void]) -> Records:
    return _with_texts(table, columns, dtype, ())[0]


def _with_texts(
    table: pa.Table | None, columns: Sequence[Column], dtype: np.dtype[np.void], names: Sequence[str]
) -> tuple[Records, dict[str, Texts]]:
    """The records of a table, and its texts by name, in the order of `names`."""
    if table is None:
        return np.zeros(0, dtype), {name: Texts.join([]) for name in names}
    kinds = {c.field: dtype[c.field.partition(".")[0]].base for c in columns}
    fields, texts = forms.unpack(columns, table, kinds, [n for n in names if n != _RULES])
    if _RULES in names:
        texts[_RULES] = forms.texts_of(one_chunk(table, _RULES))
    records = np.zeros(len(table), dtype)
    for field, values in fields.items():
        name, _, element = field.partition(".")
        if element:
            records[name][:, int(element)] = values
        else:
            records[name] = values
    if "texts" in (dtype.names or ()):
        records["texts"] = np.array([texts[name].lengths for name in names]).T
    return records, {name: texts[name] for name in names}


def _names(table: pa.Table | None) -> tuple[Texts, U8]:
    """The names of the new sites, and whether each was written with `www.`."""
    if table is None:
        return Texts.join([]), np.zeros(0, "u1")
    new = int(one_chunk(table, "tick").is_valid().sum().as_py() or 0)
    www = np.zeros(new, "u1")
    if "www" in table.column_names:
        www = one_chunk(table, "www").slice(0, new).to_numpy(zero_copy_only=False).astype("u1")
    return forms.texts_of(one_chunk(table, "name").slice(0, new)), www


def _some(texts: Texts, at: I64, rows: slice) -> Texts:
    """The texts of these rows; `at` are the offsets of all texts."""
    return Texts(texts.lengths[rows].astype("<u2"), texts.buffer[at[rows.start] : at[rows.stop]])
