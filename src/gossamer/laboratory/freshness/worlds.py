"""Worlds of pages that change: times of birth, change and death of each page, generated or read from real histories.

    poisson         each page at its own rate; the logarithms of the rates are normally distributed
    business-hours  the same rates, but four fifths of the changes fall into ten hours of five days
    bursts          changes come in bursts: a burst at a fifth of the rate, of five changes on average, an hour apart
    never           as poisson, but half of the pages, chosen at random, never change
    sites           as poisson, but of sites of fifty pages: half of the spread of the rates is between sites
    history         a file with lines `seconds A|M|T|D name`, tab-separated: what happened to the files of a site

A file of such lines may be compressed with gzip.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64, Bools
from gossamer.base.errors import UsageError

DAY: Final = 86_400.0
KINDS: Final = ("poisson", "business-hours", "bursts", "never", "sites")
OF_SITE: Final = 50
"""Pages of a site of the kind `sites`."""
_HOURS, _SHARE = (9.0, 19.0), 0.8
_BURST, _APART = 5, 3600.0
_KINDS: Final = "AMTD"
"""Added, modified, of another type, deleted: in this order if they happen in the same second."""


@dataclass(frozen=True)
class World:
    """What happens to its pages between 0 and `end`, in seconds."""

    name: str
    births: F64
    """0 for pages that are there at the start."""
    deaths: F64
    """Infinite for pages that stay."""
    page: I64
    """Page of each change, sorted by page and time."""
    time: F64
    end: float
    site: I64 | None = None
    """Site of each page; None: all are of one."""

    @property
    def pages(self) -> int:
        return len(self.births)

    @property
    def rate(self) -> float:
        """Changes per second, of all pages together."""
        return len(self.time) / self.end

    @cached_property
    def _keys(self) -> F64:
        return self.page * (2 * self.end) + self.time

    def next_change(self, pages: I64, times: F64) -> F64:
        """Time of the first change, or of the death, after `times` of each of `pages`; infinite if nothing happens."""
        if not len(self.time):
            return self.deaths[pages].copy()
        at = np.searchsorted(self._keys, pages * (2 * self.end) + times, side="right")
        inside = np.minimum(at, len(self.time) - 1)
        found = np.where((at < len(self.time)) & (self.page[inside] == pages), self.time[inside], np.inf)
        gone = self.deaths[pages]
        first: F64 = np.minimum(found, np.where(gone > times, gone, np.inf))
        return first

    def alive(self, time: float) -> Bools:
        return (self.births <= time) & (self.deaths > time)


def rates_of(pages: int, mean: float, spread: float, seed: int) -> F64:
    """Rates whose logarithms are normally distributed, with this arithmetic mean."""
    drawn: F64 = np.exp(spread * np.random.default_rng(seed).standard_normal(pages))
    drawn *= mean / drawn.mean()
    return drawn


def rates_of_sites(pages: int, mean: float, spread: float, seed: int) -> F64:
    """The same, for pages of sites of `OF_SITE` pages each: half of the variance is between sites."""
    random, sites = np.random.default_rng(seed), -(-pages // OF_SITE)
    logs = np.repeat(random.standard_normal(sites), OF_SITE)[:pages] + random.standard_normal(pages)
    drawn: F64 = np.exp(spread * np.sqrt(0.5) * logs)
    drawn *= mean / drawn.mean()
    return drawn


def generated(kind: str, rates: F64, end: float, seed: int) -> World:
    """A world of one of the generated kinds."""
    random = np.random.default_rng(seed + 1)
    page, time = _poisson(rates / (_BURST if kind == "bursts" else 1), end, random)
    if kind == "business-hours":
        time = _at_work(time, random)
    elif kind == "bursts":
        more = random.geometric(1 / _BURST, len(page))
        page, start = np.repeat(page, more), np.repeat(time, more)
        time = start + random.exponential(_APART, len(page)) * (np.arange(len(page)) - np.repeat(_firsts(more), more))
    elif kind == "never":
        some = random.random(len(rates)) < 0.5
        page, time = page[some[page]], time[some[page]]
    elif kind not in ("poisson", "sites"):
        raise UsageError(f"no world is named {kind!r}", f"Use one of: {', '.join(KINDS)}.")
    kept = time < end
    order = np.lexsort((time[kept], page[kept]))
    nobody = np.full(len(rates), np.inf)
    site = np.arange(len(rates)) // OF_SITE if kind == "sites" else None
    return World(kind, np.zeros(len(rates)), nobody, page[kept][order], time[kept][order], end, site)


def _firsts(counts: I64) -> I64:
    return np.cumsum(counts) - counts


def _poisson(rates: F64, end: float, random: np.random.Generator) -> tuple[I64, F64]:
    counts = random.poisson(rates * end)
    page = np.repeat(np.arange(len(rates)), counts)
    return page, random.random(len(page)) * end


def _at_work(time: F64, random: np.random.Generator) -> F64:
    """Moves `_SHARE` of the changes to business hours of the same week, Monday to Friday."""
    moved = random.random(len(time)) < _SHARE
    week = np.floor(time / (7 * DAY)) * 7 * DAY
    begin, close = _HOURS
    hour = begin + (close - begin) * random.random(len(time))
    return np.where(moved, week + random.integers(0, 5, len(time)) * DAY + hour * 3600, time)


def history(path: Path, days: float) -> World:
    """The last `days` of a real history, or all of it if it is shorter. Raises UsageError with the line that cannot be
    read."""
    events: list[tuple[str, float, str]] = []
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                fields = line.rstrip("\n").split("\t")
                if len(fields) != 3 or fields[1] not in _KINDS or not fields[0].isdigit():
                    raise UsageError(
                        f"{path}: line {number} is not a change: {line.strip()[:80]!r}",
                        "A line is: seconds, a tab, A, M, T or D, a tab, and the name of a page.",
                    )
                events.append((fields[2], float(fields[0]), fields[1]))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}", "Give a file of changes, plain or compressed.") from error
    if not events:
        raise UsageError(f"{path} has no changes", "Give a file of changes, plain or compressed.")
    return _world(path.name.split(".")[0], events, days)


def _world(name: str, events: list[tuple[str, float, str]], days: float) -> World:
    """A page that is deleted and added again is a new page."""
    events.sort(key=lambda each: (each[0], each[1], _KINDS.index(each[2])))
    first, last = (found(time for _, time, _ in events) for found in (min, max))
    start, of = max(first, last - days * DAY), ""
    births, deaths, page, times = list[float](), list[float](), list[int](), list[float]()
    for named, time, what in events:
        if named != of or deaths[-1] < np.inf or (what == "A" and deaths[-1] == np.inf and named != of):
            births.append(max(0.0, time - start))
            deaths.append(np.inf)
            of = named
        elif what != "D":
            page.append(len(births) - 1)
            times.append(time - start)
        if what == "D":
            deaths[-1] = time - start
    kept = np.array(deaths) > 0
    numbers = np.cumsum(kept) - 1
    owner, when = np.array(page, np.int64), np.array(times)
    inside = kept[owner] & (when > 0)
    order = np.lexsort((when[inside], numbers[owner[inside]]))
    owners = numbers[owner[inside]][order]
    return World(name, np.array(births)[kept], np.array(deaths)[kept], owners, when[inside][order], last - start)
