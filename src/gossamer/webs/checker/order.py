"""Servers write a line when an answer ends; judged is in the order in which requests began."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Final

from gossamer.base.errors import UsageError
from gossamer.webs.checker.report import Request

HELD: Final = 50_000
"""Requests that are held back at most: whatever ended while one was on its way. Shorter logs may have any order."""


def by_start(log: Iterable[Request], held: int = HELD) -> Iterator[Request]:
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
                f"The log is not in order: {first[3].url} at {first[0]:.3f} stands too late.",
                "Sort the lines by time, or name the logs one by one.",
            )
        last = first[0]
        yield first[3]
    heap.sort()
    for first in heap:
        yield first[3]
