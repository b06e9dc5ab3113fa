"""The plan: the best `batch_size` of all known pages, with at most `per_site` pages of one site (thesis 7.2.1).

It is exact: the best `per_site` pages of each site that may be planned, and the best `batch_size` of these. Pages are
ordered by a *key* that no two pages share: score << 32 | order of discovery. `profit` computes which pages may be
planned, and their scores.

One pass over the columns appends keys to a buffer. A full buffer is sorted and *trimmed*: the caps are applied, the
best `batch_size` keys stay, and from then on the pass drops keys that are no better than the last key that stayed, or
than the last key of a site that reached its cap. Both bounds only rise, and neither can drop a page of the result,
because more pages could only raise them further. So the pass is exact by itself. A random sample of some 30,000 pages
gives initial bounds, low enough to be almost surely right; if they are wrong, the pass is repeated without them. That
saves sorting when better pages come later, and when one site has millions of pages.

The plan is made in a background thread (kernels and sorts release the GIL) and never writes columns. Changes that the
loop makes meanwhile do no harm: the site queue checks each page again when its turn comes.

Cost at 10^7 known pages: see `bench/plan.py`. Memory: 8 bytes for each of 4 x `batch_size` pages, 20 for each site.

Refused: sorting all pages (1 s at 10^7); a heap for each site that every link updates (16 bytes per page, and a cache
miss per link); fixed buckets of scores (not exact, and cash spreads over 18 decimal places).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.base.arrays import F32, F64, I64, U8, U32, U64, Bools
from gossamer.base.askable import is_suspended
from gossamer.base.compiled import inlined, njit
from gossamer.desk.columns import Columns
from gossamer.manager.policies import PageArrays, pages_of
from gossamer.manager.profit import CLOSED, appraise
from gossamer.manager.slices import by_site
from gossamer.manager.steer import SAMPLE, Steering, columns_of, sampled, scale_of
from gossamer.manager.strategies import Strategy
from gossamer.manager.value import Terms, Value, terms_of

_LOW, _NEVER = np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFFFFFFFFFF)
_BUFFER = 1 << 16
CHUNK: Final = 1 << 12
"""Number of pages that are appraised at a time."""
_DEFAULT: Final = Value()


@dataclass(frozen=True, slots=True)
class Plan:
    """An order for the site queue: `pages[offsets[i]:offsets[i + 1]]` are the pages of `sites[i]`, best first."""

    sites: U32
    offsets: I64
    pages: U32
    ranks: U32
    """Rank of each page in the whole plan: 0 is best."""
    seconds: float
    """Time that it took to make the plan."""
    candidates: int
    """Number of pages that could be requested, those of suspended sites included."""
    index_value: float
    """V(I), the sum of the values of its pages."""
    index_pages: int
    """Number of pages in the index."""
    again: int = 0
    """In a continuous crawl: how many of the candidates were fetched before."""
    scale: float = 0.0
    """In a continuous crawl: the scale of re-visits."""


def make_plan(
    columns: Columns,
    policy: Strategy,
    wall: float,
    batch_size: int,
    per_site: int,
    horizon: float = np.inf,
    value: Value = _DEFAULT,
    issued: int = 0,
    steering: Steering | None = None,
    only: Sequence[int] = (),
) -> Plan:
    """Makes a plan. Suspended sites have no pages in it: their Crawl-delay is too long, or they back off until after
    `wall + horizon`. `issued` is all cash given out (`value.TOTAL`). `steering` finds the scale of re-visits in a
    continuous crawl; without it, that of the last plan is used. `only`: pages of these sites alone."""
    start = time.perf_counter()
    page, site = columns.page, columns.site
    known, sites = page.count, site.count
    pages, terms = pages_of(columns), terms_of(columns, policy.code, value, issued, wall)
    suspended = is_suspended(site.refused[:sites], site.next[:sites], wall + horizon)
    if only:
        suspended |= ~np.isin(np.arange(sites), only)
    if steering is not None:
        terms = terms.scaled(scale_of(pages, known, suspended, terms, batch_size, steering))
    selection = _Selection(pages, known, suspended, terms, batch_size, max(1, per_site))
    keys = selection.run()
    slices = by_site(keys, page.origin, columns.origin.site, sites)
    worth, count, again = selection.index.tolist()
    seconds = time.perf_counter() - start
    return Plan(*slices, seconds, selection.candidates, worth, int(count), int(again), terms.again.scale)


class _Selection:
    """The state of one pass. `floor`, and `floors` by site, are the bounds that keys must exceed."""

    def __init__(self, pages: PageArrays, known: int, suspended: Bools, terms: Terms, batch: int, cap: int) -> None:
        self.pages, self.known, self.suspended, self.terms = pages, known, suspended, terms
        self.batch, self.cap = min(batch, known), cap
        self.buffer = np.empty(max(4 * self.batch, _BUFFER), np.uint64)
        self.taken = np.zeros(len(suspended), np.int64)
        self.ways, self.scores = np.empty(CHUNK, np.uint8), np.empty(CHUNK, np.float32)
        self.candidates = 0
        self.index = _nothing()
        """Sum and number of the values of pages in the index, and the number of pages to be fetched again."""

    def run(self) -> U64:
        """The keys of the planned pages, best first."""
        if not self.known or not len(self.suspended):
            return np.zeros(0, np.uint64)
        floor, hints = self._sample()
        keys, last, floors = self._pass(floor, hints)
        if _holds(floor, hints, last, floors, len(keys) == self.batch):
            return keys
        return self._pass(np.uint64(0), self._floors())[0]

    def _floors(self) -> U64:
        return np.where(self.suspended, _NEVER, np.uint64(0))

    def _sample(self) -> tuple[np.uint64, U64]:
        """Initial bounds from a sample: half of the expected ones, or less if the sample is small."""
        floors = self._floors()
        stride = self.known // SAMPLE
        if self.known <= len(self.buffer) or stride < 2:
            return np.uint64(0), floors
        sample = sampled(self.known, stride)
        size = len(sample)
        drawn = columns_of(self.pages, sample)
        ways, scores, keys = np.empty(size, np.uint8), np.empty(size, np.float32), np.empty(size, np.uint64)
        appraise(drawn, self.terms, 0, size, ways, scores, _nothing())
        n = _draw(self.pages, sample, ways, scores, floors, keys)
        best = np.sort(keys[:n])[::-1].copy()
        self.taken[:] = 0
        floor = _estimate(self.pages, best, floors, self.taken, self.batch, self.cap, stride)
        return np.uint64(floor), floors

    def _pass(self, floor: np.uint64, hints: U64) -> tuple[U64, np.uint64, U64]:
        """The selected keys, the final bound, and the final bounds of the sites."""
        floors, at, used, candidates = hints.copy(), 0, 0, 0
        self.index = _nothing()
        pages, terms, known, buffer = self.pages, self.terms, self.known, self.buffer
        into = self.ways, self.scores, self.index
        while True:
            at, used, found = _gather(pages, terms, at, known, floor, floors, buffer, used, *into)
            candidates += found
            buffer[:used].sort()
            self.taken[:] = 0
            used = _trim(pages, buffer, used, floors, self.taken, self.batch, self.cap)
            if used == self.batch > 0:
                floor = max(floor, buffer[used - 1])
            if at == known:
                self.candidates = candidates
                return buffer[:used].copy(), floor, floors


def _holds(floor: np.uint64, hints: U64, last: np.uint64, floors: U64, full: bool) -> bool:
    """Whether the bounds from the sample dropped no page of the result. The general bound dropped none if the plan is
    full. The bound of a site dropped none if the site reached its cap, which raises its bound, or if it lies below the
    last page of a full plan."""
    if not full and floor > 0:
        return False
    unproven = (hints > 0) & (hints != _NEVER) & (floors == hints)
    return not (unproven & (hints > last)).any() if full else not unproven.any()


def _nothing() -> F64:
    return np.zeros(3)


@inlined
def key_of(score: np.float32, page: int) -> np.uint64:
    """The key of a page. Floats become integers of the same order: the sign bit is flipped, and if it was set all other
    bits too."""
    bits = np.float32(score).view(np.int32)
    ordered = np.uint64((np.int64(bits) ^ ((np.int64(bits) >> 31) & 0x7FFFFFFF)) + 0x80000000)
    return (ordered << np.uint64(32)) | (_LOW - np.uint64(page))


@inlined
def _page(key: np.uint64) -> np.int64:
    return np.int64(_LOW - (key & _LOW))


@njit
def _gather(
    pages: PageArrays,
    terms: Terms,
    at: int,
    known: int,
    floor: np.uint64,
    floors: U64,
    buffer: U64,
    used: int,
    ways: U8,
    scores: F32,
    index: F64,
) -> tuple[int, int, int]:
    """Appends keys from page `at` on until the buffer is almost full; returns the next page, the used length of the
    buffer and the number of candidates."""
    origin, site = pages.origin, pages.site
    candidates, least = 0, min(len(ways), len(buffer) // 2)
    while at < known and len(buffer) - used >= least:
        count = min(len(ways), known - at, len(buffer) - used)
        candidates += appraise(pages, terms, at, count, ways, scores, index)
        for i in range(count):
            if ways[i] != CLOSED:
                key = key_of(scores[i], at + i)
                if key > floor and key > floors[site[origin[at + i]]]:
                    buffer[used] = key
                    used += 1
        at += count
    return at, used, candidates


@njit
def _trim(pages: PageArrays, buffer: U64, used: int, floors: U64, taken: I64, batch: int, cap: int) -> int:
    """Turns keys in rising order into the keys that stay, in falling order. Raises the bounds of sites at their cap."""
    for i in range(used // 2):
        buffer[i], buffer[used - 1 - i] = buffer[used - 1 - i], buffer[i]
    n = 0
    for i in range(used):
        if n == batch:
            break
        site = pages.site[pages.origin[_page(buffer[i])]]
        if taken[site] < cap:
            taken[site] += 1
            buffer[n] = buffer[i]
            n += 1
            if taken[site] == cap:
                floors[site] = buffer[i]
    return n


@njit
def _draw(pages: PageArrays, sample: I64, ways: U8, scores: F32, floors: U64, keys: U64) -> int:
    """Fills `keys` with the keys of the pages of a sample that may be planned; returns their number."""
    origin, site = pages.origin, pages.site
    n = 0
    for i in range(len(sample)):
        if ways[i] != CLOSED and floors[site[origin[sample[i]]]] != _NEVER:
            keys[n] = key_of(scores[i], sample[i])
            n += 1
    return n


@njit
def _enough(count: int, stride: int) -> float:
    """Number of sampled pages that almost surely stand for at least `count` pages: four deviations above the mean."""
    expected = count / stride
    return expected + 4 * math.sqrt(expected) + 8


@njit
def _estimate(pages: PageArrays, best: U64, floors: U64, taken: I64, batch: int, cap: int, stride: int) -> np.uint64:
    """Returns the bound for all pages; sets `floors` of sites that have enough pages in the sample to fill their
    cap."""
    wanted, site_wanted = _enough(batch, stride), _enough(cap, stride)
    most = cap / stride
    total = 0.0
    key: np.uint64
    for key in best:
        site = pages.site[pages.origin[_page(key)]]
        total += max(0.0, min(1.0, most - taken[site]))
        taken[site] += 1
        if taken[site] >= site_wanted and floors[site] == 0:
            floors[site] = key
        if total >= wanted:
            return key
    return np.uint64(0)
