"""Crawls that Python programs start: whole crawls of the demonstration Web."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

import gossamer
from gossamer.collection.lock import holder
from gossamer.config import Settings, override
from gossamer.crawler.short import SHORT
from gossamer.library import crawl as module
from gossamer.library import lookups
from gossamer.library.page import COLUMNS
from tests.support.timing import COMMAND


def settings() -> dict[str, module.Value]:
    return {"harvester.workers": 1, "collection.max_pages": 100_000, "collection.max_sites": 1_000}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[gossamer.Crawl, list[gossamer.Page]]:
    folder = tmp_path_factory.mktemp("library") / "crawl"
    run = gossamer.crawl(demo=True, folder=folder, pages=80, settings=settings(), progress=False)
    return run, list(run)


def test_a_loop_gets_each_stored_page_once(crawled: tuple[gossamer.Crawl, list[gossamer.Page]]) -> None:
    run, pages = crawled
    assert len({page.url for page in pages}) == len(pages) == run.statistics["stored"] >= 80
    assert {page.url for page in pages} == {page.url for page in run.collection}
    assert all(page.text for page in pages if page.outcome == "ok")
    assert run.ending == "the requested number of pages is reached"
    assert not run.running
    assert repr(run).endswith(": the requested number of pages is reached>")


def test_a_page_is_found_by_any_spelling_of_its_url(crawled: tuple[gossamer.Crawl, list[gossamer.Page]]) -> None:
    run, pages = crawled
    web = run.collection
    for stored in pages[:3]:
        scheme, _, rest = stored.url.partition("://")
        host, _, path = rest.partition("/")
        for spelled in (stored.url, f"{scheme}://WWW.{host.upper()}/{path}#top"):
            assert (web[spelled].url, web[spelled].body) == (stored.url, stored.body)
            assert spelled in web
    assert web.explain(pages[0].url)["known"]
    assert web.explain(pages[0].url.split("/")[2])["known"]
    assert web.status()["stored"] == len(pages)


def test_a_page_that_is_not_stored_says_so(crawled: tuple[gossamer.Crawl, list[gossamer.Page]]) -> None:
    web = crawled[0].collection
    pending = str(web.sql("select any_value(url) from pages where state = 'pending'").value())
    with pytest.raises(gossamer.UnknownPageError, match="is known, and no copy of it is stored"):
        web[pending]
    with pytest.raises(KeyError, match="is not known") as caught:
        web["https://nowhere.example/"]
    assert isinstance(caught.value, gossamer.GossamerError)
    assert "gossamer explain" in caught.value.cure
    assert "https://nowhere.example/" not in web
    assert web.get("https://nowhere.example/") is None
    with pytest.raises(gossamer.UsageError, match="is not an http or https URL"):
        web["mailto:you@example.org"]


def test_the_index_finds_what_a_query_finds(crawled: tuple[gossamer.Crawl, list[gossamer.Page]]) -> None:
    """Every page, known or not, by the first lookups and by the later ones; and all columns of what is found."""
    folder = crawled[0].folder
    urls = [str(url) for (url,) in gossamer.open(folder).sql("select url from pages order by page limit 60")]
    assert len(urls) > lookups.SEVERAL
    indexed = gossamer.open(folder)
    assert all(url in indexed for url in [crawled[1][0].url] * lookups.SEVERAL)
    kept = indexed._kept
    assert kept is not None
    assert kept[1]._index is not None
    stored = 0
    for url in urls:
        found, expected = indexed.get(url), gossamer.open(folder).get(url)
        assert (found is None) == (expected is None), url
        if found is None or expected is None:
            continue
        stored += 1
        assert (found.url, found.number, found.body) == (url, expected.number, expected.body)
        assert (found.title, found.time, found.mark) == (expected.title, expected.time, expected.mark)
        assert all(found.value(name) == expected.value(name) for name in COLUMNS.split(", "))
    assert 0 < stored < len(urls)


def test_a_lookup_sees_what_was_committed_since(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    gossamer.crawl(demo=True, folder=folder, pages=5, settings=settings(), progress=False).wait()
    web = gossamer.open(folder)
    (first,) = web.pages().first(1)
    assert all(web[first.url].number == first.number for _ in range(lookups.SEVERAL + 1))
    before = {page.url for page in web}
    with gossamer.crawl(demo=True, folder=folder, pages=5, settings=settings(), progress=False) as run:
        new = [page.url for page in run]
    assert new
    assert before.isdisjoint(new)
    assert all(url in web for url in new)


def test_a_context_raises_what_has_ended_its_crawl(tmp_path: Path) -> None:
    def watched() -> None:
        with gossamer.crawl("https://example.org", folder=tmp_path / "a", progress=False) as run:
            while run.running:
                time.sleep(0.01)

    with pytest.raises(gossamer.UsageError, match="needs a contact"):
        watched()

    def failed() -> None:
        with gossamer.crawl("https://example.org", folder=tmp_path / "a", progress=False):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failed()


def test_orders_wait_for_the_next_run(crawled: tuple[gossamer.Crawl, list[gossamer.Page]]) -> None:
    run, pages = crawled
    assert run.collection.again(pages[0].url) == run.collection.add(pages[1].url) == {}
    gossamer.crawl(demo=True, folder=run.folder, pages=60, settings=settings(), progress=False).wait()
    opened = "select visits = 2 or state <> 'done' from pages where url = ?"
    assert [run.collection.sql(opened, page.url).value() for page in pages[:3]] == [True, True, False]


def test_leaving_the_loop_stops_the_crawl_and_the_same_call_resumes_it(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    run = gossamer.crawl(demo=True, folder=folder, settings=settings(), progress=False)
    seen = set()
    for page in run:
        seen.add(page.url)
        break
    assert not run.running
    assert run.ending == "stopped on request"
    before = {page.url for page in run.collection}
    again = gossamer.crawl(demo=True, folder=folder, pages=20, settings=settings(), progress=False)
    more = {page.url for page in again}
    assert more.isdisjoint(before)
    assert before | more == {page.url for page in again.collection}
    assert any("resumed" in line for line in again.messages)


def test_an_asynchronous_loop_gets_the_same(tmp_path: Path) -> None:
    async def read() -> list[str]:
        run = gossamer.crawl(demo=True, folder=tmp_path / "crawl", pages=10, settings=settings(), progress=False)
        return [page.url async for page in run]

    urls = asyncio.run(read())
    assert len(set(urls)) == len(urls) >= 10


PROGRAM: Final = """
import gossamer, sys
with gossamer.crawl(demo=True, folder=sys.argv[1], settings={"harvester.workers": 1}, progress=False) as run:
    for page in run:
        print(page.url, flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_the_crawl_stops_cleanly_with_its_program(tmp_path: Path, how: signal.Signals) -> None:
    """Whether the program is killed, or interrupted by Ctrl-C."""
    folder = tmp_path / "crawl"
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert program.stdout is not None
    assert program.stdout.readline().startswith(b"http")
    shard = folder / "shard-000"
    desk = holder(shard)
    assert desk is not None
    assert desk.alive
    os.kill(program.pid, how)
    program.communicate(timeout=COMMAND)
    until = time.monotonic() + COMMAND
    while (held := holder(shard)) is not None and held.alive:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert gossamer.open(folder).status()["ending"] == "stopped on request"


def test_errors_are_those_of_the_command(tmp_path: Path) -> None:
    with pytest.raises(gossamer.UsageError, match="needs a contact"):
        gossamer.crawl("https://example.org", folder=tmp_path / "a", progress=False).wait()
    with pytest.raises(gossamer.UsageError, match="no usable seed"):
        list(gossamer.crawl("ftp://example.org", folder=tmp_path / "b", progress=False))
    with pytest.raises(gossamer.UsageError, match="depth=999"):
        gossamer.crawl("https://example.org", depth=999)
    with pytest.raises(gossamer.UsageError, match="is not a time"):
        gossamer.crawl("https://example.org", folder=tmp_path, seconds="soon")
    with pytest.raises(gossamer.UsageError, match="needs a URL, or the folder"):
        gossamer.crawl()


def test_a_collection_is_named_after_its_first_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert gossamer.crawl("https://www.example.org/a").folder == Path("example.org")
    assert gossamer.crawl(demo=True).folder == Path("demo-crawl")


def test_a_setting_that_takes_several_texts_takes_one() -> None:
    run = gossamer.crawl(demo=True, settings={"plugins.process": "json-ld", "manager.policy": "opic"})
    assert run._request["changes"] == ['plugins.process=["json-ld"]', 'manager.policy="opic"']
    changed = override(Settings(), run._request["changes"])
    assert (changed.plugins.process, changed.manager.policy) == (("json-ld",), "opic")


def test_every_short_name_is_an_argument() -> None:
    assert {each.name for each in SHORT} <= set(inspect.signature(gossamer.crawl).parameters)


def test_a_process_that_dies_is_an_error(tmp_path: Path) -> None:
    run = gossamer.crawl(demo=True, folder=tmp_path / "crawl", settings=settings(), progress=False)

    def killed() -> None:
        for count, _ in enumerate(run):
            desk = holder(run.folder / "shard-000")
            if count == 0 and desk is not None:
                os.kill(desk.pid, signal.SIGKILL)

    with pytest.raises(gossamer.GossamerError, match="the process of the crawl has died"):
        killed()


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, gossamer; print([m for m in sys.modules if m.startswith(('gossamer.', 'numpy', 'duckdb'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=COMMAND)
    assert done.stdout.strip() == "[]"
