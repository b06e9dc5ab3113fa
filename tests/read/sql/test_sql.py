"""SQL queries on a collection: the views are correct, complete, safe, and available during a crawl."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest

from bench.verify import Made, Maker
from gossamer import config
from gossamer.base.errors import GossamerError, UsageError
from gossamer.base.model import Outcome
from gossamer.collection.layout import SETTINGS, shard_folder
from gossamer.config import Settings, dump
from gossamer.harvester.robots import READABLE
from gossamer.read.sql import show, views
from gossamer.read.sql.columns import VIEWS
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.robots import Rules
from gossamer.webs.simulated import Reply
from tests.support.paths import DATA
from tests.support.world import World

CLOSED: Final = Rules.parse(b"User-agent: *\nDisallow: /closed\n", "Gossamer").compiled()
OLD: Final = DATA / "format-1.tar.gz"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Two segments, and ten visits that only the journal contains."""
    return Maker(tmp_path_factory.mktemp("made")).make(60, 20, unsealed=10)


def test_pages_of_suspended_sites_can_be_counted_as_in_status(tmp_path: Path) -> None:
    from tests.read.explain.test_explain import ROOT, SICK, running, without_holder, world_in

    query = "select p.url, s.aside, s.until from pages p join sites s using (site) where s.aside is not null order by 1"
    with running(world_in(tmp_path / "c", SICK), [ROOT]) as (crawl, _):
        for _ in range(80):
            crawl.turn()
        crawl.store.commit()
        by_desk = ask(tmp_path / "c", query, fresh=True)
    assert [row[:2] for row in by_desk] == [(f"http://ill.example/{p}", "robots_unreadable") for p in ("", "a")]
    world_in(tmp_path / "d", SICK).run([ROOT])
    by_image = ask(without_holder(tmp_path / "d"), query)
    assert [row[:2] for row in by_image] == [row[:2] for row in by_desk]
    assert all(row[2] is not None for row in by_image)


def database(folder: Path, fresh: bool = False) -> Database:
    settings = config.load(folder / SETTINGS) if (folder / SETTINGS).exists() else Settings()
    return Database(find(folder, fresh), settings)


def ask(folder: Path, query: str, fresh: bool = False) -> list[tuple[Any, ...]]:
    return list(database(folder, fresh).query(query).rows)


def page(*links: str, **more: Any) -> Reply:
    return Reply(links=tuple(links), **more)


def deep_web(url: str) -> Reply:
    """A chain that becomes too deep, a link from another site into it, failures, a redirect, and closed pages."""
    host, _, path = url.removeprefix("http://").partition("/")
    if path == "robots.txt":
        return Reply(rules=CLOSED if host == "a.example" else b"")
    if host == "b.example":
        return page("http://a.example/6", "http://a.example/closed/1", f"http://b.example/{len(path)}")
    if path.startswith("busy"):
        return Reply(status=503, outcome=Outcome.SERVER_ERROR)
    number = int(path) if path.isdigit() else 0
    more = ["http://b.example/"] if number == 3 else [f"http://a.example/busy{number}"] if number == 1 else []
    return page(f"http://a.example/{number + 1}", "http://a.example/closed/2", *more)


@pytest.mark.parametrize("turns", [None, 12, 25])
def test_pages_have_the_state_that_the_desk_has(tmp_path: Path, turns: int | None) -> None:
    changes = ("seeder.depth_static=4", "seeder.domains=*", "harvester.tries=2", "harvester.retry=50ms")
    world = World(tmp_path / "crawl", deep_web, changes)
    result = world.run(["http://a.example/"], turns=turns)
    (world.folder / SETTINGS).write_text(dump(world.settings))
    said = dict(ask(world.folder, "select url, (state, outcome) from pages", fresh=True))
    right = {
        url: (state.name.lower(), None if outcome is None else outcome.word)
        for url, (state, outcome, _) in result.pages.items()
        if url in said
    }
    assert said == right
    if turns is None:
        assert len(said) == len(result.pages)
        assert {"done", "excluded"} <= {state for state, _ in said.values()}


def test_sites_are_added_up_over_segments(made: Made) -> None:
    rows = ask(made.folder, "select site, name, www, pages, visits, ok from sites order by 1", fresh=True)
    by_site = Counter(url.split("/")[2] for url in made.urls)
    visited = Counter(url.split("/")[2] for url in made.asked)
    assert [row[1:5] for row in rows] == [
        (name, name == "site0.example", by_site[name], visited[name]) for name in sorted(by_site)
    ]
    assert all(row[5] <= row[4] for row in rows)


