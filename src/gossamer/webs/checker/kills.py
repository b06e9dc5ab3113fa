"""Kills of the crawl, and what a killed process can still have learned from an answer.

A killed process learned nothing from an answer that it cannot have read, that ended within 1.5 s before the kill
(commits are a second apart; a busy machine needs more), or that was still on its way. Such an answer *obliges* to
nothing (no Crawl-delay, no Retry-After, no 5xx). It still *permits*, because it may have been committed, and because
only one of several processes may have been killed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from gossamer.webs.checker.report import Request
from gossamer.webs.demo.access import CLIENT_LEFT

UNCOMMITTED: Final = 1.5
AFTERLIFE: Final = 0.1
"""Seconds after a kill in which a server may still read what the dead process had sent; more where it is busy."""
FOREVER: Final = float("inf")


class Kills:
    """The times at which the crawl, or a part of it, was killed, by the clock of the log."""

    def __init__(self, times: Iterable[float], lost: float, afterlife: float) -> None:
        self._times = sorted(times)
        self._lost = lost
        """Seconds before a kill whose answers may be lost."""
        self._afterlife = afterlife

    def cut(self, request: Request) -> Request:
        """A request that was on its way at a kill ended there."""
        first = bisect_left(self._times, request.start - self._afterlife)
        if first == len(self._times) or self._times[first] >= request.end:
            return request
        return replace(request, end=max(request.start, self._times[first]))

    def known_until(self, answer: Request) -> float:
        """The kill at which the crawl may have lost what it learned from the answer; `FOREVER` if there is none."""
        if answer.status == CLIENT_LEFT:
            return -FOREVER
        first = bisect_left(self._times, answer.start - self._afterlife)
        if first == len(self._times) or self._times[first] > answer.end + self._lost:
            return FOREVER
        return self._times[first]

    def is_certain(self, answer: Request) -> bool:
        """Whether the crawl certainly keeps what it learned from the answer."""
        return self.known_until(answer) == FOREVER
