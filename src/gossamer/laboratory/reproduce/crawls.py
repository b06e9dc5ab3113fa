"""Crawls of the demonstration Web for section 4.5: run once for each strategy, here, or read if they are given.

They go through the ordinary crawl (`run`), politeness, robots.txt and disk included, into a folder that stays only if
there is one to write to; a crawl that is there already is read.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from gossamer.base import disk
from gossamer.base.errors import UsageError
from gossamer.collection.layout import is_collection
from gossamer.crawl.run import CrawlRequest, run
from gossamer.laboratory.bench import Show
from gossamer.laboratory.compare import Crawled, read
from gossamer.laboratory.compare.crawled import settings_of
from gossamer.manager.strategies import LIVE, strategy_named
from gossamer.observe.statistics import Statistics
from gossamer.webs.demo import DemoWeb
from gossamer.webs.local import served

PATIENCE: Final = 5.0
"""Seconds: what is due later is left."""


class Crawls:
    def __init__(
        self,
        given: Sequence[Path] = (),
        folder: Path | None = None,
        web: DemoWeb | None = None,
        show: Show | None = None,
        settings: Sequence[str] = (),
    ) -> None:
        """`given`: collections to read; `folder`: where new ones stay; `settings`: more of them, KEY=VALUE."""
        self._given, self._folder, self._web = given, folder, web or DemoWeb()
        self.show, self._settings = show or (lambda what, part: None), settings
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._read: dict[str, Crawled] = {}

    def get(self, strategy: str) -> Crawled:
        if strategy not in self._read:
            self._read[strategy] = read(self._find(strategy) if self._given else self._crawl(strategy))
        return self._read[strategy]

    def _find(self, strategy: str) -> Path:
        policies = {folder: settings_of(folder).manager.policy for folder in self._given}
        for folder, policy in policies.items():
            if policy == strategy:
                return folder
        said = ", ".join(f"{folder} by {policy}" for folder, policy in policies.items())
        raise UsageError(
            f"none of the collections was crawled by {strategy}: {said}",
            "Name one with --collection, or leave it out: then the demonstration Web is crawled.",
        )

    def _crawl(self, strategy: str) -> Path:
        folder = self._place() / strategy
        if is_collection(folder):
            return folder
        watcher = _Watcher(f"crawling the demonstration Web by {strategy}", self.show)
        changes = (order_of(strategy), *self._settings)
        try:
            report = run(
                CrawlRequest(folder, serve=partial(served, self._web), changes=changes, patience=PATIENCE), watcher
            )
        finally:
            gc.unfreeze()  # a run freezes what is loaded, as it is usually the last thing that a process does
        if report.interrupted:
            disk.remove(folder)  # half of a crawl would be taken for a whole one the next time
            raise KeyboardInterrupt
        return folder

    def _place(self) -> Path:
        if self._folder is not None:
            return self._folder
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="gossamer-")
        return Path(self._temporary.name)

    def close(self) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()


def order_of(strategy: str) -> str:
    """The setting that makes a crawl follow it."""
    return f"manager.policy={strategy_named(strategy, LIVE).name}"


class _Watcher:
    """Passes the statistics of the crawl on as progress: the share of known pages that are done."""

    def __init__(self, what: str, show: Show) -> None:
        self._what, self._show = what, show

    def due(self) -> bool:
        return True

    def show(self, statistics: Statistics) -> None:
        self._show(self._what, statistics.pages.done / max(1, statistics.pages.known))

    def say(self, line: str) -> None:
        pass
