"""The known-page table: python -m bench.table [greatest number of entries, default 10^7]

Fingerprints are random, in batches as a tick has them. ns are of processor time; `bytes` is what the process grew by,
for each entry.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import psutil

from gossamer.desk.table import Table

BATCH = 2_000


def per_item(table: Table, keys: np.ndarray, numbers: np.ndarray | None = None) -> float:
    """ns of processor time for each of `keys`: looked up, or added with its number."""
    start = time.process_time()
    for at in range(0, len(keys), BATCH):
        if numbers is None:
            table.find(keys[at : at + BATCH])
        else:
            table.add(keys[at : at + BATCH], numbers[at : at + BATCH])
    return (time.process_time() - start) / len(keys) * 1e9


def main(most: int) -> None:
    rng = np.random.default_rng(1)
    process = psutil.Process()
    small = Table(1_000)
    small.add(np.arange(1, 9, dtype=np.uint64), np.arange(8, dtype=np.uint32))
    small.find(np.arange(1, 9, dtype=np.uint64))
    print(f"{'entries':>12} {'add ns':>8} {'find ns':>8} {'miss ns':>8} {'bytes':>6}")
    entries = 100_000
    while entries <= most:
        keys = rng.integers(1, 2**64, entries, dtype=np.uint64)
        numbers = np.arange(entries, dtype=np.uint32)
        asked, unknown = rng.permutation(keys)[:1_000_000], rng.integers(1, 2**64, min(entries, 10**6), dtype=np.uint64)
        before = process.memory_info().rss
        table = Table(entries)
        add = per_item(table, keys, numbers)
        grown = (process.memory_info().rss - before) / entries
        find, miss = per_item(table, asked), per_item(table, unknown)
        print(f"{entries:>12,} {add:>8.0f} {find:>8.0f} {miss:>8.0f} {grown:>6.1f}")
        del table
        entries *= 10


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000)
