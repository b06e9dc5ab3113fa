"""pywb replays archived pages directly from the archive and the index in the folder of a collection."""

from __future__ import annotations

import gzip
import http.client
import importlib.util
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from gossamer.collection import cdx
from gossamer.web.archive.archive import Copy, Exchange
from gossamer.web.fetch.response import read_head
from gossamer.webs.demo import DemoWeb
from tests.support.archiving import Shard, exchange
from tests.support.crawling import LIGHT, serve
from tests.support.needed import needed
from tests.support.timing import COMMAND, WITHIN

pytestmark = [
    pytest.mark.slow,
    needed("pywb", importlib.util.find_spec("pywb") is not None, "make test"),
]

CONFIG = """\
collections:
  crawl:
    index_paths: my-crawl/shard-000/cdx/
    archive_paths: my-crawl/shard-000/warc/
enable_auto_colls: false
"""
"""The configuration in the manual."""
PAGE = b"<html><head><title>A page</title></head><body><p>Replayed to the letter.</p></body></html>" * 9
VARIED = PAGE + b"".join(b"<p>%x</p>" % (7**number) for number in range(400))
"""A page that is long even when it is compressed."""
LATER = 90.0
"""Seconds between visits: pywb distinguishes captures by the second."""


@dataclass
class Replay:
    port: int

    def get(self, url: str, when: str = "20231114id_") -> tuple[int, dict[str, str], bytes]:
        """The capture nearest to `when`. `id_`: unchanged; `mp_`: with rewritten links, as a browser gets it."""
        return self.ask(f"{when}/{url}")

    def ask(self, path: str) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WITHIN)
        connection.request("GET", f"/crawl/{path}")
        answer = connection.getresponse()
        found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        connection.close()
        return found


def archived(folder: Path) -> None:
    """Two segments: a page, repeats of it at another URL and at the same, encodings, a redirect, a missing page."""
    shard = Shard(folder)
    first, second = shard.archives
    html = (b"Content-Type", b"text/html; charset=utf-8")
    shard.publish(first.write(exchange(PAGE, html, url=b"http://one.test/page"), b"A page. Replayed to the letter."))
    packed, zipped = gzip.compress(VARIED), (b"Content-Encoding", b"gzip")
    shard.publish(place := first.write(exchange(packed, html, zipped, url=b"http://one.test/gzip?b=1&a=2")))
    gzipped = place.payload, 0, place.offset
    to = (b"Location", b"http://one.test/page")
    first.write(exchange(b"moved", to, url=b"http://one.test/old", status=b"301 Moved Permanently"))
    ends = {path: path.stat().st_size for path in shard.paths}
    index(folder, 1, {path: (0, end) for path, end in ends.items()})
    again = exchange(PAGE, html, (b"X-Visit", b"another url"), url=b"http://two.test/copy")
    repeat = second.write(replace(again, time=again.time + LATER))
    assert repeat.repeated
    later = exchange(PAGE, html, (b"X-Visit", b"a day later"), url=b"http://one.test/page")
    assert second.write(replace(later, time=later.time + 86_400)).repeated
    twin = exchange(packed, html, zipped, url=b"http://two.test/gzip")
    assert second.write(replace(twin, time=twin.time + LATER)).repeated
    plain = (b"Content-Type", b"text/plain")
    second.write(exchange(b"Nothing here", plain, url=b"http://two.test/gone", status=b"404 Not Found"))
    second.write(unmodified(exchange(b"", url=b"http://one.test/gzip?b=1&a=2"), 2 * 86_400), copy=Copy(*gzipped))
    here = Copy(repeat.payload, 1, repeat.offset)
    second.write(unmodified(exchange(b"", url=b"http://two.test/copy"), 3 * 86_400), copy=here)
    index(folder, 2, {path: (end, path.stat().st_size) for path, end in ends.items()})


def unmodified(exchange: Exchange, seconds: float) -> Exchange:
    """The same exchange so much later, answered by 304."""
    head = read_head([b"HTTP/1.1 304 Not Modified\r\n", b'ETag: "1"\r\n', b"\r\n"])
    return replace(exchange, time=exchange.time + seconds, head=head)


def index(folder: Path, segment: int, spans: dict[Path, tuple[int, int]]) -> None:
    path = folder / "cdx" / f"{segment:012d}.cdxj"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(sorted(line for warc, span in spans.items() for line in cdx.lines(warc, *span))))


