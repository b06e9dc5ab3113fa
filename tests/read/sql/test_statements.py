"""`gossamer sql` only reads: every way to write, to read files, to load, to attach or to call out is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Final

import duckdb
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from bench.verify import Made, Maker
from gossamer.base.errors import UsageError
from gossamer.config import Settings
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.read.sql.statements import FUNCTIONS, only_query

WRITES: Final = (
    "copy (select 1) to '{to}'",
    "copy (select 1) to '{file}' (format parquet, use_tmp_file false)",
    "copy pages to '{to}' (format csv)",
    "insert into stored.aside values (1, 'x', 1) returning site",
    "update stored.aside set site = 1 returning site",
    "delete from stored.aside returning site",
)
"""Statements that write, and that DuckDB accepts as a CTE."""
STATEMENTS: Final = (
    *WRITES,
    "merge into stored.aside using pages on false when not matched then insert values (1, 'x', 1)",
    "create table x as select 1",
    "create view x as select 1",
    "create temp table x as select 1",
    "create macro x() as 1",
    "create sequence x",
    "create type x as enum ('a')",
    "create schema x",
    "create secret x (type s3)",
    "drop view pages",
    "drop schema stored cascade",
    "alter table stored.aside add column x integer",
    "truncate stored.aside",
    "attach '{to}' as y",
    "attach ':memory:' as y",
    "detach memory",
    "use stored",
    "set threads = 1",
    "set global allowed_directories = ['/']",
    "set variable x = 1",
    "reset enable_external_access",
    "pragma memory_limit = '1GB'",
    "pragma enable_profiling",
    "call pragma_version()",
    "call enable_logging(storage = 'file', storage_path = '{to}')",
    "export database '{to}'",
    "import database '{to}'",
    "install httpfs",
    "load httpfs",
    "load '{to}'",
    "force checkpoint",
    "vacuum",
    "begin",
    "prepare x as select 1",
    "execute x",
    "comment on table stored.aside is 'x'",
    "explain copy (select 1) to '{to}'",
    "explain analyze copy (select 1) to '{to}'",
    "explain with t as (copy (select 1) to '{to}') select 1",
    "explain analyze with t as (copy (select 1) to '{to}') from t",
    "select 1; copy (select 1) to '{to}'",
    "pivot pages on state; copy (select 1) to '{to}'",
    "with t as (copy (select 1) to '{to}') pivot pages on state",
    "pivot (with t as (copy (select 1) to '{to}') from t) on x",
    "pivot pages on state using count(*) group by (with t as (copy (select 1) to '{to}') select 1)",
)
READS: Final = (
    "from read_csv('{outside}')",
    "from read_text('{outside}')",
    "from read_blob('{outside}')",
    "from read_json('{outside}')",
    "from read_parquet('{file}')",
    "from parquet_metadata('{file}')",
    "from glob('/*')",
    "from sniff_csv('{outside}')",
    "from '{outside}'",
    "from '{file}'",
    "from outside.csv",
    "describe '{outside}'",
    "summarize '{outside}'",
    "select * from (describe '{outside}')",
    "pivot '{outside}' on a",
    "select (select a from '{outside}')",
    "from 'https://127.0.0.1:1/x.csv'",
    "from read_csv('http://127.0.0.1:1/x.csv')",
    "from 's3://x/y.parquet'",
    "from query('copy (select 1) to ''{to}''')",
    "from query('from read_csv(''{outside}'')')",
    "from query_table('{outside}')",
    "from json_execute_serialized_sql(json_serialize_sql('select 1'))",
    "from duckdb_secrets()",
    "from enable_logging(storage_path = '{to}')",
    "from arrow_scan(1, 2, 3)",
    "from read_duckdb('{outside}')",
    "select write_log('x')",
    "select setseed(0.5)",
    "select nextval('x')",
    "select sleep_ms(1)",
    "select getenv('HOME')",
)
"""Queries that read files, call out, wait, or change the state of the connection."""
AROUND: Final = (
    "select ({q})",
    "select 1 where exists ({q})",
    "select 1 where 1 in ({q})",
    "from ({q}) t",
    "with u as ({q}) from u",
    "with u as materialized ({q}) select 1",
    "select 1 union all ({q})",
    "({q}) union select 1",
    "select 1 order by ({q})",
    "select 1 limit ({q})",
    "select [1][({q})]",
    "select case when 1 = ({q}) then 1 end",
    "select sum(1) filter (where 1 = ({q}))",
    "select sum(1) over (order by ({q}))",
    "select 1 group by ({q}) having 1 = ({q})",
    "select list_transform([1], lambda x: ({q}))",
    "select * from range(1) a join range(1) b on a.range = ({q})",
    "select * from range(1) a, lateral ({q}) b",
    "values (({q}))",
    "describe {q}",
    "with recursive r as (select 1 as n union all select n + 1 from r where n < ({q})) from r",
    "pivot (select 1 as a, ({q}) as b) on a in (1) using sum(b)",
    "unpivot (select ({q}) as b) on b into name n value v",
)
"""Queries around a query `{q}`."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Maker(tmp_path_factory.mktemp("made")).make(20, 20)


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(duckdb.connect(":memory:")) as connection:
        yield connection


