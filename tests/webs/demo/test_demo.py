"""The demonstration Web: the same in every process, with the proportions of the thesis, true to its own description."""

from __future__ import annotations

import ast
import asyncio
import gzip
import math
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from hashlib import sha256
from pathlib import Path

import pytest

from gossamer.base.model import Outcome
from gossamer.robots import Rules
from gossamer.urls import UrlClass, canonical, classify
from gossamer.webs import demo
from gossamer.webs.demo import DemoWeb, UrlKind
from gossamer.webs.demo.answer import DemoAnswers
from gossamer.webs.demo.bulk import bulk_target
from gossamer.webs.demo.kinds import SWITCHES
from gossamer.webs.demo.layout import DEEPEST_DYNAMIC, DEEPEST_STATIC, PAGES
from gossamer.webs.demo.links import FOLLOWED, links
from gossamer.webs.demo.server import make_ahead
from gossamer.webs.demo.site import Down, Robots
from gossamer.webs.demo.sites import sizes
from tests.support.paths import ROOT

SMALL = DemoWeb(seed=7, sites=24, pages=900, largest=250, latency=0.05, busy=0.005, nofollow=0.03)
"""A Web with some of every kind."""


@pytest.fixture(scope="module")
def web() -> DemoWeb:
    return DemoWeb()


def digest(web: DemoWeb) -> str:
    """Digest of all bytes of a Web."""
    found, answers = sha256(), DemoAnswers(web)
    for site in (s for s in web.all_sites if s.down is Down.NO):
        found.update(f"{site.host} {site.address}".encode())
        for target in ["/robots.txt", *web.layout(site.number).target]:
            answer = answers.get(site, target, False)
            found.update(answer.fields + answer.body)
    return found.hexdigest()


def test_the_same_seed_gives_the_same_bytes_in_every_process() -> None:
    asked = DemoWeb(seed=3, sites=12, pages=200)
    code = "from tests.webs.demo.test_demo import *; print(digest(DemoWeb(seed=3, sites=12, pages=200)))"
    root = ROOT
    environment = {**os.environ, "PYTHONPATH": f"{root}:{root / 'src'}", "PYTHONHASHSEED": "17"}
    other = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert other.stdout.strip() == digest(asked)
    assert digest(asked) != digest(DemoWeb(seed=4, sites=12, pages=200))


