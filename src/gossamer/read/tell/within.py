"""Pages that a watch wants to see more often (`--within`) are asked for again, as by `gossamer again`.

The crawl opens them, and requests them in their turn: robots.txt and all waits are kept as ever. An order comes when
nine tenths of the time have passed, so that the visit is made within it, if the site's turn allows that.
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

SHARE: Final = 0.9
"""Part of the time after which a page is asked for again."""
LEAST: Final = 30.0
"""Seconds between two looks at the pages of a watch; a tenth of its time if that is longer."""


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
            self._next[watch.number] = now + max(LEAST, watch.within / 10)
            found = again(self._folder, Filter(older=SHARE * watch.within, where=condition(watch)))
            opened += len(found.chosen.ended)
        return opened


def condition(watch: Watch) -> str:
    """The pages of a watch, as a condition on the view `pages`."""
    like = f"like {for_sql(watch.sql)} escape '\\'"
    return f"url {like}" if "://" in watch.target else f"site in (select site from sites where name {like})"
