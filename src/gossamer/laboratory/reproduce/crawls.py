"""Crawls of the demonstration Web for section 4.5: run once per strategy, or read from given collections.

They are ordinary crawls (`run`) with politeness, robots.txt and disk. Their folder is removed at the end unless one is
given; a crawl that already exists there is read.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from gossamer.base import disk
from gossamer.base.errors import UsageError
from gossamer.collection.layout import is_collection
from gossamer.collection.runs import settings_of_last_run
from gossamer.crawler.loop import Crawl
from gossamer.crawler.run import CrawlRequest, run
from gossamer.laboratory.bench import Show
from gossamer.laboratory.compare import Crawled, read
from gossamer.manager.strategies import LIVE, strategy_named
from gossamer.observe.statistics import Statistics
from gossamer.webs.demo import DemoWeb
from gossamer.webs.local import served

SHOW_EVERY: Final = 0.2
"""Seconds between reports of progress."""
PATIENCE: Final = 5.0
"""Seconds: pages due later are not awaited."""


class Crawls:
    """The crawls of the demonstration Web, by strategy."""

    def __init__(
        self,
        given: Sequence[Path] = (),
        folder: Path | None = None,
        web: DemoWeb | None = None,
        show: Show | None = None,
        settings: Sequence[str] = (),
    ) -> None:
        """`given`: collections to read; `folder`: where new ones stay; `settings`: further settings, KEY=VALUE."""
        self._given, self._folder, self._web = given, folder, web or DemoWeb()
        self.show, self._settings = show or (lambda what, part: None), settings
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._read: dict[str, Crawled] = {}

    def get(self, strategy: str) -> Crawled:
        if strategy not in self._read:
            self._read[strategy] = read(self._find(strategy) if self._given else self._crawl(strategy))
        return self._read[strategy]

    def collection(self, number: int, web: DemoWeb) -> Path:
        """The folder of a crawl of this Web; or of the given collection of this number, the last one again if there are
        fewer."""
        if self._given:
            return self._given[min(number, len(self._given) - 1)]
        folder = self._place() / f"web-{number}"
        return self._made(folder, web, self._settings, f"crawling a national Web ({number + 1})")

    def _find(self, strategy: str) -> Path:
        policies = {folder: settings_of_last_run(folder).manager.policy for folder in self._given}
        for folder, policy in policies.items():
            if policy == strategy:
                return folder
        said = ", ".join(f"{folder} by {policy}" for folder, policy in policies.items())
        raise UsageError(
            f"none of the collections was crawled with {strategy}: {said}",
            "Name one with --collection, or omit the option to crawl the demonstration Web.",
        )

    def _crawl(self, strategy: str) -> Path:
        changes = (order_of(strategy), *self._settings)
        return self._made(
            self._place() / strategy, self._web, changes, f"crawling the demonstration Web with {strategy}"
        )

    def _made(self, folder: Path, web: DemoWeb, changes: Sequence[str], what: str) -> Path:
        if is_collection(folder):
            return folder
        request = CrawlRequest(folder, serve=partial(served, web), changes=tuple(changes), patience=PATIENCE)
        try:
            crawl(request, self.show, what)
        except KeyboardInterrupt:
            disk.remove(folder)  # the next run would read an unfinished crawl as a finished one
            raise
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
    """The setting that makes a crawl use the strategy."""
    return f"manager.policy={strategy_named(strategy, LIVE).name}"


def crawl(
    request: CrawlRequest,
    show: Show,
    what: str,
    begin: Callable[[Crawl], None] | None = None,
    part: Callable[[], float] | None = None,
) -> Statistics:
    """Runs a crawl and returns its statistics. KeyboardInterrupt after Ctrl-C, which ends the crawl cleanly first."""
    try:
        report = run(request, _Watcher(what, show, part), begin)
    finally:
        gc.unfreeze()  # a run freezes all loaded objects, as it is usually the last thing that a process does
    if report.interrupted:
        raise KeyboardInterrupt
    return report.statistics


class _Watcher:
    """Reports the progress of a crawl to the laboratory: `part`, or the share of the known pages that are done."""

    def __init__(self, what: str, show: Show, part: Callable[[], float] | None) -> None:
        self._what, self._show, self._part = what, show, part
        self._next = 0.0

    def due(self) -> bool:
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + SHOW_EVERY
        return True

    def show(self, statistics: Statistics) -> None:
        pages = statistics.pages
        self._show(self._what, self._part() if self._part else pages.done / max(1, pages.known))

    def doing(self, what: str, part: float | None = None) -> None:
        pass

    def say(self, line: str) -> None:
        pass
