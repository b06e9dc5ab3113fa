"""Open requests, and the bandwidth that their transfers share.

A request first waits for its server (latency), then its bytes flow. All flows together use at most the bandwidth: if
they would use more, all slow down by the same factor. So one clock counts *work*: it runs slower than time while the
bandwidth is full, and a transfer ends when this clock has advanced by the time that the transfer takes alone. Two
heaps, one by time and one by work, give O(log r) per event for any number r of open transfers.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F64, I64, Records
from gossamer.base.compiled import njit

REQUEST: Final = np.dtype([("page", "<u4"), ("site", "<u4"), ("rate", "<f8"), ("flow", "<f8")])
"""`flow`: seconds that its bytes take at `rate` without other transfers."""
_EVENT: Final = np.dtype([("time", "<f8"), ("slot", "<i8")])

NOW, WORK, RATE = 0, 1, 2
"""Indexes of `clocks`: time, work, and the sum of the rates of all flows."""
OPEN, WAITING, FLOWING = 0, 1, 2
"""Indexes of `counts`."""


class Flow(NamedTuple):
    """The arrays of the open requests: their records, the free slots, the two heaps, the clocks and the counts."""

    requests: Records
    free: I64
    waiting: Records
    flowing: Records
    clocks: F64
    counts: I64
    bandwidth: float


def make_flow(connections: int, bandwidth: float) -> Flow:
    return Flow(
        np.zeros(connections, REQUEST),
        np.arange(connections)[::-1].copy(),
        np.zeros(connections, _EVENT),
        np.zeros(connections, _EVENT),
        np.zeros(3),
        np.zeros(3, np.int64),
        float(bandwidth),
    )


@njit
def _push(heap: Records, size: int, time: float, slot: int) -> None:
    i = size
    while i > 0 and heap[(i - 1) // 2].time > time:
        heap[i].time, heap[i].slot = heap[(i - 1) // 2].time, heap[(i - 1) // 2].slot
        i = (i - 1) // 2
    heap[i].time, heap[i].slot = time, slot


@njit
def _pop(heap: Records, size: int) -> int:
    """Removes the first entry of the heap and returns its slot. `size` includes it."""
    first = heap[0].slot
    time, slot = heap[size - 1].time, heap[size - 1].slot
    i, size = 0, size - 1
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and heap[child + 1].time < heap[child].time:
            child += 1
        if heap[child].time >= time:
            break
        heap[i].time, heap[i].slot = heap[child].time, heap[child].slot
        i = child
    heap[i].time, heap[i].slot = time, slot
    return int(first)


@njit
def begin(f: Flow, page: int, site: int, latency: float, rate: float, size: float) -> None:
    slot = f.free[len(f.free) - 1 - f.counts[OPEN]]
    request = f.requests[slot]
    request.page, request.site = page, site
    request.rate = rate if rate < np.inf else 0.0
    request.flow = size / rate
    f.counts[OPEN] += 1
    _push(f.waiting, f.counts[WAITING], f.clocks[NOW] + latency, slot)
    f.counts[WAITING] += 1


@njit
def _pace(f: Flow) -> float:
    """Work per second."""
    return f.bandwidth / f.clocks[RATE] if f.clocks[RATE] > f.bandwidth else 1.0


@njit
def _flow_end(f: Flow) -> float:
    if f.counts[FLOWING] == 0:
        return np.inf
    return float(f.clocks[NOW] + max(0.0, f.flowing[0].time - f.clocks[WORK]) / _pace(f))


@njit
def next_event(f: Flow) -> float:
    first = f.waiting[0].time if f.counts[WAITING] else np.inf
    return float(min(first, _flow_end(f)))


@njit
def move(f: Flow, time: float) -> None:
    """Advances the clocks to `time`, which must not be after the next event."""
    if time > f.clocks[NOW]:
        if f.counts[FLOWING]:
            f.clocks[WORK] += (time - f.clocks[NOW]) * _pace(f)
        f.clocks[NOW] = time


@njit
def take_ended(f: Flow) -> int:
    """The slot of a request that has ended, or -1. The slot is free; its record stays until the next request begins."""
    while f.counts[WAITING] and f.waiting[0].time <= f.clocks[NOW]:
        slot = _pop(f.waiting, f.counts[WAITING])
        f.counts[WAITING] -= 1
        _push(f.flowing, f.counts[FLOWING], f.clocks[WORK] + f.requests[slot].flow, slot)
        f.counts[FLOWING] += 1
        f.clocks[RATE] += f.requests[slot].rate
    if f.counts[FLOWING] == 0 or f.flowing[0].time > f.clocks[WORK] + 1e-12 * max(1.0, f.clocks[NOW]):
        return -1
    slot = _pop(f.flowing, f.counts[FLOWING])
    f.counts[FLOWING] -= 1
    f.clocks[RATE] = f.clocks[RATE] - f.requests[slot].rate if f.counts[FLOWING] else 0.0
    f.counts[OPEN] -= 1
    f.free[len(f.free) - 1 - f.counts[OPEN]] = slot
    return slot
