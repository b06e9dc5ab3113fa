"""Whole crawls of the hostile Web, over real sockets: they end by themselves, every page ends as its behaviour says,
and nothing is left behind."""

from __future__ import annotations

import ast
import asyncio
import http.client
import json
import re
import zlib
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard
from click.testing import CliRunner

from gossamer import config, urls
from gossamer.base.errors import UsageError
from gossamer.base.model import Outcome
from gossamer.base.outcomes import Aside, Reason
from gossamer.cli import app
from gossamer.cli.web import settings_for
from gossamer.harvester.errands.probes import NAME
from gossamer.web.owner.key import write
from gossamer.webs import checker, demo
from gossamer.webs.hostile import bodies, mazes, pages
from gossamer.webs.hostile.client import ClientProtocol
from gossamer.webs.hostile.owners import KEY, VANISHING
from gossamer.webs.hostile.server import handle
from gossamer.webs.hostile.table import BEHAVIOURS, chosen, markdown
from gossamer.webs.hostile.web import FORBIDDEN, LIMITS, HostileWeb
from gossamer.webs.local import demo_settings
from tests.support.crawling import alive
from tests.support.hostile import Crawled, crawl
from tests.support.paths import ROOT
from tests.support.reading import rows
from tests.support.timing import WITHIN


def crawlable() -> HostileWeb:
    return HostileWeb()


@pytest.fixture(scope="module", params=["0", "2MB/s"], ids=["", "within a bandwidth"])
def crawled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """A crawl of the hostile Web without and with a bandwidth limit: the throttled sockets of the limit change no
    end."""
    bandwidth = f"harvester.bandwidth={request.param}"
    return crawl(crawlable(), tmp_path_factory.mktemp("hostile"), "harvester.workers=1", bandwidth)


def test_the_crawl_ends_by_itself_and_soon(crawled: Crawled) -> None:
    assert crawled.ended.code == 0, crawled.ended.errors
    assert crawled.ended.figures["ending"] == "nothing is left that may be requested soon"


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_every_page_ends_as_its_behaviour_says(crawled: Crawled, name: str) -> None:
    host = f"{name}.hostile.test/"
    wrong = {url: word for url, word in crawled.ends.wrong.items() if host in url}
    assert wrong == {}
    assert [url for url in crawled.ends.missing if host in url] == []
    assert crawled.ends.found[name], "none of its pages is known"


def test_only_pages_of_the_table_are_known(crawled: Crawled) -> None:
    assert (crawled.ends.wrong, crawled.ends.missing) == ({}, [])
    known = crawled.ended.figures
    assert known["known"] == len(crawled.pages) == sum(known[s] for s in ("pending", "waiting", "done", "excluded"))


def test_no_file_connection_or_process_is_left(crawled: Crawled) -> None:
    (left,) = re.findall(r"^left: (.*)$", crawled.ended.errors, re.MULTILINE)
    assert ast.literal_eval(left) == []
    assert crawled.connections == 0
    assert len(crawled.processes) > 1
    assert not any(alive(pid) for pid in crawled.processes)
    shard = crawled.folder / "shard-000"
    assert not [path for path in shard.rglob("*") if path.suffix in (".tmp", ".temporary")]


def test_the_crawl_is_polite_whatever_servers_do(crawled: Crawled) -> None:
    requests = sorted(checker.read(crawled.log), key=lambda request: request.start)
    settings = config.load(crawled.folder / "crawl.toml")
    report = checker.check(requests, settings, checker.robots_of_web(crawled.web))
    assert report.violations == []
    assert report.requests > 300
    assert checker.web_of(crawled.log) == crawled.web
    private = FORBIDDEN.rpartition(".0.0")[0]
    assert not [r for r in requests if r.address.startswith(private)], "no request goes to a private address"


def test_temporary_failures_are_tried_twice_and_permanent_ones_once(crawled: Crawled) -> None:
    tried = Counter(
        (url.partition("//")[2].partition(".")[0], len(visits))
        for url, visits in crawled.visits.items()
        if url.endswith(".hostile.test/page")
    )
    for name in ("silent", "drip", "stops", "closes", "shorter", "reset-body", "reset-chunk"):
        assert tried[name, 2] == 1, (name, tried)
    for name in ("bomb-gzip", "nul-field", "no-target", "other-type", "encoding-false"):
        assert tried[name, 1] == 1, (name, tried)


def test_endless_bodies_are_cut_and_large_ones_are_limited(crawled: Crawled) -> None:
    settings = config.load(crawled.folder / "crawl.toml")
    for name in ("endless", "endless-chunks"):
        (row,) = crawled.visits[f"http://{name}.hostile.test/page"]
        assert row["length"] == settings.harvester.max_download
    linked = [url for url in crawled.pages if url.startswith("http://many-links.hostile.test/link/")]
    assert len(linked) == settings.gatherer.max_links < pages.MANY_LINKS
    for name in ("bomb-gzip", "bomb-br", "bomb-zstd", "bomb-deflate", "bomb-doubled", "bomb-mixed"):
        (row,) = crawled.visits[f"http://{name}.hostile.test/page"]
        assert row["length"] <= settings.gatherer.max_decoded


