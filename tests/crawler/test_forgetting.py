"""Orders to forget that come while a crawl runs: it keeps out what they name, and a later start carries them out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer import urls
from gossamer.base.errors import LockedError
from gossamer.base.model import Outcome, Reason, State
from gossamer.base.outcomes import Aside
from gossamer.collection.forgetting.tombstones import Tombstone
from gossamer.collection.layout import SETTINGS
from gossamer.config import dump
from gossamer.crawler.forgetting import Kept, carry_out_waiting, keep_out
from gossamer.crawler.orders import add, again
from gossamer.read.explain.page import explain_page
from gossamer.read.explain.site import explain_site
from gossamer.read.forget import forget, listed, plan, unfinished
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.read.verify.verify import verify
from gossamer.seeder.seeds import read_seeds
from gossamer.webs.simulated import Reply
from tests.crawler.test_orders import meanwhile, opened, running
from tests.support.world import World, at_processor_speed

REASON: Final = "asked by its owner"
SITES: Final = tuple(f"http://s{n}.example/" for n in range(3))
OTHER: Final = "http://other.example/"
"""It stays."""
TARGETS: Final = (*(f"{SITES[0]}{n}" for n in ("", 1, 4, 11, "unknown")), "s1.example", "s2.example", "nobody.example")
CHANGES: Final = (
    "manager.continuous=true",
    "manager.min_period=5min",
    "harvester.wait=20s",
    "harvester.wait_large=20s",
    "seeder.domains=example",
    "harvester.contact=me@example.org",
)


def web(url: str) -> Reply:
    """Each page leads to three others of its site, and to all sites."""
    base, _, name = url.rpartition("/")
    if not (name or "0").isdigit() or int(name or 0) > 12:
        return Reply(outcome=Outcome.NOT_FOUND, status=404)
    links = [f"{base}/{(3 * int(name or 0) + i) % 13}" for i in (1, 2, 3)]
    return Reply(links=(*links, *SITES), digest=1 + urls.fingerprint(url, 1) % 2**60)


def world_in(folder: Path) -> World:
    return World(folder, web, CHANGES)


def named(url: str, targets: set[str]) -> bool:
    return url in targets or urls.host(url) in targets


def orders(targets: set[str], seed: int) -> list[Tombstone]:
    return [Tombstone(1.0, REASON, "/" not in each, urls.fingerprint(each, seed), None, name=each) for each in targets]


@settings(max_examples=12, deadline=None)
@given(st.sets(st.sampled_from(TARGETS), min_size=1), st.integers(0, 200), st.booleans())
@example({TARGETS[0], TARGETS[4]}, 150, False)
@example({"s1.example"}, 0, True)
def test_what_a_running_crawl_forgets_is_not_requested_any_more(
    tmp_path_factory: pytest.TempPathFactory, targets: set[str], turns: int, killed: bool
) -> None:
    """Whatever was planned, links to it, is added or asked for again; also in the next run."""
    world = world_in(tmp_path_factory.mktemp("w") / "c")
    world.run([*SITES[:2], OTHER], turns=5)
    with opened(world, clean=not killed) as crawl:
        for _ in range(turns):
            crawl.turn()
        kept = keep_out(crawl, orders(targets, crawl.desk.seed))
        assert keep_out(crawl, orders(targets, crawl.desk.seed)) == kept
        before, found = len(world.asked), world.pages(crawl)
        seeds = [each if "/" in each else f"http://{each}/7" for each in sorted(targets)]
        add(crawl, read_seeds(seeds, (), world.settings.seeder))
        again(crawl, range(len(found)))
        for _ in range(400):
            crawl.turn()
        later = world.pages(crawl)
        crawl.store.commit()
    with opened(world) as crawl:
        for _ in range(200):
            crawl.turn()
    since = [each.url for each in world.asked[before:]]
    assert [url for url in since if named(url, targets)] == []
    assert len(since) > 10
    assert {url for url in later if url in targets} <= {*found}
    assert all(later[url][0] is State.EXCLUDED for url in later if url in targets)
    assert kept == Kept(sum(url in targets for url in found), len({urls.host(url) for url in found} & targets))


def test_the_desk_takes_an_order_in_each_state_of_a_page(tmp_path: Path) -> None:
    """Also of pages that robots.txt, or the settings, had excluded, or that are not to be requested again."""
    world = world_in(tmp_path / "c")
    world.run(SITES, turns=40)
    with opened(world) as crawl:
        page = crawl.desk.columns.page
        states = {State(int(page.state[n])): url for n, url in enumerate(world.pages(crawl))}
        assert {State.PENDING, State.DONE} <= {*states}
        done = [*world.pages(crawl)].index(states[State.DONE])
        page.reason[done] = Reason.ROBOTS
        keep_out(crawl, orders({*states.values()}, crawl.desk.seed))
        for url in states.values():
            number = [*world.pages(crawl)].index(url)
            assert (page.state[number], page.reason[number]) == (State.EXCLUDED, Reason.FORGOTTEN)


def test_an_order_that_waits_survives_a_kill(tmp_path: Path) -> None:
    world, page = world_in(tmp_path / "c"), f"{SITES[0]}1"
    world.run(SITES, turns=300)
    (world.folder / SETTINGS).write_text(dump(world.settings))

    def ordered(*targets: str) -> list[Tombstone]:
        return forget(world.folder, plan(world.folder, targets, REASON)).tombstones

    with running(world) as crawl:
        assert [each.waits for each in meanwhile(crawl, lambda: ordered(page, "s1.example"))] == [True, True]
        assert meanwhile(crawl, lambda: ordered(page)) == []
        with pytest.raises(LockedError, match="in memory"):
            forget(world.folder, [])
        told: Any = meanwhile(crawl, lambda: explain_page(world.folder, page))
        assert "is not requested any more" in told["why_not"][0]
        told = meanwhile(crawl, lambda: explain_site(world.folder, "s1.example"))
        assert REASON in told["why_not"][0]
        crawl.store.commit()
        state = meanwhile(crawl, lambda: shown(world, f"select state, reason from pages where url = '{page}'"))
        assert state == [("excluded", "forgotten")]
        sites = meanwhile(crawl, lambda: shown(world, "select name, aside from sites where aside is not null"))
        assert sites == [("s1.example", Aside.FORGOTTEN.word)]
    assert len(listed(world.folder).waiting) == 2
    assert unfinished(world.folder)
    assert verify(world.folder).findings == []
    with opened(world) as crawl:  # ends as if killed
        for _ in range(20):
            crawl.turn()
        crawl.store.commit()
    assert len(carry_out_waiting(world.folder).tombstones) == 2
    assert not unfinished(world.folder)
    with at_processor_speed(), opened(world) as crawl:
        assert [url for url in world.pages(crawl) if named(url, {page, "s1.example"})] == []
    assert verify(world.folder).findings == []
    assert carry_out_waiting(world.folder).tombstones == []


def shown(world: World, statement: str) -> list[tuple[Any, ...]]:
    database = Database(find(world.folder, fresh=True), world.settings)
    try:
        return list(database.query(statement).rows)
    finally:
        database.close()


def test_a_page_that_is_found_after_the_plan_is_forgotten_too(tmp_path: Path) -> None:
    """Its order has no number: it is looked up when it is carried out."""
    world, page = world_in(tmp_path / "c"), f"{SITES[0]}1"
    world.run(SITES, turns=100)
    (world.folder / SETTINGS).write_text(dump(world.settings))
    with opened(world) as crawl:
        keep_out(crawl, orders({page, "s1.example", "nobody.example"}, crawl.desk.seed))
    numbers = {each.site: each.number for each in listed(world.folder).waiting if each.name != "nobody.example"}
    assert numbers == {False: None, True: None}
    carry_out_waiting(world.folder)
    found = [each.number for each in listed(world.folder).tombstones]
    assert (len(found), found.count(None)) == (3, 1)
    assert verify(world.folder).findings == []
    assert shown(world, f"select url from pages where url = '{page}' or url like '%s1.example%'") == []
