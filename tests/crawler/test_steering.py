"""Orders that stay, in a crawl: what follows from them, at once, after a kill and in the next run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.ending import Ending
from gossamer.base.errors import UsageError
from gossamer.base.model import Ask
from gossamer.base.outcomes import Aside
from gossamer.collection import orders
from gossamer.collection.layout import shard_folder
from gossamer.crawler.loop import Bounds, Crawl
from gossamer.crawler.open import open_collection
from gossamer.crawler.steering import NEXT_RUN, NOW, Steering, take_in
from gossamer.desk import snapshot
from gossamer.desk.orders import Orders
from gossamer.observe.listener import DeskView
from gossamer.observe.status import page_standing, set_aside, site_standing
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.read.steer.order import ordered
from gossamer.webs.simulated import Reply, SimulatedNames, SimulatedWeb
from tests.support.world import World, at_processor_speed, impolite, seal_here, state_of

SITES = [f"http://s{n}.example/" for n in range(3)]
WEB = {site: Reply(links=[f"{site}{i}" for i in range(30)], digest=1 + n) for n, site in enumerate(SITES)}
WEB |= {f"{site}{i}": Reply(digest=100 * (n + 1) + i) for n, site in enumerate(SITES) for i in range(30)}
CHANGES = ("harvester.contact=me@example.org", "seeder.domains=*", "harvester.soft_404=false")


class Steered:
    """A crawl with orders."""

    def __init__(self, world: World, crawl: Crawl, steering: Steering) -> None:
        self.world, self.crawl, self.steering = world, crawl, steering
        self._keys = 0

    def order(self, text: str, key: str = "") -> dict[str, object]:
        self._keys += 1
        name, *words = text.split()
        return self.steering.give(
            {"name": name, "words": words, "who": "ann", "key": key or f"key {self._keys} {text}"}
        )

    def go_on(self, seconds: float) -> list[str]:
        """The URLs that are asked for in the next so many seconds."""
        before, until = len(self.world.asked), self.world.clock.monotonic() + seconds
        while self.world.clock.monotonic() < until:
            self.crawl.turn()
            self.steering.turn()
        return [each.url for each in self.world.asked[before:]]


@contextmanager
def steered(world: World, bounds: Bounds | None = None, clean: bool = False) -> Iterator[Steered]:
    """Without `clean` it ends as if killed."""
    with at_processor_speed():
        store, desk, resumed = open_collection(world.folder, world.settings, world.clock, sealer=seal_here)
        before = take_in(store, desk, world.clock)
        web = SimulatedWeb(world.reply, world.clock, desk.seed, asked=world.asked)
        crawl = Crawl(desk, store, web, SimulatedNames(world.address, world.ttl), world.clock, bounds or Bounds())
        if resumed:
            crawl.harvest.resume(0.0)
        steering = Steering(crawl, before)
        if not resumed:
            crawl.plant(SITES)
        try:
            yield Steered(world, crawl, steering)
            if clean:
                store.finish(*snapshot.dump(desk, store.ends()))
        finally:
            crawl.planner.close()
            store.close()


@pytest.fixture(scope="module", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The first plan of a process may take long, since kernels are compiled, and the next plans wait for a multiple."""
    with steered(World(tmp_path_factory.mktemp("warm"), WEB, CHANGES)) as crawl:
        crawl.go_on(20.0)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "c", WEB, CHANGES)


def sites_of(urls: list[str]) -> set[str]:
    return {f"http://{url.split('/')[2]}/" for url in urls}


def test_a_pause_holds_everything_and_ends_at_once(world: World) -> None:
    with steered(world) as crawl:
        assert sites_of(crawl.go_on(100.0)) == set(SITES)
        assert crawl.order("pause") == {"number": 1, "holds": NOW, "words": ""}
        assert crawl.go_on(1_000.0) == []
        assert crawl.crawl._ending() is None
        crawl.order("go")
        assert len(crawl.go_on(2.0)) == len(SITES)
    assert impolite(world.asked, 15.0, 1.0) == []


def test_a_paused_crawl_does_not_end_by_itself_but_is_stopped(world: World) -> None:
    with steered(world) as crawl:
        crawl.order("pause")
        crawl.order("stop")
        assert crawl.crawl.run() is Ending.STOPPED
        assert [each.url for each in world.asked] == []


