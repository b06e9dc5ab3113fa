"""Orders to a crawl: URLs to add, pages to request again; while it runs, and for its next run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.errors import GossamerError, UsageError
from gossamer.base.model import Outcome, State
from gossamer.collection import orders
from gossamer.collection.layout import SETTINGS, shard_folder
from gossamer.collection.orders import ORDERS, Orders, leave, waiting
from gossamer.config import dump
from gossamer.crawler.loop import Bounds, Crawl
from gossamer.crawler.open import open_collection
from gossamer.crawler.orders import Carried, Inbox, add, again, carry_out
from gossamer.crawler.steering import Steering
from gossamer.desk import snapshot
from gossamer.observe.listener import Listener
from gossamer.observe.socket import ENDING
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.read.steer import deliver as delivery
from gossamer.read.steer.add import Answered, answers
from gossamer.read.steer.add import add as add_by_socket
from gossamer.read.steer.again import Filter
from gossamer.read.steer.again import again as again_by_socket
from gossamer.read.steer.deliver import deliver
from gossamer.read.steer.order import Ordered, order, orders_of
from gossamer.robots import Rules
from gossamer.seeder.seeds import read_seeds
from gossamer.webs.simulated import Reply, SimulatedNames, SimulatedWeb
from tests.support.world import World, at_processor_speed, impolite, seal_here, state_of

ROOT = "http://a.example/"
NEW = "http://b.example/"
RULES = Rules.parse(b"User-agent: *\nDisallow: /private", "Gossamer").compiled()
WEB = {
    ROOT: Reply(links=[f"{ROOT}one", f"{ROOT}gone", f"{ROOT}private"], digest=1),
    f"{ROOT}robots.txt": Reply(rules=RULES),
    f"{ROOT}one": Reply(digest=2),
    NEW: Reply(digest=3),
}
PAGES = [ROOT, f"{ROOT}one", f"{ROOT}gone", f"{ROOT}private"]
CHANGES = ("harvester.contact=me@example.org", "seeder.domains=a.example")


def world_in(folder: Path) -> World:
    return World(folder, WEB, CHANGES)


@contextmanager
def opened(world: World, clean: bool = False) -> Iterator[Crawl]:
    """The crawl, resumed and before its first turn. Without `clean` it ends as if killed."""
    with at_processor_speed():
        store, desk, _ = open_collection(world.folder, world.settings, world.clock, sealer=seal_here)
        web = SimulatedWeb(world.reply, world.clock, desk.seed, asked=world.asked)
        crawl = Crawl(desk, store, web, SimulatedNames(world.address, world.ttl), world.clock, Bounds())
        crawl.harvest.resume(0.0)
        try:
            yield crawl
            if clean:
                store.finish(*snapshot.dump(desk, store.ends()))
        finally:
            crawl.planner.close()
            store.close()


def asked(world: World, url: str) -> int:
    return sum(each.url == url for each in world.asked)


# --- what an order does ------------------------------------------------------------------------------------------


def test_known_pages_are_requested_again_and_new_ones_too(tmp_path: Path) -> None:
    world = world_in(tmp_path / "c")
    world.run([ROOT])
    before = {url: asked(world, url) for url in PAGES}
    assert before == dict(zip(PAGES, (1, 1, 1, 0), strict=True))
    with opened(world) as crawl:
        seeds = read_seeds([*PAGES, NEW, NEW], (), world.settings.seeder)
        assert add(crawl, seeds) == Carried(new=1, opened=3, forbidden=1)
        assert add(crawl, seeds) == Carried(open=4, forbidden=1)
        crawl.run()
        states = world.pages(crawl)
    assert {url: asked(world, url) for url in PAGES} == dict(zip(PAGES, (2, 2, 2, 0), strict=True))
    assert asked(world, NEW) == 1
    assert states[f"{ROOT}gone"][:2] == (State.DONE, Outcome.NOT_FOUND)


def test_a_page_that_the_settings_exclude_is_opened_by_add_and_not_by_again(tmp_path: Path) -> None:
    deep = f"{ROOT}deep"
    web = WEB | {f"{ROOT}one": Reply(digest=2, links=[deep]), deep: Reply(digest=9)}
    world = World(tmp_path / "c", web, (*CHANGES, "seeder.depth_static=1"))
    assert world.run([ROOT]).pages[deep][0] is State.EXCLUDED
    with opened(world) as crawl:
        (page,) = [n for n, url in enumerate(world.pages(crawl)) if url == deep]
        assert again(crawl, [page, page, 10_000]) == Carried(excluded=1, unusable=1)
        assert add(crawl, read_seeds([deep], (), world.settings.seeder)) == Carried(opened=1)
        crawl.run()
    assert asked(world, deep) == 1


def test_added_pages_are_the_next_of_their_site(tmp_path: Path) -> None:
    """Also while connections are few, and all sites have work: but never before its time."""
    sites = [f"http://s{i}.example/" for i in range(4)]
    web = {site: Reply(links=[f"{site}{i}" for i in range(50)], digest=1 + n) for n, site in enumerate(sites)}
    web |= {f"{site}{i}": Reply(digest=100 * n + i) for n, site in enumerate(sites) for i in range(50)}
    web[f"{sites[1]}late"] = Reply(digest=7)
    known = f"{sites[0]}49"
    world = World(tmp_path / "c", web, (*CHANGES, "harvester.connections=2", "manager.policy=breadth-first"))
    world.run(sites, turns=60)
    assert asked(world, known) == 0
    with opened(world) as crawl:
        for _ in range(20):
            crawl.turn()
        before = len(world.asked)
        add(crawl, read_seeds([known, f"{sites[1]}late"], (), world.settings.seeder))
        while not (asked(world, known) and asked(world, f"{sites[1]}late")):
            crawl.turn()
        since = [each.url for each in world.asked[before:]]
    assert [url for url in since if url.startswith(sites[0])] == [known]
    assert [url for url in since if url.startswith(sites[1])] == [f"{sites[1]}late"]
    assert len([url for url in since if url.startswith(sites[2])]) <= 3
    assert impolite(world.asked, 15.0, 1.0) == []


def test_an_order_brings_a_retry_forward_and_never_before_the_site_may_be_asked(tmp_path: Path) -> None:
    busy, slow = "http://busy.example/", "http://slow.example/"
    web = {
        busy: Reply(outcome=Outcome.SERVER_ERROR, status=503, retry_after=5_000.0),
        slow: Reply(outcome=Outcome.SERVER_ERROR, status=500),
    }
    world = World(tmp_path / "c", web, (*CHANGES, "harvester.retry=30min"))
    pages = world.run([busy, slow], seconds=100.0).pages
    assert {pages[url][0] for url in (busy, slow)} == {State.WAITING}
    begun = world.clock.monotonic()
    with opened(world) as crawl:
        assert add(crawl, read_seeds([busy, slow], (), world.settings.seeder)) == Carried(opened=2)
        assert again(crawl, [0, 1]) == Carried(open=2)
        assert state_of(crawl.desk)["page.state"] == [State.PENDING] * 2
        crawl.store.commit()
    rows = Database(find(world.folder, fresh=True), world.settings).query("select state from pages").rows
    assert [row[0] for row in rows] == ["pending"] * 2
    pages = world.run(seconds=6_000.0, patience=10_000.0).pages
    first, second = (next(a for a in world.asked if a.url == url and a.start > begun) for url in (busy, slow))
    assert second.start < begun + 300 < 1_800
    assert first.start >= 5_000.0, "its Retry-After"
    assert impolite(world.asked, 15.0, 1.0) == []
    rows = Database(find(world.folder, fresh=True), world.settings).query("select state from pages order by page").rows
    assert [str(row[0]) for row in rows] == [state.name.lower() for state, _, _ in pages.values()]


ORDER = st.sets(st.integers(0, 3), min_size=1), st.sets(st.sampled_from([*PAGES, NEW]), min_size=1)


@settings(max_examples=12, deadline=None)
@given(*ORDER, st.booleans())
def test_an_acknowledged_order_survives_a_kill(
    tmp_path_factory: pytest.TempPathFactory, numbers: set[int], seeds: set[str], twice: bool
) -> None:
    """Orders that were left are carried out by a run that is killed at once, or before it has removed them."""
    world = world_in(tmp_path_factory.mktemp("w") / "c")
    world.run([ROOT])
    shard = shard_folder(world.folder)
    leave(shard, "again", sorted(numbers))
    leave(shard, "add", sorted(seeds))
    kept = (shard / ORDERS).read_bytes()
    with opened(world) as crawl:
        left, _ = carry_out(crawl)
        assert left == Orders(tuple(sorted(seeds)), tuple(sorted(numbers)))
        assert not (shard / ORDERS).exists()
    if twice:
        (shard / ORDERS).write_bytes(kept)
    with opened(world) as crawl:
        assert (carry_out(crawl)[1].opened, carry_out(crawl)[1]) == (0, Carried())
        crawl.run()
    for number, url in enumerate(PAGES):
        expected = 0 if url == PAGES[3] else 1 + (number in numbers or url in seeds)
        assert asked(world, url) == expected
    assert asked(world, NEW) == (NEW in seeds)


@settings(max_examples=8, deadline=None)
@given(*ORDER)
def test_an_order_given_twice_is_as_one_given_once(
    tmp_path_factory: pytest.TempPathFactory, numbers: set[int], urls: set[str]
) -> None:
    world = world_in(tmp_path_factory.mktemp("w") / "c")
    world.run([ROOT])
    seeds = read_seeds(sorted(urls), (), world.settings.seeder)
    with opened(world) as crawl:
        add(crawl, seeds)
        again(crawl, sorted(numbers))
        once = state_of(crawl.desk) | {"tick": 0}
        assert (add(crawl, seeds).new, add(crawl, seeds).opened, again(crawl, sorted(numbers)).opened) == (0, 0, 0)
        assert state_of(crawl.desk) | {"tick": 0} == once


@settings(max_examples=8, deadline=None)
@given(*ORDER)
def test_robots_txt_is_never_overruled(
    tmp_path_factory: pytest.TempPathFactory, numbers: set[int], urls: set[str]
) -> None:
    """Also if robots.txt forbids a page only since it was fetched."""
    replies = dict(WEB)
    world = World(tmp_path_factory.mktemp("w") / "c", replies, CHANGES)
    world.run([ROOT])
    replies[f"{ROOT}robots.txt"] = Reply(rules=Rules.parse(b"User-agent: *\nDisallow: /", "Gossamer").compiled())
    world.clock.advance(3 * 86_400)
    with opened(world) as crawl:
        add(crawl, read_seeds([*urls, f"{ROOT}new"], (), world.settings.seeder))
        again(crawl, sorted(numbers))
        crawl.run()
    assert {url: asked(world, url) for url in PAGES} == dict(zip(PAGES, (1, 1, 1, 0), strict=True))
    assert asked(world, f"{ROOT}new") == 0


# --- the file of orders ------------------------------------------------------------------------------------------


def test_orders_wait_in_their_file_until_they_are_carried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert waiting(tmp_path) == Orders()
    monkeypatch.setattr(orders, "PER_LINE", 2)
    leave(tmp_path, "add", [ROOT, NEW, f"{ROOT}é"])
    leave(tmp_path, "again", [5, 6])
    assert waiting(tmp_path) == Orders((ROOT, NEW, f"{ROOT}é"), (5, 6))
    assert (tmp_path / ORDERS).read_bytes().count(b"\n") == 3
    orders.carried_out(tmp_path)
    assert waiting(tmp_path) == Orders()
    (tmp_path / ORDERS).write_bytes(b'{"add":["x"]}\n')
    with pytest.raises(GossamerError, match=r"orders\.jsonl is damaged in line 1"):
        waiting(tmp_path)


# --- a crawl that runs -------------------------------------------------------------------------------------------


@contextmanager
def running(world: World) -> Iterator[Crawl]:
    with opened(world, clean=True) as crawl:
        inbox = Inbox(crawl, Steering(crawl, crawl.desk.settings))
        crawl.background.append(inbox)
        listener = Listener(crawl.desk, crawl.store, crawl.harvest, crawl.planner, world.clock, inbox)
        listener.start()
        assert not listener.complaint
        try:
            yield crawl
        finally:
            listener.close()


def meanwhile(crawl: Crawl, work: Callable[[], Any]) -> Any:
    """The result of `work`, in a thread, while the crawl runs."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    while thread.is_alive():
        crawl.turn()
        thread.join(0.001)
    return found[0]


