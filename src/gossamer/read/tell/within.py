"""Pages that a watch wants to see more often (`--within`) are asked for again, as by `gossamer again`.

The crawl opens them, and requests them in their turn: robots.txt and all waits are kept as ever. Pages are looked at
ten times within the time of a watch, and ordered two looks before its end: one look may be missed, and the rest is for
the site's turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from gossamer.base.escape import for_sql
from gossamer.collection.layout import shard_folder
from gossamer.collection.lock import holder
from gossamer.collection.watches import Watch
from gossamer.read.steer.again import Filter, again

LEAST: Final = 30.0
"""Seconds between two looks at the pages of a watch, at least."""


class Within:
    """Looks after the watches that say `within`, while a crawl runs."""

    def __init__(self, folder: Path, clock: Callable[[], float]) -> None:
        self._folder, self._clock = folder, clock
        self._next = dict[int, float]()

    def turn(self, watches: Iterable[Watch]) -> int:
        """Opens what is due, and returns how many pages that are."""
        now, opened = self._clock(), 0
        due = [w for w in watches if w.within and self._next.get(w.number, 0.0) <= now]
        if due and not ((desk := holder(shard_folder(self._folder))) and desk.alive):
            return 0
        for watch in due:
            look = max(LEAST, watch.within / 10)
            self._next[watch.number] = now + look
            found = again(self._folder, Filter(older=max(0.0, watch.within - 2 * look), where=condition(watch)))
            opened += len(found.chosen.ended)
        return opened


def condition(watch: Watch) -> str:
    """The pages of a watch, as a condition on the view `pages`."""
    like = f"like {for_sql(watch.sql)} escape '\\'"
    return f"url {like}" if "://" in watch.target else f"site in (select site from sites where name {like})"
