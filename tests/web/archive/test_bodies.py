"""The index of archived bodies: compared with a model, across processes, and while it is being written."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import VISIT, VisitFlag
from gossamer.web.archive.bodies import LEAST, SETS, WAYS, Payloads, keys_of

Entry = tuple[int, int, int]
"""Key, file, offset."""


@pytest.fixture
def table() -> Iterator[Payloads]:
    made = Payloads()
    yield made
    made.close()


def sha1(number: int) -> bytes:
    return hashlib.sha1(b"%d" % number).digest()


def keys(*digests: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return keys_of(np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 20))


def publish(table: Payloads, entries: list[Entry]) -> None:
    columns = np.array(entries, np.uint64).reshape(-1, 3).T
    table.publish(columns[0], columns[1].astype(np.uint16), columns[2])


def digest(key: int) -> bytes:
    return key.to_bytes(8, "little") + bytes(12)


def test_what_was_published_is_found(table: Payloads) -> None:
    digests = [sha1(i) for i in range(5000)]
    files, offsets = np.arange(5000) % 65536, np.arange(5000) * 10_000_000_019 + 1
    table.publish(keys(*digests), files, offsets)
    assert [table.find(each) for each in digests] == list(zip(files.tolist(), offsets.tolist(), strict=True))
    assert all(table.find(sha1(i)) is None for i in range(5000, 6000))


def test_an_empty_table_and_an_empty_batch_find_nothing(table: Payloads) -> None:
    assert table.find(sha1(1)) is None
    assert table.find(bytes(20)) is None
    publish(table, [])
    publish(table, [(0, 3, 44)])
    assert table.find(bytes(20)) is None


def test_the_largest_file_number_and_offset_come_back(table: Payloads) -> None:
    publish(table, [(7, 65535, 2**48 - 1), (8, 0, 1)])
    assert table.find(digest(7)) == (65535, 2**48 - 1)
    assert table.find(digest(8)) == (0, 1)


def test_bytes_of_two_neighbouring_keys_are_no_key(table: Payloads) -> None:
    """The eight bytes lie across two keys of their set; later they are a key of their own after those."""
    left, right = b"\x05\0\0\0\0\x05\0\0", b"\x05\0\0\x07\x09\x01\x02\x03"
    sought = (left + right)[5:13]
    numbers = [int.from_bytes(each, "little") for each in (left, right, sought)]
    assert {number % SETS for number in numbers} == {5}
    publish(table, [(numbers[0], 1, 1), (numbers[1], 2, 2)])
    assert table.find(sought + bytes(12)) is None
    publish(table, [(numbers[2], 3, 3)])
    assert table.find(sought + bytes(12)) == (3, 3)


def test_within_a_set_the_oldest_gives_way(table: Payloads) -> None:
    entries = [(5 + SETS * i, i, i + 1) for i in range(WAYS + 3)]
    for entry in entries:
        publish(table, [entry])
    found = [table.find(digest(key)) for key, _, _ in entries]
    assert found == [None] * 3 + [(file, offset) for _, file, offset in entries[3:]]


ENTRIES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 65535), st.integers(1, 2**48 - 1)), max_size=40)


@given(st.lists(ENTRIES, max_size=6))
@settings(max_examples=150, deadline=None)
def test_batches_have_the_same_effect_as_in_a_plain_model(batches: list[list[Entry]]) -> None:
    """Keys of three sets, many of them repeated, and more in a batch than a set has entries."""
    table = Payloads()
    model: list[deque[Entry]] = [deque(maxlen=WAYS) for _ in range(3)]
    for batch in batches:
        entries = [((key // 3 * SETS) + key % 3, file, offset) for key, file, offset in batch]
        publish(table, entries)
        before = [{key for key, _, _ in queue} for queue in model]
        seen: set[int] = set()
        for key, file, offset in entries:
            queue = key % SETS
            if key and key not in before[queue] and key not in seen:
                model[queue].append((key, file, offset))
            seen.add(key)
    expected = {key: (file, offset) for queue in model for key, file, offset in queue}
    every = [(key // 3 * SETS) + key % 3 for key in range(41)]
    assert {key: found for key in every if (found := table.find(digest(key)))} == expected
    table.close()


def test_a_visit_is_published_if_its_body_was_archived_in_full(table: Payloads) -> None:
    visits = np.zeros(5, VISIT)
    for i in range(5):
        visits["payload"][i] = np.frombuffer(sha1(i), np.uint8)
    visits["flags"] = VisitFlag.STORED
    visits["length"], visits["warc_file"], visits["warc_offset"], visits["warc_end"] = 9000, 3, 700, 9700
    visits["flags"][1] |= VisitFlag.REPEATED
    visits["flags"][2] = 0
    visits["length"][3] = LEAST - 1
    visits["warc_end"][4] = 0
    table.publish_visits(visits)
    assert [table.find(sha1(i)) for i in range(5)] == [(3, 700), None, None, None, None]


def test_another_process_sees_entries_published_after_it_began(table: Payloads) -> None:
    code = "import sys; from gossamer.web.archive.bodies import Payloads; t = Payloads(int(sys.argv[1]))\n"
    code += "for line in sys.stdin: print(t.find(bytes.fromhex(line)), flush=True)"
    command = [sys.executable, "-c", code, str(table.fileno())]
    with subprocess.Popen(
        command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[table.fileno()]
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        answers = []
        for _ in range(2):
            reader.stdin.write(sha1(1).hex() + "\n")
            reader.stdin.flush()
            answers.append(reader.stdout.readline())
            table.publish(keys(sha1(1)), np.array([4]), np.array([55]))
        reader.stdin.close()
    assert answers == ["None\n", "(4, 55)\n"]


def test_publishing_after_close_does_nothing() -> None:
    table = Payloads()
    table.close()
    publish(table, [(7, 1, 1)])
    table.close()
    assert table.fileno() == -1


def test_a_reader_cannot_write(table: Payloads) -> None:
    reader = Payloads(table.fileno())
    with pytest.raises(TypeError, match="readonly"):
        reader._memory[:8] = bytes(8)
    reader.close()


READER = f"""
import sys
from gossamer.web.archive.bodies import Payloads
table, hits, wrong = Payloads(int(sys.argv[1])), 0, 0
wanted = [(5 + {SETS} * i, i) for i in range(1, 64)]
digests = [(key.to_bytes(8, "little") + bytes(12), (i, key)) for key, i in wanted]
print(flush=True)
while table.find(b"end".ljust(20)) is None:
    for digest, expected in digests:
        found = table.find(digest)
        hits += found == expected
        wrong += found not in (None, expected)
print(hits, wrong)
"""


def test_a_reader_never_sees_a_key_with_the_value_of_another(table: Payloads) -> None:
    """All keys compete for one set while another process reads; a value tells which key it belongs to."""
    command = [sys.executable, "-c", READER, str(table.fileno())]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, pass_fds=[table.fileno()]) as reader:
        assert reader.stdout is not None
        reader.stdout.readline()
        for turn in range(6_000):
            number = 1 + turn % 63
            publish(table, [(5 + SETS * number, number, 5 + SETS * number)])
        publish(table, [(int.from_bytes(b"end     ", "little"), 1, 1)])
        hits, wrong = map(int, reader.stdout.readline().split())
    assert hits > 0
    assert wrong == 0


def test_the_memory_does_not_grow(table: Payloads) -> None:
    dice = np.random.default_rng(1)
    for _ in range(20):
        fresh = dice.integers(1, 2**64, 100_000, np.uint64)
        table.publish(fresh, np.zeros(100_000, np.uint16), np.arange(1, 100_001))
    assert os.fstat(table.fileno()).st_size == 2 * 8 * SETS * WAYS
    recent = sum(table.find(digest(int(key))) is not None for key in fresh[:2000])
    assert recent > 1990
