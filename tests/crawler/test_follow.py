"""`seeder.follow`: crawls of only the URLs given, and of only what sitemaps list."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.base.errors import UsageError
from gossamer.base.model import Ask, LinkKind, Outcome, State
from gossamer.base.outcomes import Reason
from gossamer.config import Settings, override
from gossamer.crawler.start import CrawlRequest, prepare
from gossamer.read.explain.page import explain_page
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.robots import Rules
from gossamer.webs.simulated import Reply, Sitemaps
from tests.support.world import Result, World, state_of

A, B = "http://a.example/", "http://b.example/"
LISTED, LINKED, LATE = A + "listed", A + "linked", A + "late"
SITEMAP = A + "s.xml"
RULES = Rules.parse(b"", "Gossamer").compiled()


def moved(target: str) -> Reply:
    return Reply(outcome=Outcome.REDIRECT, status=301, redirect=target, links=[target], kind=LinkKind.REDIRECT)


WEB = {
    A: Reply(links=[LISTED, LINKED, B, B + "linked"], digest=1),
    A + "robots.txt": Reply(sitemaps=Sitemaps([SITEMAP]), rules=RULES),
    SITEMAP: Reply(links=[LISTED, A + "only-listed", A + "old"]),
    LISTED: Reply(links=[LINKED, A + "deeper"], digest=2),
    A + "only-listed": Reply(digest=3),
    A + "old": moved(LINKED),
    LINKED: Reply(links=[A + "deeper"], digest=4),
    A + "deeper": Reply(digest=5),
    B: Reply(links=[A, B + "linked"], digest=6),
    B + "linked": Reply(digest=7),
}


def world(folder: Path, follow: str) -> World:
    return World(folder, WEB, ("seeder.sitemaps=true", 'seeder.domains=["example"]', f"seeder.follow={follow}"))


def requested(world: World) -> set[str]:
    return {asked.url for asked in world.asked if asked.ask is Ask.PAGE}


def reasons(result: Result) -> dict[str, Reason]:
    page = result.crawl.desk.columns.page
    return {url: Reason(int(page.reason[i])) for i, url in enumerate(result.pages)}


def expect_same(here: World, result: Result) -> None:
    """A replay gives the same state, and SQL shows the state of every page as the desk has it."""
    left_out = {"site.resolved": None}
    assert state_of(here.replayed()) | left_out == state_of(result.crawl.desk) | left_out
    rows = Database(find(here.folder), here.settings).run("select url, state, reason from pages", views=["pages"])
    page = result.crawl.desk.columns.page
    expected = {
        url: (state.name.lower(), Reason(int(page.reason[i])).word if state is State.EXCLUDED else "none")
        for i, (url, (state, _, _)) in enumerate(result.pages.items())
    }
    assert {url: (state, reason) for url, state, reason in rows} == expected


def test_only_the_urls_given_are_fetched(tmp_path: Path) -> None:
    here = world(tmp_path, "none")
    result = here.run([A, B])
    assert requested(here) == {A, B}
    assert [asked.url for asked in here.asked if asked.ask is Ask.SITEMAP] == [], "no sitemap is requested"
    assert result.in_state(State.EXCLUDED) == {LISTED, LINKED, B + "linked"}
    assert {reasons(result)[url] for url in (LISTED, LINKED, B + "linked")} == {Reason.UNLISTED}
    expect_same(here, result)


def test_a_url_given_leads_to_where_it_redirects(tmp_path: Path) -> None:
    here = world(tmp_path, "none")
    result = here.run([A, LISTED, A + "old"])
    assert requested(here) == {A, LISTED, A + "old", LINKED}, "though links had found it before"
    assert A + "deeper" in result.in_state(State.EXCLUDED)
    expect_same(here, result)


def test_only_what_sitemaps_list_is_fetched(tmp_path: Path) -> None:
    here = world(tmp_path, "sitemaps")
    result = here.run([A])
    assert requested(here) == {A, LISTED, A + "only-listed", A + "old", LINKED}, "the last by a redirect"
    assert result.in_state(State.EXCLUDED) == {B, B + "linked", A + "deeper"}
    expect_same(here, result)


def test_links_that_were_not_followed_are_followed_after_a_change(tmp_path: Path) -> None:
    here = world(tmp_path, "none")
    here.run([A])
    here.changes = (*here.changes, "seeder.follow=links")
    result = here.run()
    assert not result.in_state(State.EXCLUDED)
    assert requested(here) == {url for url in WEB if url not in (A + "robots.txt", SITEMAP)}, "by its sitemaps too"
    expect_same(here, result)


def test_pages_found_by_links_are_excluded_after_a_change(tmp_path: Path) -> None:
    here = world(tmp_path, "links")
    before = here.run([A], pages=1)
    assert before.in_state(State.PENDING)
    here.changes = (*here.changes, "seeder.follow=none")
    result = here.run()
    assert requested(here) == {A}
    assert result.in_state(State.EXCLUDED) == before.in_state(State.PENDING)
    expect_same(here, result)


def test_another_change_of_the_settings_opens_no_page(tmp_path: Path) -> None:
    here = world(tmp_path, "none")
    here.run([A])
    here.changes = (*here.changes, "seeder.depth_static=3", "seeder.reject=linked")
    result = here.run()
    assert requested(here) == {A}
    assert {reasons(result)[url] for url in (LISTED, LINKED, B)} == {Reason.UNLISTED}


def test_explain_names_the_reason(tmp_path: Path) -> None:
    here = world(tmp_path, "none")
    here.run([A])
    (tmp_path / "crawl.toml").write_text('[seeder]\ndomains = ["example"]\nfollow = "none"\n')
    answer = explain_page(tmp_path, LINKED)
    assert answer["standing"]["reason"] == "unlisted"
    assert "--only-list" in answer["standing"]["words"]
    unknown = explain_page(tmp_path, A + "never-seen")
    assert "seeder.follow" in unknown["scope"]["words"]


def test_a_crawl_of_links_cannot_become_one_of_sitemaps(tmp_path: Path) -> None:
    world(tmp_path, "links").run([A], pages=1)
    with pytest.raises(UsageError, match=r'"links" -> "sitemaps": .* not stored which'):
        prepare(CrawlRequest(tmp_path, changes=("seeder.follow=sitemaps", "harvester.contact=x@y.z")), lambda _: None)


def test_sitemaps_must_be_read_to_follow_them() -> None:
    with pytest.raises(UsageError, match='follow = "sitemaps" needs sitemaps = true'):
        override(Settings(), ("seeder.sitemaps=false", "seeder.follow=sitemaps"))
