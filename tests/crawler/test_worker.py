"""What a real worker makes of every kind of answer: the whole way of an assignment, and back."""

from __future__ import annotations

import gzip
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from gossamer.base.model import NONE, Ask, Counted, LinkFlag, LinkKind, Outcome, VisitFlag
from gossamer.robots import Rules
from gossamer.urls import fingerprint, origin
from gossamer.web.background import Background
from tests.support.pooling import SEED, Start, archived, ask, collect, make_pool, outcomes, server, start
from tests.support.server import PAGE, Server
from tests.support.timing import WITHIN

__all__ = ["server", "start"]

PATHS = {
    "/ok": Outcome.OK,
    "/plain": Outcome.OK,
    "/chunked": Outcome.OK,
    "/chunked-gzip": Outcome.OK,
    "/gzip": Outcome.OK,
    "/deflate": Outcome.OK,
    "/bare-deflate": Outcome.OK,
    "/br": Outcome.OK,
    "/zstd": Outcome.OK,
    "/lie": Outcome.OK,
    "/bad-encoding": Outcome.BAD_ENCODING,
    "/bomb": Outcome.BAD_ENCODING,
    "/empty": Outcome.NO_CONTENT,
    "/no-content": Outcome.NO_CONTENT,
    "/no-type": Outcome.OK,
    "/other-type": Outcome.OTHER_TYPE,
    "/redirect": Outcome.REDIRECT,
    "/redirect-away": Outcome.REDIRECT,
    "/redirect-mail": Outcome.REDIRECT,
    "/redirect-nowhere": Outcome.NO_CONTENT,
    "/not-found": Outcome.NOT_FOUND,
    "/gone": Outcome.NOT_FOUND,
    "/refused": Outcome.REFUSED,
    "/error": Outcome.SERVER_ERROR,
    "/wait": Outcome.TOO_MANY_REQUESTS,
    "/wait-date": Outcome.SERVER_ERROR,
    "/odd-status": Outcome.NO_CONTENT,
    "/big": Outcome.OK,
    "/big-gzip": Outcome.OK,
    "/lf": Outcome.OK,
    "/folded": Outcome.OK,
    "/accents": Outcome.OK,
    "/noindex": Outcome.OK,
    "/validators": Outcome.OK,
    "/early-hints": Outcome.OK,
    "/until-close": Outcome.OK,
    "/broken": Outcome.BROKEN_OFF,
    "/broken-chunks": Outcome.BROKEN_OFF,
    "/nothing": Outcome.BROKEN_OFF,
    "/not-http": Outcome.PROTOCOL_ERROR,
    "/noarchive": Outcome.OK,
    "/expired": Outcome.OK,
    "/hidden-404": Outcome.NOT_FOUND,
    "/preferences": Outcome.OK,
    "/paid": Outcome.PAYMENT_REQUIRED,
    "/challenge": Outcome.CHALLENGED,
    "/log-in-page": Outcome.REFUSED,
    "/redirect-log-in": Outcome.REDIRECT,
    "/redirect-port": Outcome.REDIRECT,
    "/silent": Outcome.TIMED_OUT,
    "/slow": Outcome.TOO_SLOW,
    "/endless": Outcome.OK,
}


@pytest.fixture(scope="module")
def tour(
    server: Server, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, tuple[Any, dict[str, bytes]]], Path, dict[str, int]]:
    """Every path once: visit and texts by path, the folder of the shard, the lengths of the archive files."""
    folder = tmp_path_factory.mktemp("shard")
    pool = make_pool(
        folder,
        "harvester.first_byte_timeout=3s",
        "harvester.slow_time=2s",
        "gatherer.text=true",
    )
    pool.assign([ask(i, server.url(path), server) for i, path in enumerate(PATHS)])
    found = collect(pool, len(PATHS))
    lengths = pool.warc_lengths()
    pool.close()
    return {path: found[i] for i, path in enumerate(PATHS)}, folder, lengths


Tour = tuple[dict[str, tuple[Any, dict[str, bytes]]], Path, dict[str, int]]