def test_only_plausible_dates_of_pages_count(crawled: Crawled) -> None:
    dated = {url.rpartition("/")[2]: visits[-1] for url, visits in crawled.visits.items() if "//dates." in url}
    assert [dated[name]["modified"] for name in ("before-the-web", "days-ahead", "nonsense")] == [None, None, None]
    assert dated["hours-ahead"]["modified"] == dated["hours-ahead"]["time"], (
        "its clock is ahead: the time of the visit counts"
    )


def test_mazes_end(crawled: Crawled) -> None:
    known = Counter(url.partition("//")[2].partition(".")[0] for url in crawled.pages)
    good = 1 + crawled.web.good
    assert known["session-path"] == known["session-parameter"] == 4 + good
    assert known["repeated-path"] < 30
    assert known["forum"] <= pages.POSTINGS + good
    assert good < known["calendar"] < 40
    assert known["facets"] <= 65 + good
    assert sum(".wildcard." in url for url in crawled.pages) == mazes.NAMES


def test_sitemaps_that_name_sitemaps_without_end_are_left_at_the_limit(crawled: Crawled) -> None:
    asked = {r.target for r in checker.read(crawled.log) if r.host.startswith("endless-maps") and "/maps/" in r.target}
    assert len(asked) == config.load(crawled.folder / "crawl.toml").seeder.sitemaps_per_site


def test_soft_404_pages_are_recognised_and_no_others(crawled: Crawled) -> None:
    soft = Counter(urls.host(url) for url, word in crawled.pages.items() if word == "soft_404")
    assert soft["soft-404.hostile.test"] >= 20
    assert soft["all-to-one.hostile.test"] >= 10
    assert crawled.pages["http://all-to-one.hostile.test/start"] == "ok"
    asked = [(r.host, r.target) for r in checker.read(crawled.log) if NAME in r.target]
    folders = Counter((host, urls.folder(f"http://{host}{target}")) for host, target in asked)
    assert folders[("soft-404.hostile.test", "http://soft-404.hostile.test/gone/")] == 1
    assert set(folders.values()) == {1}


def test_bad_certificates_and_ranges_end_well_if_the_settings_allow_them(tmp_path: Path) -> None:
    web = HostileWeb(chosen(["tls-expired", "tls-self-signed", "tls-wrong-name", "tls-old", "range-error", "partial"]))
    found = crawl(web, tmp_path, "harvester.invalid_certificates=true", "harvester.range=true").pages
    for name in ("tls-expired", "tls-self-signed", "tls-wrong-name"):
        assert found[f"https://{name}.hostile.test/"] == "ok"
    assert found["https://tls-old.hostile.test/"] in BEHAVIOURS["tls-old"].words
    assert {word for url, word in found.items() if "range-error" in url or "partial" in url} == {"ok"}


# --- the server ----------------------------------------------------------------------------------------------------


def test_a_friendly_web_has_good_pages_at_the_same_sites() -> None:
    web = HostileWeb(chosen(["silent", "bomb-gzip", "to-private"]), good=3, friendly=True)
    assert len(list(web.known())) == 3 * (1 + 3)
    with demo.start(web) as running:
        for url in web.known():
            host, _, path = url.removeprefix("http://").partition("/")
            connection = http.client.HTTPConnection(web.addresses[host], running.port, timeout=WITHIN)
            connection.request("GET", f"/{path}", headers={"Host": host})
            got = connection.getresponse()
            assert (got.status, host.encode() in got.read()) == (200, True)
            assert web.ends_of(url) == ("ok",)
            connection.close()


async def _ask(port: int, target: str, within: float) -> bytes:
    """What arrives: the first bytes within so many seconds, and more for a moment; then the client leaves."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {target} HTTP/1.1\r\nHost: any.example\r\n\r\n".encode())
    found = b""
    with suppress(TimeoutError, OSError):
        async with asyncio.timeout(within):
            found = await reader.read(65_536)
        async with asyncio.timeout(2.0):
            while found and len(found) < 100_000 and (more := await reader.read(65_536)):
                found += more
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return found


async def _sent(name: str, open_tasks: set[asyncio.Task[None]]) -> bytes:
    """What a behaviour sends behind an unknown host and path. Its connections are in `open_tasks` until they end."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        open_tasks.add(task)
        task.add_done_callback(open_tasks.discard)
        await handle(reader, writer, BEHAVIOURS[name].serve)

    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: ClientProtocol(asyncio.StreamReader(), serve), "127.0.0.1", 0)
    found = await _ask(server.sockets[0].getsockname()[1], "/any/path", 2.0 if name == "silent" else WITHIN)
    server.close()
    return found


