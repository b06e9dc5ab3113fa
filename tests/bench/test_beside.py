"""The comparison with other crawlers: what it counts, what it costs, what it prints. Other crawlers are not run."""

from __future__ import annotations

import os
import re
import ssl
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from bench.beside import bound, results, write
from bench.beside.crawlers import CRAWLERS, gossamer, scrapy
from bench.beside.judge import Pages, judge
from bench.beside.pages import Site, file_of, look
from bench.beside.serve import Served, program, serve
from bench.beside.watch import Sample, _cost, watch
from gossamer.webs import checker
from gossamer.webs.demo import DemoWeb
from gossamer.webs.demo.render import render
from tests.support.needed import needed
from tests.support.timing import WITHIN

LINE = (
    '127.0.0.1 - - [17/Nov/2026:12:00:00 +0000] "GET {target} HTTP/1.1" {status} 10 "-" "x" '
    '{end:.3f} 0.001 http 127.7.0.1:8000 127.7.0.1 1 "-" "-" "-"\n'
)


def made(folder: Path, **pages: str) -> Site:
    """A package with pages of these contents."""
    root = folder / "some-doc" / "usr" / "share" / "doc" / "html"
    root.mkdir(parents=True)
    for name, text in pages.items():
        (root / f"{name}.html").write_text(text)
    site = look("some-doc", folder)
    assert site
    return site


def test_the_pages_of_a_package_are_those_reachable_by_links(tmp_path: Path) -> None:
    site = made(
        tmp_path,
        index='<a href="a.html#x">1</a><a href=b.html?y>2</a><a href="http://other.test/c.html">3</a>',
        a='<iframe src="./"></iframe>',
        b="",
        c="no link leads here",
    )
    assert (site.start, site.pages, site.links) == ("/index.html", ["/a.html", "/b.html", "/index.html"], 4)
    assert (tmp_path / site.root / "a.html.gz").exists()
    assert not (tmp_path / site.root / "c.html.gz").exists()


def test_a_package_without_a_start_page_is_not_a_site(tmp_path: Path) -> None:
    (tmp_path / "empty-doc").mkdir()
    assert look("empty-doc", tmp_path) is None


def test_a_target_names_the_file_of_its_answer() -> None:
    assert [file_of(t) for t in ("/", "/a%20b/?q#f", "/c.html?x=1")] == ["/index.html", "/a b/index.html", "/c.html"]


def log_of(folder: Path, *requests: tuple[str, int, float]) -> Served:
    log = folder / "access.log"
    log.write_text("".join(LINE.format(target=t, status=s, end=e) for t, s, e in requests))
    (folder / "robots.txt").write_text("User-agent: *\nDisallow: /private/\n")
    there = frozenset({"127.7.0.1:8000/index.html", "127.7.0.1:8000/a.html"})
    return Served(
        ["127.7.0.1"],
        [],
        log,
        lambda line: b".html" in line and b'" 200 ' in line,
        lambda h, t: h + file_of(t),
        there,
        checker.robots_in(folder),
    )


def test_pages_are_counted_while_the_log_grows(tmp_path: Path) -> None:
    served = log_of(tmp_path, ("/a.html", 200, 1.0), ("/b.html", 404, 2.0))
    pages = Pages(served.log, served.is_page)
    assert pages.count() == 1
    with served.log.open("a") as log:
        log.write(LINE.format(target="/c.html", status=200, end=3.0) + '127.0.0.1 - - "GET /d.html HT')
    assert (pages.count(), pages.count()) == (2, 2)


def test_all_crawlers_are_judged_by_the_same_rule(tmp_path: Path) -> None:
    polite = (("/robots.txt", 200, 1.0), ("/", 200, 1.1), ("/index.html", 200, 1.2), ("/x.html", 404, 1.3))
    verdict = judge(log_of(tmp_path, *polite), 0.05)
    assert (verdict.found, verdict.there, verdict.impolite, verdict.requests) == (1, 2, 0, 4)
    verdict = judge(log_of(tmp_path, *polite, ("/a.html", 200, 1.31), ("/private/x", 200, 1.5)), 0.05)
    assert verdict.found == 2
    assert verdict.kinds == {"site_early": 1, "forbidden": 1}


def test_the_warm_part_excludes_start_and_end() -> None:
    samples = [Sample(0, 0, 0, 0), Sample(2, 3, 1, 30), Sample(4, 4, 1.5, 100), Sample(6, 9, 2, 100)]
    cost = _cost(samples, 100, 10.0, 5, False)
    assert (cost.warm_pages, cost.warm_seconds, cost.warm_cpu, cost.warm_first) == (0, 0, 0, 0)
    cost = _cost([*samples[:1], Sample(1, 2, 1, 40), *samples[2:]], 100, 10.0, 5, False)
    assert (cost.warm_pages, cost.warm_seconds, cost.warm_cpu, cost.warm_first) == (60, 3, 2, 0.5)
    assert (cost.seconds, cost.whole_ms) == (4, 100)
    assert cost.ms == pytest.approx(1000 * 2 / 60)


def test_cpu_time_of_children_counts_and_a_crawler_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    spin = "import subprocess,sys,time; subprocess.run([sys.executable,'-c','for i in range(10**6): pass'])"
    cost = watch([sys.executable, "-c", spin], lambda: 1, tmp_path, WITHIN)
    assert (cost.pages, cost.stopped) == (1, False)
    assert cost.cpu > 0.02
    cost = watch([sys.executable, "-c", "import time; time.sleep(60)"], lambda: 0, tmp_path, 0.3)
    assert cost.stopped


