"""The text that a run prints when it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gossamer.base.ending import Ending
from gossamer.base.outcomes import Aside
from gossamer.base.units import human_size, human_time, plural
from gossamer.collection.layout import shard_folder
from gossamer.observe.account import account, bandwidth_line
from gossamer.observe.statistics import Ended, PageCounts, Statistics

_CURES: Final = {
    Aside.FORBIDDEN_ADDRESS: "for sites of your own: --set harvester.allow_private=true",
    Aside.DELAY_TOO_LONG: "to wait that long: --set harvester.max_delay=1h",
}


@dataclass(frozen=True, slots=True)
class Report:
    """How a run ended."""

    statistics: Statistics
    ending: Ending
    interrupted: bool
    """By Ctrl-C."""
    folder: str
    crawling: Statistics
    """At the end of the crawl itself, before sealing and the image."""

    def lines(self) -> Iterator[str]:
        requests = self.statistics.requests
        yield f"The crawl ended: {self.ending.value}."
        yield f"  {self._this_run()}"
        if self.crawling.run.bandwidth is not None:
            yield f"  {bandwidth_line(self.crawling.run.bandwidth)}"
        yield (
            f"  in all: {plural(requests.visits, 'visit')}, {plural(requests.stored, 'page')} stored,"
            f" {human_size(requests.bytes)} received, {plural(self.statistics.sites.known, 'site')}"
        )
        yield from account(self.statistics.pages, self.statistics.time)
        yield from self._waiting()
        yield from self._next()

    def _this_run(self) -> str:
        run = self.statistics.run
        if not run.visits:
            return f"this run: no visit in {human_time(run.seconds)}"
        each = 1000 * run.resources.cpu_seconds / run.visits
        return (
            f"this run: {plural(run.visits, 'visit')} in {human_time(run.seconds)},"
            f" {each:.2f} ms of processor time per visit"
        )

    def _waiting(self) -> Iterator[str]:
        pages, ended = self.statistics.pages, self.statistics.ended
        if fault := self.statistics.run.names_fault:
            yield f"  Names could not be looked up: {fault}; the same command looks them up when it resumes the crawl."
        for aside, cure in _CURES.items():
            if f"site: {aside.word}" in pages.why.waiting:
                yield f"  {aside.word}: {cure}"
        if pages.known and not self.statistics.requests.visits:
            yield f"  Nothing was ever fetched: {program()} doctor {self.folder} looks for what is wrong here."
        if line := next_line(pages, ended):
            yield f"  {line[0].upper()}{line[1:]}: the same command resumes the crawl."

    def _next(self) -> Iterator[str]:
        if not self.statistics.requests.visits:
            return
        gossamer, shard = program(), shard_folder(Path(self.folder))
        yield "What there is now, and what to try next:"
        yield f"  {shard}/warc/ and cdx/      what came over the wire, and its index: pywb replays it"
        yield f"  {shard}/visits/ and others  Parquet tables, for DuckDB, pandas, Spark"
        yield f"  {gossamer} status {self.folder}"
        yield f"  {gossamer} sql {self.folder} \"select outcome, count(*) from visits where ask = 'page' group by 1\""
        yield f"  {gossamer} explain {self.folder} URL"


def next_line(pages: PageCounts, ended: Ended | None) -> str:
    """What a resumed crawl would begin with. A crawl that ended by itself had nothing due soon, though pages of sites
    that rest for a minute count as pending."""
    if ended is not None and ended.ending == Ending.DONE.value and ended.waits_until:
        return f"the next page is due at {ended.waits_until}"
    if pages.pending:
        return f"{plural(pages.pending, 'page is', 'pages are')} pending"
    return f"the next page is due at {ended.waits_until}" if ended is not None and ended.waits_until else ""


def program() -> str:
    """The command as the user typed it."""
    name = sys.argv[0]
    return "python -m gossamer" if name.endswith("__main__.py") else os.path.relpath(name) if "/" in name else name
