"""Checks the invariants between the rows of the tables. Each check is a query for the rows that violate it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from gossamer.base.model import SHARD_SHIFT, SITE_FAILURES, Counted, PageFlag, VisitFlag
from gossamer.collection.blocks import PER_BLOCK
from gossamer.collection.layout import ROWS, URL_FILE
from gossamer.collection.versions import first_of, name_in
from gossamer.read.sql.database import STORED, Database
from gossamer.read.sql.sources import Sources
from gossamer.read.sql.views import words_of
from gossamer.read.verify.faults import BACKUP, REPAIR, REPORT, Fault, VerifyReport
from gossamer.read.verify.files import blocks

SHOWN: Final = 20
"""Maximum number of rows of one check that are reported."""
_LOCAL: Final = f"& {(1 << SHARD_SHIFT) - 1}"
_DYNAMIC: Final = int(PageFlag.DYNAMIC)


@dataclass(frozen=True, slots=True)
class Check:
    """An invariant of a table."""

    table: str
    wrong: str
    """The message, with placeholders for columns of the rows that `query` finds."""
    query: str

    @property
    def needs(self) -> set[str]:
        """The tables that the query reads."""
        return set(STORED.findall(self.query))


def _unknown(table: str, column: str, other: str, key: str, what: str) -> Check:
    """Every number in `column` is a number in the table `other`."""
    return Check(
        table,
        f"{{count}} rows refer to {what} {{value}}, which is not known",
        f"select t.{column} as value, count(*) as count from stored.{table} t anti join stored.{other} o "
        f"on o.{key} = t.{column} where t.{column} is not null group by 1 order by 1",
    )


def _numbered(table: str, key: str, mask: str, what: str, where: str = "true") -> Check:
    """The numbers are consecutive: none occurs twice, none is missing."""
    return Check(
        table,
        f"{{rows}} {what}s have {{numbers}} different numbers, up to {{last}}: some are missing or occur twice",
        f"select count(*) as rows, count(distinct {key}) as numbers, max({key} {mask}) as last from stored.{table} "
        f"where {where} having count(*) != numbers or count(*) != coalesce(last, -1) + 1",
    )


def _tick_rows(table: str) -> Check:
    """Each tick has as many rows as the table `ticks` says."""
    return Check(
        table,
        "tick {tick} has {found} rows here, but the table ticks says {said}",
        f"select k.tick, count(t.tick) as found, any_value(k.{table}) as said from stored.ticks k "
        f"left join stored.{table} t on t.tick = k.tick group by k.tick having found != said order by 1",
    )


_SITES: Final = f"""
with a as (select site, sum(pages) as pages, sum(static) as static, sum(dynamic) as dynamic, sum(visits) as visits,
                  sum(ok) as ok, sum(errors) as errors, sum(bytes) as bytes from stored.sites group by 1),
p as (select site, count(*) as pages, count(*) filter ((flags & {_DYNAMIC}) = 0) as static,
             count(*) filter ((flags & {_DYNAMIC}) != 0) as dynamic from stored.pages group by 1),
v as (select site, count(*) filter (ask = 'page') as visits, count(*) filter (ask = 'page' and outcome = 'ok') as ok,
             count(*) filter (ask = 'page' and outcome in ({words_of(SITE_FAILURES)})) as errors, sum(received) as bytes
      from stored.visits group by 1)
select a.site,
       concat_ws(', ', a.pages, a.static, a.dynamic, a.visits, a.ok, a.errors, a.bytes) as said,
       concat_ws(', ', coalesce(p.pages, 0), coalesce(p.static, 0), coalesce(p.dynamic, 0), coalesce(v.visits, 0),
                 coalesce(v.ok, 0), coalesce(v.errors, 0), coalesce(v.bytes, 0)) as found
