"""Reading a collection from Python, compared with what it was made of."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import gossamer
from bench.verify import START, Made, Maker
from gossamer.library import frames
from gossamer.library.collection import wall


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Maker(tmp_path_factory.mktemp("made"), text=True).make(60, 20, unsealed=10)


@pytest.fixture
def web(made: Made) -> Iterator[gossamer.Collection]:
    with gossamer.open(made.folder) as web:
        yield web


def stored(made: Made) -> list[str]:
    """Pages that were fetched successfully, in order: one in eleven fails."""
    return [url for n, url in enumerate(made.urls) if url in made.asked and n % 11 != 10]


def test_every_name_of_the_package_can_be_had() -> None:
    assert all(getattr(gossamer, name) is not None for name in gossamer.__all__)
    assert set(gossamer.__all__) <= set(dir(gossamer))
    with pytest.raises(AttributeError, match="has no attribute 'opne'"):
        gossamer.opne  # noqa: B018


def test_all_stored_pages_are_there_with_their_bodies_and_texts(web: gossamer.Collection, made: Made) -> None:
    """Also those whose body is in a revisit record, and those that are only in the journal."""
    found = {page.url: page for page in web}
    assert sorted(found) == sorted(stored(made))
    assert made.repeats & set(found)
    same = {url for url in found if made.bodies[url].startswith("<title>Same")}
    for url, page in found.items():
        assert page.html == made.bodies[url]
        assert page.body == made.bodies[url].encode()
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert [title.text() for title in page.css("title")] == ["Same" if url in same else page.title]
        assert page.text
        assert page.time.tzinfo is UTC
        assert (page.status, page.outcome) in {(200, "ok"), (200, "duplicate")}


def test_pages_are_chosen_by_their_columns(web: gossamer.Collection, made: Made) -> None:
    urls = stored(made)
    of_site = [url for url in urls if "//site1.example/" in url]
    assert {page.url for page in web.pages(site="www.site1.example")} == set(of_site)
    assert len(web.pages(site=["site1.example", "site2.example"])) == len(
        [url for url in urls if "//site0.example/" not in url]
    )
    assert len(web.pages(like="%//site1.example/%")) == len(of_site)
    assert len(web.pages(where="state = 'done'").filter("depth < ?", 1)) == len(web.pages(where="depth = 0")) > 0
    assert len(web.pages(since=START + 3)) + len(web.pages(until=START + 3)) == len(urls)
    latest = [page.time for page in web.pages().sorted("time desc").first(5)]
    assert latest == sorted(latest, reverse=True)
    assert len(latest) == 5
    assert web.pages(language="xx").first(1).to_arrow().num_rows == 0
    assert not web.pages(language="xx")
    assert web.pages()


def test_a_wrong_condition_names_the_columns(web: gossamer.Collection) -> None:
    with pytest.raises(gossamer.UsageError, match="nonsense"):
        len(web.pages(where="nonsense = 1"))
    with pytest.raises(gossamer.UsageError, match="neither a time ago nor a date"):
        web.pages(since="yesterday-ish")


def test_tables_leave_as_arrow_pandas_and_python_rows(web: gossamer.Collection, made: Made) -> None:
    table = web.pages().to_arrow(["url", "status"])
    assert table.column_names == ["url", "status"]
    assert sorted(table["url"].to_pylist()) == sorted(stored(made))
    assert sorted(web.pages().to_pandas(["url"])["url"]) == sorted(stored(made))
    result = web.sql("select url, depth from pages where depth < ? order by url", 2)
    assert result.columns == ["url", "depth"]
    assert list(result) == list(zip(*result.to_arrow().to_pydict().values(), strict=True))
    assert list(result), "it can be read again"
    assert list(result.to_pandas()["url"]) == [url for url, _ in result]
    assert sum(batch.num_rows for batch in result.batches(7)) == len(list(result))
    assert web.sql("select count(*) from visits where ask = ?", "page").value() == len(made.asked)
    assert web.table("sites").columns[0] == "site"


def test_a_result_shows_itself(web: gossamer.Collection) -> None:
    result = web.sql("select page, '<b>' as title from pages")
    assert "… and more: only the first 20 rows are shown. Iterate to read all." in repr(result)
    assert "<b>" not in result._repr_html_()
    assert "&lt;b&gt;" in result._repr_html_()


def test_queries_only_read(web: gossamer.Collection, made: Made) -> None:
    for query in ("drop table visits", "copy visits to 'x.csv'", "select * from read_csv('/etc/passwd')"):
        with pytest.raises(gossamer.UsageError, match="only queries are run"):
            web.sql(query)
    with pytest.raises(gossamer.UsageError):
        web.pages(where="page in (select 1 from read_csv('/etc/passwd'))").to_arrow()
    with pytest.raises(gossamer.UsageError, match="there is no view 'page'"):
        web.table("page")
    with pytest.raises(gossamer.UsageError, match="is not one value"):
        web.sql("select 1, 2").value()


def test_links_leave_as_a_matrix_and_as_a_graph(web: gossamer.Collection) -> None:
    rows = list(web.sql("select distinct source, target from links"))
    matrix = web.links.to_scipy()
    assert matrix.shape == (web.sql("select count(*) from pages").value(),) * 2
    assert set(zip(*(axis.tolist() for axis in matrix.nonzero()), strict=True)) == set(rows)
    assert matrix.data.dtype == np.int8
    urls: dict[int, str] = dict(web.sql("select page, url from pages"))
    graph = web.links.to_networkx()
    assert set(graph.edges) == {(urls[source], urls[target]) for source, target in rows}
    inside = web.links.to_networkx(site="site1.example")
    assert set(inside.edges) == {(a, b) for a, b in graph.edges if a.count("//site1.") and b.count("//site1.")}
    assert web.links.to_arrow().num_rows == web.sql("select count(*) from links").value()


def test_changes_are_those_of_the_command(web: gossamer.Collection, made: Made) -> None:
    new = web.changes(kind="new", until=datetime.now(UTC))
    assert {event.url for event in new} == set(stored(made))
    assert web.changes(site="site1.example", most=2)[0].site == "site1.example"
    assert float(web.settings.harvester.wait) == 15.0


def test_an_order_without_a_condition_is_refused(web: gossamer.Collection) -> None:
    with pytest.raises(gossamer.UsageError, match="means every page"):
        web.again()


def test_a_folder_that_is_no_collection_is_refused(tmp_path: Path) -> None:
    with pytest.raises(gossamer.UsageError, match="is not a collection"):
        gossamer.open(tmp_path)


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(gossamer.UsageError, match="needs polars, which is not installed") as caught:
        frames.needed("polars")
    assert caught.value.cure.endswith("-m pip install polars")


def test_moments_are_times_ago_dates_or_numbers() -> None:
    assert wall("2026-11-01") == wall(datetime(2026, 11, 1)) == wall(datetime(2026, 11, 1, tzinfo=UTC))
    assert wall(5.5) == 5.5
    assert wall("1d") == pytest.approx(wall("2d") + 86_400, abs=60)