@pytest.mark.parametrize("path", PATHS)
def test_every_kind_of_answer_has_its_outcome(tour: Tour, path: str) -> None:
    visit, texts = tour[0][path]
    assert Outcome(visit["outcome"]) is PATHS[path]
    assert visit["start"] < visit["end"]
    assert texts["address"] == b"127.0.0.1"
    assert bool(visit["warc_end"]) == (PATHS[path] not in _FAILED and path not in _PRIVATE)
    assert bool(texts["detail"]) == (PATHS[path] in _EXPLAINED or path in _TOLD)


_TOLD = ("/big", "/endless", "/log-in-page", "/redirect-nowhere", "/redirect-mail")
_PRIVATE = ("/noindex", "/noarchive", "/expired", "/hidden-404")
_FAILED = (Outcome.BROKEN_OFF, Outcome.PROTOCOL_ERROR, Outcome.TIMED_OUT, Outcome.TOO_SLOW)
_EXPLAINED = (*_FAILED, Outcome.OTHER_TYPE, Outcome.PAYMENT_REQUIRED, Outcome.CHALLENGED)


def test_pages_are_gathered_whatever_their_encoding(tour: Tour) -> None:
    same = [tour[0][path] for path in ("/ok", "/chunked", "/gzip", "/deflate", "/bare-deflate", "/br", "/zstd", "/lie")]
    for visit, texts in same:
        assert texts["title"] == b"A page"
        assert (visit["length"], visit["links"], visit["out_degree"]) == (len(PAGE), 20, 20)
        assert visit["digest"] == same[0][0]["digest"] != 0
        assert visit["flags"] & VisitFlag.STORED


def test_the_values_that_the_desk_needs_come_back(tour: Tour) -> None:
    visits = tour[0]
    assert visits["/wait"][0]["retry_after"] == 120
    assert visits["/wait-date"][0]["retry_after"] > 1e8
    assert visits["/ok"][0]["retry_after"] == -1
    assert visits["/validators"][1]["etag"] == b'"abc"'
    assert visits["/validators"][1]["last_modified"] == b"Fri, 01 Jan 2021 00:00:00 GMT"
    assert visits["/plain"][1]["mime"] == b"text/plain"
    assert visits["/noindex"][0]["flags"] & VisitFlag.NOINDEX
    assert visits["/noindex"][0]["flags"] & VisitFlag.NOFOLLOW
    assert visits["/big"][0]["flags"] & VisitFlag.CUT
    assert not visits["/ok"][0]["flags"] & VisitFlag.CUT
    assert not visits["/other-type"][0]["flags"] & VisitFlag.STORED
    assert (visits["/ok"][0]["page"], visits["/ok"][0]["origin"], visits["/ok"][0]["site"]) == (0, 5, 0)


def test_of_noindex_and_noarchive_pages_only_the_visit_is_kept(tour: Tour) -> None:
    visits, folder, lengths = tour
    for path in _PRIVATE:
        visit = visits[path][0]
        assert not visit["flags"] & (VisitFlag.STORED | VisitFlag.TEXT)
        assert not visit["payload"].any()
    shy, texts = visits["/expired"]
    assert shy["flags"] & VisitFlag.NOINDEX
    assert shy["flags"] & VisitFlag.UNAVAILABLE
    assert (texts["title"], texts["description"]) == (b"", b"")
    assert (shy["links"], shy["digest"]) == (20, visits["/ok"][0]["digest"]), "its links are followed"
    assert (visits["/noindex"][1]["title"], visits["/noarchive"][1]["title"]) == (b"", b"A page")
    assert visits["/noarchive"][0]["flags"] & VisitFlag.NOARCHIVE
    assert not visits["/noarchive"][0]["flags"] & VisitFlag.NOINDEX
    assert visits["/hidden-404"][0]["flags"] & VisitFlag.NOINDEX
    raw = b"".join(gzip.decompress((folder / name).read_bytes()) for name in lengths)
    assert b"What it is about" not in raw
    assert all(f"{path}\r\n".encode() not in raw for path in _PRIVATE)