def test_orders_reach_a_crawl_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "PIECE", 2)
    world = world_in(tmp_path / "c")
    world.run([ROOT])
    (tmp_path / "c" / SETTINGS).write_text(dump(world.settings))
    (tmp_path / "seeds").write_text(f"# seeds\n{NEW}\nmailto:me@example.org\n{ROOT}private\n")
    said: list[str] = []
    parts: list[float] = []
    with running(world) as crawl:
        added = meanwhile(
            crawl, lambda: add_by_socket(world.folder, [ROOT], [tmp_path / "seeds"], said.append, parts.append, True)
        )
        commits = crawl.store.commits
        assert added.delivered.running
        assert {k: n for k, n in added.delivered.carried.items() if n} == {"new": 1, "opened": 1, "forbidden": 1}
        assert parts == [2 / 3, 1.0]
        assert len(added.seeds.complaints) == 1
        assert said[0].startswith(f"skipped: {tmp_path / 'seeds'}, line 3: 'mailto:me@example.org' is not")
        assert any("outside seeder.domains" in line for line in said)
        done = meanwhile(crawl, lambda: list(answers(world.folder, added.seeds.urls, 60)))
        assert {(a.url, a.state, a.outcome) for a in done} == {
            (ROOT, "done", "ok"),
            (NEW, "done", "ok"),
            (f"{ROOT}private", "excluded", None),
        }
        reopened = meanwhile(crawl, lambda: again_by_socket(world.folder, Filter(outcomes=("not_found",))))
        assert (len(reopened.chosen.ended), reopened.delivered.carried["opened"]) == (1, 1)
        assert crawl.store.commits > commits
    assert waiting(shard_folder(world.folder)) == Orders()


