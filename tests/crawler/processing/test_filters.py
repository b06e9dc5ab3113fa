"""Filters beside a real worker, and whatever they do to their process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.base.model import Counted, Outcome
from gossamer.config import loads
from gossamer.plugins.find import find
from gossamer.web.pool.pool import Pool
from tests.support.pooling import ask, make_pool, server
from tests.support.server import Server
from tests.support.timing import WITHIN

__all__ = ["server"]

CODE = '''
import os, time

def even(url, page):
    """Only links whose number is even."""
    return int(url.rpartition("/")[2]) % 2 == 0

def keep(url, page):
    """Does what the query of the page says, at its fourth link."""
    what = page.partition("?")[2] if url.endswith("/3") else ""
    if what == "raise":
        raise KeyError("no such thing")
    if what == "exit":
        raise SystemExit(3)
    if what == "none":
        return None
    if what == "number":
        return 3
    if what == "end":
        os._exit(3)
    if what == "hang":
        time.sleep(3600)
    return what != "leave"

def refuse(url, page):
    return False

def title(page):
    return {"title": page.title}
title.columns = {"title": "text"}
'''
LINKS = 20
ONE = {
    "raise": "KeyError: 'no such thing' (line 12)",
    "exit": "SystemExit: 3 (line 14)",
    "none": "TypeError: it returned None for http://site.test/page/3, neither True nor False",
    "number": "TypeError: it returned 3 for http://site.test/page/3, neither True nor False",
}
"""What leaves one link out."""
ALL = {
    "end": "its process ended with exit code 3",
    "hang": "it took longer than 1.0 s (plugins.timeout), and was ended",
}
"""What leaves all links out: nobody judged them."""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    pools: list[Pool] = []

    def make(*names: str, process: tuple[str, ...] = ()) -> Pool:
        (tmp_path / "my.py").write_text(CODE)
        named = {"process": process, "filter": names}
        said = "".join(f"{kind} = {json.dumps([f'my.py:{n}' for n in each])}\n" for kind, each in named.items())
        found = find(loads(f"[plugins]\n{said}").plugins, tmp_path)
        processors = [(p, (p.function, "left_out:int" if p.kind == "filter" else "title:text")) for p in found]
        pools.append(make_pool(tmp_path, "plugins.timeout=1s", workers=1, processors=processors))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


class Back:
    """What came back for a page."""

    def __init__(self, visit: Any, raw: bytes, seen: bytes) -> None:
        self.links, self.rejected = int(visit["links"]), int(visit["counted"][Counted.REJECTED])
        self.degree, self.outcome, self.seen = int(visit["out_degree"]), Outcome(visit["outcome"]), seen.decode()
        self.rows: dict[str, Any] = {}
        for line in raw.split(b"\n")[:-1]:
            name, _, body = line.split(b"\t")
            assert name.decode() not in self.rows
            self.rows[name.decode()] = json.loads(body)


def crawled(pool: Pool, server: Server, *paths: str) -> dict[str, Back]:
    pool.assign([ask(number, f"http://site.test{path}".encode(), server) for number, path in enumerate(paths, 1)])
    found: dict[str, Back] = {}
    for _ in range(int(WITHIN / 0.2)):
        results = pool.results(0.2)
        lines, at = results.rows.split() or [b""] * len(results), 0
        for visit, raw in zip(results.visits, lines, strict=True):
            path, end = paths[int(visit["number"]) - 1], at + int(visit["seen"])
            assert path not in found, "it came twice"
            found[path], at = Back(visit, raw, results.seen[at:end]), end
        if len(found) == len(paths):
            return found
    raise AssertionError(f"only {sorted(found)} came back")


def test_links_that_filters_leave_out_are_counted_and_not_followed(start: Any, server: Server) -> None:
    """Two filters and a processor on one page: each sees it, and both filters count."""
    found = crawled(start("even", "keep", process=("title",)), server, "/ok?leave", "/ok", "/not-found")
    assert (found["/ok?leave"].links, found["/ok?leave"].rejected) == (10, 10)
    assert found["/ok?leave"].rows == {"title": [["A page"]], "even": [[10]], "keep": [[1]]}
    assert (found["/ok"].links, found["/ok"].rejected, found["/ok"].degree) == (10, 10, LINKS)
    assert found["/ok"].rows == {"title": [["A page"]], "even": [[10]]}
    assert "rejected\t\tsite.test\t10\n" in found["/ok"].seen
    assert (found["/not-found"].links, found["/not-found"].rows) == (0, {})


def test_no_link_leaves_that_a_filter_has_not_judged(start: Any, server: Server) -> None:
    """Whatever the filter does: the link about which it fails is not followed, and the page keeps its outcome."""
    paths = [f"/ok?{what}" for what in (*ONE, *ALL, "good")]
    found = crawled(start("keep", process=("title",)), server, *paths)
    for path, back in found.items():
        what = path.partition("?")[2]
        assert back.outcome is Outcome.OK
        assert back.rows["title"] == [["A page"]], "the processor saw it too"
        left_out = 1 if what in ONE else LINKS if what in ALL else 0
        assert (back.links, back.rejected) == (LINKS - left_out, left_out), what
        assert back.rows.get("keep") == (ONE | ALL).get(what), what


def test_redirects_and_pages_that_are_not_stored_are_filtered_without_rows(start: Any, server: Server) -> None:
    found = crawled(start("refuse"), server, "/redirect", "/noarchive", "/noindex", "/ok")
    assert all(back.links == 0 for back in found.values())
    assert (found["/redirect"].outcome, found["/redirect"].rejected) == (Outcome.REDIRECT, 1)
    assert found["/noarchive"].rejected == LINKS
    assert found["/redirect"].rows == {"refuse": [[1]]}
    assert found["/noarchive"].rows == found["/noindex"].rows == {}, "what is not stored has no rows"
    assert found["/ok"].rows == {"refuse": [[LINKS]]}
