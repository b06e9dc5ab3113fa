"""Whole crawls of a demonstration Web: they end by themselves, and they find the truth about it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pytest

from gossamer import urls
from gossamer.base.model import Counted, Outcome, State, VisitFlag
from gossamer.urls.names import bare
from gossamer.webs.checker import PolitenessReport
from gossamer.webs.demo import DemoWeb
from gossamer.webs.demo.layout import UrlKind
from gossamer.webs.demo.links import DemoLink, Role, links
from gossamer.webs.demo.site import Down
from gossamer.webs.demo.truth import Expected
from tests.support.crawling import Ended, gossamer, serve
from tests.support.reading import Archived, Found, archived, rows

pytestmark = pytest.mark.slow

WEB = DemoWeb(seed=11, sites=30, pages=1_500, largest=200, latency=0.1, busy=0.001)


@dataclass
class Whole:
    """A finished crawl."""

    folder: Path
    ended: Ended
    report: PolitenessReport

    @cached_property
    def pages(self) -> dict[int, str]:
        return {row["page"]: row["url"] for row in rows(self.folder, "pages")}

    @cached_property
    def visits(self) -> dict[str, dict[str, Any]]:
        """The visit of each page; asserts that there is only one."""
        found: dict[str, dict[str, Any]] = {}
        for row in rows(self.folder, "visits"):
            if row["ask"] == "page":
                url = self.pages[row["page"]]
                assert url not in found, f"{url} was visited twice"
                found[url] = row
        return found

    @cached_property
    def archive(self) -> dict[tuple[str, int], Archived]:
        return {(r.file, r.offset): r for r in archived(self.folder)}


def crawled(web: DemoWeb, folder: Path, *arguments: str, changes: tuple[str, ...] = ()) -> Whole:
    with serve(web, folder, *changes) as served:
        ended = served.crawl(folder / "crawl", *arguments)
        assert ended.code == 0, ended.errors
        return Whole(folder / "crawl", ended, served.verdict())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """The crawl that most tests check."""
    return crawled(WEB, tmp_path_factory.mktemp("whole"), changes=("collection.seal_every=3s",))


def expect_truth(whole: Whole, web: DemoWeb) -> None:
    """Checks that exactly the expected URLs are known, and that each has an allowed outcome."""
    expected = web.reachable()
    assert set(whole.pages.values()) == set(expected)
    assert set(whole.visits) == {url for url, e in expected.items() if not e.excluded}
    wrong = {
        url: row["outcome"]
        for url, row in whole.visits.items()
        if Outcome[row["outcome"].upper()] not in expected[url].outcomes
    }
    assert wrong == {}
    assert whole.report.violations == []
    assert len(whole.pages) == whole.ended.figures["known"]


def test_a_crawl_finds_the_truth_politely(whole: Whole) -> None:
    expect_truth(whole, WEB)
    assert whole.ended.figures["ending"] == "nothing is left that may be requested soon"
    nobody = [s for s in WEB.all_sites if s.down is Down.REFUSED]
    assert nobody
    asked = sum(whole.ended.figures[what] for what in ("visits", "robots_visits", "sitemap_visits", "probe_visits"))
    assert whole.report.requests == asked - len(nobody), "a site that does not listen has no log"


def test_the_figures_agree_with_tables_status_and_truth(whole: Whole) -> None:
    figures = whole.ended.figures
    expected = WEB.reachable().values()
    waiting, excluded = sum(e.waits for e in expected), sum(e.excluded and not e.waits for e in expected)
    assert (figures["waiting"], figures["excluded"], figures["pending"]) == (waiting, excluded, 0)
    assert figures["known"] == sum(figures[word] for word in ("pending", "waiting", "done", "excluded"))
    assert figures["outcomes"] == Counter(row["outcome"] for row in whole.visits.values())
    withheld = sum(bool(row["flags"] & VisitFlag.NOINDEX) for row in whole.visits.values())
    assert withheld > 5
    assert figures["stored"] == figures["outcomes"]["ok"] + figures["outcomes"]["duplicate"] - withheld
    assert figures["bytes"] == sum(row["received"] for row in rows(whole.folder, "visits"))
    assert figures["sites"] == len(WEB.all_sites)
    status = gossamer("status", whole.folder, "--json").figures
    assert {key: status[key] for key in figures} == figures
    assert status["running"] is False


def test_status_gives_a_true_reason_for_every_known_page(whole: Whole) -> None:
    expected = WEB.reachable()
    status = gossamer("status", whole.folder, "--json").figures
    waiting, excluded = Counter(why_waiting(e) for e in expected.values() if e.waits), Counter[str]()
    for e in expected.values():
        if e.excluded and not e.waits:
            excluded["depth" if e.too_deep else "robots"] += 1
    groups = Counter(e.same_as for e in expected.values() if e.same_as)
    alone = [e for e in expected.values() if not (e.same_as or e.waits or e.excluded)]
    done = Counter(outcome.word for e in alone for outcome in e.outcomes - {Outcome.SOFT_404})
    done |= {"ok": done["ok"] + len(groups), "duplicate": sum(groups.values()) - len(groups)}
    why = status["why"]
    soft = why["done"].pop("soft_404", 0)  # depending on the order, some pages are soft 404 instead of duplicates
    assert soft <= sum(e.kind is UrlKind.SOFT for e in expected.values())
    done["duplicate"] -= soft
    assert {word: part["pages"] for word, part in why["waiting"].items()} == waiting
    assert why["excluded"] == excluded
    assert why["done"] == done
    assert len(waiting) >= 5, "a crawl with few reasons proves little"
    done["soft_404"] = soft
    for part, words in (("waiting", waiting), ("excluded", excluded), ("done", done)):
        assert status[part] == sum(words.values())
    assert status["known"] == len(expected) == sum(status[p] for p in ("pending", "waiting", "done", "excluded"))
    now = status["time"]
    assert all(now < part["first_due"] <= part["last_due"] for part in why["waiting"].values())


def why_waiting(expected: Expected) -> str:
    site = WEB.by_host[urls.host(expected.url)]
    if site.down is Down.NAMELESS:
        return "site: name_failed"
    if not site.readable:
        return "site: robots_unreadable"
    (outcome,) = expected.outcomes
    return outcome.word


def test_one_of_several_equal_pages_is_kept_and_the_others_name_it(whole: Whole) -> None:
    groups: dict[str, list[str]] = defaultdict(list)
    for url, expected in WEB.reachable().items():
        if expected.same_as:
            groups[expected.same_as].append(url)
    assert len(groups) > 20
    for group in groups.values():
        found = [row for url in group if (row := whole.visits[url])["outcome"] != "soft_404"]
        (original,) = [row for row in found if row["outcome"] == "ok"]
        assert {row["duplicate_of"] for row in found if row is not original} <= {original["page"]}
        assert {row["digest"] for row in found} == {original["digest"]}


def test_pages_hidden_by_robots_txt_or_nofollow_are_never_requested(whole: Whole) -> None:
    kinds = {truth.url: truth.kind for truth in WEB.truth().values()}
    hidden = {url for url, kind in kinds.items() if kind in (UrlKind.FORBIDDEN, UrlKind.HIDDEN)}
    assert len(hidden) > 20
    assert hidden.isdisjoint(whole.visits)
    expected = WEB.reachable().values()
    excluded = {e.url for e in expected if e.excluded and not e.waits}
    states = Found(whole.folder).states
    assert {url for url, (state, _) in states.items() if state is State.EXCLUDED} == excluded
    assert any(e.too_deep for e in expected)


def demo_links() -> Iterator[tuple[str, bool, list[DemoLink]]]:
    """Every page with its links, and whether it is a nofollow page."""
    for truth in WEB.truth().values():
        if truth.kind in (UrlKind.PAGE, UrlKind.DUPLICATE):
            quiet = truth.number in WEB.layout(truth.site).quiet
            yield truth.url, quiet, links(WEB, WEB.all_sites[truth.site], truth.number)


def test_the_links_table_has_every_link_between_pages_and_no_other(whole: Whole) -> None:
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for row in rows(whole.folder, "links"):
        found[whole.pages[row["source"]]].add((whole.pages[row["target"]], row["kind"]))
    checked = 0
    for url, quiet, there in demo_links():
        if url in whole.visits and whole.visits[url]["outcome"] == "ok":
            own = WEB.by_host[urls.host(url)].home[:-1]
            expected = {
                (link.url if "://" in link.url else own + link.url, str(link.role))
                for link in there
                if link.role in (Role.ANCHOR, Role.FRAME)
            }
            assert found[url] <= expected if quiet else {t for t, _ in found[url]} == {t for t, _ in expected}, url
            checked += 1
    assert checked > 1_000
    moved = {url: truth.leads_to for url, truth in WEB.truth().items() if truth.leads_to and url in whole.visits}
    assert {url: found[url] for url in moved} == {url: {(to, "redirect")} for url, to in moved.items()}
    duplicates = {url for url, row in whole.visits.items() if row["outcome"] == "duplicate"}
    assert duplicates.isdisjoint(found)


def test_link_targets_that_are_no_pages_are_counted_by_class(whole: Whole) -> None:
    checked = 0
    for url, quiet, there in demo_links():
        if url not in whole.visits or whole.visits[url]["outcome"] != "ok":
            continue
        checked += 1
        expected: Counter[str] = Counter()
        for target, role in {(link.url, link.role) for link in there}:
            absolute = urls.canonical(target, url)
            if role is Role.NOFOLLOW:
                expected["nofollow"] += not quiet
            elif absolute is None:
                expected["not_http"] += 1
            elif not urls.classify(absolute).page:
                expected[urls.classify(absolute).name.lower()] += 1
            elif ".gossamer.test" not in absolute:
                expected["out_of_scope"] += 1
        row = whole.visits[url]
        counted = {c.name.lower(): row[f"counted_{c.name.lower()}"] for c in Counted}
        if quiet:
            counted.pop("nofollow")  # all its links are nofollow, and links to pages not known yet are counted
        assert {word: n for word, n in counted.items() if n} == +expected, url
    assert checked > 1_000


def test_every_visit_leads_to_its_record_and_every_record_belongs_to_one_visit(whole: Whole) -> None:
    hosts = {row["site"]: row["name"] for row in rows(whole.folder, "sites") if row["name"]}
    seen, outcomes = set(), Counter[str]()
    for row in rows(whole.folder, "visits"):
        place = (row["warc_file"], row["warc_offset"])
        if row["warc_file"] is None:
            outcomes["noindex" if row["flags"] & VisitFlag.NOINDEX else row["outcome"]] += 1
            continue
        assert not row["flags"] & VisitFlag.NOINDEX
        record = whole.archive[place]
        robots = f"{WEB.by_host[hosts[row['site']]].scheme}://{hosts[row['site']]}/robots.txt"
        if row["page"] is not None:
            asked = whole.pages[row["page"]]
        else:
            asked = robots if row["ask"] == "robots" else bare(row["title"].partition(" ")[0])
        assert record.page == asked
        assert record.status == row["status"]
        assert len(record.body) == row["length"]
        assert record.repeated == bool(row["flags"] & VisitFlag.REPEATED)
        assert place not in seen
        seen.add(place)
    assert seen == set(whole.archive)
    torn = sum(t.kind is UrlKind.TORN for t in WEB.truth().values())
    assert outcomes.pop("noindex") > 5
    assert outcomes == {"connect_failed": sum(s.down is Down.REFUSED for s in WEB.all_sites), "broken_off": torn}


def test_segments_were_sealed_while_the_crawl_ran(whole: Whole) -> None:
    assert len(list((whole.folder / "shard-000" / "visits").glob("*.parquet"))) > 1


SMALLER = DemoWeb(seed=12, sites=12, pages=300, largest=60, latency=0.05, errors=0.0, busy=0.0, delays=0, unavailable=1)


SETTINGS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "one worker": (("--workers", "1"), ()),
    "breadth-first": (("--set", "manager.policy=breadth-first"), ()),
    "small plans": (("--set", "manager.batch_per_site=3", "--set", "manager.batch_size=40"), ()),
    "turns of three": (
        (),
        ("harvester.per_turn=3", "harvester.wait=200ms", "harvester.wait_large=200ms", "harvester.pause=20ms"),
    ),
}
"""Options of the command, and changed settings."""


@pytest.fixture(scope="module")
def with_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Whole]]]:
    """A crawl with each of the settings. They run at the same time: most of it, they wait for a site that broke off."""
    with ThreadPoolExecutor(len(SETTINGS)) as together:
        yield {
            name: together.submit(crawled, SMALLER, tmp_path_factory.mktemp("settings"), *arguments, changes=changes)
            for name, (arguments, changes) in SETTINGS.items()
        }


@pytest.mark.parametrize("name", SETTINGS)
def test_a_crawl_finds_the_truth_with_any_settings(name: str, with_settings: dict[str, Future[Whole]]) -> None:
    whole = with_settings[name].result()
    expect_truth(whole, SMALLER)
    if name == "turns of three":
        in_turn = Counter(row["flags"] & 32 != 0 for row in whole.visits.values())
        assert in_turn[True] > 100, "the pages of a turn use one connection"


def test_a_crawl_in_parts_finds_the_truth_too(tmp_path: Path) -> None:
    with serve(SMALLER, tmp_path) as served:
        first = served.crawl(tmp_path / "crawl", "--pages", "60")
        assert (first.code, first.figures["stored"]) == (0, 60)
        assert first.figures["ending"] == "the requested number of pages is reached"
        second = gossamer("crawl", tmp_path / "crawl", "--pages", "50", "--json")
        assert (second.code, second.figures["stored"]) == (0, 110)
        third = gossamer("crawl", tmp_path / "crawl", "--json", "--patience", "30s")
        assert third.code == 0
        whole = Whole(tmp_path / "crawl", third, served.verdict())
    expect_truth(whole, SMALLER)