def contents(folder: Path) -> dict[str, str]:
    return {str(p): sha256(p.read_bytes()).hexdigest() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("statement", [*STATEMENTS, *(f"with t as ({w}) select * from t" for w in WRITES), *READS])
def test_only_queries_are_run(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str) -> None:
    """The views are there, as after another query, so that nothing fails only because a table is missing."""
    before, outside, to = contents(made.folder), tmp_path / "outside.csv", tmp_path / "written"
    outside.write_text("a\n1\n")
    monkeypatch.chdir(tmp_path)
    opened = Database(find(made.folder), Settings())
    list(opened.query("select count(*) from pages, sites").rows)
    file = find(made.folder).table("visits")[0].path
    with pytest.raises(UsageError):
        list(opened.query(statement.format(to=to, file=file, outside=outside)).rows)
    assert not to.exists()
    assert contents(made.folder) == before
    assert list(opened.query("select count(*) from sites").rows)


@given(st.sampled_from(WRITES), st.lists(st.sampled_from(AROUND), max_size=4))
def test_every_node_of_a_query_is_examined(write: str, around: list[str]) -> None:
    """Around the same, a query that only reads is accepted."""
    with closing(duckdb.connect(":memory:")) as plain:
        writing, reading = f"with t as ({write.format(to='/x', file='/y')}) select 1", "select 1"
        for one in around:
            writing, reading = one.replace("{q}", writing), one.replace("{q}", reading)
        try:
            assert only_query(plain, reading) == reading
        except duckdb.ParserException:
            reject()  # a window within a window is no SQL
        with pytest.raises(UsageError, match="only queries"):
            only_query(plain, writing)


@settings(deadline=None)
@given(
    opens=st.lists(st.sampled_from(["with t as (", "WITH recursive t as (", "(with t(a) as (", "select (", "from ("])),
    inside=st.sampled_from(["select 1", "visits", "select '('", "with", ""]),
    closed=st.booleans(),
)
def test_no_nesting_takes_for_ever(opens: list[str], inside: str, closed: bool) -> None:
    """DuckDB never sees what its parser would take hours for: the test ends."""
    text = "".join(opens) + inside + ") select 1" * (closed * len(opens))
    deep = sum("with" in each.lower() for each in opens) + (inside == "with")
    with duckdb.connect() as connection:
        try:
            only_query(connection, text)
            refused = False
        except UsageError as error:
            refused = "inside one another" in error.message
        except duckdb.Error:
            refused = False
    assert refused == (deep > 6)


def test_table_functions_that_are_not_known_are_refused(plain: duckdb.DuckDBPyConnection) -> None:
    asked = "select distinct function_name from duckdb_functions() where function_type in ('table', 'table_macro')"
    names = {str(row[0]) for row in plain.execute(asked).fetchall()}
    assert names >= FUNCTIONS
    assert {"read_parquet", "read_csv", "glob", "query", "enable_logging", "duckdb_secrets"} <= names - FUNCTIONS
    for name in names - FUNCTIONS:
        for spelled in (name, name.upper(), f'"{name}"', f"main.{name}"):
            with pytest.raises(UsageError, match="only queries"):
                only_query(plain, f"select * from {spelled}('x')")
    for name in FUNCTIONS:
        assert only_query(plain, f"select * from {name}('x')")


@pytest.mark.parametrize(
    "query",
    [
        "pivot visits on outcome using count(*)",
        "pivot visits on outcome, ask using count(*) group by site order by site limit 3",
        "pivot (select upper(outcome) as o, length from visits) on o using sum(length)",
        "with v as (from visits) pivot v on lower(outcome)",
        "select count(*) from (pivot visits on outcome using count(*) group by site)",
        "pivot visits on outcome in ('ok') using count(*)",
        "from visits pivot (count(*) for outcome in ('ok', 'timed_out'))",
        "unpivot (select 1 as a, 2 as b) on a, b into name n value v",
        "summarize visits",
        "describe visits",
        "show tables",
        "select * from unnest([1, 2]) u(x), range(x) r",
        "from pages semi join visits using (page)",
        "select now() as t, outcome from visits",
    ],
)
def test_queries_that_only_read_work(made: Made, query: str) -> None:
    assert list(Database(find(made.folder), Settings()).query(query).rows)