def started(folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "config.yaml").write_text(CONFIG)
    code = "from pywb.apps.cli import wayback; wayback()"
    command = [sys.executable, "-W", "ignore", "-c", code, "-b", "127.0.0.1", "-p", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    deadline = time.monotonic() + COMMAND
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return process, port
    process.kill()
    process.wait()
    raise AssertionError((folder / "log").read_text())


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    folder = tmp_path_factory.mktemp("replay")
    archived(folder / "my-crawl" / "shard-000")
    process, port = started(folder)
    yield Replay(port)
    process.terminate()
    process.wait()


def test_a_response_is_replayed(replay: Replay) -> None:
    status, fields, body = replay.get("http://one.test/page", "20231114221320id_")
    assert (status, body) == (200, PAGE)
    assert fields["memento-datetime"] == "Tue, 14 Nov 2023 22:13:20 GMT"
    assert replay.get("http://www.one.test/page")[2] == PAGE
    assert b"<p>Replayed to the letter.</p>" in replay.get("http://one.test/page", "20231114mp_")[2]


def test_a_compressed_response_is_replayed(replay: Replay) -> None:
    status, fields, body = replay.get("http://one.test/gzip?a=2&b=1")
    assert status == 200
    assert (gzip.decompress(body) if fields.get("content-encoding") == "gzip" else body) == VARIED


def test_a_revisit_at_another_url_is_replayed_with_its_own_headers_and_the_first_body(replay: Replay) -> None:
    status, fields, body = replay.get("http://two.test/copy")
    assert (status, body) == (200, PAGE)
    assert fields["x-visit"] == "another url"
    assert fields["memento-datetime"] == "Tue, 14 Nov 2023 22:14:50 GMT"


def test_a_revisit_at_the_same_url_is_replayed(replay: Replay) -> None:
    status, fields, body = replay.get("http://one.test/page", "20231116id_")
    assert (status, body) == (200, PAGE)
    assert fields["memento-datetime"] == "Wed, 15 Nov 2023 22:13:20 GMT"


def test_a_revisit_of_a_compressed_body_is_replayed(replay: Replay) -> None:
    status, fields, body = replay.get("http://two.test/gzip")
    assert status == 200
    assert (gzip.decompress(body) if fields.get("content-encoding") == "gzip" else body) == VARIED


def test_an_answer_that_nothing_has_changed_is_replayed_as_the_copy(replay: Replay) -> None:
    """With the copy's own date; also if the copy itself is a repeat of a body at another URL."""
    status, fields, body = replay.get("http://one.test/gzip?b=1&a=2", "20231116221320id_")
    assert (status, fields["memento-datetime"]) == (200, "Tue, 14 Nov 2023 22:13:20 GMT")
    assert (gzip.decompress(body) if fields.get("content-encoding") == "gzip" else body) == VARIED
    status, fields, body = replay.get("http://two.test/copy", "20231117221320id_")
    assert (status, body, fields["x-visit"]) == (200, PAGE, "another url")
    _, _, captures = replay.ask("cdx?url=http://two.test/copy&output=json")
    assert [json.loads(line)["timestamp"] for line in captures.splitlines()] == ["20231114221450", "20231117221320"]


def test_a_redirect_leads_to_the_archived_page(replay: Replay) -> None:
    status, fields, _ = replay.get("http://one.test/old", "20231114mp_")
    assert status == 301
    assert fields["location"].endswith("mp_/http://one.test/page")


def test_an_error_is_replayed_as_such_and_an_unknown_page_is_not_found(replay: Replay) -> None:
    status, _, body = replay.get("http://two.test/gone")
    assert (status, body) == (404, b"Nothing here")
    status, _, body = replay.get("http://two.test/unknown")
    assert status == 404
    assert b"Nothing here" not in body


@dataclass
class Crawled:
    """A crawl of the demonstration Web, and pywb on its folder."""

    replay: Replay
    shard: Path
    captures: list[dict[str, str]]
    """The whole index that the crawl wrote."""

    def first(self, mime: str, status: str) -> dict[str, str]:
        return next(c for c in self.captures if c["mime"].startswith(mime) and c["status"].startswith(status))

    def stored(self, capture: dict[str, str]) -> bytes:
        """The body in the archive, decoded."""
        with (self.shard / "warc" / capture["filename"]).open("rb") as stream:
            stream.seek(int(capture["offset"]))
            body: bytes = next(iter(ArchiveIterator(stream))).content_stream().read()
        return body

    def replayed(self, capture: dict[str, str], form: str = "id_") -> tuple[int, dict[str, str], bytes]:
        status, fields, body = self.replay.get(capture["url"], capture["timestamp"] + form)
        return status, fields, gzip.decompress(body) if fields.get("content-encoding") == "gzip" else body


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    folder = tmp_path_factory.mktemp("crawled")
    with serve(DemoWeb(sites=30, pages=600), folder, *LIGHT, "gatherer.text=true") as served:
        ended = served.crawl(folder / "my-crawl", "--workers", "1", "--pages", "300")
        assert ended.code == 0, ended.errors
        again = ("--set", "manager.min_period=1s", "--pages", "400")  # the same pages, once more
        ended = served.crawl(folder / "my-crawl", "--workers", "1", *again)
    assert ended.code == 0, ended.errors
    shard = folder / "my-crawl" / "shard-000"
    captures = []
    for path in sorted((shard / "cdx").iterdir()):
        for line in path.read_text().splitlines():
            _, timestamp, fields = line.split(" ", 2)
            captures.append(json.loads(fields) | {"timestamp": timestamp})
    assert captures, "the crawl wrote no index"
    process, port = started(folder)
    yield Crawled(Replay(port), shard, captures)
    process.terminate()
    process.wait()


def test_a_crawl_is_replayed_page_by_page(crawled: Crawled) -> None:
    pages = [c for c in crawled.captures if c["mime"] == "text/html" and c["status"] == "200"]
    assert len(pages) > 100
    for page in pages[::10]:
        status, _, body = crawled.replayed(page)
        assert (status, body) == (200, crawled.stored(page))
        assert b"<title>" in body


def test_a_repeat_in_a_crawl_is_replayed_with_the_first_body(crawled: Crawled) -> None:
    repeats = [c for c in crawled.captures if c["mime"] == "warc/revisit"]
    assert repeats
    for repeat in repeats:
        first = next(c for c in crawled.captures if c["digest"] == repeat["digest"] and c["mime"] != "warc/revisit")
        status, _, body = crawled.replayed(repeat)
        assert (status, body) == (int(repeat["status"]), crawled.stored(first))
        assert crawled.stored(repeat) == b""


def test_a_redirect_and_an_error_in_a_crawl_are_replayed(crawled: Crawled) -> None:
    redirect = crawled.first("text/html", "30")
    status, fields, _ = crawled.replayed(redirect, "mp_")
    assert status == int(redirect["status"])
    assert "/crawl/" in fields["location"]
    missing = crawled.first("text/html", "404")
    assert crawled.replayed(missing)[::2] == (404, crawled.stored(missing))
