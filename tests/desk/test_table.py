"""The known-page table, compared with a dictionary."""

from __future__ import annotations

import numpy as np
import psutil
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import NONE
from gossamer.desk.table import SUBTABLES, Table, add_one, find_one

# few sub-tables and few low bits: long runs of used cells, also across the end of a sub-table
fingerprints = st.builds(
    lambda sub, low: sub << 56 | low,
    st.integers(0, 2),
    st.one_of(st.integers(0, 40), st.integers(2**32 - 40, 2**32 - 1), st.integers(0, 2**56 - 1)),
)
batches = st.lists(st.lists(fingerprints, max_size=120), max_size=8)


def u64(values: list[int]) -> np.ndarray:
    return np.array(values, np.uint64)


@settings(max_examples=200, deadline=None)
@given(batches)
def test_a_table_answers_like_a_dictionary(parts: list[list[int]]) -> None:
    table = Table(1_000)
    model: dict[int, int] = {}
    for number, part in enumerate(parts):
        numbers = np.arange(1000 * number, 1000 * number + len(part), dtype=np.uint32)
        known = [model.get(max(1, f), NONE) for f in part]  # 0 is stored as 1
        assert table.find(u64(part)).tolist() == known
        table.add(u64(part), numbers)
        for fingerprint, value in zip(part, numbers.tolist(), strict=True):
            model.setdefault(max(1, fingerprint), value)
        assert table.find(u64(part)).tolist() == [model[max(1, f)] for f in part]
    assert len(table) == len(model)
    again = Table(1_000)
    for from_, to in zip(table.cells(), again.restore(table.arrays.capacity, table.arrays.used), strict=True):
        to[:] = from_
    keys = list(model)
    assert len(again) == len(model)
    assert again.find(u64(keys)).tolist() == [model[key] for key in keys]


@settings(max_examples=50, deadline=None)
@given(st.lists(fingerprints, min_size=1, max_size=60))
def test_adding_one_at_a_time_equals_adding_many(part: list[int]) -> None:
    one, many = Table(1_000), Table(1_000)
    many.add(u64(part), np.arange(len(part), dtype=np.uint32))
    for number, fingerprint in enumerate(part):
        before = find_one(one.arrays, np.uint64(fingerprint))
        after = add_one(one.arrays, np.uint64(fingerprint), np.uint32(number))
        assert after == (number if before == NONE else before)
    one.give_back()
    assert one.find(u64(part)).tolist() == many.find(u64(part)).tolist()


def test_a_full_table_finds_everything_and_nothing_else() -> None:
    rng = np.random.default_rng(1)
    limit = 300_000
    keys, others = rng.integers(1, 2**64, limit, dtype=np.uint64), rng.integers(1, 2**64, limit, dtype=np.uint64)
    numbers = np.arange(limit, dtype=np.uint32)
    table = Table(limit)
    for at in range(0, limit, 5_000):
        table.add(keys[at : at + 5_000], numbers[at : at + 5_000])
    assert (table.find(keys) == numbers).all()
    assert (table.find(others) == NONE).all()
    assert len(table) == limit


def test_an_entry_costs_less_than_twenty_bytes_and_arrays_never_move() -> None:
    rng = np.random.default_rng(2)
    entries, step = 1_000_000, 20_000
    keys = rng.integers(1, 2**64, entries, dtype=np.uint64)
    numbers = np.arange(entries, dtype=np.uint32)
    table = Table(entries)
    table.add(keys[:10], numbers[:10])
    place, before = table.arrays.cells.ctypes.data, psutil.Process().memory_info().rss
    peak = 0
    for at in range(0, entries, step):
        table.add(keys[at : at + step], numbers[at : at + step])
        peak = max(peak, psutil.Process().memory_info().rss - before)
    assert table.arrays.cells.ctypes.data == place
    assert peak < 20 * entries + 2 * SUBTABLES * 4096