def test_only_fresh_queries_include_committed_data_that_is_not_sealed(made: Made) -> None:
    query = "select count(*) from visits where page is not null"
    (sealed,), (everything,) = ask(made.folder, query)[0], ask(made.folder, query, fresh=True)[0]
    assert sealed < everything == len(made.asked)
    assert ask(made.folder, "select count(*) from pages", fresh=True) == [(len(made.urls),)]
    number = ask(made.folder, "select sum(number) from counts", fresh=True)[0][0]
    assert number == 2 * len(made.asked)
    assert ask(made.folder, "select count(*) from anchors", fresh=True) == [(2 * len(made.asked),)]


def test_files_that_the_manifest_does_not_name_are_not_read(tmp_path: Path) -> None:
    made = Maker(tmp_path).make(20, 20)
    before = ask(tmp_path, "select count(*) from visits")
    (made.shard / "visits" / "000000000099.parquet").write_bytes(b"half a segm")
    assert ask(tmp_path, "select count(*) from visits") == before


def test_every_view_has_exactly_the_described_columns(made: Made) -> None:
    assert VIEWS
    for name, view in VIEWS.items():
        described = ask(made.folder, f"describe {name}")
        assert [(row[0], row[1]) for row in described] == [(c.name, c.type) for c in view.columns], name
        assert all(c.sentence.endswith(".") or c.sentence.endswith("…") for c in view.columns), name


def test_preferences_are_those_of_the_page_and_of_the_valid_robots_txt() -> None:
    """Page 0 changed its statement and then failed; 1 said nothing; 2 was never fetched; the robots.txt of origin 1 was
    removed."""
    run = duckdb.connect(":memory:").execute
    run("create schema stored")
    run("create table stored.pages as select * from (values (0, 0), (1, 0), (2, 0), (3, 1)) t(page, origin)")
    run("""create table stored.visits as select * from (values
        (0, 0, 'page', 'ok', 1, 1, 0, 'a: old'), (0, 0, 'page', 'ok', 2, 1, 0, 'a: x' || chr(10) || 'b: y'),
        (0, 0, 'page', 'timed_out', 3, 1, 0, null), (1, 0, 'page', 'ok', 1, 2, 0, null),
        (2, 0, 'page', 'not_found', 1, 3, 0, 'c: of an error'), (3, 1, 'page', 'duplicate', 1, 4, 0, 'd: z'),
        (null, 0, 'robots', 'ok', 1, 5, 0, 'r: old'), (null, 0, 'robots', 'ok', 2, 5, 0, 'r: new'),
        (null, 0, 'robots', 'redirect', 3, 5, 0, null), (null, 0, 'robots', 'server_error', 3, 6, 0, null),
        (null, 0, 'sitemap', 'ok', 4, 6, 0, 's: no'),
        (null, 1, 'robots', 'ok', 1, 7, 0, 'r: gone'), (null, 1, 'robots', 'redirect', 2, 7, 256, null)
    ) t(page, origin, ask, outcome, tick, number, flags, preferences)""")
    assert sorted(run(views.PREFERENCES_VIEW).fetchall()) == [
        (0, "page", "a: x"),
        (0, "page", "b: y"),
        (0, "robots.txt", "r: new"),
        (1, "robots.txt", "r: new"),
        (3, "page", "d: z"),
    ]


def test_outcomes_of_robots_txt_that_count_are_those_of_the_desk() -> None:
    assert READABLE - {Outcome.REDIRECT, Outcome.RETURNED} == views.ANSWERED


def test_all_views_work_on_a_collection_of_format_1(tmp_path: Path) -> None:
    with tarfile.open(OLD) as packed:
        packed.extractall(tmp_path, filter="data")
    folder = tmp_path / "format-1"
    assert all(ask(folder, f"select * from {name}") is not None for name in VIEWS)
    assert ask(folder, "select count(*) from pages where url is not null")[0][0] > 0
    assert ask(folder, "select count(*), count(language), count(payload) from visits")[0][1:] == (0, 0)


def test_an_empty_collection_has_empty_views(tmp_path: Path) -> None:
    Maker(tmp_path).make(0, 10, unsealed=1)
    assert [ask(tmp_path, f"select count(*) from {name}") for name in VIEWS] == [[(0,)]] * len(VIEWS)


