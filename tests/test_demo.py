"""The demonstration Web: the same from every process, with the thesis' proportions, true to its own description."""

from __future__ import annotations

import asyncio
import gzip
import math
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from gossamer.demo import DemoWeb, Kind, Running, start
from gossamer.demo.access import COLUMNS, HEADER
from gossamer.demo.answer import Answers
from gossamer.demo.bulk import bulk_target
from gossamer.demo.layout import DEEPEST_DYNAMIC, DEEPEST_STATIC, PAGES
from gossamer.demo.links import FOLLOWED, links
from gossamer.demo.server import make_ahead
from gossamer.demo.sites import Robots, sizes
from gossamer.model import Outcome
from gossamer.robots import Rules
from gossamer.urls import UrlClass, canonical, classify

SMALL = DemoWeb(seed=7, sites=24, pages=900, largest=250, latency=0.05, busy=0.005, nofollow=0.03)


@pytest.fixture(scope="module")
def web() -> DemoWeb:
    return DemoWeb()


def digest(web: DemoWeb) -> str:
    """Of all bytes of a Web."""
    found, answers = sha256(), Answers(web)
    for site in web.all_sites:
        found.update(f"{site.host} {site.address}".encode())
        for target in ["/robots.txt", *web.layout(site.number).target]:
            answer = answers.get(site, target, False)
            found.update(answer.fields + answer.body)
    return found.hexdigest()


def test_the_same_seed_gives_the_same_bytes_in_every_process() -> None:
    asked = DemoWeb(seed=3, sites=12, pages=200)
    code = "from tests.test_demo import *; print(digest(DemoWeb(seed=3, sites=12, pages=200)))"
    root = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{root}:{root / 'src'}", "PYTHONHASHSEED": "17"}
    other = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert other.stdout.strip() == digest(asked)
    assert digest(asked) != digest(DemoWeb(seed=4, sites=12, pages=200))


def test_pages_per_site_follow_a_zipf_law_of_exponent_1_77(web: DemoWeb) -> None:
    found = sorted((s.pages for s in web.all_sites), reverse=True)
    assert len(found) == 120
    assert sum(found) == 20_000
    assert found[0] <= 5_000
    free = [(math.log(rank), math.log(n)) for rank, n in enumerate(found, 1) if n < web.largest]
    mean_x, mean_y = (sum(v) / len(free) for v in zip(*free, strict=True))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in free) / sum((x - mean_x) ** 2 for x, _ in free)
    assert 1 - 1 / slope == pytest.approx(1.77, abs=0.03)


@pytest.mark.parametrize(("sites", "pages", "largest"), [(1, 1, 1), (3, 3, 5), (3, 15, 5), (7, 100, 50), (50, 60, 9)])
def test_sizes_add_up_and_keep_their_bounds(sites: int, pages: int, largest: int) -> None:
    found = sizes(sites, pages, largest)
    assert len(found) == sites
    assert sum(found) == pages
    assert 1 <= min(found) <= max(found) <= largest