def test_a_blocked_site_is_left_alone_and_waits(world: World) -> None:
    with steered(world) as crawl:
        crawl.go_on(100.0)
        crawl.order("block s1.example")
        assert sites_of(crawl.go_on(200.0)) == {SITES[0], SITES[2]}
        desk = crawl.crawl.desk
        assert set_aside(desk.columns.site, world.clock.wall()).tolist() == [0, Aside.BLOCKED, 0]
        told = site_standing(DeskView(desk), world.settings, 1, world.clock.wall(), 1)
        assert "order 1, ann" in told["parts"]["orders"]["block s1.example"]
        assert told["why"]["waiting"] == {"site: blocked": told["pages"]["waiting"]}
        page = page_standing(DeskView(desk), world.settings, world.clock.wall(), 1, SITES[1])
        assert page["parts"]["orders"]
        crawl.order("undo 1")
        assert SITES[1] in sites_of(crawl.go_on(3.0))
    assert impolite(world.asked, 15.0, 1.0) == []


def test_a_site_is_blocked_before_it_is_known(world: World) -> None:
    with steered(world) as crawl:
        crawl.order("block new.example")
        crawl.crawl.plant(["http://new.example/"])
        assert "http://new.example/" not in sites_of(crawl.go_on(200.0))


def test_the_crawl_ends_when_only_blocked_sites_are_left(world: World) -> None:
    with steered(world) as crawl:
        crawl.go_on(100.0)
        crawl.order("block s1.example")
        assert crawl.crawl.run() is Ending.DONE


def test_a_slowed_site_is_asked_less_often_and_at_once_when_that_is_undone(world: World) -> None:
    with steered(world) as crawl:
        crawl.go_on(100.0)
        crawl.order("slow s0.example 5min")
        found = crawl.go_on(3_000.0)
        assert len([url for url in found if url.startswith(SITES[0])]) in (8, 9, 10)
        crawl.order("undo 1")
        assert SITES[0] in sites_of(crawl.go_on(3.0))
    assert impolite(world.asked, 15.0, 1.0) == []


def test_pages_of_a_preferred_site_are_planned_first(world: World) -> None:
    small = World(world.folder, WEB, (*CHANGES, "manager.batch_size=3", "manager.batch_per_site=2"))
    with steered(small) as crawl:
        crawl.go_on(100.0)
        crawl.order("prefer s2.example")
        found = crawl.go_on(100.0)
        plan = crawl.crawl.planner.made.plan
        assert plan is not None
        assert plan.sites[0] == 2
        assert len([url for url in found if url.startswith(SITES[2])]) in (6, 7)


def test_a_weight_counts_from_the_next_plan_on(world: World) -> None:
    with steered(world) as crawl:
        crawl.go_on(50.0)
        assert crawl.crawl.planner.value.weights == {"completed": 1.0}
        number, ordered_at = crawl.order("weight depth 1")["number"], world.clock.wall()
        crawl.order("weight completed 0")
        crawl.go_on(3.0)
        plan = crawl.crawl.planner.made
        assert crawl.crawl.planner.value.weights == {"depth": 1.0}
        assert plan.plan is not None
        assert plan.at >= ordered_at
        crawl.order(f"undo {number}")
        assert crawl.crawl.planner.value.weights == {"completed": 1.0}
    other = World(world.folder, WEB, (*CHANGES, "manager.policy=breadth-first"))
    with steered(other) as crawl, pytest.raises(UsageError, match="weights do not count"):
        crawl.order("weight depth 1")


def test_limits_are_those_of_the_last_word(world: World) -> None:
    with steered(world, Bounds(pages=5)) as crawl:
        crawl.order("pages 7")
        assert crawl.crawl.run() is Ending.PAGES
        assert crawl.crawl.stored == 7
    with steered(world, Bounds(pages=2)) as crawl:
        assert crawl.crawl.bounds.pages == 2, "given for this run, after the order"
    with steered(world) as crawl:
        assert crawl.crawl.bounds == Bounds(pages=7)
        crawl.order("undo 1")
        assert crawl.crawl.bounds == Bounds()
        crawl.order("time 30s")
        assert crawl.crawl.run() is Ending.TIME
        assert 30 <= crawl.crawl.seconds < 60


def test_connections_are_fewer_at_once_and_more_in_the_next_run(world: World) -> None:
    with steered(World(world.folder, WEB, (*CHANGES, "harvester.connections=2"))) as crawl:
        assert crawl.order("connections 1")["holds"] == NOW
        for _ in range(200):
            crawl.crawl.turn()
            assert crawl.crawl.web.open <= 1
        assert crawl.order("connections 50")["holds"] == NEXT_RUN
        assert crawl.order("workers 3")["holds"] == NEXT_RUN
        assert crawl.order("bandwidth 1MB/s")["holds"] == NEXT_RUN
        crawl.crawl.store.commit()
    with steered(world) as crawl:
        found = crawl.crawl.desk.settings.harvester
        assert (found.connections, found.workers, found.bandwidth) == (50, 3, 1_000_000)
        assert crawl.crawl.harvest.bandwidth_use() is not None
        assert crawl.order("bandwidth 2MB/s")["holds"] == NOW
        crawl.go_on(2.0)
        use = crawl.crawl.harvest.bandwidth_use()
        assert use is not None
        assert use.granted == 2_000_000