def test_scores_are_columns_of_pages_and_sites(tmp_path: Path) -> None:
    made = Maker(tmp_path).make(20, 20)
    assert ask(tmp_path, "select count(pagerank), count(merit) from pages") == [(0, 0)]
    scores = made.shard / "scores"
    scores.mkdir()
    for name, query in (
        ("000000000001", "select 3 as page, 9.0 as pagerank"),
        ("000000000002", "select 3 as page, 0.5::float as pagerank, 7::uinteger as indegree, 0.25 as merit"),
        ("000000000002-sites", "select 1 as site, 0.75 as siterank"),
    ):
        duckdb.execute(f"copy ({query}) to '{scores / name}.parquet'")
    found = ask(tmp_path, "select page, pagerank, indegree, merit, hub from pages where pagerank is not null")
    assert found == [(3, 0.5, 7.0, 0.25, None)]
    assert ask(tmp_path, "select site, siterank from sites where siterank is not null") == [(1, 0.75)]
    assert ask(tmp_path, "select count(*) from pages") == [(len(made.urls),)]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select nosuch from visits", ("nosuch", "visits has the columns", "outcome")),
        ("select * from nowhere", ("nowhere", "Views:", "anchors")),
        ("selekt 1", ("selekt",)),
        ("select 'x'::integer from pages", ("Conversion",)),
        ("", ("0 statements",)),
        ("select 1; select 2", ("2 statements",)),
    ],
)
def test_an_error_in_the_query_is_reported_with_the_available_names(
    made: Made, query: str, words: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError) as told:
        ask(made.folder, query)
    assert all(word in str(told.value) for word in words), told.value


@pytest.mark.parametrize(
    "statement",
    [
        "copy (select 1) to '{to}'",
        "explain analyze copy (select 1) to '{to}'",
        "create table x as select 1",
        "attach '{to}' as y",
        "set threads = 1",
        "drop view pages",
        "export database '{to}'",
        "install httpfs",
        "explain (analyze) copy (select 1) to '{to}'",
        "explain /*x*/ analyze copy (select 1) to '{to}'",
        "explain copy (select 1) to '{to}'",
        "explain -- x\nanalyze copy (select 1) to '{to}'",
        "explain (analyze /* ) select 1 -- */ ) copy (select 1) to '{to}'",
        "/**/explain analyze copy (select 1) to '{to}'",
        "pragma memory_limit = '1GB'",
        "call pragma_version()",
        "explain analyze create table x as select 1",
    ],
)
def test_only_queries_are_run(made: Made, tmp_path: Path, statement: str) -> None:
    to = tmp_path / "written"
    with pytest.raises(UsageError, match="only queries"):
        ask(made.folder, statement.format(to=to))
    assert not to.exists()
    said = ("explain", "explain analyze", "EXPLAIN (ANALYZE, FORMAT json)", "explain analyze/**/", "explain\n--x\n")
    for asked in said:
        assert ask(made.folder, f"{asked} select count(*) from pages;")


def test_duckdb_itself_opens_no_file_outside_the_collection(made: Made, tmp_path: Path) -> None:
    outside, to = tmp_path / "outside.csv", tmp_path / "written.parquet"
    outside.write_text("a\n1\n")
    opened = database(made.folder, fresh=True)
    for asked in (f"from read_csv('{outside}')", f"from read_text('{outside}')", "from glob('/*')", "from outside"):
        with pytest.raises(UsageError):
            list(opened.query(asked).rows)
    for statement in (f"copy (select 1) to '{to}'", "set enable_external_access = true", "set threads = 1"):
        with pytest.raises(UsageError):
            opened.run(statement)
    assert not to.exists()
    assert list(opened.query("select count(*) from visits").rows)