from a left join p using (site) left join v using (site) where said != found order by 1
"""

CHECKS: Final = (
    Check(
        "ticks",
        "tick {tick} comes after tick {before}: they are not in order",
        "select tick, before from (select tick, lag(tick) over () as before from stored.ticks) where tick <= before",
    ),
    Check(
        "ticks",
        "tick {tick} is dated before tick {before}, and no correction of the clock is marked there",
        "select tick, before from (select tick, time, lag(tick) over w as before, lag(time) over w as earlier, "
        "lag(clock) over w as marked from stored.ticks window w as (order by tick)) "
        "where time < earlier and marked is null order by 1",
    ),
    _numbered("pages", "page", _LOCAL, "page"),
    _numbered("origins", "origin", "", "origin"),
    _numbered("sites", "site", "", "site", "tick is not null"),
    *(
        Check(
            "ticks",
            f"tick {{tick}} begins with {what} {{first}}, but {{before}} were known",
            f"select tick, {first} as first, before from (select tick, {first}, {rows}, coalesce(sum({rows}) over "
            f"(order by tick rows between unbounded preceding and 1 preceding), 0) as before from stored.ticks) "
            f"where {rows} > 0 and {first} != before order by 1",
        )
        for what, first, rows in (
            ("page", "first_page", "pages"),
            ("site", "first_site", "sites"),
            ("origin", "first_origin", "origins"),
        )
    ),
    *(_tick_rows(table) for table in ("pages", "visits", "origins", "events", "verdicts")),
    Check(
        "pages",
        "{count} pages have the fingerprint {fingerprint}",
        "select fingerprint, count(*) as count from stored.pages group by 1 having count(*) > 1 order by 1",
    ),
    Check("pages", "page {page} has no URL", "select page from stored.pages where url is null order by 1"),
    _unknown("pages", "site", "sites", "site", "site"),
    _unknown("pages", "origin", "origins", "origin", "origin"),
    _unknown("pages", "source", "pages", "page", "the source page"),
    _unknown("visits", "page", "pages", "page", "page"),
    _unknown("visits", "site", "sites", "site", "site"),
    _unknown("visits", "origin", "origins", "origin", "origin"),
    _unknown("visits", "duplicate_of", "pages", "page", "the duplicate"),
    Check(
        "visits",
        "{count} requests for {what}",
        "select count(*) as count, case when ask = 'page' then 'pages name none' else 'robots.txt name a page' end "
        "as what from stored.visits where (ask = 'page') != (page is not null) group by 2",
    ),
    Check(
        "visits",
        "a visit of page {page} archived bytes {warc_offset} to {warc_end}, but names no file",
        "select page, warc_offset, warc_end from stored.visits where warc_end > 0 and "
        "(warc_file is null or warc_offset >= warc_end)",
    ),
    Check(
        "links",
        "page {page} has {found} links here, but its visits say {said}",
        "select coalesce(v.page, l.page) as page, coalesce(l.found, 0) as found, coalesce(v.said, 0) as said from "
        "(select page, sum(links) as said from stored.visits where links > 0 group by 1) v full join "
        "(select source as page, count(*) as found from stored.links group by 1) l on v.page = l.page "
        "where coalesce(l.found, 0) != coalesce(v.said, 0) order by 1",
    ),
    _unknown("links", "target", "pages", "page", "the target"),
    Check(
        "anchors",
        "page {source} has {texts} link texts, but only {links} links",
        "select source, texts, coalesce(links, 0) as links from (select source, count(*) as texts from "
        "stored.anchors group by 1) a left join (select source, count(*) as links from stored.links group by 1) l "
        "using (source) where texts > coalesce(links, 0) order by 1",
    ),
    _unknown("anchors", "target", "pages", "page", "the target"),
    _unknown("counts", "site", "sites", "site", "site"),
    Check(
        "counts",
        "site {site} has {number} links of class {class}, which is less than one",
        "select site, class, number from stored.counts where number is null or number < 1",
    ),
    _unknown("mentions", "page", "pages", "page", "page"),
    _unknown("verdicts", "page", "pages", "page", "page"),
    _unknown("events", "site", "sites", "site", "site"),
    _unknown("origins", "site", "sites", "site", "site"),
    Check(
        "sites",
        "site {site} says {said} (pages, static, dynamic, visits, ok, errors, bytes), but its pages and "
        "visits add up to {found}",
        _SITES,
    ),
)


_BY_DESK: Final = (Counted.NOFOLLOW, Counted.SITE_FULL, Counted.COLLECTION_FULL)
"""Classes that the desk counts: the rows of `counts` are the worker's, and have none of these."""
_CLASSES: Final = [c.name.lower() for c in Counted if c not in _BY_DESK]

COUNTS: Final = Check(
    "counts",
    "site {site} has {found} links of class {class} here, but its visits counted {said}",
    f"""
with v as (select site, class, sum(n) as said from (unpivot (
    select site, {", ".join(f"counted_{word} as {word}" for word in _CLASSES)} from stored.visits
) on {", ".join(_CLASSES)} into name class value n) group by 1, 2 having sum(n) > 0),
c as (select site, class, sum(number) as found from stored.counts group by 1, 2)
select site, class, coalesce(found, 0) as found, coalesce(said, 0) as said from v full join c using (site, class)
where coalesce(found, 0) != coalesce(said, 0) order by 1, 2
""",
)