def test_orders_that_stay_reach_a_crawl_that_runs_and_are_refused_with_a_cure(tmp_path: Path) -> None:
    world = world_in(tmp_path / "c")
    world.run([ROOT])
    (tmp_path / "c" / SETTINGS).write_text(dump(world.settings))

    def refused() -> tuple[str, str]:
        with pytest.raises(UsageError) as raised:
            order(world.folder, "undo", ["9"], "a test")
        return raised.value.message, raised.value.cure

    with running(world) as crawl:
        commits = crawl.store.commits
        given = meanwhile(crawl, lambda: order(world.folder, "block", ["b.example"], "a test", "k"))
        assert given == Ordered(1, "now", "")
        assert crawl.store.commits > commits
        assert meanwhile(crawl, lambda: order(world.folder, "block", ["b.example"], "a test", "k")).number == 1
        message, cure = meanwhile(crawl, refused)
        assert message == "order 9 is not in force"
        assert "gossamer steer" in cure
        (row,) = meanwhile(crawl, lambda: orders_of(world.folder))
        assert (row.number, row.name, row.target, row.in_force) == (1, "block", "b.example", True)
        assert row.who.endswith(" by a test")
    assert waiting(shard_folder(world.folder)) == Orders()
    assert order(world.folder, "pause", [], "a test") == Ordered(None, "when the next run begins", "no crawl runs")
    with pytest.raises(UsageError, match="no crawl runs"):
        order(world.folder, "stop", [], "a test")
    assert [each[2] for each in waiting(shard_folder(world.folder)).steer] == ["pause"]


