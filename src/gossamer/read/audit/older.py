"""What pages mention, read from the archive: for pages of versions, and settings, that did not record it.

Each page takes about 2 ms: at most `MOST` pages are read, and a note says how many were not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from gossamer.base.errors import GossamerError
from gossamer.base.model import VisitFlag
from gossamer.collection import cdx
from gossamer.config import Settings
from gossamer.gatherer.gather import gather
from gossamer.gatherer.mentions import Mention
from gossamer.read.sql.database import Database
from gossamer.read.texts import ALL, answer
from gossamer.urls import Scope

MOST: Final = 20_000
_MISSING: Final = """
select page, url, warc_file, warc_offset, warc_end, flags from page
where outcome in ('ok', 'duplicate') and mime in ('text/html', 'application/xhtml+xml')
      and page not in (select page from mention) order by warc_file, warc_offset
"""
_ABSENT: Final = int(VisitFlag.REPEATED)
_COLUMNS: Final = {
    "page": pa.int64(),
    "kind": pa.string(),
    "url": pa.string(),
    "text": pa.string(),
    "number": pa.int64(),
}


def add_older(database: Database, shard: Path, settings: Settings, show: Callable[[str, float], None]) -> Iterator[str]:
    """Adds to the table `mention` what pages without it mention; yields what could not be read, in words."""
    missing = database.run(_MISSING)
    stored = [row for row in missing if row[2] is not None and not row[5] & _ABSENT]
    scope, given = Scope.of(settings.seeder), replace(settings.gatherer, mentions=True, language=False, text=False)
    found, faults = list[tuple[Any, ...]](), 0
    for number, (page, url, file, at, end, _) in enumerate(stored[:MOST]):
        show("Reading headings and languages from the archive.", number / min(len(stored), MOST))
        try:
            made = _mentions(shard / file, at, end, url, settings, given, scope)
        except GossamerError as error:
            faults += 1
            if faults == 1:
                yield f"{error.message}; see `gossamer verify`. Headings and languages of its pages are not checked."
            continue
        found += [(page, each.kind, each.url or None, each.text or None, each.number) for each in made]
    unread = len(missing) - min(len(stored), MOST)
    if unread:
        yield f"Headings and languages of {unread:,} pages were not recorded, and are not checked."
    columns = list(zip(*found, strict=True)) or [()] * len(_COLUMNS)
    rows = {name: pa.array(column, kind) for (name, kind), column in zip(_COLUMNS.items(), columns, strict=True)}
    database.register("older", pa.table(rows))
    database.run("insert into mention select * from older")


def _mentions(path: Path, at: int, end: int, url: str, settings: Settings, given: Any, scope: Scope) -> list[Mention]:
    record = next((raw for _, _, raw in cdx.members(path, at, end, ALL)), b"")
    found = answer(record, settings.gatherer.max_decoded)
    kind, agent = found.field("content-type"), settings.harvester.agent
    return gather(url, kind, (), found.body, given, scope, agent, headers=found.headers).mentions
