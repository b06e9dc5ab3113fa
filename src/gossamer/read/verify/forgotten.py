"""Checks that what was forgotten is gone: tombstones, rows of forgotten pages, and names of forgotten sites.

The archive is checked with the rest of it (`archive.py`): the place of a forgotten visit must be a blank.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gossamer import urls
from gossamer.base.errors import GossamerError
from gossamer.base.model import VISIT_TEXTS, Reason
from gossamer.collection.forgetting.tombstones import FORGOTTEN, INVALID, read
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import Sources
from gossamer.read.verify.faults import REPORT, Fault, VerifyReport

SHOWN: Final = 20
_AGAIN: Final = "Forget it again: gossamer forget DIR"
_TEXTS: Final = [name for name in VISIT_TEXTS if name not in ("address", "rules", "redirect")]
_SITES: Final = f"select site from stored.sites where name like '%.{INVALID}'"
FORGOTTEN_VISIT: Final = f"(coalesce(p.reason = '{Reason.FORGOTTEN.word}', false) or v.site in ({_SITES}))"
"""SQL: whether a row `v` of visits, with the row `p` of its page, was forgotten."""
_CONTENT: Final = f"""
select v.page, v.site, v.tick from stored.visits v left join stored.pages p on p.page = v.page
where {FORGOTTEN_VISIT} and (v.outcome in ('ok', 'duplicate') or v.length > 0 or v.links > 0 or v.payload is not null
      or v.digest is not null or {" or ".join(f"v.{name} is not null" for name in _TEXTS)})
order by v.tick limit {SHOWN}
"""


def check_unfinished(shard: Path, report: VerifyReport) -> None:
    """Checks the file of tombstones, and that nothing is half forgotten."""
    try:
        forgotten = read(shard)
    except GossamerError as error:
        report.add(Fault(FORGOTTEN, "", error.message, error.cure or REPORT))
        return
    if forgotten:
        report.count("tombstones", len(forgotten.tombstones))
    if forgotten.waiting:
        report.count("orders to forget that wait for the crawl to stop", len(forgotten.waiting))
    for _ in forgotten.unfinished:
        wrong = "something is to be forgotten, and that was not finished"
        report.add(
            Fault(FORGOTTEN, "", wrong, "Finish it: gossamer forget DIR. The next start of the crawl does, too.")
        )


def check_forgotten(sources: Sources, database: Database, report: VerifyReport) -> None:
    """Checks that no page and no site is known that has a tombstone, and that no row tells what was forgotten."""
    try:
        forgotten = read(sources.shard).settled
    except GossamerError:
        return  # reported above
    if forgotten.unfinished:
        return
    if len(forgotten.pages):
        marks = ", ".join(map(str, forgotten.pages.tolist()))
        for page, *_ in database.run(f"select page from stored.pages where fingerprint in ({marks}) limit {SHOWN}"):
            report.add(Fault("pages/", f"page {page}", "its URL has a tombstone, and is still known", _AGAIN))
    if forgotten.sites:
        for site, name in database.run("select site, name from stored.sites where name is not null"):
            if urls.fingerprint(name, forgotten.seed) in forgotten.sites:
                report.add(Fault("sites/", f"site {site}", "its name has a tombstone, and is still known", _AGAIN))
    for page, site, _ in database.run(_CONTENT):
        place = f"site {site}" if page is None else f"page {page}"
        report.add(Fault("visits/", place, "it was forgotten, but this row tells what was fetched", _AGAIN))
