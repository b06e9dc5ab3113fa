"""Which page is to blame when a worker dies, and when deaths are too many to go on.

The page that the worker was gathering is *suspected*: it is requested alone the next time, and if it kills again, that
is its outcome. There may be two, one in the worker's loop and one in its background thread: then both are suspected.
When the worker died without gathering anything, the page is not known: a page that was under way at `WITNESSED` such
deaths comes back as WORKER_LOST.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from typing import Final

from gossamer.base.model import Assignment, Outcome

MOST_DEATHS: Final = 10
"""Deaths within a minute for which no page is to blame; more than that is no accident."""
WITNESSED: Final = 3


class Blame:
    """What is remembered about pages that were in the hands of dying workers, by URL."""

    def __init__(self) -> None:
        self._suspects: set[bytes] = set()
        """Pages that killed a worker once."""
        self._witnesses: dict[bytes, int] = {}
        """Pages that were under way when workers died for no known reason, and how often."""
        self._deaths: deque[float] = deque(maxlen=MOST_DEATHS)

    def suspects(self, url: bytes) -> bool:
        return url in self._suspects

    def acquit(self, url: bytes) -> None:
        """The page ran alone, and its worker lives."""
        self._suspects.discard(url)

    def outcomes(
        self, under_way: Collection[Assignment], gathered: Collection[int]
    ) -> Iterator[tuple[Assignment, Outcome]]:
        """What becomes of the assignments of a dead worker; `gathered`: the numbers of the pages it was gathering."""
        for assignment in under_way:
            if assignment.number not in gathered:
                lost = not gathered and self._too_often(assignment.url)
                yield assignment, Outcome.WORKER_LOST if lost else Outcome.RETURNED
            elif assignment.alone:
                self._suspects.discard(assignment.url)
                yield assignment, Outcome.WORKER_DIED
            else:
                self._suspects.add(assignment.url)
                yield assignment, Outcome.RETURNED

    def _too_often(self, url: bytes) -> bool:
        """Whether the page was under way at too many deaths for chance; counts this one."""
        times = self._witnesses.pop(url, 0) + 1
        if times < WITNESSED:
            self._witnesses[url] = times
        return times >= WITNESSED

    def too_many_deaths(self, now: float) -> bool:
        """Counts a death for which no page is to blame. True: it is one too many within a minute."""
        too_many = len(self._deaths) == MOST_DEATHS and now - self._deaths[0] < 60
        self._deaths.append(now)
        return too_many
