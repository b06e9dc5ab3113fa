"""`gossamer forget`: removes pages and sites from a collection, and keeps them out.

What would be removed is counted here, from the tables. `crawler/forgetting.py` carries it out, or a crawl that runs
keeps out what is named until then. What becomes of the files: `collection/forgetting/`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from gossamer import config, urls
from gossamer.base.errors import LockedError, UsageError
from gossamer.base.model import SHARD_SHIFT, VisitFlag
from gossamer.collection import manifest
from gossamer.collection.forgetting.carry_out import Progress
from gossamer.collection.forgetting.tombstones import Forgotten, Names, Tombstone, line_of, read
from gossamer.collection.layout import SETTINGS, is_collection, require_collection, shard_folder
from gossamer.crawler.forgetting import Done, carry_out, last_settings, take
from gossamer.read.audit.outside import FOLDER as OUTSIDE
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.read.steer.deliver import to_desk

PATIENCE: Final = 60.0
"""Seconds for which a crawl may be starting or stopping."""
POLL: Final = 0.2
LONGEST: Final = 1_000
"""Maximum length of a reason, in characters."""
SHOWN: Final = 20
"""At most this many pages with the same content are named."""
_LOCAL: Final = (1 << SHARD_SHIFT) - 1


class Planned(NamedTuple):
    """A page or a site that is to be forgotten."""

    tombstone: Tombstone
    linking: int
    """Other pages that link to it: their archived copies name it."""
    same: tuple[str, ...]
    """Other pages with the same content, which keep it."""
    before: Tombstone | None
    """The earlier tombstone, if it was forgotten already."""
    outside: Planned | None = None
    """The same in the crawl of other sites that `gossamer audit --external` has made."""

    def as_json(self) -> dict[str, Any]:
        said = asdict(self.tombstone)
        names = ("name", "site", "number", "pages", "visits", "records", "bytes")
        found = {name: said[name] for name in names} | {"known": self.tombstone.number is not None}
        done = None if self.before is None else {"time": self.before.time, "reason": self.before.reason}
        beside = {} if self.outside is None else {"external": self.outside.as_json()}
        return found | {"linking": self.linking, "same_content": list(self.same), "forgotten": done, **beside}


def listed(folder: Path) -> Forgotten:
    """What was forgotten in a collection."""
    require_collection(folder)
    return read(shard_folder(folder))


def unfinished(folder: Path) -> bool:
    """Whether a forgetting was begun and killed, or waits for the end of a crawl."""
    both = (listed(each) for each in (folder, folder / OUTSIDE) if each == folder or is_collection(each))
    return any(each.unfinished or each.waiting for each in both)


def plan(folder: Path, targets: Sequence[str], reason: str) -> list[Planned]:
    """What would be removed. Only reads; the crawl may run."""
    found = _plan(folder, targets, reason)
    if not is_collection(folder / OUTSIDE):
        return found
    beside = _plan(folder / OUTSIDE, [each.tombstone.name for each in found], reason)
    return [each._replace(outside=other) for each, other in zip(found, beside, strict=True)]


def _plan(folder: Path, targets: Sequence[str], reason: str) -> list[Planned]:
    require_collection(folder)
    shard = shard_folder(folder)
    settings = last_settings(folder)
    scope = urls.Scope.of(settings.seeder)
    forgotten = read(shard)
    seed = manifest.read(shard).meta.seed
    stored = config.load(folder / SETTINGS) if (folder / SETTINGS).exists() else settings
    database = Database(find(folder, fresh=True), stored)
    found = dict.fromkeys(_named(target, scope) for target in targets)
    _check_reason(reason, found)
    return [_planned(database, name, site, reason, seed, forgotten) for name, site in found]


def _named(target: str, scope: urls.Scope) -> tuple[str, bool]:
    """The canonical URL or the name of a site, and whether it is a site."""
    site = "://" not in target
    found = scope.canonical(f"http://{target}/" if site else target)
    if found is None or (site and "/" in target):
        raise UsageError(
            f"{target!r} is neither a URL nor the name of a site",
            "Name a page like https://example.org/page, or a whole site like example.org.",
        )
    return (urls.host(found) if site else found), site


def _check_reason(reason: str, found: dict[tuple[str, bool], None]) -> None:
    names = Names([Tombstone(0.0, "", site, 0, None, name=name) for name, site in found])
    if names.named(reason.encode()):
        raise UsageError("--reason names what is to be forgotten", "The reason stays: leave the name out of it.")
    if len(reason) > LONGEST or not reason.isprintable():
        raise UsageError(f"--reason is longer than {LONGEST} characters, or has unprintable ones", "Shorten it.")


def _planned(database: Database, name: str, site: bool, reason: str, seed: int, forgotten: Forgotten) -> Planned:
    if site:
        before = forgotten.of_site(name)
        rows = database.run("select site from stored.sites where name = ?", [name])
    else:
        before = forgotten.tombstone(name)
        rows = database.run("select page from stored.pages where url = ?", [name])
    number = int(rows[0][0]) if rows else None
    fingerprint = urls.fingerprint(name, seed)
    local = None if number is None else number & _LOCAL
    tombstone = Tombstone(time.time(), reason, site, fingerprint, local, name=name)
    if number is None:
        return Planned(tombstone, 0, (), before)
    return _counted(database, tombstone, f"{'site' if site else 'page'} = {number}", before)


def _counted(database: Database, tombstone: Tombstone, which: str, before: Tombstone | None) -> Planned:
    """`which`: SQL for the rows of pages, and of visits, that go."""
    pages = database.run(f"select count(*) from stored.pages where {which}")[0][0]
    visits, records, size = database.run(
        f"select count(*), coalesce(sum(2 + ((flags & {VisitFlag.TEXT:d}) != 0)::int) filter (warc_end > 0), 0), "
        "coalesce(sum(warc_end - begins) filter (warc_end > 0), 0) from (select page, site, flags, warc_end, coalesce("
        "lag(warc_end) over (partition by warc_file order by warc_end), warc_offset) as begins from stored.visits) "
        f"where {which}"
    )[0]
    linking = database.run(
        "select count(distinct k.source) from stored.links k join stored.pages t on t.page = k.target "
        f"join stored.pages s on s.page = k.source where t.{which} and not (s.{which})"
    )[0][0]
    same = database.run(
        "select distinct p.url from stored.visits v join stored.pages p on p.page = v.page where v.payload in "
        f"(select payload from stored.visits where {which} and page is not null and payload is not null) "
        f"and not (p.{which}) order by 1 limit {SHOWN}"
    )
    counted = replace(tombstone, pages=int(pages), visits=int(visits), records=int(records), bytes=int(size))
    return Planned(counted, int(linking), tuple(str(url) for (url,) in same), before)


def forget(folder: Path, planned: Sequence[Planned], progress: Progress = lambda what, part: None) -> Done:
    """Carries the plan out, and finishes what was begun before. If a crawl runs, it keeps out what is named, and `Done`
    says that it waits. LockedError if something else uses the collection."""
    require_collection(folder)
    new = [each.tombstone for each in planned if each.before is None]
    waits = _is_running(folder, new, bool(planned))
    if is_collection(folder / OUTSIDE):
        # first: if this is killed in between, what was asked for is not listed as forgotten
        forget(folder / OUTSIDE, [each.outside for each in planned if each.outside is not None], progress)
    return Done([replace(each, waits=True) for each in new]) if waits else carry_out(folder, new, progress)


def _is_running(folder: Path, new: Sequence[Tombstone], anything: bool) -> bool:
    """Whether a crawl runs, and has taken these orders; it may be starting, or stopping. `anything`: something was
    named, which was perhaps ordered before."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            take(folder).release()
            return False
        except LockedError:
            if not anything:
                raise
            taken = to_desk(shard_folder(folder), "forget", [line_of(each) for each in new])
            if taken is None and time.monotonic() > until:
                raise
            if taken is not None:
                return True
        time.sleep(POLL)
