"""SQL statements: whatever is asked, nothing is written anywhere, and nothing outside of the tables is read."""

from __future__ import annotations

import os
import shutil
import tempfile
from itertools import islice
from pathlib import Path
from typing import Final

from bench.verify import Maker
from fuzz.target import Target
from gossamer import config
from gossamer.base.errors import GossamerError
from gossamer.collection.layout import SETTINGS
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find

_SECRET: Final = "xyzzy-plugh-2718281828"
_ROWS: Final = 1_000
_FRESH: Final = 50
"""Statements after which the database is opened again: a view or a table could have been made."""
_SEEDS: Final = (
    "select outcome, count(*) from visits group by 1",
    "from pages limit 3",
    "with t as (select * from links) select * from t",
    "pivot visits on outcome using count(*)",
    "explain select 1",
    "select * from read_csv('OUTSIDE/secret.csv')",
    "copy (select 1) to 'OUTSIDE/new.csv'",
    "export database 'OUTSIDE/new'",
    "attach 'OUTSIDE/new.db' as d",
    "select * from read_text('OUTSIDE/secret.csv')",
    "select getenv('FUZZ_SECRET')",
    "insert into visits select * from visits",
    "create table t as select 1",
    "set allowed_directories = ['/']",
    "install httpfs",
    "load 'OUTSIDE/x.duckdb_extension'",
    "select * from glob('OUTSIDE/*')",
    "call pragma_version()",
    "from 'OUTSIDE/secret.csv'",
    "select 1; select 2",
    "describe visits",
    "show tables",
    "summarize visits",
    "select * from query('copy (select 1) to ''OUTSIDE/n.csv''')",
    "prepare p as select 1",
    "vacuum",
    "checkpoint",
    "select * from sniff_csv('OUTSIDE/secret.csv')",
    "select * from parquet_metadata('OUTSIDE/secret.csv')",
)


class SqlTarget(Target):
    """SQL statements, over a small collection: nothing is written, and no other file is read."""

    name = "sql"
    parts = ("read/sql",)
    words = (
        b"select ",
        b" from ",
        b"with t as (",
        b"with t as materialized (",
        b")",
        b"copy ",
        b" to ",
        b"'OUTSIDE/new.csv'",
        b"'OUTSIDE/secret.csv'",
        b"'SHARD/visits/x.parquet'",
        b"'SHARD/manifest.jsonl'",
        b"read_text(",
        b"read_blob(",
        b"visits",
        b"pages",
        b"insert into ",
        b"returning *",
        b"explain analyze ",
        b"; ",
        b"/*",
        b"*/",
        b"--\n",
        b"attach ",
        b"install ",
        b"load ",
        b"set ",
        b"reset ",
        b"pragma ",
        b"call ",
        b"create or replace view visits as ",
        b"(select 1)",
        b"query(",
        b"query_table(",
        b"union all ",
        b"$$",
    )
    longest = 1 << 11
    seconds = 6.0
    megabytes = 400

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="fuzz-sql-"))
        self._collection = Maker(self._folder / "crawl", words=5).make(12, 6, unsealed=2).folder
        self._outside = self._folder / "outside"
        self._outside.mkdir()
        (self._outside / "secret.csv").write_text(f"a\n{_SECRET}\n")
        os.environ["FUZZ_SECRET"] = _SECRET
        self._before = self._all()
        self._asked = 0
        self._database: Database | None = None
        self._open()

    def close(self) -> None:
        os.environ.pop("FUZZ_SECRET", None)
        shutil.rmtree(self._folder)

    def seeds(self) -> list[bytes]:
        return [seed.encode() for seed in _SEEDS]

    def check(self, data: bytes) -> None:
        text = data.decode(errors="replace")
        for word, path in (("OUTSIDE", self._outside), ("SHARD", self._collection / "shard-000")):
            text = text.replace(word, str(path))
        self._asked += 1
        if self._asked % _FRESH == 0:
            self._open()
        told = ""
        try:
            assert self._database is not None
            answer = self._database.query(text)
            told = repr((answer.columns, list(islice(answer.rows, _ROWS))))
        except GossamerError:
            pass
        finally:
            assert self._all() == self._before, "a file was written, changed or removed"
        assert _SECRET not in told or _SECRET in text, "a file or a variable of the process was read"

    def _open(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = Database(find(self._collection), config.load(self._collection / SETTINGS), "200MB")

    def _all(self) -> dict[str, tuple[int, int]]:
        """Size and time of every file, here and in the current folder."""
        files = list(self._folder.rglob("*")) + list(Path().iterdir())
        return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files if path.is_file()}
