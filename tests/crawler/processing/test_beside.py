"""Processors beside a real worker, and whatever they do to their process."""

from __future__ import annotations

import json
import os
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.base.model import Outcome
from gossamer.config import loads
from gossamer.crawler.processing.frames import Inbox, Marker, page_frame, parts, replies
from gossamer.plugins.find import Plugin, find
from gossamer.plugins.rows import Table
from gossamer.web.pool.pool import Pool
from tests.support.pooling import SEED, ask, make_pool, server
from tests.support.server import Server
from tests.support.timing import WITHIN

__all__ = ["server"]

CODE = '''
import os, signal, threading, time

def see(page):
    assert page.status == 200
    return {"url": page.url, "title": page.title, "size": len(page.body), "links": page.links,
            "type": page.headers["content-type"], "text": page.text, "tree": page.tree is not None}
see.columns = {"url": "url", "title": "text", "size": "int", "links": "url*", "type": "text", "text": "text",
               "tree": "bool"}

held = []

class Hostile:
    """Does what the query of the page says."""
    table = "hostile"
    columns = {"n": "int"}

    def __call__(self, page):
        what = page.url.partition("?")[2].partition("-")[0]
        if what == "raise":
            raise KeyError("no such thing")
        if what == "exit":
            raise SystemExit(3)
        if what == "end":
            os._exit(3)
        if what == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if what == "hang":
            while True:
                time.sleep(1)
        if what == "spin":
            while True:
                pass
        if what == "memory":
            held.append(bytearray(4 << 30))
        if what == "leak":
            held.append(b"x" * 6_000_000)
        if what == "close":
            os.closerange(3, 100)
        if what == "files":
            while True:
                held.append(open("/dev/null"))
        if what == "recurse":
            self(page)
        if what == "print":
            print("a line of a processor", flush=True)
        if what == "fork":
            if os.fork() == 0:
                time.sleep(0.1)
                os._exit(0)
        if what == "thread":
            threading.Thread(target=time.sleep, args=(3600,)).start()
        return [{"n": 1}, {"n": 2}]
'''
FAULTS = {
    "raise": "KeyError: 'no such thing' (line ",
    "exit": "SystemExit: 3 (line ",
    "end": "its process ended with exit code 3",
    "crash": "its process ended by signal 11",
    "hang": "it took longer than 1.0 s (plugins.timeout), and was ended",
    "spin": "it took longer than 1.0 s (plugins.timeout), and was ended",
    "memory": "it needed more memory than there is (plugins.memory = 400,000,000 bytes)",
    "files": "OSError: [Errno 24] Too many open files",
    "recurse": "RecursionError",
}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    pools: list[Pool] = []

    def make(*names: str, code: str = CODE, tables: dict[str, str] | None = None) -> Pool:
        (tmp_path / "my.py").write_text(code)
        toml = f"[plugins]\nprocess = {json.dumps([f'my.py:{name}' for name in names])}\n"
        known = tables or {"Hostile": "n:int", "see": SEE}
        processors = [(p, (p.function.lower(), known[p.function])) for p in find(loads(toml).plugins, tmp_path)]
        changes = ("plugins.timeout=1s", "plugins.memory=400MB")
        pools.append(make_pool(tmp_path, *changes, workers=1, processors=processors))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


SEE = "url:url,title:text,size:int,links:url*,type:text,text:text,tree:bool"


def crawled(pool: Pool, server: Server, *paths: str) -> dict[str, dict[str, list[Any]]]:
    """What came back for each path: by table, its rows and faults."""
    pool.assign([ask(number, f"http://site.test{path}".encode(), server) for number, path in enumerate(paths, 1)])
    found: dict[str, dict[str, list[Any]]] = {}
    for _ in range(int(WITHIN / 0.2)):
        results = pool.results(0.2)
        lines = results.rows.split() or [b""] * len(results)
        for visit, raw in zip(results.visits, lines, strict=True):
            path = paths[int(visit["number"]) - 1]
            assert path not in found, "it came twice"
            assert Outcome(visit["outcome"]) in (Outcome.OK, Outcome.NOT_FOUND)
            tables = found.setdefault(path, {})
            for line in raw.split(b"\n")[:-1]:
                name, _, body = line.split(b"\t")
                said = json.loads(body)
                tables.setdefault(name.decode(), []).extend([said] if isinstance(said, str) else said)
        if len(found) == len(paths):
            return found
    raise AssertionError(f"only {sorted(found)} came back")


def test_a_processor_sees_the_page_and_its_rows_leave_with_the_visit(start: Any, server: Server) -> None:
    found = crawled(start("see"), server, "/ok", "/plain", "/not-found", "/noindex", "/gzip")
    ((url, title, size, links, kind, text, tree),) = found["/ok"]["see"]
    assert url == "http://site.test/ok"
    assert title
    assert size > 0
    assert links
    assert all(link.startswith("http://") for link in links)
    assert kind.startswith("text/html")
    assert text
    assert tree is True
    assert found["/plain"]["see"][0][6] is False
    assert found["/not-found"] == found["/noindex"] == {}, "it was not fetched, or may not be kept"
    assert found["/gzip"]["see"][0][2] > 0