@needed("nginx", bool(program()), "apt-get install nginx-light")
@pytest.mark.parametrize("tls", [False, True])
def test_each_site_is_served_at_its_own_address(tls: bool, tmp_path: Path) -> None:
    site = made(tmp_path, index='<a href="a.html">1</a>', a="text")
    with serve([site, site], tmp_path, tmp_path / "web", tls) as served:
        trust = ssl.create_default_context(cafile=served.trusted) if served.trusted else None
        said = []
        for url in (*served.seeds, served.seeds[0].replace("index.html", "robots.txt")):
            with urlopen(url, context=trust, timeout=WITHIN) as answer:
                said.append(answer.read())
    assert said[:2] == [b'<a href="a.html">1</a>'] * 2
    assert said[2].startswith(b"User-agent: *")
    assert served.seeds[1].startswith(f"http{'s' if tls else ''}://127.7.0.2:")
    assert len(served.there) == 4
    assert Pages(served.log, served.is_page).count() == 2


def test_every_crawler_gets_the_seeds_and_a_file_of_names_if_it_needs_one(tmp_path: Path) -> None:
    served = log_of(tmp_path)
    for start in (make(served, tmp_path) for make in CRAWLERS.values()):
        assert any(str(tmp_path / "seeds") in str(word) for word in start.command)
    named = Served(**{n: getattr(served, n) for n in served.__slots__} | {"names": tmp_path / "hosts"})
    assert scrapy(named, tmp_path).command[0] == "unshare"
    assert gossamer(named, tmp_path).command[0] == sys.executable


def test_heavy_pages_have_the_sizes_of_the_http_archive() -> None:
    web = DemoWeb(sites=20, pages=1_500, largest=200, heavy=True, mirrors=0)
    found = sorted(len(render(web, s, n).plain) for s in web.all_sites for n in range(s.pages))
    assert found[len(found) // 2] == pytest.approx(35_000, rel=0.15)
    assert found[len(found) * 9 // 10] == pytest.approx(152_000, rel=0.2)


RUN: dict[str, Any] = {
    "pages": 10,
    "stopped": False,
    "found": 9,
    "there": 10,
    "impolite": 0,
    "requests": 12,
    "peak": 10**8,
    "rate": 100.0,
    "whole_ms": 2.0,
    "first_ms": 0.1,
}


def measured(path: Path) -> dict[str, Any]:
    for web, ms in (("b", 1.4), ("c10", 2.3)):
        results.add(path, [RUN | {"web": web, "crawler": "gossamer", "ms": ms}], {})
        results.add(path, [RUN | {"web": web, "crawler": "scrapy", "ms": 21.0}], {})
    known = [
        {"known": 10**5, "us": 100.0, "ratio": 1.0, "plan_ms": 9.0},
        {"known": 10**7, "us": 450.0, "ratio": 4.5, "plan_ms": 250.0},
    ]
    connections = [
        {
            "connections": 2_000,
            "open": 1990.0,
            "ms": 2.0,
            "rate": 290.0,
            "pause_p99.9": 40.0,
            "pause_longest": 220.0,
            "pause_cpu": 30.0,
            "memory": [1e8, 2e8, 2.1e8],
        }
    ]
    told = {
        "machine": dict.fromkeys(("processor", "memory", "system", "date", "load"), "x"),
        "wait": 0.05,
        "versions": {"gossamer": "1"},
        "pages": "p",
        "sizes": "s",
        "most": 60.0,
    }
    results.add(path, [], {"known": known, "connections": connections}, **told)
    return results.load(path)


def test_only_the_bounds_that_are_exceeded_are_missed(tmp_path: Path) -> None:
    found = {f.name: f for f in bound.figures(measured(tmp_path / "r.json"))}
    assert [name for name, f in found.items() if not f.is_good] == [
        "CPU per page: TLS, ten pages per connection",
        "a page at 10,000,000 known, relative to 100,000",
        "2,000 connections: longest pause",
    ]
    assert "15.0 times" in found["CPU per page: real pages"].aside
    with pytest.raises(SystemExit, match="missed: CPU per page: TLS"):
        bound.main(tmp_path / "r.json")


def test_a_run_replaces_earlier_runs(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    for ms in (3.0, 1.0):
        results.add(path, [RUN | {"web": "b", "crawler": "gossamer", "ms": ms}], {})
    assert results.middle(results.load(path), "b", "gossamer", "ms") == 1.0


def test_the_page_shows_the_measurements_and_the_missed_bounds(tmp_path: Path) -> None:
    text = write.page(measured(tmp_path / "r.json"))
    assert re.search(r"\| Scrapy \| 21.00 \|", text)
    assert "| 10,000,000 | 450.0 | 4.50 | 250.0 |" in text
    assert re.search(r"2,000 connections: longest pause \| 220 ms \| 200 ms \| \*\*no\*\*", text)


def test_the_programs_for_other_crawlers_do_not_import_gossamer() -> None:
    programs = list((Path(write.__file__).parent / "others").glob("with_*.py"))
    assert programs
    for path in programs:
        assert not re.search(r"^(?:from|import) (?:gossamer|bench)", path.read_text(), re.MULTILINE)
        assert os.access(path, os.R_OK)
