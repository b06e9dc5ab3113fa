"""Runs the checks of an audit on a collection, and compares the findings with those of an earlier audit.

What is committed and not sealed yet is read, too. DuckDB gets `MEMORY` and then writes to a temporary folder; the
findings of a check are kept up to `MOST`, and counted beyond.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from gossamer import config
from gossamer.base import disk
from gossamer.base.errors import UsageError
from gossamer.base.units import plural
from gossamer.collection.layout import SETTINGS
from gossamer.rank.clicks import NEVER, clicks
from gossamer.read.audit.checks import CHECKS, SEVERITIES, Check, Limits, Severity
from gossamer.read.audit.older import add_older
from gossamer.read.audit.outside import add_outside, linked
from gossamer.read.audit.own import OwnCheck
from gossamer.read.near import near
from gossamer.read.plugin_web import PluginWeb
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find, whole

MEMORY: Final = "1GB"
MOST: Final = 100_000
_TABLES: Final = (
    """
create temp table page as
with said as (
    select page, arg_max({'outcome': outcome, 'status': status, 'title': title, 'description': description,
        'length': length, 'text_length': text_length, 'flags': flags, 'charset': charset, 'latency': latency,
        'redirect': redirect, 'duplicate_of': duplicate_of, 'detail': detail, 'sketch': sketch, 'mime': mime,
        'tick': tick, 'warc_file': warc_file, 'warc_offset': warc_offset, 'warc_end': warc_end}, (tick, number)) as v
    from stored.visits where ask = 'page' and outcome not in ('returned', 'not_modified') group by page
), linked as (
    select target, count(distinct source) as linked from stored.links where kind in ('anchor', 'frame') group by 1
)
select p.page, p.url, p.site, p.depth::bigint as depth, p.kind, p.source, p.state, p.reason,
       p.kind = 'sitemap' or h.page is not null as in_sitemap, coalesce(i.linked, 0) as linked, v.outcome, v.status,
       v.title, v.description, v.length, v.text_length, v.flags, v.charset, v.latency, v.redirect, v.duplicate_of,
       v.detail, v.sketch, v.mime, v.tick, v.warc_file, v.warc_offset, v.warc_end, n.site is not null as nameless
from pages p left join said on said.page = p.page
left join (select site from stored.events group by site
           having bool_or(event = 'name_failed') and not bool_or(event in ('resolved', 'moved'))) n on n.site = p.site
left join linked i on i.target = p.page
left join (select distinct page from stored.hints) h on h.page = p.page
""",
    """
create temp table robots as
select p.page, p.url, p.source, r.v.outcome, r.v.status, r.v.detail from (
    select origin, arg_max({'outcome': outcome, 'status': status, 'detail': detail}, (tick, number)) as v
    from stored.visits where ask = 'robots' and outcome <> 'returned' group by origin) r
join (select origin, min(page) as page from stored.pages group by origin) f on f.origin = r.origin
join pages p on p.page = f.page
""",
    """
create temp table link as
select l.source, l.target, l.kind, any_value(a.text) as text, any_value(l.nofollow) as nofollow
from (select source, target, kind, bool_and((flags & 1) != 0) as nofollow from stored.links group by 1, 2, 3) l
left join (select source, target, min(text) as text from stored.anchors group by 1, 2) a
    on a.source = l.source and a.target = l.target group by 1, 2, 3
""",
    """
