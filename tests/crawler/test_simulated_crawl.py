"""The whole desk against a simulated Web under a virtual clock: what is found, in which order, and how politely."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from gossamer import urls
from gossamer.base.ending import Ending
from gossamer.base.errors import UsageError
from gossamer.base.model import Ask, LinkKind, Outcome, PageFlag, Reason, State, VisitFlag
from gossamer.base.outcomes import Aside
from gossamer.collection import manifest
from gossamer.collection.commits import COMMIT_EVERY, Commits
from gossamer.collection.journal.journal import Journal
from gossamer.collection.layout import SETTINGS, shard_folder
from gossamer.collection.recovery import recover
from gossamer.config import Settings
from gossamer.crawler.loop import Crawl
from gossamer.crawler.open import open_collection
from gossamer.crawler.sleep import FURTHER, TICK
from gossamer.desk import snapshot
from gossamer.desk.account import Account
from gossamer.desk.places import Places
from gossamer.harvester.harvest import Harvest
from gossamer.manager.pages import Pages
from gossamer.manager.plan import Plan
from gossamer.manager.planner import Planner, Unjudged
from gossamer.read.explain.page import explain_page
from gossamer.read.explain.text import lines_of
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.robots import Rules
from gossamer.webs.simulated import Labels, Reply, Sitemaps
from tests.support.world import World, impolite, robots_first, seal_here

ROOT = "http://a.example/"


def random_web(seed: int, sites: int = 8, pages: int = 300) -> dict[str, Reply]:
    """Pages that can all be reached from the home page of their site, including failures and redirects."""
    rng = random.Random(seed)
    web: dict[str, Reply] = {}
    known: list[str] = []
    for number in range(pages):
        host = f"s{number % sites}.example"
        url = f"http://{host}/" + ("" if number < sites else f"p{number}.html")
        known.append(url)
    for number, url in enumerate(known):
        links = rng.sample(known, min(len(known), rng.randrange(1, 12)))
        child = number * 2 - sites
        links += [known[i] for i in (child, child + 1) if number < i < pages]
        web[url] = Reply(links=links, digest=1000 + number, seconds=rng.uniform(0.01, 2.0))
        web[f"http://{urls.host(url)}/robots.txt"] = Reply(outcome=Outcome.NOT_FOUND, status=404)
    return web


def closure(web: dict[str, Reply], seeds: list[str]) -> set[str]:
    seen, todo = set(), list(seeds)
    while todo:
        url = todo.pop()
        if url not in seen:
            seen.add(url)
            todo += web[url].links if url in web else []
    return seen


def test_a_commit_is_begun_every_second_of_a_crawl(tmp_path: Path) -> None:
    """So a kill loses the requests of the last second. Later answers are in the next commit."""
    behind = list[float]()

    def turn(commits: Commits, rotates: Callable[[Journal, float], bool]) -> int | None:
        if commits._running is not None:
            wait([commits._running])  # the disk takes no virtual time
        behind.append(commits.lag())
        return turned(commits, rotates)

    turned = Commits.turn
    world = World(tmp_path, random_web(1), ["harvester.wait=300ms", "harvester.wait_large=300ms"])
    with patch.object(Commits, "turn", turn):
        begun = world.clock.monotonic()
        result = world.run([f"http://s{i}.example/" for i in range(8)])
    seconds = world.clock.monotonic() - begun
    assert seconds > 10
    assert result.crawl.store.commits > seconds / (2 * COMMIT_EVERY)
    assert max(behind) < 2 * COMMIT_EVERY


def test_a_clean_stop_seals_no_empty_file(tmp_path: Path) -> None:
    """Before link scores are computed at the end, everything is sealed; if nothing comes after, that was all."""
    world = World(tmp_path, {ROOT: Reply(digest=1)})
    world.run([ROOT], turns=20)
    shard = shard_folder(tmp_path)
    store, desk, _ = open_collection(tmp_path, world.settings, world.clock, sealer=seal_here)
    try:
        store.commit(rotate=True)
        store.seal_all()
        before = list(manifest.read(shard).segments)
        store.finish(*snapshot.dump(desk, store.ends()))
    finally:
        store.close()
    assert list(manifest.read(shard).segments) == before
    assert recover(shard).stopped
    assert world.run(clean=False).ending is Ending.DONE


@pytest.mark.parametrize("policy", ["value", "opic", "breadth-first"])
def test_a_crawl_fetches_every_page_that_can_be_reached_once_and_politely(tmp_path: Path, policy: str) -> None:
    web = random_web(1)
    seeds = [f"http://s{i}.example/" for i in range(8)]
    world = World(tmp_path, web, [f"manager.policy={policy}"], address=lambda host: f"192.0.2.{len(host)}")
    result = world.run(seeds)
    assert result.ending is Ending.DONE
    assert result.in_state(State.DONE) == closure(web, seeds) == set(result.pages)
    fetched = [a.url for a in world.asked if a.ask is Ask.PAGE]
    assert len(fetched) == len(set(fetched))
    assert impolite(world.asked, 5.0, 1.0) == []
    assert robots_first(world.asked)


def test_pages_that_robots_txt_forbids_are_known_and_never_requested(tmp_path: Path) -> None:
    rules = Rules.parse(b"User-agent: *\nDisallow: /private/", "Gossamer").compiled()
    web = {
        ROOT: Reply(links=["http://a.example/private/1", "http://a.example/open", "http://b.example/private/2"]),
        "http://a.example/robots.txt": Reply(rules=rules),
        "http://b.example/robots.txt": Reply(rules=rules),
    }
    world = World(tmp_path, web)
    result = world.run([ROOT])
    assert result.in_state(State.EXCLUDED) == {"http://a.example/private/1", "http://b.example/private/2"}
    assert not [a for a in world.asked if "private" in a.url]


UNREADABLE = sorted(
    set(Outcome)
    - {
        Outcome.OK,
        Outcome.DUPLICATE,
        Outcome.REDIRECT,
        Outcome.NOT_FOUND,
        Outcome.REFUSED,
        Outcome.OTHER_TYPE,
        Outcome.NO_CONTENT,
        Outcome.RETURNED,
        Outcome.PAYMENT_REQUIRED,
        Outcome.FORGOTTEN,  # no answer has it: `gossamer forget` puts it in the place of others
    }
)
"""Outcomes that do not answer a request for robots.txt."""


@pytest.mark.parametrize("outcome", UNREADABLE, ids=lambda outcome: outcome.word)
def test_robots_txt_that_cannot_be_read_forbids_its_site(tmp_path: Path, outcome: Outcome) -> None:
    web = {ROOT: Reply(), "http://a.example/robots.txt": Reply(outcome=outcome, status=503)}
    world = World(tmp_path, web)
    result = world.run([ROOT])
    assert [a.ask for a in world.asked] == [Ask.ROBOTS]
    assert result.in_state(State.PENDING) == {ROOT}
    assert result.ending is Ending.DONE


def test_no_request_begins_after_its_robots_rules_have_expired(tmp_path: Path) -> None:
    """This includes requests that are handed out ahead of time: pages, sitemaps, and probes for soft 404."""
    valid = 3.0
    waits = ("harvester.wait=60ms", "harvester.wait_large=60ms", "harvester.address_wait=10ms")
    addresses = {f"s{i}.example": f"192.0.2.{i}" for i in range(40)}
    web = random_web(3, sites=40, pages=3_000)
    for host in addresses:
        maps = [f"http://{host}/{n}.xml" for n in range(20)]
        web[f"http://{host}/robots.txt"] = Reply(rules=Rules.parse(b"", "Gossamer").compiled(), sitemaps=Sitemaps(maps))
        web |= {url: Reply(seconds=0.3, links=[f"http://{host}/"]) for url in maps}
    changes = [*waits, f"harvester.robots_valid={valid}s", "seeder.sitemaps=true", 'seeder.domains=["example"]']
    world = World(tmp_path, web, changes, address=addresses.get)
    world.run([f"http://{host}/" for host in addresses])
    held: dict[str, float] = {}
    late, lasted = [], list[float]()
    for asked in sorted(world.asked, key=lambda a: a.start):
        origin = urls.origin(asked.url)
        if asked.ask is Ask.ROBOTS:
            lasted += [asked.start - held[origin]] if origin in held else []
            held[origin] = asked.end + valid
        elif asked.start > held[origin]:
            late.append(asked)
    assert late == []
    assert {a.ask for a in world.asked} == {Ask.ROBOTS, Ask.PAGE, Ask.SITEMAP, Ask.PROBE}
    assert len(lasted) > 500
    assert min(lasted) > -0.04, "they are not requested again before they expire"


def test_no_request_is_handed_out_ahead_of_time_under_a_bandwidth_limit(tmp_path: Path) -> None:
    """The limit may have begun in a turn that still decided to hand out requests ahead of time."""
    changes = ["harvester.wait=60ms", "harvester.wait_large=60ms", "harvester.address_wait=10ms"]
    addresses = {f"s{i}.example": f"192.0.2.{i}" for i in range(8)}
    world = World(tmp_path, random_web(1), [*changes, "harvester.bandwidth=1MB/s"], address=addresses.get)
    with patch.object(Crawl, "_ahead", lambda crawl: FURTHER * TICK):
        world.run([f"http://{host}/" for host in addresses])
    assert len(world.asked) > 300
    assert impolite(world.asked, 0.06, 0.01) == []


def test_robots_txt_that_moved_to_another_site_is_requested_there(tmp_path: Path) -> None:
    rules = Rules.parse(b"User-agent: *\nDisallow: /x", "Gossamer").compiled()
    web = {
        ROOT: Reply(links=["http://a.example/x"]),
        "http://a.example/robots.txt": moved_to("http://b.example/robots.txt"),
        "http://b.example/robots.txt": Reply(rules=rules),
    }
    world = World(tmp_path, web)
    result = world.run([ROOT])
    assert [a.url for a in world.asked] == [
        "http://a.example/robots.txt",
        "http://b.example/robots.txt",
        ROOT,
    ]
    assert result.in_state(State.EXCLUDED) == {"http://a.example/x"}


def test_robots_txt_that_redirects_without_end_counts_as_none(tmp_path: Path) -> None:
    circle = Reply(outcome=Outcome.REDIRECT, status=302, redirect="http://a.example/robots.txt")
    world = World(tmp_path, {ROOT: Reply(), "http://a.example/robots.txt": circle})
    result = world.run([ROOT])
    assert result.in_state(State.DONE) == {ROOT}
    assert sum(a.ask is Ask.ROBOTS for a in world.asked) == 6


def test_a_page_that_fails_waits_twelve_hours_and_is_tried_three_times(tmp_path: Path) -> None:
    world = World(tmp_path, {ROOT: Reply(outcome=Outcome.SERVER_ERROR, status=500)})
    for tries in (1, 2, 3):
        result = world.run([ROOT])
        assert sum(a.ask is Ask.PAGE for a in world.asked) == tries
        assert result.pages[ROOT][0] is (State.WAITING if tries < 3 else State.DONE)
        world.clock.advance(12.1 * 3600)
    world.run()
    assert sum(a.ask is Ask.PAGE for a in world.asked) == 3


def test_retry_after_holds_for_the_whole_site(tmp_path: Path) -> None:
    busy = Reply(outcome=Outcome.TOO_MANY_REQUESTS, status=429, retry_after=40.0)
    web = {ROOT: Reply(links=["http://a.example/1", "http://a.example/2"]), "http://a.example/1": busy}
    world = World(tmp_path, web)
    world.run([ROOT])
    times = {a.url: a for a in world.asked}
    assert times["http://a.example/2"].start >= times["http://a.example/1"].end + 40.0


def test_duplicates_are_named_and_their_links_are_not_followed(tmp_path: Path) -> None:
    web = {
        ROOT: Reply(links=["http://a.example/1", "http://a.example/2"]),
        "http://a.example/1": Reply(digest=7, links=["http://a.example/3"]),
        "http://a.example/2": Reply(digest=7, links=["http://a.example/4"]),
    }
    result = World(tmp_path, web).run([ROOT])
    assert result.pages["http://a.example/2"][1] is Outcome.DUPLICATE
    assert "http://a.example/3" in result.pages
    assert "http://a.example/4" not in result.pages


def test_nothing_is_a_duplicate_of_a_noindex_page(tmp_path: Path) -> None:
    """It may not be kept, so a copy that may be kept must be."""
    web = {
        ROOT: Reply(links=["http://a.example/1", "http://a.example/2", "http://a.example/3"]),
        "http://a.example/1": Reply(digest=7, labels=Labels(VisitFlag.NOINDEX | VisitFlag.NOFOLLOW)),
        "http://a.example/2": Reply(digest=7, links=["http://a.example/4"]),
        "http://a.example/3": Reply(digest=7, labels=Labels(VisitFlag.NOARCHIVE)),
    }
    result = World(tmp_path, web, ["manager.policy=breadth-first"]).run([ROOT])
    outcomes = [result.pages[f"http://a.example/{n}"][1] for n in (1, 2, 3)]
    assert outcomes == [Outcome.OK, Outcome.OK, Outcome.DUPLICATE]
    assert "http://a.example/4" in result.pages
    assert result.crawl.desk[Account].stored == 2, "only stored pages count"


@pytest.mark.parametrize("outcome", [Outcome.PAYMENT_REQUIRED, Outcome.CHALLENGED])
def test_a_page_behind_payment_or_a_challenge_is_not_requested_again_and_its_site_less_often(
    tmp_path: Path, outcome: Outcome
) -> None:
    web = {
        ROOT: Reply(links=["http://a.example/1", "http://a.example/2"]),
        "http://a.example/1": Reply(outcome=outcome, status=402),
        "http://a.example/2": Reply(),
    }
    world = World(tmp_path, web, ["manager.policy=breadth-first"])
    result = world.run([ROOT])
    assert result.pages["http://a.example/1"][:2] == (State.DONE, outcome)
    times = {a.url: a for a in world.asked}
    assert times["http://a.example/1"].start - times[ROOT].end < 20.0
    assert times["http://a.example/2"].start - times["http://a.example/1"].end >= 30.0
    world.clock.advance(13 * 3600)
    world.run()
    assert sum(a.url == "http://a.example/1" for a in world.asked) == 1


def test_robots_txt_that_costs_money_forbids_nothing(tmp_path: Path) -> None:
    """RFC 9309, 2.3.1.3: the answer is a 4xx."""
    web = {"http://a.example/robots.txt": Reply(outcome=Outcome.PAYMENT_REQUIRED, status=402), ROOT: Reply()}
    result = World(tmp_path, web).run([ROOT])
    assert result.pages[ROOT][1] is Outcome.OK


def test_labels_of_a_page_are_in_the_tables_and_in_explain(tmp_path: Path) -> None:
    shy = Reply(labels=Labels(VisitFlag.NOINDEX | VisitFlag.UNAVAILABLE, "content-usage: train-ai=n\ntdm-policy: x"))
    World(tmp_path, {ROOT: shy}, ["seeder.domains=example"]).run([ROOT])
    (tmp_path / SETTINGS).write_text('[seeder]\ndomains = ["example"]\n')
    database = Database(find(tmp_path), Settings())
    query = "select preferences, flags from visits where ask = 'page'"
    (row,) = list(database.query(query).rows)
    assert row[0] == shy.labels.preferences
    assert row[1] & shy.labels.flags == shy.labels.flags
    text = "\n".join(lines_of(explain_page(tmp_path, ROOT), 0.0))
    assert "    it says noindex, unavailable_after, which has passed\n    content-usage: train-ai=n\n" in text


def test_depth_counts_clicks_inside_the_site_and_falls_with_a_shorter_path(tmp_path: Path) -> None:
    web = {
        ROOT: Reply(links=["http://a.example/1"]),
        "http://a.example/1": Reply(links=["http://a.example/2", "http://b.example/deep/page"]),
        "http://a.example/2": Reply(links=["http://a.example/3"]),
        "http://b.example/deep/page": Reply(links=["http://a.example/3"]),
        "http://a.example/moved": Reply(),
        "http://a.example/3": Reply(
            outcome=Outcome.REDIRECT, status=301, links=["http://a.example/moved"], kind=LinkKind.REDIRECT
        ),
    }
    result = World(tmp_path, web).run([ROOT])
    depths = {url: depth for url, (_, _, depth) in result.pages.items()}
    assert depths["http://a.example/1"] == 1
    assert depths["http://b.example/deep/page"] == 0
    assert depths["http://a.example/3"] == 0, "an entry from outside has depth 0"
    assert depths["http://a.example/moved"] <= 3, "a redirect target inherits the depth"


def test_pages_below_the_depth_limit_are_known_and_excluded(tmp_path: Path) -> None:
    web = {f"http://a.example/{i}": Reply(links=[f"http://a.example/{i + 1}"]) for i in range(10)}
    result = World(tmp_path, web, ["seeder.depth_static=3"]).run(["http://a.example/0"])
    assert result.in_state(State.EXCLUDED) == {"http://a.example/4"}
    page = list(result.pages).index("http://a.example/4")
    assert result.crawl.desk.columns.page.reason[page] == Reason.DEPTH


def test_a_site_has_no_more_pages_than_the_settings_allow(tmp_path: Path) -> None:
    web = {ROOT: Reply(links=[f"http://a.example/{i}" for i in range(50)] + ["http://b.example/"])}
    result = World(tmp_path, web, ["seeder.pages_per_site=10"]).run([ROOT])
    assert sum("//a." in url for url in result.pages) == 10
    assert "http://b.example/" in result.pages


def test_a_name_that_does_not_exist_leaves_its_pages_pending(tmp_path: Path) -> None:
    world = World(tmp_path, {ROOT: Reply(links=["http://gone.example/"])})
    world.address = lambda host: None if "gone" in host else "192.0.2.1"
    result = world.run([ROOT])
    assert result.ending is Ending.DONE
    assert result.in_state(State.PENDING) == {"http://gone.example/"}


def test_a_run_ends_at_the_requested_number_of_pages_or_time(tmp_path: Path) -> None:
    web = random_web(2)
    seeds = [f"http://s{i}.example/" for i in range(8)]
    world = World(tmp_path, web)
    result = world.run(seeds, pages=20)
    assert result.ending is Ending.PAGES
    assert result.crawl.desk[Account].stored == 20
    before = world.clock.monotonic()
    result = world.run(seconds=100.0)
    assert result.ending is Ending.TIME
    assert 100.0 <= world.clock.monotonic() - before < 125.0
    assert world.run().in_state(State.DONE) == closure(web, seeds)
    assert impolite(world.asked, 5.0, 1.0) == []


def test_the_same_web_gives_the_same_order(tmp_path: Path) -> None:
    orders = []
    for name in ("one", "two"):
        world = World(tmp_path / name, random_web(3), ["harvester.soft_404=false"])  # names of probes differ
        world.run([f"http://s{i}.example/" for i in range(8)])
        orders.append([(a.url, a.start) for a in world.asked])
    assert orders[0] == orders[1]


@pytest.mark.parametrize("clean", [True, False], ids=["clean stop", "kill"])
@pytest.mark.parametrize("policy", ["value", "opic", "breadth-first"])
def test_a_crawl_in_many_runs_finds_what_one_run_finds(tmp_path: Path, clean: bool, policy: str) -> None:
    web = random_web(4)
    seeds = [f"http://s{i}.example/" for i in range(8)]
    whole = World(tmp_path / "whole", web, [f"manager.policy={policy}"]).run(seeds)
    world = World(tmp_path / "parts", web, [f"manager.policy={policy}"])
    rng = random.Random(5)
    for _ in range(6):
        world.run(seeds, clean=clean, turns=rng.randrange(1, 60))
    result = world.run(seeds)
    assert {u: p[:2] for u, p in result.pages.items()} == {u: p[:2] for u, p in whole.pages.items()}
    assert impolite(world.asked, 5.0, 1.0) == []
    desk = result.crawl.desk
    assert desk[Pages].counts.sum() == desk.columns.page.count == len(whole.pages)


def test_without_its_image_a_collection_is_rebuilt_from_the_segments(tmp_path: Path) -> None:
    import shutil

    web = random_web(6)
    seeds = [f"http://s{i}.example/" for i in range(8)]
    world = World(tmp_path, web)
    world.run(seeds, turns=150)
    first = world.run(turns=0)
    shutil.rmtree(next((tmp_path / "shard-000" / "image").iterdir()))
    again = world.run(turns=0)
    for name, values in first.crawl.desk.columns.page.used().items():
        np.testing.assert_array_equal(values, again.crawl.desk.columns.page.used()[name], err_msg=name)
    assert again.pages == first.pages
    assert again.crawl.desk[Account].outcomes.tolist() == first.crawl.desk[Account].outcomes.tolist()
    assert again.crawl.desk[Pages].totals.tolist() == first.crawl.desk[Pages].totals.tolist()


def test_a_policy_may_change_between_runs(tmp_path: Path) -> None:
    """The image of another policy is not used: the scores are rebuilt from the segments."""
    web = random_web(7)
    seeds = [f"http://s{i}.example/" for i in range(8)]
    world = World(tmp_path, web, ["manager.policy=breadth-first"])
    world.run(seeds, turns=80)
    world.changes = ["manager.policy=opic"]
    result = world.run()
    assert result.in_state(State.DONE) == closure(web, seeds)
    assert result.crawl.desk[Pages].totals.sum() > 0


def test_addresses_from_the_settings_are_looked_up_again_at_every_start(tmp_path: Path) -> None:
    """The demonstration Web has another port at every start."""
    web = {ROOT: Reply(links=["http://a.example/1"]), "http://a.example/1": Reply()}
    world = World(tmp_path, web, ['harvester.resolve={"*" = "127.0.0.1:1"}'], address=lambda host: "192.0.2.1")
    world.run([ROOT], pages=1)
    world.address = lambda host: "192.0.2.2"
    world.run()
    assert [a.address for a in world.asked if a.ask is Ask.PAGE] == ["192.0.2.1", "192.0.2.2"]


def moved_to(target: str) -> Reply:
    return Reply(outcome=Outcome.REDIRECT, status=301, redirect=target)


def test_robots_txt_that_moved_to_a_name_that_does_not_exist_is_not_requested_again_and_again(tmp_path: Path) -> None:
    world = World(tmp_path, {ROOT: Reply(), "http://a.example/robots.txt": moved_to("http://gone.example/robots.txt")})
    world.address = lambda host: None if "gone" in host else "192.0.2.1"
    result = world.run([ROOT])
    assert result.ending is Ending.DONE
    assert [a.url for a in world.asked] == ["http://a.example/robots.txt"]
    assert result.in_state(State.PENDING) == {ROOT}
    assert result.crawl.desk.columns.site.why[0] == Aside.ROBOTS_UNREADABLE
    assert world.replayed().columns.site.why[0] == Aside.ROBOTS_UNREADABLE


def test_many_robots_txt_that_moved_to_one_site_are_each_requested_once_and_take_turns_with_its_pages(
    tmp_path: Path,
) -> None:
    sites = [f"http://s{i}.example/" for i in range(20)]
    web = {site: Reply() for site in sites} | {"http://hub.example/": Reply(links=["http://hub.example/1"])}
    web |= {f"{site}robots.txt": moved_to("http://hub.example/robots.txt") for site in sites}
    world = World(tmp_path, web, address=lambda host: f"192.0.2.{sum(host.encode()) % 250}")
    result = world.run([*sites, "http://hub.example/"])
    asked = [a.url for a in world.asked]
    assert all(asked.count(f"{site}robots.txt") == 1 for site in sites)
    assert asked.count("http://hub.example/robots.txt") == 21
    assert asked.index("http://hub.example/") < len(asked) // 2, "errands and pages take turns"
    assert result.in_state(State.DONE) >= {*sites, "http://hub.example/"}
    assert impolite(world.asked, 5.0, 1.0) == []


def test_a_site_whose_robots_txt_failed_at_another_site_waits_itself(tmp_path: Path) -> None:
    web = {
        ROOT: Reply(),
        "http://a.example/robots.txt": moved_to("http://b.example/robots.txt"),
        "http://b.example/robots.txt": Reply(outcome=Outcome.SERVER_ERROR, status=500),
    }
    world = World(tmp_path, web)
    world.run([ROOT], patience=400.0, seconds=1000.0)
    first, _, again = world.asked[:3]
    assert again.url == first.url
    assert again.start - first.end >= 300.0


def test_a_location_of_any_length_does_no_harm(tmp_path: Path) -> None:
    long = moved_to("http://a.example/" + "x" * 70_000)
    result = World(tmp_path, {ROOT: Reply(), "http://a.example/robots.txt": long}).run([ROOT])
    assert result.in_state(State.PENDING) == {ROOT}, "its robots.txt cannot be read"


def test_the_longest_crawl_delay_of_a_sites_origins_holds(tmp_path: Path) -> None:
    web = {f"{scheme}://a.example/{n}": Reply() for scheme in ("http", "https") for n in range(3)} | {
        "http://a.example/robots.txt": Reply(delay=40.0),
        "https://a.example/robots.txt": Reply(),
    }
    world = World(tmp_path, web)
    world.run(list(web)[:6])
    assert sum(a.ask is Ask.PAGE for a in world.asked) == 6
    learned = next(i for i, a in enumerate(world.asked) if a.url == "http://a.example/robots.txt")
    assert impolite(world.asked[learned:], 40.0, 1.0) == []


def test_addresses_that_change_all_the_time_are_forgotten_and_stay_polite(tmp_path: Path) -> None:
    web = {f"http://s{i}.example/{n}": Reply() for i in range(2) for n in range(12)}
    world = World(tmp_path, web, ["collection.max_sites=2", "collection.max_pages=100"])
    count = iter(range(10_000))
    world.address = lambda host: f"198.51.100.{next(count) % 250}"
    for _ in range(12):
        world.run(list(web), pages=2)
    result = world.run()
    assert len(result.in_state(State.DONE)) == 24
    assert len(result.crawl.desk[Places].numbers) <= 8 < next(count)
    assert impolite(world.asked, 5.0, 1.0) == []


def test_a_wall_clock_that_goes_back_does_not_end_the_crawl(tmp_path: Path) -> None:
    web = random_web(8)
    seeds = [f"http://s{i}.example/" for i in range(8)]
    world = World(tmp_path, web)
    asked = 0

    def reply(url: str) -> Reply:
        nonlocal asked
        asked += 1
        if asked == 50:
            world.clock._wall -= 3600.0
        return web.get(url, Reply(outcome=Outcome.NOT_FOUND, status=404))

    world.replies = reply
    assert world.run(seeds).in_state(State.DONE) == closure(web, seeds)
    assert impolite(world.asked, 5.0, 1.0) == []


def test_a_name_that_stops_existing_is_not_looked_up_all_the_time(tmp_path: Path) -> None:
    web = {f"http://a.example/{n}": Reply() for n in range(30)}
    world = World(tmp_path, web)
    looked_up = 0

    def address(host: str) -> str | None:
        nonlocal looked_up
        looked_up += 1
        return "192.0.2.1" if looked_up == 1 else None

    world.address, world.ttl = address, 60.0
    result = world.run(list(web))
    assert result.ending is Ending.DONE
    assert looked_up == 2
    assert result.in_state(State.PENDING)


def test_a_limit_below_the_number_of_known_pages_is_refused_and_does_no_harm(tmp_path: Path) -> None:
    world = World(tmp_path, random_web(9))
    world.run([f"http://s{i}.example/" for i in range(8)], turns=100)
    world.changes = ["collection.max_pages=10"]
    with pytest.raises(UsageError, match="max_pages"):
        world.run()
    world.changes = []
    assert world.run().ending is Ending.DONE


@pytest.mark.parametrize(("least", "connections"), [(10, 20), (10, 6), (0, 20)])
def test_a_plan_closes_when_few_requests_are_in_flight_and_its_pages_return_without_penalty(
    tmp_path: Path, least: int, connections: int
) -> None:
    """40 sites have enough pages for 20 connections, but their waits are longer than their answers take."""
    hosts = [f"s{i}.example" for i in range(40)]
    web = {f"http://{host}/": Reply(links=[f"http://{host}/p{n}.html" for n in range(3)]) for host in hosts}
    changes = [
        f"harvester.connections={connections}",
        f"harvester.least_connections={least}",
        "manager.batch_size=30",
        "manager.policy=breadth-first",
    ]
    world = World(tmp_path, web, changes, address=lambda host: f"192.0.2.{hosts.index(host)}")
    plans: list[set[int]] = []
    installed = Harvest.install

    def noted(harvest: Harvest, plan: Plan) -> None:
        busy = harvest.busy_sites(world.clock.monotonic() + 60)
        if plans and busy >= connections:
            left = np.setdiff1d(np.concatenate([harvest.planned(s) for s in range(40)]), plan.pages)
            page = harvest._desk.columns.page
            open_now = left[((page.flags[left] & PageFlag.ASSIGNED) == 0) & (page.state[left] != State.DONE)]
            assert (page.tries[open_now] == 0).all()
            assert (page.due[open_now][page.state[open_now] == State.PENDING] == 0).all()
            plans.append(set(plan.pages.tolist()))
        elif not plans:
            plans.append(set(plan.pages.tolist()))
        installed(harvest, plan)

    with patch.object(Harvest, "install", noted):
        result = world.run([f"http://{host}/" for host in hosts])
    assert (len(plans) > 1) == (least > 0), "while there is work for all connections"
    assert result.in_state(State.DONE) == set(result.pages)
    fetched = [a.url for a in world.asked if a.ask is Ask.PAGE]
    assert len(fetched) == len(set(fetched)) == 160
    assert impolite(world.asked, 15.0, 1.0) == []


def test_with_few_requests_in_flight_the_next_plan_waits_five_times_the_duration_of_the_last(tmp_path: Path) -> None:
    crawl = World(tmp_path, {}).run([ROOT], turns=1).crawl
    planner = Planner(crawl.desk, crawl.store, 60.0)
    slow = Plan(*(np.zeros(0, np.uint32),) * 4, 2.0, 0, 0.0, 0)  # type: ignore[arg-type]
    begun: list[float] = []

    def begin(now: float, in_flight: int) -> bool:
        planner.stale = True
        planner.begin(now, now, lambda until: 10**6, in_flight)
        if planner._running is not None:
            begun.append(now)
            _, past, _ = planner._running.result()
            planner._running = Future()
            planner._running.set_result((slow, past, Unjudged(slow.pages, [])))
            planner.take(now)
        return begun[-1:] == [now]

    assert not begin(1.0, 10), "enough requests are in flight, and their sites have work"
    assert begin(2.0, 9)
    assert not begin(11.9, 9)
    assert planner.next_time(9) == 12.0
    assert begin(12.0, 9)
    planner.close()