async def _serve_all() -> tuple[dict[str, bytes], int]:
    """What each behaviour sends, and how many connections are open a moment after all clients have left."""
    open_tasks = set[asyncio.Task[None]]()
    sent = await asyncio.gather(*(_sent(name, open_tasks) for name in BEHAVIOURS))
    with suppress(TimeoutError):
        async with asyncio.timeout(WITHIN):
            while open_tasks:
                await asyncio.sleep(0.05)
    return dict(zip(BEHAVIOURS, sent, strict=True)), len(open_tasks)


def test_every_behaviour_works_behind_any_host_and_path_and_ends_when_its_client_leaves() -> None:
    found, still_open = asyncio.run(_serve_all())
    assert still_open == 0
    assert {name for name, sent in found.items() if not sent} == {"silent", "closes", "reset-first"}


def test_bombs_are_as_large_as_they_say() -> None:
    """A gigabyte each: shown for one of them, by decompressing it."""
    stream, size = zlib.decompressobj(31), 0
    data = bodies._bomb_gzip()
    while data and size < 100_000_000:
        size += len(stream.decompress(data, 10_000_000))
        data = stream.unconsumed_tail
    assert size >= 100_000_000
    assert len(bodies._bomb_gzip()) < 2_000_000
    assert zstandard.get_frame_parameters(bodies._bomb_zstd()).content_size * 64 == bodies.GIGABYTE


# --- the table -----------------------------------------------------------------------------------------------------


def test_the_ends_of_the_table_are_known_outcomes_and_reasons() -> None:
    known = {outcome.word for outcome in Outcome} | {f"site: {aside.word}" for aside in Aside}
    known |= {f"excluded: {reason.word}" for reason in Reason}
    assert len(BEHAVIOURS) > 80
    for behaviour in BEHAVIOURS.values():
        assert set(behaviour.words) <= known, behaviour.name


def test_the_manual_has_the_table() -> None:
    manual = ROOT / "docs" / "manual" / "hostile.md"
    assert markdown() in manual.read_text(), "python -c 'from gossamer.webs.hostile.table import *; print(markdown())'"


def test_list_prints_the_table_for_people_and_as_json() -> None:
    listed = CliRunner().invoke(app, ["web", "--hostile", "--list", "--json"])
    found = {row["name"]: row for row in json.loads(listed.stdout)}
    assert set(found) == set(BEHAVIOURS)
    assert found["drip"]["section"] == "A.6.3"
    assert found["ten-deep"]["pages"]["/step/10"] == ["ok"]
    said = CliRunner().invoke(app, ["web", "--hostile", "--list", "--with", "drip,silent", "--without", "silent"])
    assert [line.split()[0] for line in said.stdout.splitlines()] == ["behaviour", "drip"]


def test_an_unknown_behaviour_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        chosen(["sillent"])
    assert "silent" in caught.value.cure


def test_two_webs_cannot_be_crawled_at_once(tmp_path: Path) -> None:
    refused = CliRunner().invoke(app, ["crawl", str(tmp_path / "x"), "--demo", "--hostile"])
    assert isinstance(refused.exception, UsageError)
    assert not (tmp_path / "x").exists()


def test_both_commands_use_the_same_limits_for_the_hostile_web(tmp_path: Path) -> None:
    """`gossamer web --hostile` writes for a crawl from another terminal what `gossamer crawl --hostile` uses."""
    web = HostileWeb()
    (tmp_path / "web.toml").write_text(settings_for(web.domains, web.resolve(80), hostile=True))
    written = config.load(tmp_path / "web.toml").harvester
    taken = demo_settings(web.resolve(80), tuple(web.domains), hostile=True).harvester
    assert {name: getattr(written, name) for name in (*LIMITS, "resolve")} == {
        name: getattr(taken, name) for name in (*LIMITS, "resolve")
    }


def test_ends_are_found_by_target_or_by_the_longest_prefix() -> None:
    table = BEHAVIOURS["soft-404"]
    assert table.ends_of("/there/1") == ("ok",)
    assert "soft_404" in table.ends_of("/gone/17")
    assert table.ends_of("/elsewhere") == ()


def test_a_site_that_shows_anothers_proof_is_not_believed_and_one_whose_proof_vanishes_no_longer(
    tmp_path: Path,
) -> None:
    write(tmp_path / "mine.key", KEY)
    mine = ("harvester.mine=true", f"harvester.mine_key={tmp_path / 'mine.key'}", "harvester.robots_valid=2s")
    found = crawl(HostileWeb(names=("proof-borrowed", "proof-vanishing")), tmp_path, "harvester.workers=1", *mine)
    assert found.ended.code == 0, found.ended.errors
    assert found.ends.wrong == {}
    names = {row["site"]: row["name"] for row in rows(found.folder, "sites") if row["name"]}
    events = [(names[row["site"]], row["event"]) for row in rows(found.folder, "events") if "owned" in row["event"]]
    assert events == [(VANISHING, "owned"), (VANISHING, "disowned")]
