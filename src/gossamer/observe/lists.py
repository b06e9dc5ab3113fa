"""Questions about many pages or sites at once, which the desk of a running crawl answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.observe.status import Said, sites_aside

if TYPE_CHECKING:
    from gossamer.collection.store import Store
    from gossamer.desk.desk import Desk

MOST: Final = 1_000
"""Rows of an answer."""


class Lists:
    """It only reads, in any thread."""

    def __init__(self, desk: Desk, store: Store) -> None:
        self._desk, self._store = desk, store

    def answer(self, question: Said, wall: float) -> Said | None:
        """None if the question is of another kind."""
        if "aside" in question:
            return {"wall": wall, "aside": sites_aside(self._desk.columns.site, wall)}
        if "urls" in question:
            return {"wall": wall, "urls": self._urls([int(page) for page in question["urls"][:MOST]])}
        return None

    def _urls(self, pages: list[int]) -> list[str]:
        known = self._desk.columns.page.count
        return [text.decode() for text in self._store.urls([page for page in pages if page < known])]
