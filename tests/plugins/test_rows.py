"""Rows of plug-ins: values of every type, lines that survive, and faults for everything else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.config.rules import COLUMN_TYPES
from gossamer.plugins.rows import DUCKDB_TYPES, MOST_ROWS, Column, Rows, Table, fault, number_in, value

ALL = Table("all_types", tuple(Column(kind, kind) for kind in COLUMN_TYPES))
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,10}", fullmatch=True)
COLUMNS = st.builds(Column, NAMES, st.sampled_from(COLUMN_TYPES), st.booleans())
VALUES = {
    "text": st.text(),
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "bool": st.booleans(),
    "date": st.datetimes(timezones=st.just(UTC)),
    "url": st.sampled_from(["http://a.example/x", "http://b.example/"]),
}


def join(reference: str) -> str | None:
    return f"http://site.example{reference}" if reference.startswith("/") else reference or None


class Price(NamedTuple):
    price: float
    name: str | None = None


@dataclass
class Data:
    price: float


PRICES = Rows(Table("prices", (Column("price", "float"), Column("name", "text"))))


def made(returned: Any, rows: Rows = PRICES) -> Any:
    return json.loads(rows.json(returned, join) or b"[]")


@given(st.lists(COLUMNS, min_size=1, max_size=5, unique_by=lambda c: c.name), st.data())
@settings(max_examples=60, deadline=None)
def test_rows_survive_their_line(columns: list[Column], data: st.DataObject) -> None:
    table = Table("t", tuple(columns))
    kinds = [st.lists(VALUES[c.type], max_size=3) if c.many else VALUES[c.type] for c in columns]
    drawn = data.draw(st.lists(st.tuples(*(st.none() | kind for kind in kinds)), max_size=4))
    rows = [dict(zip((c.name for c in columns), each, strict=True)) for each in drawn]
    line = table.head + Rows(table).json(rows, join)
    name, said, body = line.split(b"\t")
    assert b"\n" not in line
    assert Table.parse(name.decode(), said.decode()) == table
    found = json.loads(body or b"[]")
    assert len(found) == len(rows)
    for row, values in zip(drawn, found, strict=True):
        for column, before, after in zip(columns, row, values, strict=True):
            if column.type == "date" and before is not None:
                since = [(each - datetime(1970, 1, 1, tzinfo=UTC)) for each in (before if column.many else [before])]
                micro = [each // timedelta(microseconds=1) for each in since]
                before = micro if column.many else micro[0]
            assert after == before


class Evil:
    def __repr__(self) -> str:
        raise RuntimeError("no")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


WILD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.builds(Evil)
    | st.datetimes(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("pricename", max_size=5) | st.integers(), inner)
    ),
    max_leaves=8,
)


@given(WILD, st.sampled_from([PRICES, Rows(ALL), Rows(Table("l", (Column("price", "int", True),)))]))
@settings(max_examples=200, deadline=None)
def test_whatever_a_plug_in_returns_makes_a_line(returned: Any, rows: Rows) -> None:
    """JSON on one line, or an error in words, which makes one."""
    try:
        body = rows.json(returned, join)
    except ValueError as error:
        body = fault(str(error))
        assert isinstance(json.loads(body), str)
    assert b"\n" not in body
    assert b"\t" not in body
    json.loads(body or b"[]")


def test_a_row_is_a_mapping_or_an_object_and_may_lack_columns() -> None:
    def several() -> Iterator[Price]:
        yield Price(1.0)
        yield Price(2.5, "b")

    assert made({"price": 3}) == [[3.0, None]]
    assert made(Price(3.0, "a")) == [[3.0, "a"]]
    assert made(Data(4.0)) == [[4.0, None]]
    assert made(several()) == [[1.0, None], [2.5, "b"]]
    assert made([{"name": "x"}, Data(1.0)]) == [[None, "x"], [1.0, None]]
    assert made(None) == made([]) == []


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ({"cost": 1}, "cost, which is not among its columns"),
        ("text", "returned str"),
        (7, "returned int"),
        ([1], "a row that is a int"),
        ({"price": "cheap"}, "column price: could not convert"),
        ({"price": True}, "column price: True is not a number"),
        ({"name": 3}, "column name: 3 is not a text"),
        (({"price": n} for n in range(MOST_ROWS + 1)), "more than 10000 rows"),
        ({"name": "x" * (1 << 20)}, "bytes; 1048576 are accepted"),
    ],
)
def test_what_does_not_fit_is_said_in_words(returned: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        PRICES.json(returned, join)


def test_values_of_every_type() -> None:
    found = made(
        {"text": b"a\xff", "int": 3.0, "float": 10**3, "bool": False, "date": date(1970, 1, 2), "url": "/x"}, Rows(ALL)
    )
    assert found == [["a\ufffd", 3, 1000.0, False, 86_400_000_000, "http://site.example/x"]]
    zoned = datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=1)))
    assert (
        made({"date": zoned}, Rows(ALL))[0][4] == made({"date": "1970-01-01T01:00"}, Rows(ALL))[0][4] == 3_600_000_000
    )
    assert made({"float": float("nan"), "url": ""}, Rows(ALL)) == [[None] * 6]
    for column, wrong in (("int", 2**63), ("int", 1.5), ("bool", 1), ("date", "soon"), ("date", 3), ("url", 3)):
        with pytest.raises(ValueError, match=f"column {column}"):
            made({column: wrong}, Rows(ALL))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12.50", 12.5),
        ("EUR 1,234.50", 1234.5),
        ("1.234,50 €", 1234.5),
        ("1 234 567", 1234567.0),
        ("1,234", 1234.0),
        ("1.234", 1.234),
        ("0,999", 0.999),
        ("12,5 %", 12.5),
        ("-3", -3.0),
        ("from 1.000.000 on", 1000000.0),
        ("CHF 1'234.–", 1234.0),
        ("£.99", 0.99),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, number: float) -> None:
    assert number_in(text) == number
    assert value("float", text, join) == number


def test_texts_of_a_page_become_values_or_nothing() -> None:
    assert value("text", " a \n b ", join) == "a b"
    assert value("text", " \n", join) is None
    assert value("int", "1,234 reviews", join) == 1234
    assert value("int", "no reviews", join) is None
    assert value("bool", " Yes ", join) is True
    assert value("bool", "perhaps", join) is None
    assert value("date", "1970-01-02", join) == 86_400_000_000
    assert value("date", "yesterday", join) is None
    assert value("url", " /x ", join) == "http://site.example/x"
    assert value("float", "9" * 400, join) is None


@pytest.mark.parametrize(
    ("name", "columns"), [("t", "a:int,b"), ("t", ""), ("../t", "a:int"), ("t", "A:int"), ("T", "a:int")]
)
def test_a_head_that_names_no_table_is_refused(name: str, columns: str) -> None:
    with pytest.raises(ValueError, match=r"are not columns|is not the name"):
        Table.parse(name, columns)


def test_every_type_has_a_type_in_sql() -> None:
    assert tuple(DUCKDB_TYPES) == COLUMN_TYPES