def test_a_collection_may_have_a_relative_path_and_contain_symbolic_links(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "select count(*) from visits"
    whole = ask(made.folder, query)
    (tmp_path / "link's [1]").symlink_to(made.folder)
    parts = tmp_path / "parts"
    (parts / made.shard.name).mkdir(parents=True)
    for path in made.shard.iterdir():
        (parts / made.shard.name / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    for folder in ("link's [1]", "parts", "parts/../parts", "./parts"):
        assert ask(Path(folder), query) == whole
    monkeypatch.chdir(made.folder)
    assert ask(Path(), query) == whole


def test_data_that_does_not_fit_into_memory_is_spilled(made: Made, tmp_path: Path) -> None:
    opened = Database(find(made.folder), Settings(), "60MB", tmp_path / "spilled")
    asked = "select i, md5(i::varchar) as s, repeat('x', 20) from range(1200000) t(i) order by s"
    rows = opened.query(asked).rows
    assert len(next(rows)) == 3
    assert any((tmp_path / "spilled").iterdir())


def test_a_damaged_segment_is_not_an_error_of_the_query(tmp_path: Path) -> None:
    made = Maker(tmp_path).make(20, 20)
    path = next((made.shard / "visits").iterdir())
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(GossamerError, match="parquet") as told:
        ask(tmp_path, "select sum(length) from visits")
    assert not isinstance(told.value, UsageError)
    assert "verify" in told.value.cure


def shown(folder: Path, query: str, form: str, rows: int = 100) -> str:
    out, answer = io.StringIO(), database(folder).query(query)
    if form == "table":
        show.as_table(answer, out, rows)
    else:
        {"json": show.as_json, "csv": show.as_csv}[form](answer, out)
    return out.getvalue()


def test_a_table_has_numbers_aligned_right_and_long_texts_cut(made: Made) -> None:
    query = "select * from (values (1, 'é' || chr(10), 'x'), (1000, '日本', repeat('y', 500))) t(number, wide, long)"
    lines = shown(made.folder, query, "table").splitlines()
    assert lines[0].split() == ["number", "wide", "long"]
    assert lines[2].startswith("     1  é\\n   x")
    assert lines[3].startswith("  1000  日本  yyy")
    assert lines[3].endswith("…")
    assert len({show.width(line[: line.index(end)]) for line, end in zip(lines[2:4], "xy", strict=True)}) == 1
    assert lines[4] == "(2 rows)"


def test_a_long_table_notes_further_rows_and_json_and_csv_have_all(made: Made) -> None:
    query = "select page, url, time from pages order by page"
    table = shown(made.folder, query, "table", rows=7).splitlines()
    assert len(table) == 2 + 7 + 1
    assert "first 7 rows" in table[-1]
    rows = json.loads(shown(made.folder, query, "json"))
    assert [row["url"] for row in rows] == made.urls[: len(rows)]
    assert rows[0]["time"].endswith("Z")
    assert [row["url"] for row in csv.DictReader(io.StringIO(shown(made.folder, query, "csv")))] == [
        row["url"] for row in rows
    ]
    assert len(rows) > 7


def test_every_type_of_value_can_be_written_as_json(made: Made) -> None:
    query = (
        "select 1::hugeint a, 2.50::decimal(9,2) b, 'nan'::double c, 'ab'::blob d, [1, null] e,"
        " {'k': date '2024-01-02'} f"
        ", now() g, interval 90 second h, null i, true j, uuid() k"
    )
    (row,) = json.loads(shown(made.folder, query, "json"))
    assert {key: row[key] for key in "abcdefhij"} == {
        "a": 1,
        "b": 2.5,
        "c": None,
        "d": "6162",
        "e": [1, None],
        "f": {"k": "2024-01-02"},
        "h": 90.0,
        "i": None,
        "j": True,
    }
    assert json.loads(shown(made.folder, "select 1 as x where false", "json")) == []


def test_a_folder_that_is_not_a_collection_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a collection"):
        find(tmp_path)


def test_a_query_needs_neither_numba_nor_pyarrow(made: Made) -> None:
    program = (
        "import sys; from pathlib import Path; from gossamer import config; "
        "from gossamer.read.sql.database import Database;"
        "from gossamer.read.sql.sources import find; from gossamer.read.sql import show; f = Path(sys.argv[1]);"
        "list(Database(find(f), config.load(f / 'crawl.toml')).query('from pages').rows);"
        "print([m for m in ('numba', 'pyarrow', 'pandas') if m in sys.modules])"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program, str(made.folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "[]"


def test_nothing_is_written_into_the_collection(made: Made) -> None:
    def state() -> dict[str, tuple[int, int]]:
        found = sorted(made.folder.rglob("*"))
        return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in found}

    before = state()
    ask(made.folder, "select * from pages join visits using (page)", fresh=True)
    assert state() == before
    assert shard_folder(made.folder).is_dir()


def test_a_missing_file_is_named_without_the_internal_statement(tmp_path: Path) -> None:
    made = Maker(tmp_path / "made").make(40, 20)
    path = find(made.folder).table("visits")[0].path
    path.unlink()
    with pytest.raises(GossamerError, match="is missing") as told:
        ask(made.folder, "select count(*) from visits")
    assert told.value.message == f"{path} is missing"
    assert "select" not in str(told.value).lower()


def test_files_notes_that_nothing_is_sealed(tmp_path: Path) -> None:
    made = Maker(tmp_path / "made").make(20, 1000, unsealed=99)
    done = subprocess.run([sys.executable, "-m", "gossamer", "files", made.folder], capture_output=True, text=True)
    assert done.returncode == 0
    assert "nothing is sealed yet" in done.stderr
