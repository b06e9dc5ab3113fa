"""Pages that are fetched again (manager.min_period): not too early, one visit each time, no second copy of an equal
body."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from gossamer.base.ending import Ending
from gossamer.base.model import Ask, Outcome, State, VisitFlag
from gossamer.collection.last_bodies import last_bodies
from gossamer.collection.layout import shard_folder
from gossamer.desk.account import Account
from gossamer.manager.pages import Pages
from gossamer.observe.measure import statistics_of
from gossamer.robots import Rules
from gossamer.web.archive.bodies import LEAST
from gossamer.webs.demo import DemoWeb
from gossamer.webs.demo.layout import UrlKind
from gossamer.webs.simulated import Reply
from tests.support.crawling import LIGHT, gossamer, serve
from tests.support.reading import archived, rows
from tests.support.statistics import tally_of
from tests.support.world import World, impolite, state_of

PERIOD = 600.0
ROOT = "http://a.example/"
GONE = Reply(outcome=Outcome.NOT_FOUND, status=404)
WEB: Mapping[str, Reply] = {
    ROOT: Reply(links=[ROOT + n for n in ("1", "2", "3", "old", "gone", "error")], digest=1),
    ROOT + "1": Reply(digest=2, links=[ROOT]),
    ROOT + "2": Reply(digest=3),
    ROOT + "3": Reply(digest=3),
    ROOT + "old": Reply(outcome=Outcome.REDIRECT, status=301, redirect=ROOT + "1", links=[ROOT + "1"]),
    ROOT + "error": Reply(outcome=Outcome.SERVER_ERROR, status=500),
    ROOT + "robots.txt": GONE,
}
AGAIN = {ROOT, ROOT + "1", ROOT + "2", ROOT + "3", ROOT + "old"}
"""Fetched or moved pages. The others are not requested again, or for other reasons."""


def visits_of(world: World) -> dict[str, list[float]]:
    """By page: the start of each request."""
    found: dict[str, list[float]] = defaultdict(list)
    for asked in world.asked:
        if asked.ask is Ask.PAGE:
            found[asked.url].append(asked.start)
    return found


def world_of(folder: Path, *changes: str, web: Mapping[str, Reply] = WEB) -> World:
    return World(folder, web, ["manager.min_period=10min", "harvester.retry=100h", *changes])


@pytest.mark.parametrize("policy", ["value", "opic", "breadth-first"])
def test_a_page_is_fetched_again_when_its_period_has_passed_and_not_before(tmp_path: Path, policy: str) -> None:
    world = world_of(tmp_path, f"manager.policy={policy}")
    result = world.run([ROOT], seconds=3.5 * PERIOD, patience=2 * PERIOD)
    assert result.ending is Ending.TIME
    visits = visits_of(world)
    assert {url: len(times) for url, times in visits.items() if url in AGAIN} == dict.fromkeys(AGAIN, 4)
    assert [len(visits[ROOT + n]) for n in ("gone", "error")] == [1, 1]
    for times in visits.values():
        gaps = np.diff(times)
        assert (gaps >= PERIOD).all()
        assert (gaps < PERIOD + 150.0).all(), "and not much later"
    assert impolite(world.asked, 15.0, 1.0) == []
    assert result.crawl.desk[Account].visits == sum(map(len, visits.values())) == 4 * len(AGAIN) + 2


@pytest.mark.parametrize(("preset", "times"), [("news", 2), ("general", 1), ("archive", 1)])
def test_the_preset_decides_when_pages_are_fetched_again(tmp_path: Path, preset: str, times: int) -> None:
    world = World(tmp_path, WEB, [f"manager.preset={preset}", "harvester.retry=100h"])
    world.run([ROOT])
    assert {len(visits_of(world)[url]) for url in AGAIN} == {1}
    world.clock.advance(7 * 3600.0)
    world.run(seconds=3600.0)
    assert {len(visits_of(world)[url]) for url in AGAIN} == {times}


def test_counts_stay_right_however_often_a_page_is_fetched(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    for seconds in (PERIOD / 2, PERIOD, 2 * PERIOD):
        result = world.run([ROOT], seconds=seconds, patience=2 * PERIOD)
        desk = result.crawl.desk
        statistics = statistics_of(desk, world.clock.wall())
        pages, requests = statistics.pages, statistics.requests
        assert pages.known == sum(count for _, count in pages.parts()) == 7
        np.testing.assert_array_equal(desk[Pages].counts, tally_of(desk.columns))
        assert desk[Pages].counts[State.PENDING].sum() == desk.columns.site.pending.sum() == 0
        assert pages.why.done == {"ok": 3, "duplicate": 1, "redirect": 1, "not_found": 1}
        assert pages.why.waiting.keys() == {"server_error"}
        assert sum(requests.outcomes.values()) == requests.visits
    assert state_of(world.replayed()) | {"site.resolved": 0} == state_of(desk) | {"site.resolved": 0}


def test_each_fetch_is_a_row_of_visits(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.run([ROOT], seconds=2.5 * PERIOD, patience=2 * PERIOD)
    pages = {row["page"]: row["url"] for row in rows(tmp_path, "pages")}
    found = Counter(pages[row["page"]] for row in rows(tmp_path, "visits") if row["ask"] == "page")
    assert found == {url: len(times) for url, times in visits_of(world).items()}
    assert found[ROOT] == 3
    assert len(pages) == len(set(pages.values())) == 7


def test_without_a_period_pages_are_fetched_once(tmp_path: Path) -> None:
    world = World(tmp_path, WEB, ["harvester.retry=1000h"])
    assert world.run([ROOT], patience=24 * PERIOD).ending is Ending.DONE
    world.clock.advance(400 * PERIOD)
    world.run()
    assert set(Counter(a.url for a in world.asked if a.ask is Ask.PAGE).values()) == {1}


def test_a_crawl_ends_when_the_next_fetch_is_beyond_its_patience_and_a_later_run_resumes_it(
    tmp_path: Path,
) -> None:
    world = world_of(tmp_path)
    assert world.run([ROOT]).ending is Ending.DONE
    assert {len(times) for times in visits_of(world).values()} == {1}
    world.clock.advance(PERIOD / 2)
    world.run()
    assert {len(times) for times in visits_of(world).values()} == {1}, "half the period is too early"
    world.clock.advance(PERIOD / 2)
    assert world.run().ending is Ending.DONE
    assert {len(visits_of(world)[url]) for url in AGAIN} == {2}


def test_a_page_that_robots_txt_forbids_later_is_not_fetched_again(tmp_path: Path) -> None:
    """The crawl does not loop over it either."""
    forbidding = Reply(rules=Rules.parse(b"User-agent: *\nDisallow: /1", "Gossamer").compiled())
    web = dict(WEB)
    world = world_of(tmp_path, "harvester.robots_valid=5min", web=web)
    world.run([ROOT], seconds=PERIOD / 2)
    web[ROOT + "robots.txt"] = forbidding
    result = world.run(seconds=3 * PERIOD, patience=2 * PERIOD)
    visits = visits_of(world)
    assert len(visits[ROOT + "1"]) == 1
    assert len(visits[ROOT + "2"]) >= 3
    assert result.crawl.desk.tick < 3_000
    assert result.pages[ROOT + "1"][0] is State.DONE, "it was fetched"
    web[ROOT + "robots.txt"] = GONE
    world.run(seconds=2 * PERIOD, patience=2 * PERIOD)
    assert len(visits_of(world)[ROOT + "1"]) >= 2, "until the rules change"


def test_a_page_that_is_gone_is_not_fetched_again_and_a_failing_page_waits(tmp_path: Path) -> None:
    web = dict(WEB)
    world = world_of(tmp_path, web=web)
    world.run([ROOT])
    web[ROOT + "1"], web[ROOT + "2"] = GONE, Reply(outcome=Outcome.SERVER_ERROR, status=500)
    result = world.run(seconds=3.2 * PERIOD, patience=2 * PERIOD)
    assert result.pages[ROOT + "1"][:2] == (State.DONE, Outcome.NOT_FOUND)
    assert result.pages[ROOT + "2"][:2] == (State.WAITING, Outcome.SERVER_ERROR)
    assert [len(visits_of(world)[ROOT + n]) for n in ("1", "2")] == [2, 2]
    np.testing.assert_array_equal(result.crawl.desk[Pages].counts, tally_of(result.crawl.desk.columns))


def test_a_new_link_on_a_changed_page_is_found(tmp_path: Path) -> None:
    web = dict(WEB)
    world = world_of(tmp_path, web=web)
    world.run([ROOT])
    web[ROOT + "1"] = Reply(digest=77, links=[ROOT + "new"])
    web[ROOT + "new"] = Reply(digest=78)
    result = world.run(seconds=1.5 * PERIOD, patience=2 * PERIOD)
    assert result.pages[ROOT + "new"][:2] == (State.DONE, Outcome.OK)


# --- over real sockets ---------------------------------------------------------------------------------------

DEMO = DemoWeb(
    seed=71,
    sites=6,
    pages=60,
    largest=20,
    errors=0,
    busy=0,
    delays=0,
    unavailable=0,
    slow=0,
    down=0,
    torn=0,
    sessions=0,
    mirrors=0,
    duplicates=0.0,
)
CHANGES = ("manager.min_period=5s", "harvester.wait=30ms", "harvester.wait_large=30ms")


@pytest.mark.slow
def test_exact_repeats_become_revisit_records_also_of_bodies_stored_by_an_earlier_run(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    with serve(DEMO, tmp_path, *LIGHT, *CHANGES) as served:
        first = served.crawl(folder, "--for", "9s")
        assert first.code == 0, first.errors
        bodies = last_bodies(shard_folder(folder), 1_000_000)
        for _ in range(6):  # on a busy machine a run makes little progress
            second = served.crawl(folder, "--for", "9s")
            assert second.code == 0, second.errors
            if max(Counter(row["page"] for row in rows(folder, "visits") if row["ask"] == "page").values()) >= 3:
                break
        assert served.verdict().violations == []
    checked = gossamer("verify", folder)
    assert checked.code == 0, checked.output + checked.errors
    pages = {row["page"]: row["url"] for row in rows(folder, "pages")}
    visits = sorted(
        (r for r in rows(folder, "visits") if r["ask"] == "page" and r["outcome"] != "returned"),
        key=lambda r: r["time"],
    )
    by_page: dict[str, list[dict[str, object]]] = defaultdict(list)
    for row in visits:
        by_page[pages[row["page"]]].append(row)
    kinds = {url: truth.kind for url, truth in DEMO.truth().items()}
    kept = [url for url, found in by_page.items() if not int(found[0]["flags"]) & VisitFlag.NOINDEX]  # type: ignore[call-overload]
    read = {url: by_page[url] for url in kept if kinds[url] in (UrlKind.PAGE, UrlKind.CALENDAR)}
    assert max(map(len, read.values())) >= 3
    former = set(bodies["payload"][bodies["length"] >= LEAST].view("V20")[:, 0].tolist())
    again = [row for found in read.values() for row in found[1:]]
    assert {row["change"] for row in again} == {"none"}
    unchanged = [row for row in again if row["outcome"] == "not_modified"]
    assert len(unchanged) > len(again) / 2, "most sites have validators, and are honest"
    assert max(int(row["received"]) + int(row["sent"]) for row in unchanged) < 900  # type: ignore[call-overload]
    for url, found in read.items():
        gaps = np.diff([row["start"] for row in found])
        assert (gaps >= 5.0).all(), url
        flags = [bool(int(row["flags"]) & VisitFlag.REPEATED) for row in found]  # type: ignore[call-overload]
        assert flags == [False] + [True] * (len(found) - 1), url
    starts = [row["start"] for row in visits if row["payload"] and row["payload"] in former]
    assert starts
    figures = second.figures
    assert figures["known"] == sum(figures[part] for part in ("pending", "waiting", "done", "excluded"))
    records = list(archived(folder))
    assert sum(record.repeated for record in records) >= len(read)
    assert {len(record.body) > 0 for record in records if record.repeated} == {True}