def test_every_page_leaves_once_with_the_rows_of_its_processors_or_a_fault(start: Any, server: Server) -> None:
    """Whatever processors do: faults name what failed, other pages and other processors keep their rows."""
    harmless = ["leak", "print", "fork", "thread"]
    paths = [f"/ok?{what}" for what in (*FAULTS, *harmless, "good")]
    found = crawled(start("Hostile", "see"), server, *paths)
    for path, tables in found.items():
        what = path.partition("?")[2].partition("-")[0]
        (seen,) = tables["see"]
        assert seen[0] == f"http://site.test{path}", "the other processor saw it too, once"
        if what in FAULTS:
            (fault,) = tables["hostile"]
            assert fault.startswith(FAULTS[what]), path
        else:
            assert tables["hostile"] == [[1], [2]], path


def test_a_process_whose_files_are_closed_is_replaced(start: Any, server: Server) -> None:
    found = crawled(start("Hostile"), server, "/ok?close-1", "/ok?good-1", "/ok?good-2")
    assert found["/ok?good-1"] == found["/ok?good-2"] == {"hostile": [[1], [2]]}
    assert len(found["/ok?close-1"]["hostile"]) in (1, 2)


def test_no_page_is_kept_for_longer_than_its_processors_may_take(start: Any, server: Server) -> None:
    """Several that hang, one after the other, and the pages behind them."""
    paths = [f"/ok?{what}-{n}" for n in range(3) for what in ("hang", "good")]
    found = crawled(start("Hostile"), server, *paths)
    said = Counter(str(tables["hostile"]) for tables in found.values())
    assert said == {str([FAULTS["hang"]]): 3, "[[1], [2]]": 3}


def test_leaks_cost_no_page(start: Any, server: Server) -> None:
    """6 MB for each page, of 400 MB: the process is exchanged before they are used up."""
    found = crawled(start("Hostile"), server, *(f"/ok?leak-{n}" for n in range(120)))
    assert all(tables["hostile"] == [[1], [2]] for tables in found.values())


def test_a_processor_that_cannot_be_loaded_costs_no_page(start: Any, server: Server, tmp_path: Path) -> None:
    """Its file changes after the start, or its process ends as soon as it begins."""
    pool = start("see")
    crawled(pool, server, "/ok")
    (tmp_path / "my.py").write_text("# other content\n")
    for pid in _processors(pool):
        os.kill(pid, 9)
    found = crawled(pool, server, "/ok", "/plain")
    (said,) = found["/plain"]["see"]
    assert said == f"{tmp_path / 'my.py'} has changed since the crawl began. Start the crawl again."
    ended = start("see", code="import os\nos._exit(7)\n")
    found = crawled(ended, server, "/ok", "/plain")
    assert found["/ok"] == found["/plain"] == {"see": ["its process ended with exit code 7"]}


def _processors(pool: Pool) -> list[int]:
    from tests.support.crawling import children

    return [child for pid in pool.pids() for child in children(pid)]


def test_pages_are_the_same_on_both_sides() -> None:
    sent = bytearray()
    for number, body in ((1, b"body"), (2, b""), (2**64 - 2, b"x" * 5_000)):
        sent += page_frame(number, number & 3, 200, 2, (b"http://a/", b"a\0b", b"t", b"l1\nl2"), body) + body
    one, other = socket.socketpair()
    inbox, found = Inbox(64), []
    for at in range(0, len(sent), 7):
        one.sendall(sent[at : at + 7])
        assert inbox.receive(other)
        found += list(inbox.pages())
    one.close()
    assert not inbox.receive(other)
    other.close()
    assert [(p.number, p.skip, p.url, p.headers, p.title, p.links, len(p.body)) for p in found] == [
        (1, 1, b"http://a/", b"a\0b", b"t", b"l1\nl2", 4),
        (2, 2, b"http://a/", b"a\0b", b"t", b"l1\nl2", 0),
        (2**64 - 2, 2, b"http://a/", b"a\0b", b"t", b"l1\nl2", 5_000),
    ]
    assert list(replies(bytearray(b"\x05\0\0\0" + b"\1" + b"\0" * 7 + b"hello" + b"\x09"))) == [(1, b"hello")]
    assert list(parts(b"\3\2\0\0\0[]\4\0\0\0\0")) == [(3, b"[]"), (4, b"")]


def test_a_marker_outlives_who_wrote_it() -> None:
    memory = os.memfd_create("marker")
    os.ftruncate(memory, 4096)
    one, other = Marker(memory), Marker(memory)
    assert other.read() is None
    one.set(0, 3)
    one.close()
    assert other.read() == (0, 3)
    other.clear()
    assert other.read() is None
    os.close(memory)


def test_tables_are_parsed_from_what_the_pool_sends() -> None:
    plugin = Plugin("process", "my.py:see")
    told = json.loads(json.dumps([(plugin, ("see", SEE))]))
    assert Plugin(*told[0][0]) == plugin
    assert Table.parse(*told[0][1]).said == SEE
    assert SEED
