"""The tables that processors fill: read from their code in a process of its own, and only ever wider."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from gossamer.base.errors import UsageError
from gossamer.config import loads
from gossamer.config.rules import OWN_TABLES
from gossamer.plugins.find import find
from gossamer.plugins.rows import Column, Table
from gossamer.plugins.schema import checked, tables_of, tables_of_rules
from gossamer.read.sql.columns import VIEWS

CODE = """
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Optional, TypedDict

print("what it prints is not taken for its tables")

class Price(NamedTuple):
    price: float
    tags: list[str]
    seen: datetime | None = None

@dataclass
class Data:
    count: int

class Typed(TypedDict):
    good: Optional[bool]

def prices(page) -> Iterator[Price]:
    return []

class DataRows:
    table = "own_name"
    def __call__(self, page) -> Data | None:
        return None

def typed(page) -> list[Typed]:
    return []

def words(page):
    return None
words.columns = {"a": "text*", "b": float, "c": "url"}

def silent(page):
    return None

def odd(page):
    return None
odd.columns = {"a": "decimal"}

def taken(page):
    return None
taken.columns = {"page": "int"}

def visits(page):
    return None
visits.columns = {"a": "int"}
"""


def tables(folder: Path, *names: str) -> list[Table]:
    (folder / "my.py").write_text(CODE)
    wanted = json.dumps([f"my.py:{name}" for name in names])
    return tables_of(find(loads(f"[plugins]\nprocess = {wanted}").plugins, folder))


def test_columns_are_those_of_the_rows_that_a_processor_names(tmp_path: Path) -> None:
    assert tables(tmp_path, "prices", "DataRows", "typed", "words") == [
        Table.parse("prices", "price:float,tags:text*,seen:date"),
        Table.parse("own_name", "count:int"),
        Table.parse("typed", "good:bool"),
        Table.parse("words", "a:text*,b:float,c:url"),
    ]
    assert tables_of([]) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("silent", "does not say which columns"),
        ("odd", "column a has the type 'decimal'"),
        ("taken", "'page' is a name that Gossamer uses itself"),
        ("visits", "'visits' is a name that Gossamer uses itself"),
        ("nothing", "has no nothing"),
    ],
)
def test_a_processor_without_a_table_is_refused_at_the_start(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        tables(tmp_path, name)


def test_a_processor_that_ends_its_process_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text("import os\nos._exit(3)\n")
    with pytest.raises(UsageError, match="ended with code 3"):
        tables_of(find(loads("[plugins]\nprocess = 'ends.py:x'").plugins, tmp_path))


def test_columns_are_only_added() -> None:
    first, wider = Table.parse("t", "a:int"), Table.parse("t", "b:text,a:int")
    before: list[Mapping[str, str]] = [{}, checked([first], [])]
    assert checked([wider], before) == {"t": "b:text,a:int"}
    before.append(checked([wider], before))
    assert checked([first], before) == {"t": "a:int"}, "a column may be left out"
    for other in ("a:float", "a:int*", "b:url"):
        with pytest.raises(UsageError, match=r"since an earlier run") as raised:
            checked([Table.parse("t", other)], before)
        assert "only added" in raised.value.cure
    with pytest.raises(UsageError, match="two plug-ins fill the table t"):
        checked([first, wider], [])


def test_rules_of_a_table_make_its_columns() -> None:
    rules = loads(
        "".join(
            f'[[extract]]\ntable = "{table}"\ncolumn = "{column}"\n{more}\n'
            for table, column, more in (
                ("t", "a", ""),
                ("u", "x", "many = true"),
                ("t", "b", 'type = "int"'),
                ("t", "a", ""),
            )
        )
    ).plugins.extract
    assert tables_of_rules(rules) == [
        Table("t", (Column("a", "text"), Column("b", "int"))),
        Table("u", (Column("x", "text", True),)),
    ]


def test_every_view_is_a_name_that_plug_ins_cannot_have() -> None:
    assert set(VIEWS) <= OWN_TABLES