def check_tables(
    sources: Sources, database: Database, report: VerifyReport, damaged: Collection[str] = ()
) -> Iterator[str]:
    """Runs the checks, except those that need a `damaged` table. Yields the table of each check."""
    counts, visits = (sources.table(name)[:1] for name in ("counts", "visits"))
    complete = [f.segment for f in counts] == [f.segment for f in visits]  # older segments have no table of counts
    of_plugins = [_of_visits(name) for name in sources.names if name.startswith(ROWS)]
    for check in (*CHECKS, *([COUNTS] if complete else []), *of_plugins):
        if check.needs & set(damaged):
            continue
        yield check.table
        rows = [row[0] for row in database.run(f"select q from ({check.query}) q limit {SHOWN + 1}")]
        faults = [Fault(f"{check.table}/", _place(row), check.wrong.format(**row), REPORT) for row in rows[:SHOWN]]
        more = len(rows) > SHOWN
        total = int(database.run(f"select count(*) from ({check.query})")[0][0]) if more else len(faults)
        report.add_some(faults, total)
        report.count("invariants")


def _of_visits(table: str) -> Check:
    """Each row of a table of plug-ins belongs to a visit of its page."""
    return Check(
        table,
        "{count} rows belong to a visit of page {page} in tick {tick}, which there is not",
        f"select t.page, t.tick, count(*) as count from stored.{table} t anti join stored.visits v "
        "on v.page = t.page and v.tick = t.tick group by 1, 2 order by 1, 2",
    )


def _place(row: dict[str, Any]) -> str:
    return next((f"{key} {row[key]}" for key in ("page", "site", "tick", "origin", "source") if key in row), "")


def check_urls(sources: Sources, database: Database, report: VerifyReport) -> None:
    """Checks that the block file has the URL of every page, except the last pages, which do not fill a block yet."""
    length = sources.lengths().get(URL_FILE)
    path = sources.shard / URL_FILE
    if length is None:
        return
    if not path.exists():
        report.add(Fault(URL_FILE, "", f"is missing, but {length} bytes of it were committed", BACKUP))
        return
    urls = (str(row[0] or "") for row in database.stream("select url from stored.pages order by page"))
    known = 0
    try:
        for at, texts in blocks(path, length):
            expected = list(islice(urls, PER_BLOCK))
            known += len(expected)
            if [text.decode("utf-8", "replace") for text in texts] != expected:
                wrong = (
                    f"the block at byte {at} does not contain the URLs of pages {known - len(expected)} to {known - 1}"
                )
                report.add(Fault(URL_FILE, f"byte {at}", wrong, BACKUP))
                return
    except ValueError as error:
        report.add(Fault(URL_FILE, "", str(error), BACKUP))
        return
    rest = sum(1 for _ in urls)
    report.count("URLs", known + rest)
    if rest >= PER_BLOCK:
        report.add(Fault(URL_FILE, "", f"contains the URLs of only {known} of {known + rest} pages", BACKUP))


_VERSIONS: Final = f"""
select count(*) from stored.visits
where ask = 'page' and page is not null and outcome in ('ok', 'duplicate', 'redirect', 'forgotten')
      and (flags & {VisitFlag.RESPELLED:d}) = 0
"""


def check_versions(sources: Sources, database: Database, report: VerifyReport) -> None:
    """Checks that the file of versions is as it was written, and has all versions but the last, which do not fill a
    block yet."""
    name = name_in(sources.lengths())
    if name is None:
        return
    path, length = sources.shard / name, sources.lengths()[name]
    if not path.exists():
        report.add(Fault(name, "", f"is missing, but {length} bytes of it were committed", REPAIR))
        return
    try:
        kept = sum(len(texts) for _, texts in blocks(path, length))
    except ValueError as error:
        report.add(Fault(name, "", str(error), REPAIR))
        return
    brought = int(database.run(_VERSIONS)[0][0]) - first_of(name)
    report.count("versions", brought)
    if not kept <= brought < kept + PER_BLOCK:
        report.add(Fault(name, "", f"contains {kept} of {brought} versions", REPAIR))
