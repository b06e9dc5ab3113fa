"""The tables of plug-ins: made from lines of the journal, whatever these say."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import Texts
from gossamer.collection import layout, manifest
from gossamer.collection.journal.effects import Effects
from gossamer.collection.tables import segments
from gossamer.plugins.rows import Table, fault
from tests.collection.tables.test_segments import sealed
from tests.support.effects_samples import small_effects

PRICES = Table.parse("prices", "price:float,tags:text*")
WIDER = Table.parse("prices", "tags:text*,seen:date,price:float")
OTHER = Table.parse("other", "n:int,u:url,b:bool")


def ticks(*lines: list[bytes]) -> list[Effects]:
    """A tick for each list, with a visit for each of its elements."""
    found = []
    first = 0
    for number, each in enumerate(lines):
        parts = [small_effects(random.Random(i), number + 1, first, time=100.0 + number) for i in range(len(each))]
        e = parts[0] if parts else small_effects(random.Random(0), number + 1, first)
        if parts:
            e.visits = np.concatenate([p.visits for p in parts])
            e.visits["links"] = 0
            e.visits["page"] = np.arange(len(parts)) + 10 * number
            e.visit_texts = b"".join(p.visit_texts for p in parts)
            e.link_targets, e.link_kinds = e.link_targets[:0], e.link_kinds[:0]
            e.link_tags, e.link_positions, e.anchors = e.link_tags[:0], e.link_positions[:0], Texts.join([], "<u2")
            e.visits["seen"], e.seen = 0, b""
            e.rows = Texts.join(each) if any(each) else e.rows
        first += len(e.pages)
        found.append(e)
    return found


def line(table: Table, body: bytes | list[Any]) -> bytes:
    return table.head + (body if isinstance(body, bytes) else json.dumps(body).encode()) + b"\n"


def made(*lines: list[bytes]) -> dict[str, list[dict[str, Any]]]:
    found = segments.tables(ticks(*lines), 0)
    return {name: table.to_pylist() for name, table in found.items() if name.startswith(layout.ROWS)}


def test_rows_are_typed_and_know_their_visit() -> None:
    found = made(
        [line(PRICES, [[9.5, ["a", "b"]], [None, None]]), b"", line(OTHER, [[2**62, "http://x/", True]])],
        [],
        [line(WIDER, [[[], 86_400_000_000, 3]]) + line(PRICES, fault("broken\n\ttwice"))],
    )
    assert [(r["page"], r["tick"], r["price"], r["tags"], r["error"]) for r in found["rows_prices"]] == [
        (0, 1, 9.5, ["a", "b"], None),
        (0, 1, None, None, None),
        (20, 3, 3.0, [], None),
        (20, 3, None, None, "broken twice"),
    ]
    assert found["rows_prices"][2]["seen"].isoformat() == "1970-01-02T00:00:00+00:00"
    assert found["rows_prices"][0]["time"].timestamp() == 100.0
    (other,) = found["rows_other"]
    assert (other["page"], other["n"], other["u"], other["b"]) == (2, 2**62, "http://x/", True)


def test_without_plug_ins_there_is_nothing() -> None:
    assert made([b"", b""], [b""]) == {}
    assert b"rows" not in b"".join(e.encode() for e in ticks([b""]))


BODIES = st.one_of(
    st.just(b'[[1.5,["x"]]]'),
    st.just(fault("it failed")),
    st.sampled_from([b"", b"[", b"[[", b"1", b"null", b"[1,2]", b"[[1]]", b"[],[]", b"\xff", b'{"a":1}', b"[" * 2_000]),
    st.lists(st.lists(st.none() | st.integers() | st.text(max_size=3) | st.lists(st.integers(0, 9)), max_size=3)).map(
        lambda rows: json.dumps(rows).encode()
    ),
)
HEADS = st.sampled_from([PRICES.head, WIDER.head, OTHER.head, b"../up\ta:int\t", b"x\t", b"", b"t\ta:nothing\t"])


@given(st.lists(st.lists(st.lists(st.tuples(HEADS, BODIES), max_size=3), max_size=3), max_size=3))
@settings(max_examples=100, deadline=None)
def test_every_row_and_every_fault_of_a_visit_is_a_row_of_its_table(
    visits: list[list[list[tuple[bytes, bytes]]]],
) -> None:
    visits = visits or [[]]
    lines = [[b"".join(head + body + b"\n" for head, body in each) for each in tick] for tick in visits]
    found = made(*lines)
    assert set(found) <= {"rows_prices", "rows_other"}
    wanted = 0
    for head, body in (pair for tick in visits for each in tick for pair in each):
        if head in (PRICES.head, WIDER.head, OTHER.head):
            try:
                read = json.loads(body)
            except (ValueError, RecursionError):
                read = None
            wanted += len(read) if isinstance(read, list) else 1
    assert sum(map(len, found.values())) == wanted
    for row in (row for rows in found.values() for row in rows):
        values = [value for name, value in row.items() if name not in ("page", "time", "tick", "error")]
        assert row["error"] is None or row["error"]
        assert row["error"] is None or len([v for v in values if v is not None]) < len(values)


def test_sealed_rows_are_a_file_that_the_manifest_names(tmp_path: Path) -> None:
    effects = ticks([line(PRICES, [[9.5, ["a"]]])])
    shard, sealed_line = sealed(tmp_path, effects, 0)
    name = layout.table_name("rows_prices", 1)
    assert sealed_line["files"][name]["rows"] == 1
    assert pq.read_table(shard / name).column("price").to_pylist() == [9.5]
    assert name in layout.segment_files(shard, 1)
    assert manifest.read(shard).meta.shard == 0


@given(st.lists(st.binary(max_size=20), max_size=4))
@settings(max_examples=30, deadline=None)
def test_rows_pass_the_journal_and_are_not_read_back(rows: list[bytes]) -> None:
    (effects,) = ticks(rows or [b""])
    again = Effects.decode(effects.encode())
    assert again.rows.split() == (rows if any(rows) else [])
    assert not again.essential().rows.buffer
    assert again.essential().encode() == effects.essential().encode()