def test_noindex_pages_are_kept_if_the_settings_say_so(start: Start, server: Server) -> None:
    pool = start("gatherer.keep_noindex=true")
    pool.assign([ask(i, server.url(path), server) for i, path in enumerate(_PRIVATE)])
    found = collect(pool, len(_PRIVATE))
    assert all(visit["flags"] & VisitFlag.STORED for visit, _ in found.values())
    assert found[2][1]["description"] == b"What it is about"


def test_the_link_texts_of_a_noindex_page_are_not_sent_to_the_desk(start: Start, server: Server) -> None:
    pool = start()
    pool.assign([ask(1, server.url("/expired"), server)])
    while not len(results := pool.results(1.0)):
        pass
    assert len(results.links) == 20
    assert not results.links.anchors.lengths.any()


def test_preferences_of_a_page_come_back(tour: Tour) -> None:
    assert tour[0]["/preferences"][1]["preferences"].decode().split("\n") == [
        "content-usage: train-ai=n, search=y",
        "content-signal: search=yes,ai-train=no",
        "license: https://example.org/licence.xml",
        "tdm-reservation: 1",
        "tdm-policy: https://example.org/p",
    ]
    assert tour[0]["/ok"][1]["preferences"] == b""


def test_payment_challenge_and_log_in_are_reported_and_not_circumvented(tour: Tour) -> None:
    visits = tour[0]
    assert visits["/paid"][1]["detail"] == b"crawler-price: USD 0.01"
    assert visits["/challenge"][1]["detail"] == b"cf-mitigated: challenge"
    assert visits["/log-in-page"][1]["detail"] == b"the answer is a log-in"
    for path in ("/paid", "/challenge", "/log-in-page", "/redirect-log-in"):
        assert visits[path][0]["links"] == 0
    assert visits["/redirect-log-in"][0]["counted"][Counted.REJECTED] == 1


def test_a_redirect_is_one_link_or_is_counted(tour: Tour, server: Server) -> None:
    visits = tour[0]
    visit, texts = visits["/redirect"]
    assert texts["redirect"] == server.url("/ok?from=redirect")
    assert (visit["links"], visit["out_degree"]) == (1, 1)
    visit, texts = visits["/redirect-away"]
    assert (texts["redirect"], visit["links"]) == (b"https://other.example/x", 0)
    assert visit["counted"][Counted.OUT_OF_SCOPE] == 1
    assert visits["/redirect-mail"][0]["counted"][Counted.NOT_HTTP] == 1


def test_the_archive_holds_every_answer_and_nothing_else(tour: Tour, server: Server) -> None:
    visits, folder, lengths = tour
    found: dict[str, bytes] = {}
    for name, length in lengths.items():
        assert (folder / name).stat().st_size == length
        found.update(archived(folder / name))
    expected = {path for path in PATHS if PATHS[path] not in _FAILED and path not in _PRIVATE}
    assert set(found) == {server.url(path).decode() for path in expected}
    for path in ("/ok", "/chunked", "/gzip", "/br", "/zstd", "/lie"):
        assert found[server.url(path).decode()] == PAGE
    visit = visits["/gzip"][0]
    with (folder / f"warc/{visit['warc_file']:06d}.warc.gz").open("rb") as stream:
        stream.seek(int(visit["warc_offset"]))
        record = next(iter(ArchiveIterator(stream)))
    assert record.rec_headers["WARC-Target-URI"] == server.url("/gzip").decode()