def test_the_proportions_are_those_of_chapter_eight(web: DemoWeb) -> None:
    truth = web.truth()
    pages = [t for t in truth.values() if t.kind in PAGES]
    assert len(pages) == 20_000
    assert sum("?" in t.url for t in pages) / len(pages) == pytest.approx(0.33, abs=0.05)
    assert sum(t.kind is Kind.DUPLICATE for t in pages) / len(pages) == pytest.approx(0.06, abs=0.01)
    assert sum(t.status == 404 for t in truth.values()) / len(truth) == pytest.approx(0.09, abs=0.015)
    followed = Counter[bool]()
    degree = Counter[tuple[int, int]]()
    joined = set()
    for t in pages:
        for link in links(web, web.all_sites[t.site], t.number):
            if link.role in FOLLOWED:
                followed[web.layout(link.site).kind[link.number] is Kind.BROKEN] += 1
                degree[link.site, link.number] += 1
                if link.site != t.site:
                    joined.add((t.site, link.site))
    assert followed[True] / followed.total() == pytest.approx(0.09, abs=0.005)
    assert len({to for _, to in joined}) == round(0.36 * 120)
    assert len({at for at, _ in joined}) == pytest.approx(0.28 * 120, abs=2)
    ranked = sorted(degree.values(), reverse=True)
    assert sum(ranked[: len(ranked) // 100]) > 0.2 * sum(ranked), "one page in a hundred has a fifth of the links"
    assert {t.kind for t in truth.values()} == set(Kind)


def test_page_sizes_have_a_heavy_tail_below_300_kb(web: DemoWeb) -> None:
    answers = Answers(web, cache_bytes=0)
    found = [
        len(answers.get(site, target, False).body)
        for site in web.all_sites[::4] for target in web.layout(site.number).target[: site.pages]
    ]  # fmt: skip
    assert 10_000 < sum(found) / len(found) < 14_000
    assert max(found) < 300_000
    assert sum(n > 40_000 for n in found) > 0.005 * len(found)


def test_levels_stay_within_the_depth_limits_of_a_crawl_and_small_sites_are_shallow(web: DemoWeb) -> None:
    for t in web.truth().values():
        assert t.level <= (DEEPEST_DYNAMIC if "?" in t.url else DEEPEST_STATIC + 1)
    deepest = [max(web.layout(s.number).level[: s.pages]) for s in web.all_sites]
    assert sorted(deepest)[len(deepest) // 2] <= 4


def test_no_page_is_found_deeper_than_its_level_once_the_home_page_is_read(web: DemoWeb) -> None:
    for site in web.all_sites:
        layout = web.layout(site.number)
        for n in range(site.pages):
            for link in links(web, site, n):
                if link.role not in FOLLOWED or link.site != site.number or link.number == 0:
                    continue
                same_parent = layout.parent[link.number] == layout.parent[n]
                known = link.number in layout.hubs or same_parent or link.number == layout.parent[n]
                broken = layout.kind[link.number] is Kind.BROKEN
                deeper = layout.level[link.number] <= layout.level[layout.original.get(n, n)] + 1
                child = layout.parent[link.number] == layout.original.get(n, n)
                assert known or broken or (child and deeper)


def test_addresses_are_all_over_127_and_some_sites_share_one(web: DemoWeb) -> None:
    shared = Counter(s.address for s in web.all_sites)
    assert all(re.fullmatch(r"127\.([1-9]\d?|1\d\d|2[0-4]\d|25[0-4])\.\d+\.\d+", a) for a in shared)
    assert sorted(n for n in shared.values() if n > 1) == [2, 3, 4]
    assert len({a.split(".")[1] for a in shared}) > 60


def test_every_kind_can_be_switched_off() -> None:
    plain = DemoWeb(
        seed=2, sites=10, pages=300, duplicates=0, plain=0, broken=0, redirects=0, errors=0, busy=0, forbidden=0,
        nofollow=0, dynamic=0, slow=0, delays=0, unavailable=0, shared=0, counted=False,
    )  # fmt: skip
    truth = plain.truth()
    assert {t.kind for t in truth.values()} == {Kind.PAGE}
    assert len(truth) == 300
    assert {e.outcomes for e in plain.reachable().values()} == {frozenset({Outcome.OK})}
    assert len(plain.reachable()) == 300
    assert len({s.address for s in plain.all_sites}) == 10


def test_robots_txt_forbids_what_the_truth_says_and_nothing_else(web: DemoWeb) -> None:
    seen = Counter[Robots]()
    for site in web.all_sites:
        seen[site.robots] += 1
        rules = Rules.parse(web.robots_of(f"http://{site.host}") or b"", web.agent)
        assert (rules.delay or 0.0) == site.delay
        layout = web.layout(site.number)
        for target, kind in zip(layout.target, layout.kind, strict=True):
            assert rules.allows(target) == (kind is not Kind.FORBIDDEN), target
    assert set(seen) == set(Robots)
    assert seen[Robots.UNAVAILABLE] == 2


def test_urls_are_canonical_and_count_as_pages_and_as_static_or_dynamic_as_meant(web: DemoWeb) -> None:
    for url in web.truth():
        assert canonical(url) == url
        assert classify(url) is (UrlClass.DYNAMIC if "?" in url else UrlClass.PAGE), url


def test_duplicates_have_the_bytes_of_their_original_and_no_other_page_has() -> None:
    answers, bodies = Answers(SMALL), dict[bytes, str]()
    for url, t in SMALL.truth().items():
        if t.kind not in PAGES:
            continue
        body = answers.get(SMALL.all_sites[t.site], SMALL.layout(t.site).target[t.number], False).body
        first = bodies.setdefault(body, t.same_as or url)
        assert first == (t.same_as or url)


def test_a_gzip_body_holds_the_plain_one() -> None:
    for asked in (SMALL, DemoWeb(bulk=True, sites=3, pages=300)):
        answers = Answers(asked)
        for site in asked.all_sites[:3]:
            first = range(min(20, site.pages))
            targets = [bulk_target(n) if asked.bulk else asked.layout(site.number).target[n] for n in first]
            for target in targets:
                small, plain = answers.get(site, target, True), answers.get(site, target, False)
                assert gzip.decompress(small.body) == plain.body
                assert len(small.body) < len(plain.body)


def test_bulk_pages_have_the_size_and_links_asked_for_and_all_are_reachable() -> None:
    bulk = DemoWeb(bulk=True, sites=20, pages=6_000, size=25_000, links=75)
    answers, found, todo = Answers(bulk), set(bulk.seeds), list(bulk.seeds)
    for url in todo:
        host, _, path = url[7:].partition("/")
        body = answers.get(bulk.by_host[host], f"/{path}", False).body
        urls = re.findall(r"<a href=([^>]+)>", body.decode())
        if len(found) < 500:
            assert len(body) == pytest.approx(25_000, rel=0.05)
            assert len(set(urls)) == pytest.approx(75, abs=3)
        new = {u if u.startswith("http") else url[: 7 + len(host)] + u for u in urls} - found
        found |= new
        todo += sorted(new)
    assert found == set(bulk.reachable())


def test_answers_are_kept_within_the_bound() -> None:
    answers = Answers(SMALL, cache_bytes=200_000)
    site = max(SMALL.all_sites, key=lambda s: s.pages)
    for target in SMALL.layout(site.number).target:
        answers.get(site, target, True)
        assert sum(len(a.body) + 500 for a in answers._kept.values()) <= 200_000


# --- over real sockets


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Path]]:
    log = tmp_path_factory.mktemp("web") / "access.log"
    with start(SMALL, log=log) as running:
        yield running, log


async def fetch(running: Running, url: str, method: str = "GET", **fields: str) -> tuple[int, dict[str, str], bytes]:
    host, _, path = url[7:].partition("/")
    address, _, port = running.resolve[host].partition(":")
    reader, writer = await asyncio.open_connection(address, int(port))
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    writer.write(f"{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{lines}\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    first, *rest = head.decode().split("\r\n")
    return int(first.split()[1]), {k.lower(): v for k, _, v in (line.partition(": ") for line in rest)}, body


class Walker:
    """A crawler of a screen, which knows nothing of how the Web is made."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.rules: dict[str, Rules | None] = {}
        self.found: dict[str, set[str]] = {}

    async def walk(self) -> None:
        todo = list(self.running.seeds)
        self.found = {url: set() for url in todo}
        while todo:
            pages = await asyncio.gather(*(self.visit(url) for url in todo[:40]))
            todo = todo[40:]
            for url in (u for page in pages for u in page):
                if url not in self.found:
                    self.found[url] = set()
                    todo.append(url)

    async def visit(self, url: str) -> list[str]:
        origin = url[: url.index("/", 7)]
        if origin not in self.rules:
            status, _, body = await fetch(self.running, f"{origin}/robots.txt")
            self.rules[origin] = None if status >= 500 else Rules.parse(body if status == 200 else b"", "Gossamer")
        rules = self.rules[origin]
        if rules is None or not rules.allows(url):
            return []
        status, fields, body = await fetch(self.running, url)
        self.found[url].add(str(status))
        if "location" in fields:
            targets = [fields["location"]]
        else:
            targets = anchors(body) if status == 200 and fields["content-type"].startswith("text/html") else []
        base = next((b for b in targets if b.startswith("base:")), f"base:{url}")[5:]
        links = (canonical(t, base) for t in targets if not t.startswith("base:"))
        return [u for u in links if u and ".gossamer.test/" in u and classify(u) >= UrlClass.PAGE]


def anchors(body: bytes) -> list[str]:
    tree = LexborHTMLParser(body.decode("latin-1"))
    if any("nofollow" in (m.attributes.get("content") or "") for m in tree.css('meta[name="robots"]')):
        return []
    out = [f"base:{b.attributes['href']}" for b in tree.css("base")]
    out += [a.attributes["href"] or "" for a in tree.css("a[href]") if a.attributes.get("rel") != "nofollow"]
    return out + [f.attributes["src"] or "" for f in tree.css("iframe[src]")]


def test_a_crawl_over_sockets_finds_exactly_what_is_reachable(served: tuple[Running, Path]) -> None:
    walker = Walker(served[0])
    asyncio.run(walker.walk())
    expected = SMALL.reachable()
    assert set(walker.found) == set(expected)
    truth = SMALL.truth()
    for url, statuses in walker.found.items():
        assert statuses == (set() if expected[url].excluded else {str(truth[url].status)})
    assert {e.kind for e in expected.values()} == set(Kind) - {Kind.HIDDEN}


def test_the_log_has_a_line_for_each_request_soon_after_it(served: tuple[Running, Path]) -> None:
    running, log = served
    site = next(s for s in SMALL.all_sites if s.latency)
    url = f"{site.home}never-{os.urandom(4).hex()}.html"
    before = time.monotonic()
    asyncio.run(fetch(running, url, user_agent="a\tb"))
    after = time.monotonic()
    while url.rpartition("/")[2] not in (text := log.read_text()):
        assert time.monotonic() < after + 2, "not flushed"
        time.sleep(0.02)
    assert text.splitlines(keepends=True)[1] == HEADER
    line = next(part for part in text.splitlines() if url.rpartition("/")[2] in part)
    row = dict(zip(COLUMNS, line.split("\t"), strict=True))
    assert before <= float(row["start"]) <= float(row["end"]) <= after
    assert float(row["end"]) - float(row["start"]) >= site.latency - 0.003
    assert abs(float(row["wall"]) - time.time()) < 60
    assert (row["address"], row["host"], row["status"], row["agent"]) == (site.address, site.host, "404", "a?b")


def test_conditional_and_head_requests_and_wrong_hosts_are_answered(served: tuple[Running, Path]) -> None:
    running, _ = served
    site = next(s for s in SMALL.all_sites if s.tagged and s.dated)
    status, fields, body = asyncio.run(fetch(running, site.home))
    assert status == 200
    assert len(body) == int(fields["content-length"])
    assert asyncio.run(fetch(running, site.home, if_none_match=fields["etag"]))[0] == 304
    assert asyncio.run(fetch(running, site.home, if_modified_since=fields["last-modified"]))[0] == 304
    assert asyncio.run(fetch(running, site.home, if_none_match='"other"'))[0] == 200
    assert asyncio.run(fetch(running, site.home, method="HEAD"))[2] == b""
    assert asyncio.run(fetch(running, site.home, method="POST"))[0] == 405
    other = next(s for s in SMALL.all_sites if s.address != site.address)
    with socket.create_connection((other.address, running.port)) as s:
        s.sendall(f"GET / HTTP/1.1\r\nHost: {site.host}\r\n\r\n".encode())
        assert s.recv(100).startswith(b"HTTP/1.1 421")


def test_busy_pages_send_retry_after_and_the_log_says_so(served: tuple[Running, Path]) -> None:
    running, _ = served
    url = next(t.url for t in SMALL.truth().values() if t.kind is Kind.BUSY)
    status, fields, _ = asyncio.run(fetch(running, url))
    assert (status, fields["retry-after"]) == (429, "1")


def test_requests_in_pieces_and_in_a_row_are_answered_one_after_the_other(served: tuple[Running, Path]) -> None:
    running, _ = served
    site = next(s for s in SMALL.all_sites if not s.latency)
    request = f"HEAD / HTTP/1.1\r\nHost: {site.host}\r\n\r\n".encode()
    with socket.create_connection((site.address, running.port)) as s:
        for byte in request:
            s.sendall(bytes([byte]))
        s.sendall(request + request.replace(b"/ ", b"/nothing-there ") + request)
        got = b""
        while got.count(b"\r\n\r\n") < 4:
            got += s.recv(10_000)
    assert re.findall(rb"HTTP/1.1 (\d+)", got) == [b"200", b"200", b"404", b"200"]


def test_the_log_survives_sigterm_and_notes_who_was_left_without_answer(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    slow = DemoWeb(seed=5, sites=10, pages=60, slow=1, latency=60.0)
    site = next(s for s in slow.all_sites if s.latency)
    running = start(slow, log=log)
    with socket.create_connection((site.address, running.port)) as s:
        s.sendall(f"GET / HTTP/1.1\r\nHost: {site.host}\r\n\r\n".encode())
        time.sleep(0.1)
        running.process.send_signal(signal.SIGINT)
        running.stop()
    assert running.process.returncode == 0
    assert log.read_text().splitlines()[-1].split("\t")[6:8] == ["/", "499"]


def test_the_server_ends_with_its_parent(tmp_path: Path) -> None:
    code = (
        "import os, signal; from gossamer.demo import *; r = start(DemoWeb(seed=5, sites=10, pages=60));"
        "print(r.process.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    source = Path(__file__).parents[1] / "src"
    got = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(source)},
    )  # fmt: skip
    assert got.returncode == -signal.SIGKILL
    stat = Path(f"/proc/{int(got.stdout)}/stat")
    deadline = time.monotonic() + 5
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline, "the server outlived its parent"
        time.sleep(0.02)


def test_pages_made_ahead_are_those_made_on_request() -> None:
    web = DemoWeb(seed=3, sites=4, pages=60)
    ahead, asked = Answers(web), Answers(web)
    asyncio.run(make_ahead(ahead))
    made = ahead.made()
    assert len(made) == sum(len(web.layout(site.number).target) for site in web.all_sites)
    for (number, target, packed), answer in made.items():
        assert asked.get(web.all_sites[number], target, packed) == answer
