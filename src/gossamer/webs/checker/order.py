"""Sorts a log by the start of requests: servers write a line when an answer ends, but requests are judged in the order
in which they began."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Final

from gossamer.base.errors import UsageError
from gossamer.webs.checker.report import Request

HELD: Final = 50_000
"""Most requests held back: those that end while an earlier one is still on its way. Shorter logs may have any order."""


def by_start(log: Iterable[Request], held: int = HELD) -> Iterator[Request]:
    """The requests in the order in which they began; raises if one comes more than `held` requests too late."""
    heap: list[tuple[float, float, int, Request]] = []
    last = float("-inf")
    for n, request in enumerate(log):
        item = (request.start, request.end, n, request)
        if len(heap) < held:
            heapq.heappush(heap, item)
            continue
        first = heapq.heappushpop(heap, item)
        if first[0] < last:
            raise UsageError(
                f"The log is not in order: {first[3].url} at {first[0]:.3f} comes too late.",
                "Sort the lines by time, or name the logs one by one.",
            )
        last = first[0]
        yield first[3]
    heap.sort()
    for first in heap:
        yield first[3]