def test_an_order_survives_a_kill(world: World) -> None:
    with steered(world) as crawl:
        crawl.go_on(50.0)
        crawl.order("block s1.example")
        crawl.order("pause")
        crawl.crawl.store.commit()
    with steered(world, clean=True) as crawl:
        assert crawl.go_on(100.0) == []
        crawl.order("go")
        assert SITES[1] not in sites_of(crawl.go_on(100.0))
        crawl.order("slow s0.example 1h")
        live = state_of(crawl.crawl.desk)
    assert state_of(world.replayed())["site.refused"] == live["site.refused"]
    assert world.replayed()[Orders].meta() == crawl.crawl.desk[Orders].meta()
    with steered(world) as crawl:
        assert [str(each.order) for each in crawl.crawl.desk[Orders].in_force.all()] == [
            "block s1.example",
            "slow s0.example 1h",
        ]


def test_an_order_given_twice_is_as_one_given_once(world: World) -> None:
    with steered(world) as crawl:
        first = crawl.order("pause", key="k")
        assert crawl.order("pause", key="k") == first | {"words": "it was given before, under the same key"}
        assert crawl.order("pause", key="other")["number"] == first["number"]
        crawl.order("go")
        assert crawl.order("pause", key="k")["holds"] == "no more"
        assert crawl.crawl.bounds.connections is None


def test_what_is_undone_is_as_if_it_had_not_been_ordered(world: World) -> None:
    with steered(world) as crawl:
        before = crawl.crawl.bounds, crawl.crawl.desk.settings
        for text in ("pages 3", "time 1h", "connections 3", "pause", "block s0.example", "slow s1.example 1h"):
            number = crawl.order(text)["number"]
            crawl.order(f"undo {number}")
        assert (crawl.crawl.bounds, crawl.crawl.desk.settings) == before
        assert not crawl.crawl.desk.columns.site.refused.any()
        with pytest.raises(UsageError, match="not in force"):
            crawl.order("undo 1")


def test_orders_that_were_left_hold_from_the_start_of_the_run(world: World) -> None:
    with steered(world, clean=True) as crawl:
        crawl.go_on(50.0)
    left = [["k1", "ann", "block", "s1.example", ""], ["k2", "ann", "connections", "", "4"]]
    orders.leave(shard_folder(world.folder), "steer", left)
    for _ in range(2):  # a kill before they are removed: they are taken in once
        with steered(world) as crawl:
            assert crawl.crawl.desk.settings.harvester.connections == 4
            assert SITES[1] not in sites_of(crawl.go_on(100.0))
            assert crawl.crawl.desk[Orders].in_force.last == 2
            crawl.crawl.store.commit()


def test_orders_are_rows_in_sql_before_and_after_they_are_sealed(world: World) -> None:
    with steered(world, clean=True) as crawl:
        crawl.order("slow s0.example 5s")
        crawl.order("pause")
        crawl.order("go")
        crawl.crawl.store.commit()
        before = ordered(Database(find(world.folder, fresh=True), world.settings))
    after = ordered(Database(find(world.folder), world.settings))
    assert after == before
    assert [(row.number, row.who, row.name, row.target, row.value, row.in_force) for row in after] == [
        (1, "ann", "slow", "s0.example", "5s", True),
        (2, "ann", "pause", "", "", False),
        (3, "ann", "go", "", "", False),
    ]


WORDS = st.sampled_from(
    ["pause", "go", "undo 1", "undo 2", "undo 3", "connections 1", "pages 1000", "free s0.example"]
    + [
        f"{what} s{n}.example{more}"
        for n in range(3)
        for what, more in (("block", ""), ("slow", " 1s"), ("slow", " 40s"), ("prefer", ""))
    ]
)


@given(st.lists(st.tuples(WORDS, st.floats(0.0, 60.0)), max_size=12))
@settings(max_examples=25, deadline=None)
def test_no_order_makes_a_wait_shorter(
    tmp_path_factory: pytest.TempPathFactory, given_: list[tuple[str, float]]
) -> None:
    world = World(tmp_path_factory.mktemp("steered"), WEB, CHANGES)
    with steered(world) as crawl:
        for text, seconds in given_:
            try:
                crawl.order(text)
            except UsageError:
                assert text.startswith("undo")
            crawl.go_on(seconds)
        crawl.go_on(60.0)
    assert impolite(world.asked, 15.0, 1.0) == []
    assert all(each.ask is Ask.ROBOTS for each in world.asked[:1])