def test_pages_per_site_follow_a_zipf_law_of_exponent_1_77(web: DemoWeb) -> None:
    found = sorted((s.pages for s in web.all_sites[: web.sites]), reverse=True)
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
    truth = {url: t for url, t in web.truth().items() if t.site < web.sites and t.kind is not UrlKind.CALENDAR}
    pages = [t for t in truth.values() if t.kind in PAGES]
    assert len(pages) == 20_000
    assert sum("?" in t.url for t in pages) / len(pages) == pytest.approx(0.33, abs=0.05)
    assert sum(t.kind is UrlKind.DUPLICATE for t in pages) / len(pages) == pytest.approx(0.06, abs=0.01)
    assert sum(t.status == 404 for t in truth.values()) / len(truth) == pytest.approx(0.09, abs=0.015)
    followed = Counter[bool]()
    degree = Counter[tuple[int, int]]()
    joined = set()
    for t in pages:
        for link in links(web, web.all_sites[t.site], t.number):
            if link.role in FOLLOWED:
                followed[web.layout(link.site).kind[link.number] in (UrlKind.BROKEN, UrlKind.SOFT)] += 1
                degree[link.site, link.number] += 1
                if t.site != link.site < web.sites:
                    joined.add((t.site, link.site))
    assert followed[True] / followed.total() == pytest.approx(0.09, abs=0.005)
    assert len({to for _, to in joined}) == round(0.36 * 120)
    assert len({at for at, _ in joined}) == pytest.approx(0.28 * 120, abs=2)
    ranked = sorted(degree.values(), reverse=True)
    assert sum(ranked[: len(ranked) // 100]) > 0.2 * sum(ranked), "one page in a hundred gets a fifth of the links"
    assert {t.kind for t in web.truth().values()} == set(UrlKind)


def test_page_sizes_have_a_heavy_tail_below_300_kb(web: DemoWeb) -> None:
    answers = DemoAnswers(web, cache_bytes=0)
    found = [
        len(answers.get(site, target, False).body)
        for site in web.all_sites[: web.sites : 4]
        for target in web.layout(site.number).target[: site.pages]
    ]
    assert 10_000 < sum(found) / len(found) < 14_000
    assert max(found) < 300_000
    assert sum(n > 40_000 for n in found) > 0.005 * len(found)


def test_levels_stay_within_the_depth_limits_of_a_crawl_and_small_sites_are_shallow(web: DemoWeb) -> None:
    for t in (t for t in web.truth().values() if t.kind is not UrlKind.CALENDAR):
        assert t.level <= (DEEPEST_DYNAMIC if "?" in t.url else DEEPEST_STATIC + 1)
    deepest = [max(web.layout(s.number).level[: s.pages]) for s in web.all_sites]
    assert sorted(deepest)[len(deepest) // 2] <= 4


def test_no_page_is_found_deeper_than_its_level_once_the_home_page_is_read(web: DemoWeb) -> None:
    checked = 0
    for site in (s for s in web.all_sites if s.down is Down.NO):
        layout = web.layout(site.number)
        for n in range(site.pages):
            for link in links(web, site, n):
                if link.role not in FOLLOWED or link.site != site.number or link.number == 0:
                    continue
                same_parent = layout.parent[link.number] == layout.parent[n]
                known = link.number in layout.hubs or same_parent or link.number == layout.parent[n]
                broken = layout.kind[link.number] in (UrlKind.BROKEN, UrlKind.SOFT)
                deeper = layout.level[link.number] <= layout.level[layout.original.get(n, n)] + 1
                child = layout.parent[link.number] == layout.original.get(n, n)
                assert known or broken or (child and deeper)
                checked += 1
    assert checked > 100_000


def test_addresses_are_all_over_127_and_some_sites_share_one(web: DemoWeb) -> None:
    shared = Counter(s.address for s in web.all_sites)
    assert all(re.fullmatch(r"127\.([1-9]\d?|1\d\d|2[0-4]\d|25[0-4])\.\d+\.\d+", a) for a in shared)
    assert sorted(n for n in shared.values() if n > 1) == [2, 3, 4]
    assert len({a.split(".")[1] for a in shared}) > 60


def test_every_kind_can_be_switched_off() -> None:
    plain = demo.without(DemoWeb(seed=2, sites=10, pages=300), SWITCHES)
    truth = plain.truth()
    assert {t.kind for t in truth.values()} == {UrlKind.PAGE}
    assert len(truth) == 300
    assert {e.outcomes for e in plain.reachable().values()} == {frozenset({Outcome.OK})}
    assert len(plain.reachable()) == 300
    assert len({s.address for s in plain.all_sites}) == len(plain.all_sites) == 10
    assert {(count.sites, count.urls) for count in demo.counts(plain).values()} == {(0, 0)}


def test_robots_txt_forbids_what_the_truth_says_and_nothing_else(web: DemoWeb) -> None:
    seen = Counter[Robots]()
    for site in web.all_sites:
        seen[site.robots] += 1
        rules = Rules.parse(web.robots_of(f"http://{site.name}") or b"", web.agent)
        assert (rules.delay or 0.0) == site.delay
        layout = web.layout(site.number)
        for target, kind in zip(layout.target, layout.kind, strict=True):
            assert rules.allows(target) == (kind is not UrlKind.FORBIDDEN), target
    assert set(seen) == set(Robots)
    assert seen[Robots.UNAVAILABLE] == 2


def test_urls_are_canonical_and_have_the_intended_class(web: DemoWeb) -> None:
    assert len(web.truth()) > 20_000
    for url in web.truth():
        assert canonical(url) == url
        assert classify(url) is (UrlClass.DYNAMIC if "?" in url else UrlClass.PAGE), url


def test_duplicates_have_the_bytes_of_their_original_and_no_other_page_has() -> None:
    answers, bodies = DemoAnswers(SMALL), dict[bytes, str]()
    for url, t in SMALL.truth().items():
        if t.kind not in (*PAGES, UrlKind.SOFT, UrlKind.CALENDAR) or t.copy_of:
            continue
        body = answers.get(SMALL.all_sites[t.site], SMALL.layout(t.site).target[t.number], False).body
        first = bodies.setdefault(body, t.same_as or url)
        assert first == (t.same_as or url)
    assert len(bodies) > 500


def test_a_gzip_body_holds_the_plain_one() -> None:
    for asked in (SMALL, DemoWeb(bulk=True, sites=3, pages=300)):
        answers = DemoAnswers(asked)
        sites = [s for s in asked.all_sites if not (s.features.session or s.http.old)][:3]
        assert sites
        for site in sites:
            first = range(min(20, site.pages))
            targets = [bulk_target(n) if asked.bulk else asked.layout(site.number).target[n] for n in first]
            assert targets
            for target in targets:
                small, plain = answers.get(site, target, True), answers.get(site, target, False)
                assert gzip.decompress(small.body) == plain.body
                assert len(small.body) < len(plain.body)


def test_bulk_pages_have_the_requested_size_and_links_and_all_are_reachable() -> None:
    bulk = DemoWeb(bulk=True, sites=20, pages=6_000, size=25_000, links=75)
    answers, found, todo = DemoAnswers(bulk), set(bulk.seeds), list(bulk.seeds)
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


def test_the_cache_of_answers_stays_within_its_limit() -> None:
    answers = DemoAnswers(SMALL, cache_bytes=200_000)
    site = max(SMALL.all_sites, key=lambda s: s.pages)
    assert site.pages > 100
    for target in SMALL.layout(site.number).target:
        answers.get(site, target, True)
        assert 0 < sum(len(a.body) + 500 for a in answers._kept.values()) <= 200_000


def test_pages_made_ahead_are_those_made_on_request() -> None:
    web = DemoWeb(seed=3, sites=4, pages=60)
    ahead, asked = DemoAnswers(web), DemoAnswers(web)
    ahead.given = 1_000  # as if all had been requested
    asyncio.run(make_ahead(ahead))
    made = ahead.made()
    assert len(made) == sum(len(web.layout(site.number).target) for site in web.all_sites if site.down is Down.NO)
    for (number, target, packed), answer in made.items():
        assert asked.get(web.all_sites[number], target, packed) == answer


def test_the_modules_of_the_demonstration_web_have_no_import_ring() -> None:
    folder = Path(demo.__file__).parent
    imports: dict[str, set[str]] = defaultdict(set)
    for path in folder.rglob("*.py"):
        name = path.stem if path.parent == folder else path.parent.name  # a folder counts as one
        imports[name] |= {
            node.module.split(".")[3]
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("gossamer.webs.demo.")
        } - {name}
    imports = dict(imports)
    while free := {name for name, of in imports.items() if not of}:
        imports = {name: of - free for name, of in imports.items() if name not in free}
    assert imports == {}
