"""The last requests of a journal: what is skipped is what a whole reading would give."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gossamer.collection.journal import records
from gossamer.collection.journal.records import Kind, Mark

STEPS = st.lists(st.sampled_from("eem"), max_size=30)


@given(STEPS, st.integers(0, 9), st.integers(1, 4), st.binary(max_size=9))
def test_the_newest_committed_effects_are_those_of_a_whole_reading(
    steps: list[str], looks: int, most: int, torn: bytes
) -> None:
    """Also in several looks, each from where the last one ended."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "journal"
        path.write_bytes(records.header(0, 1, 7))
        tick, until, seen = 0, 0, list[bytes]()
        for i, step in enumerate(steps):
            if step == "e":
                tick += 1
                record = records.encode(Kind.EFFECTS, tick.to_bytes(8, "little") + b"x" * tick, 7)
            else:
                record = records.encode(Kind.MARK, Mark(tick, tick).encode(), 7)
            with path.open("ab") as file:
                file.write(record)
            if i % 10 == looks:
                bodies, until = records.newest(path, until, 100)
                seen += bodies
        with path.open("ab") as file:
            file.write(torn)
        bodies, _ = records.newest(path, until, 100)
        read = list(records.read(path))
        last = max((Mark.decode(r.body).record for r in read if r.kind is Kind.MARK), default=0)
        whole = [r.body for r in read if r.kind is Kind.EFFECTS and r.number <= last]
        assert seen + bodies == whole
        assert records.newest(path, 0, most)[0] == whole[-most:]
