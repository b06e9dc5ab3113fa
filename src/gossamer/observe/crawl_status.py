"""The status of a crawl, running or not, from the file that it last wrote: for `status`, and for the next run."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gossamer.base.errors import GossamerError
from gossamer.collection.layout import require_collection, shard_folder
from gossamer.collection.lock import holder
from gossamer.collection.runs import STANDING, read_status
from gossamer.collection.watches import Standing, Watch, failing
from gossamer.observe.statistics import Statistics

KILLED: Final = "it was killed; `gossamer crawl` resumes from the last commit, and `gossamer verify` checks it"


@dataclass(frozen=True, slots=True)
class CrawlStatus:
    statistics: Statistics
    """As last written."""
    running: bool
    """Whether the crawl runs now."""
    pid: int | None
    untold: tuple[tuple[Watch, Standing], ...] = ()
    """Watches whose messages have failed for a day."""

    @property
    def ending(self) -> str:
        """How the last run ended that wrote its statistics; empty if it has not ended."""
        if self.statistics.ended is not None:
            return self.statistics.ended.ending
        return "" if self.running else KILLED

    def to_json(self) -> dict[str, Any]:
        found = self.statistics.to_json() | {"running": self.running, "pid": self.pid}
        if self.untold:
            found["untold"] = [
                {"watch": w.number, "target": w.target, "since": s.since, "error": s.error} for w, s in self.untold
            ]
        return found | {"ending": self.ending} if self.ending else found


def read_crawl_status(folder: Path) -> CrawlStatus:
    require_collection(folder)
    shard = shard_folder(folder)
    try:
        statistics = Statistics.from_json(read_status(shard))
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        why = "the crawl never ran for a second" if missing else "it is damaged; the next run writes it again"
        raise GossamerError(
            f"{folder} has no readable {STANDING}: {why}", f"Start or resume the crawl: gossamer crawl {folder}"
        ) from error
    desk = holder(shard)
    running, pid = desk is not None and desk.alive, None if desk is None else desk.pid
    return CrawlStatus(statistics, running, pid, failing(folder, time.time()))


def last_statistics(shard: Path) -> Statistics:
    """What the last run wrote, for a run that resumes; empty if that cannot be read: nothing depends on it."""
    try:
        return Statistics.from_json(read_status(shard))
    except (OSError, ValueError):
        return Statistics()