def test_a_bad_question_is_an_answer_and_no_end_of_the_crawl(tmp_path: Path) -> None:
    world = world_in(tmp_path / "c")
    world.run([ROOT])

    def refused() -> str:
        with pytest.raises(GossamerError) as raised:
            deliver(world.folder, "again", ["x"])
        return raised.value.message

    with running(world) as crawl:
        assert meanwhile(crawl, refused).startswith("the crawl refuses the order: ValueError")
        assert meanwhile(crawl, lambda: deliver(world.folder, "again", [0])).carried["opened"] == 1


def test_a_crawl_that_ends_leaves_the_order_to_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_in(tmp_path / "c")
    world.run([ROOT])
    with running(world) as crawl:
        inbox = Inbox(crawl, Steering(crawl, crawl.desk.settings))
        threading.Timer(0.05, inbox.close).start()
        assert inbox.ask({"commit": True}) == {"error": ENDING}
        monkeypatch.setattr(delivery, "PATIENCE", 0.0)
        monkeypatch.setattr(delivery, "ask", lambda *_: None)
        with pytest.raises(GossamerError, match="does not answer"):
            deliver(world.folder, "add", [NEW])
    monkeypatch.setattr(delivery, "ask", lambda *_: {"error": ENDING})
    assert deliver(world.folder, "add", [NEW]) == delivery.Delivered(False, {})
    assert waiting(shard_folder(world.folder)) == Orders((NEW,))


def test_pages_that_are_waited_for_in_vain_stay_added(tmp_path: Path) -> None:
    world = world_in(tmp_path / "c")
    world.run([ROOT])
    with running(world) as crawl:
        crawl.plant([NEW])
        with pytest.raises(GossamerError, match=r"not answered yet, such as http://b\.example/"):
            list(answers(world.folder, [NEW], 0.0))
        assert next(answers(world.folder, [f"{ROOT}unknown"], 0.0)) == Answered(
            f"{ROOT}unknown", "unknown", None, "It did not become a page: its site or the collection is full."
        )
    with pytest.raises(GossamerError, match="the crawl has ended"):
        list(answers(world.folder, [NEW], 0.0))