create temp table mention as
select m.page, m.kind, m.url, m.text, m.number from stored.mentions m join page p on p.page = m.page and p.tick = m.tick
""",
)
_UNASKED: Final = """
select count(distinct m.url) from mention m join page p on p.page = m.page
where m.kind = 'external' and m.url is not null and m.url not in (select url from outside)
"""
_READ: Final = ("pages", "visits", "links", "anchors", "hints", "mentions", "verdicts", "sites", "events")


@dataclass(frozen=True, slots=True)
class Found:
    """Something that a check found."""

    url: str
    source: str | None
    """The page that leads there, or the other page that is concerned."""
    anchor: str | None
    """The text of the link."""
    detail: str | None

    @property
    def key(self) -> tuple[str, str | None]:
        """What makes it the same in another audit."""
        return self.url, self.source


@dataclass(frozen=True, slots=True)
class Result:
    """What a check found, the first `MOST` of it."""

    name: str
    severity: Severity
    sentence: str
    cure: str
    number: int
    found: tuple[Found, ...]
    new: int | None = None
    """How many of these an earlier audit had not found; None if it is not compared."""
    gone: int | None = None
    """How many of an earlier audit are not found any more."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The results of all checks, in their order."""

    name: str
    """Name of the collection."""
    pages: int
    """Fetched pages."""
    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()
    """What was not checked, and why."""
    waiting: tuple[str, ...] = ()
    """Checks that have not seen all that they are to see: that they found nothing says nothing."""
    failed: tuple[str, ...] = ()
    """Checks of plug-ins that could not be made; `notes` says why."""

    def count(self, severity: Severity) -> int:
        return sum(result.number for result in self.results if result.severity == severity)

    def reaches(self, severity: Severity) -> int:
        """How many findings are of this severity or above: new ones only, if an earlier audit is compared."""
        enough = SEVERITIES[SEVERITIES.index(severity) :]
        return sum(
            result.number if result.new is None else result.new for result in self.results if result.severity in enough
        )

    def to_json(self) -> dict[str, Any]:
        checks = [asdict(result) for result in self.results]
        found = {"audit": self.name, "pages": self.pages, "notes": list(self.notes), "checks": checks}
        return found | ({"failed": list(self.failed)} if self.failed else {})


def chosen(names: Sequence[str], own: Sequence[OwnCheck] = ()) -> tuple[Check | OwnCheck, ...]:
    """The checks of these names; all if there are none. `own`: those of plug-ins."""
    every: tuple[Check | OwnCheck, ...] = (*CHECKS, *own)
    known = [check.name for check in every]
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, 1, 0.4)
            cure = f"Did you mean {close[0]}? " if close else ""
            raise UsageError(f"there is no check {name!r}", f"{cure}Checks: {', '.join(known)}.")
    return tuple(check for check in every if not names or check.name in names)


def audit(
    folder: Path,
    checks: Sequence[Check | OwnCheck] = CHECKS,
    limits: Limits | None = None,
    unchecked: bool = False,
    show: Callable[[str, float], None] = lambda *_: None,
) -> Audit:
    """Runs the checks."""
    values = asdict(limits or Limits())
    with _opened(folder, unchecked, show) as (database, notes):
        pages = database.run("select count(*) from page where outcome in ('ok', 'duplicate')")[0][0]
        results, failed = list[Result](), list[str]()
        for number, check in enumerate(checks):
            if isinstance(check, Check):
                show(check.sentence.format(**values), number / len(checks))
                results.append(_result(database, check, values))
                continue
            show(check.sentence, number / len(checks))
            try:
                results.append(_result_of_plugin(database, check))
            except UsageError as error:
                failed.append(check.name)
                notes.append(f"The check {check.name} was not made: {error.message}.")
        unasked = int(database.run(_UNASKED)[0][0])
    waiting = tuple(each.name for each in checks if unasked and each.name.startswith("external-"))
    if waiting:
        notes.append(f"{plural(unasked, 'address', 'addresses')} of other sites were not requested: see --external.")
    if not pages:
        notes.append("No page was fetched yet. `gossamer status` says why.")
    return Audit(folder.resolve().name, int(pages), tuple(results), tuple(notes), waiting, tuple(failed))


def addresses_outside(folder: Path, unchecked: bool = False) -> list[str]:
    """The addresses of other sites that pages link to, those of most pages first."""
    with _opened(folder, unchecked, lambda *_: None) as (database, _):
        return linked(database)


