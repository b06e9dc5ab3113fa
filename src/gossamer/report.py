"""What a run says when it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gossamer.accounting import account, bandwidth_line
from gossamer.base.ending import Ending
from gossamer.base.outcomes import Aside
from gossamer.base.units import human_size, human_time, plural
from gossamer.collection.layout import shard_folder

_CURES: Final = {
    Aside.FORBIDDEN_ADDRESS: "for sites of your own: --set harvester.allow_private=true",
    Aside.DELAY_TOO_LONG: "to wait that long: --set harvester.max_delay=1h",
}


@dataclass(frozen=True, slots=True)
class Report:
    figures: dict[str, Any]
    ending: Ending
    interrupted: bool
    folder: str
    crawling: dict[str, Any]
    """Figures at the end of the crawl itself, before sealing and the image."""

    def lines(self) -> Iterator[str]:
        f = self.figures
        yield f"The crawl ended: {self.ending.value}."
        yield f"  {self._of_this_run()}"
        if self.crawling.get("bandwidth"):
            yield f"  {bandwidth_line(self.crawling['bandwidth'])}"
        yield (
            f"  in all: {plural(f['visits'], 'visit')}, {plural(f['stored'], 'page')} stored,"
            f" {human_size(f['bytes'])}, {plural(f['sites'], 'site')}"
        )
        yield from account(f, f["time"])
        yield from self._waiting()
        yield from self._next()

    def _of_this_run(self) -> str:
        visits, seconds = self.figures["run_visits"], self.figures["seconds"]
        if not visits:
            return f"this run: no visit in {human_time(seconds)}"
        each = 1000 * self.figures["cpu_seconds"] / visits
        return f"this run: {plural(visits, 'visit')} in {human_time(seconds)}, {each:.2f} ms of processor time a visit"

    def _waiting(self) -> Iterator[str]:
        f = self.figures
        if f.get("names_fault"):
            yield f"  Names could not be looked up: {f['names_fault']}; they are when the same command goes on."
        for aside, cure in _CURES.items():
            if f"site: {aside.word}" in f["why"]["waiting"]:
                yield f"  {aside.word}: {cure}"
        if f["pending"]:
            yield f"  {plural(f['pending'], 'page')} may be asked for at once: the same command goes on."
        elif f["waits_until"]:
            yield f"  What waits is due from {f['waits_until']} on; the same command then goes on."

    def _next(self) -> Iterator[str]:
        if not self.figures["visits"]:
            return
        gossamer, shard = program(), shard_folder(Path(self.folder))
        yield "What there is now, and what to try next:"
        yield f"  {shard}/warc/ and cdx/      what came over the wire, and its index: pywb replays it"
        yield f"  {shard}/visits/ and others  Parquet tables, for DuckDB, pandas, Spark"
        yield f"  {gossamer} status {self.folder}"
        yield f"  {gossamer} sql {self.folder} \"select outcome, count(*) from visits where ask = 'page' group by 1\""
        yield f"  {gossamer} explain {self.folder} URL"


def program() -> str:
    """The command as the user typed it."""
    name = sys.argv[0]
    return "python -m gossamer" if name.endswith("__main__.py") else os.path.relpath(name) if "/" in name else name