def test_links_are_sent_with_fingerprints_kinds_and_flags(start: Start, server: Server) -> None:
    pool = start(workers=1)
    pool.assign([ask(1, server.url("/redirect"), server)])
    pool.assign([ask(2, server.url("/ok"), server)])
    links: dict[bytes, tuple[int, int, int, int]] = {}
    count = 0
    while count < 2:
        results = pool.results(1.0)
        count += len(results)
        each = zip(
            results.links.texts.split(),
            results.links.fingerprint,
            results.links.origin,
            results.links.kind,
            results.links.flags,
            strict=True,
        )
        links |= {text: (int(f), int(o), int(k), int(g)) for text, f, o, k, g in each}
    assert len(links) == 21
    for text, (page, home, kind, flags) in links.items():
        assert page == fingerprint(text, SEED)
        assert home == fingerprint(origin(text.decode()), SEED)
        moved = b"?" in text
        assert kind == (LinkKind.REDIRECT if moved else LinkKind.ANCHOR)
        assert flags == (LinkFlag.DYNAMIC if moved else 0)


def test_robots_come_back_compiled(start: Start, server: Server) -> None:
    pool = start()
    paths = ["/robots.txt", "/long-robots.txt", "/redirect", "/not-found", "/empty", "/error"]
    pool.assign([ask(i, server.url(path), server, Ask.ROBOTS) for i, path in enumerate(paths, 1)])
    found = collect(pool, len(paths))
    visit, texts = found[1]
    assert (visit["ask"], visit["outcome"], visit["delay"], visit["page"]) == (Ask.ROBOTS, Outcome.OK, 3.0, NONE)
    rules = Rules.from_compiled(texts["rules"])
    assert not rules.allows("/private/x")
    assert rules.allows("/public")
    assert texts["sitemaps"] == b"https://example.org/sitemap.xml"
    assert visit["warc_end"] > 0
    assert found[2][0]["flags"] & VisitFlag.CUT
    assert not Rules.from_compiled(found[2][1]["rules"]).allows("/x")
    assert (found[3][0]["outcome"], found[3][1]["redirect"]) == (Outcome.REDIRECT, server.url("/ok?from=redirect"))
    assert found[3][0]["links"] == 0
    assert outcomes(found)[4] is Outcome.NOT_FOUND
    assert (outcomes(found)[5], found[5][1]["rules"]) == (Outcome.OK, b"")
    assert outcomes(found)[6] is Outcome.SERVER_ERROR


def test_a_redirect_to_an_odd_port_is_counted(start: Start, server: Server) -> None:
    pool = start(f'seeder.ports=["80", "{server.port}"]')
    pool.assign([ask(1, server.url("/redirect-port"), server), ask(2, server.url("/redirect"), server)])
    found = collect(pool, 2)
    assert (found[1][0]["links"], found[1][0]["counted"][Counted.OUT_OF_SCOPE]) == (0, 1)
    assert found[2][0]["links"] == 1


def test_robots_txt_is_read_and_archived_whatever_its_tags_say(start: Start, server: Server) -> None:
    pool = start()
    pool.assign([ask(1, server.url("/hidden-robots.txt"), server, Ask.ROBOTS)])
    visit, texts = collect(pool, 1)[1]
    assert visit["warc_end"] > 0
    assert not Rules.from_compiled(texts["rules"]).allows("/private/x")


def test_workers_do_not_import_numba() -> None:
    program = "import sys, gossamer.crawler.worker; sys.exit('numba' in sys.modules or 'pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_eventfd_is_cleared_even_if_its_result_was_taken_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The background thread queues a result, and then writes to the eventfd: the loop may take the result in between.
    An eventfd that stays readable would wake the loop again and again."""
    taken, written, write = Event(), Event(), os.eventfd_write

    def late(fd: int, times: int) -> None:
        assert taken.wait(WITHIN)
        write(fd, times)
        written.set()

    monkeypatch.setattr(os, "eventfd_write", late)
    background = Background[int, int](lambda number: 2 * number)
    background.give(21)
    found, end = list[int](), time.monotonic() + WITHIN
    while not found and time.monotonic() < end:
        found += background.done()
    assert found == [42]
    assert background.open == 0
    taken.set()
    assert written.wait(WITHIN)
    assert select.select([background.eventfd], [], [], 0)[0]
    assert list(background.done()) == []
    assert not select.select([background.eventfd], [], [], 0)[0]
