"""Memory of the desk for each page, by what became of it: `python -m bench.page_memory [PAGES]`

A desk with its columns and tables is filled, as far as a crawl would fill them, and the process is weighed after each
step: pages that are only known; then all fetched once, with scores, digests and versions; then all visited again, with
histories and dates. A table takes 15 to 19 bytes for an entry, by how full it is, so the bytes depend on PAGES. Bounds:
64 bytes for a known page without a history, 88 with every page visited.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import numpy as np

from bench.bounds import Figure, judge
from gossamer.base.model import Outcome, State
from gossamer.crawler.parts import new_columns
from gossamer.desk.columns import Columns
from gossamer.desk.table import Table

PAGES: Final = 4_000_000
LATER: Final = ("unchanged", "changed", "compared", "belief", "signals")
"""Columns of pages that were visited again, or dated."""
BOOSTS: Final = ("boost",)
ONCE: Final = ("due", "cash", "merit", "completed", "outcome", "version", "tries")
"""Columns of pages that were fetched, or have scores."""
_AT_ONCE: Final = 100_000


def resident() -> int:
    """Bytes of this process in memory."""
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])


def _fill(columns: Columns, names: set[str], pages: int) -> None:
    for name in names:
        array = getattr(columns.page, name)
        for at in range(0, pages, _AT_ONCE):  # no copy of a whole column
            part = array[at : min(at + _AT_ONCE, pages)]
            part.view(np.uint8)[...] = 1


def _add(table: Table, pages: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    for at in range(0, pages, _AT_ONCE):
        count = min(_AT_ONCE, pages - at)
        keys = random.integers(1, 2**64, count, dtype=np.uint64)
        table.add(keys, np.arange(at, at + count, dtype=np.uint32))


def main() -> None:
    pages = int(float(sys.argv[1])) if len(sys.argv) > 1 else PAGES
    warm = Table(1000)
    _add(warm, 1000, 0)
    columns = new_columns(pages, 1000)
    columns.page.count = pages
    every = set(columns.page.used())
    print(f"columns: {', '.join(sorted(every))}")
    empty = resident()
    _add(columns.known, pages, 1)
    _fill(columns, every - set(ONCE) - set(LATER) - set(BOOSTS), pages)
    known = resident()
    _fill(columns, every & set(ONCE), pages)
    columns.page.state[:pages], columns.page.outcome[:pages] = State.DONE, Outcome.OK
    _add(columns.digests, pages, 2)
    fetched = resident()
    _fill(columns, every & set(LATER), pages)
    again = resident()
    _fill(columns, every & set(BOOSTS), pages)
    boosted = resident()
    judge(
        (
            Figure("a page that is only known", (known - empty) / pages, "bytes", 64),
            Figure("fetched once, with scores", (fetched - empty) / pages, "bytes", 88),
            Figure("visited again, with a history and dates", (again - empty) / pages, "bytes", 88),
        )
    )
    print(f"with boosts: {(boosted - empty) / pages:.1f} bytes")


if __name__ == "__main__":
    main()