@contextmanager
def _opened(folder: Path, unchecked: bool, show: Callable[[str, float], None]) -> Iterator[tuple[Database, list[str]]]:
    """The collection with the tables that the checks read, and what cannot be checked. A damaged segment is left
    out."""
    with tempfile.TemporaryDirectory(prefix="gossamer-audit-") as spilled:
        sources, damaged = whole(find(folder, fresh=True, unchecked=unchecked), _READ)
        settings, notes = config.load(folder / SETTINGS), damaged
        database = Database(sources, settings, MEMORY, Path(spilled))
        try:
            for statement in _TABLES:
                database.run(statement, views=["pages"])
            _add_clicks(database)
            _add_near(database)
            notes += add_older(database, sources.shard, settings, show)
            add_outside(database, folder)
            yield database, notes
        finally:
            database.close()


def _add_clicks(database: Database) -> None:
    """Sets the depth of pages to the least number of clicks, where links lead to them."""
    pages = database.arrays(
        "select page, site, kind = 'seed' as seed, outcome is not distinct from 'redirect' as free from page "
        "order by page"
    )
    links = database.arrays(
        "select distinct source, target from link where kind in ('anchor', 'frame', 'redirect') and source in "
        "(select page from page) and target in (select page from page) order by 1, 2"
    )
    page = pages["page"]
    source, target = (np.searchsorted(page, links[name]) for name in ("source", "target"))
    offsets = np.searchsorted(source, np.arange(len(page) + 1))
    depth = clicks(offsets, target.astype(np.uint32), pages["site"], pages["seed"], pages["free"])
    database.register("clicked", {"page": page[depth < NEVER], "depth": depth[depth < NEVER]})
    database.run("update page set depth = c.depth from clicked c where c.page = page.page")


def _add_near(database: Database) -> None:
    """Adds the table `near`: pages with text whose sketch is near that of another page of their site. A text of few
    words has no sketch, however long it is: Thai has no spaces between words."""
    rows = database.run(
        "select page, site, sketch from page where outcome = 'ok' and text_length > 200 and sketch is not null"
        " order by 2, 1"
    )
    page, site = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    sketch = np.array([row[2] for row in rows], np.uint64)
    close = np.zeros(len(rows), np.bool_)
    for begin, end in _runs(site):
        close[begin:end] = near(sketch[begin:end])
    database.register("near", {"page": page[close]})


def _runs(values: Any) -> Iterator[tuple[int, int]]:
    """Where runs of equal values begin and end."""
    edges = np.flatnonzero(np.diff(values)) + 1 if len(values) else np.zeros(0, np.int64)
    places = [0, *edges.tolist(), len(values)]
    yield from ((a, b) for a, b in pairwise(places) if b > a)


def _result(database: Database, check: Check, limits: dict[str, Any]) -> Result:
    rows = database.run(check.sql.format(**limits))
    found = tuple(
        Found(str(url), source, text, None if said is None else str(said)) for url, source, text, said in rows
    )
    return Result(check.name, check.severity, check.sentence.format(**limits), check.cure, len(found), found[:MOST])


def _result_of_plugin(database: Database, check: OwnCheck) -> Result:
    found, number = list[Found](), 0
    for number, row in enumerate(check.rows(PluginWeb(database)), 1):
        if number <= MOST:
            found.append(Found(*row))
    return Result(check.name, check.severity, check.sentence, check.cure, number, tuple(found))


def compared(made: Audit, baseline: Path) -> Audit:
    """The audit, compared with an earlier one (its JSON)."""
    try:
        with disk.naming("read", baseline):
            raw = json.loads(baseline.read_bytes())
        before = {
            each["name"]: {Found(f["url"], f["source"], None, None).key for f in each["found"]}
            for each in raw["checks"]
        }
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{baseline} is not the JSON of an audit: {error}",
            "Write it with `gossamer audit DIR --out FOLDER`: audit.json.",
        ) from error
    results = []
    for result in made.results:
        now, then = {found.key for found in result.found}, before.get(result.name, set())
        results.append(replace(result, new=len(now - then), gone=len(then - now)))
    return replace(made, results=tuple(results))
