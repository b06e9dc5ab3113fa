"""Exports JSON lines: one object for each stored page, with its cleaned text, from the last copy in the archive.

The text is that of the conversion record; if there is none, the page is cleaned now, with the current settings. If the
last copy is a revisit record, the text is that of the record with the body.

Pages that said `noindex` or `noarchive` when they were last fetched are left out, unless all pages are requested,
because such a file is made to be passed on. Copies of these pages exist only from the time before they said so, or
because of the setting `gatherer.keep_noindex`.

`site_preferences`, what robots.txt says about the use of content, comes from the last robots.txt read, even if the copy
is older: it is what the site wants now.

Cost: about 1 ms per page without conversion records.
"""

from __future__ import annotations

import tempfile
from base64 import b32encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from gossamer import config
from gossamer.base.escape import for_json
from gossamer.base.model import VisitFlag
from gossamer.collection.layout import SETTINGS
from gossamer.config import Settings
from gossamer.read.copies import FETCHED, copies, views_in
from gossamer.read.export.target import compressed, left_in_journal, sources_of
from gossamer.read.sql.database import Database, QueryResult
from gossamer.read.sql.show import plain
from gossamer.read.sql.sources import Progress, Sources, missing
from gossamer.read.sql.views import OF_ORIGINS
from gossamer.read.texts import Cleaner

MEMORY: Final = "1GB"
_SHOWN: Final = "url, time, status, mime, charset, language, title, description, preferences, site_preferences"
_NAMES: Final = tuple(_SHOWN.split(", "))
_PRIVATE: Final = VisitFlag.NOINDEX | VisitFlag.NOARCHIVE

_LINKS: Final = """left join (
    select k.source, list(distinct t.url order by t.url) as targets from stored.links k
    join stored.pages t on t.page = k.target group by k.source
) x on x.source = c.page"""


class Exported(NamedTuple):
    """The result of an export."""

    pages: int
    private: int
    """Number of pages left out because they say `noindex` or `noarchive`."""
    unsealed: bool
    """Committed data was left out, because it is not sealed yet."""


def export(
    folder: Path,
    to: Path,
    where: str = "",
    links: bool = False,
    force: bool = False,
    progress: Progress = lambda what, part: None,
    everything: bool = False,
    fresh: bool = False,
    unchecked: bool = False,
) -> Exported:
    """Writes the lines of all stored pages that meet `where` (SQL on the columns of visits and pages).

    `everything`: also pages that say `noindex` or `noarchive`; `fresh`: also data that is not sealed yet; `unchecked`:
    tables are not compared with their checksums.
    """
    sources = sources_of(folder, fresh, unchecked)
    settings = config.load(folder / SETTINGS)
    with tempfile.TemporaryDirectory() as spilled:
        database = Database(sources, settings, MEMORY, Path(spilled))
        stored = f"(flags & {int(VisitFlag.STORED)}) != 0"
        total = int(database.run(f"select count(*) from stored.visits where {stored}")[0][0])
        private = 0
        if not everything:
            counting = _query(where, False, everything, "count(*)", "!= 0")
            private = int(next(database.query(counting).rows)[0])
        result = database.query(_query(where, links, everything))
        done = 0
        with compressed(to, force) as out:
            for line in _objects(result, sources, settings, links):
                out.write(for_json(line).encode() + b"\n")
                done += 1
                progress("pages", done / max(1, total))
    return Exported(done, private, left_in_journal(sources, fresh))


def _query(where: str, links: bool, everything: bool, shown: str = "", private: str = "= 0") -> str:
    columns = f"{_SHOWN}, payload, body_file, body_at, body_end{', x.targets' if links else ''}"
    return f"""
{copies(views=views_in(where))},
said as (
    select page, arg_max(flags, (tick, number)) as said from stored.visits where {FETCHED} group by page
),
told as (
    select c.*, s.said, r.preferences as site_preferences
    from copies c join said s on s.page = c.page left join ({OF_ORIGINS}) r on r.origin = c.origin
)
select {shown or columns} from told c {_LINKS if links else ""}
where ({where or "true"}) and (c.said & {0 if everything else _PRIVATE:d}) {private}
{"" if shown else "order by body_file, body_at, c.page"}
"""


def _objects(result: QueryResult, sources: Sources, settings: Settings, links: bool) -> Iterator[dict[str, Any]]:
    clean = Cleaner(settings)
    for row in result.rows:
        shown = dict(zip(_NAMES, map(plain, row), strict=False))
        payload, file, at, end = row[len(_NAMES) : len(_NAMES) + 4]
        if file is not None and not (sources.shard / file).exists():
            raise missing(sources.shard / file)
        text = clean.text(sources.shard / file, at, end, shown["url"]) if file is not None else None
        digest = f"sha1:{b32encode(bytes(payload)).decode()}" if payload is not None else None
        yield {**shown, "digest": digest, "text": text, **({"links": row[-1] or []} if links else {})}
