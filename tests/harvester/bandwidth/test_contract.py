"""The whole desk under a bandwidth limit and a virtual clock: when pages are requested, what is learned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gossamer import urls
from gossamer.base.model import Ask
from gossamer.cli.status_text import bandwidth_of
from gossamer.desk.account import Account
from gossamer.desk.places import Places
from gossamer.harvester.bandwidth.contract import Bandwidth
from gossamer.harvester.bandwidth.speeds import ServerSpeeds
from gossamer.observe.account import bandwidth_line
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.webs.demo import DemoWeb
from gossamer.webs.simulated import Asked, Reply
from tests.support.crawling import LIGHT, gossamer, serve
from tests.support.machine import Machine
from tests.support.world import World, impolite, state_of

SITES = 24
SIZE = 20_000
LIMIT = 100_000
SHORT = (
    "harvester.wait=1s",
    "harvester.wait_large=1s",
    "harvester.address_wait=500ms",
    "harvester.soft_404=false",
    "harvester.time_zone=UTC",
)
SEEDS = [f"http://s{i}.example/" for i in range(SITES)]


def speed_of(site: int) -> int:
    """Bytes per second; a third of the sites are slow."""
    return 4_000 if site % 3 == 0 else 10_000 * (1 + site % 4)


def reply(url: str) -> Reply:
    """Forty pages per site, all of one size, each as fast as its site."""
    site = int(urls.host(url)[1:].split(".")[0])
    if url.endswith("/robots.txt"):
        return Reply(size=200, seconds=200 / speed_of(site))
    page = int(url.rpartition("/")[2] or 0)
    links = [f"http://s{site}.example/{n}" for n in (2 * page + 1, 2 * page + 2) if n < 40]
    return Reply(links=links, size=SIZE, seconds=SIZE / speed_of(site))


def world(folder: Path, *changes: str, clock: Machine | None = None) -> World:
    return World(
        folder,
        reply,
        (*SHORT, *changes),
        lambda host: f"192.0.2.{1 + int(host[1:].split('.')[0])}",
        clock=clock or Machine(),
    )


def bandwidth(asked: list[Asked], first: float, last: float) -> float:
    """Bytes per second between two times: each request is as fast as its site."""
    total = 0.0
    for request in asked:
        size = 200 if request.ask is Ask.ROBOTS else SIZE
        overlap = min(request.end, last) - max(request.start, first)
        total += size * max(0.0, overlap) / (request.end - request.start)
    return total / (last - first)


@pytest.mark.slow
def test_open_requests_are_predicted_to_stay_within_the_bandwidth_and_do(tmp_path: Path) -> None:
    made = world(tmp_path, f"harvester.bandwidth={LIMIT}B", "harvester.bandwidth_adapts=false")
    result = made.run(SEEDS)
    assert len(result.pages) == 40 * SITES
    assert impolite(made.asked, 1.0, 0.5) == []
    begun = made.asked[0].start
    used = [bandwidth(made.asked, begun + t, begun + t + 1) for t in range(20, 120)]
    assert max(used) <= 1.15 * LIMIT, "predictions are exact here, except for the first of each site"
    assert np.mean(used) >= 0.8 * LIMIT
    unlimited = world(tmp_path / "unlimited")
    unlimited.run(SEEDS)
    first = unlimited.asked[0].start
    assert max(bandwidth(unlimited.asked, first + t, first + t + 1) for t in range(40)) > 2 * LIMIT


@pytest.mark.slow
def test_a_larger_depth_uses_more_bandwidth_and_breaks_the_order_more_often(tmp_path: Path) -> None:
    used = {}
    for depth in (1, 6):
        changes = (f"harvester.bandwidth={LIMIT}B", "harvester.bandwidth_adapts=false")
        made = world(tmp_path / str(depth), *changes, f"harvester.bandwidth_depth={depth}")
        admission = within(made.run(SEEDS).crawl.harvest._bandwidth).admission
        begun = made.asked[0].start
        used[depth] = bandwidth(made.asked, begun + 20, begun + 120), admission.inversions
    assert used[6][0] > used[1][0]
    assert used[6][1] > used[1][1] == 0


def within(bandwidth: Bandwidth | None) -> Bandwidth:
    assert bandwidth is not None
    return bandwidth


@pytest.mark.slow
def test_speeds_are_learned_by_address_and_are_equal_after_a_replay_and_in_an_image(tmp_path: Path) -> None:
    made = world(tmp_path, f"harvester.bandwidth={LIMIT}B")
    result = made.run(SEEDS)
    desk = result.crawl.desk
    moment = desk[ServerSpeeds].hours.at(made.clock.wall())
    sites = np.arange(SITES)
    assert desk[ServerSpeeds].speeds.predict(desk.columns.site.address[sites], moment).tolist() == pytest.approx(
        [speed_of(int(desk[Places].names[site][1:].split(".")[0])) for site in sites], rel=0.01
    )
    assert state_of(made.replayed()) == state_of(desk)
    again = made.run()
    assert state_of(again.crawl.desk)["speeds: speeds"] == state_of(desk)["speeds: speeds"]


def test_the_estimates_can_be_queried_in_the_collection(tmp_path: Path) -> None:
    made = world(tmp_path)
    made.run(SEEDS[:4], pages=20)
    database = Database(find(tmp_path), made.settings)
    asked = "select address, count(*), min(speed), max(hour) from speeds group by 1 order by 1"
    rows = list(database.query(asked).rows)
    assert [row[0] for row in rows] == ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", None]
    assert all(row[1] == 48 and row[3] == 23 for row in rows)
    assert rows[0][2] == pytest.approx(speed_of(0), rel=0.01)


def test_the_granted_bandwidth_changes_with_the_hour_during_a_crawl(tmp_path: Path) -> None:
    clock = Machine()
    hour = int(clock.wall() // 3600) % 24
    by_hour = f'{{ "{hour:02d}-{hour + 1:02d}" = "30KB/s" }}'
    made = world(tmp_path, "harvester.bandwidth=1MB/s", f"harvester.bandwidth_by_hour={by_hour}", clock=clock)
    clock.advance(3600 - clock.wall() % 3600 - 60)
    result = made.run(SEEDS)
    begun = made.asked[0].start
    before, after = bandwidth(made.asked, begun + 20, begun + 55), bandwidth(made.asked, begun + 62, begun + 90)
    assert before < 45_000
    assert after > 3 * before
    assert within(result.crawl.harvest._bandwidth).limit == 1_000_000


def test_a_page_predicted_above_the_limit_is_requested_all_the_same(tmp_path: Path) -> None:
    made = world(tmp_path, "harvester.bandwidth=5KB/s", "harvester.bandwidth_adapts=false", "harvester.tries=1")
    result = made.run(SEEDS[:6], pages=60)
    hosts = {urls.host(request.url) for request in made.asked if request.ask is Ask.PAGE}
    assert len(hosts) == 6
    assert result.crawl.desk[Account].stored == 60


def test_the_statistics_have_the_used_and_the_granted_bandwidth(tmp_path: Path) -> None:
    made = world(tmp_path, f"harvester.bandwidth={LIMIT}B")
    use = within(made.run(SEEDS, pages=200).crawl.harvest._bandwidth).use()
    assert use.granted == LIMIT
    assert use.read > 200 * SIZE
    assert use.share is not None
    assert 0.3 < use.share < 1.3
    assert "100 KB/s granted; " in bandwidth_line(use)
    assert bandwidth_of(replace(use, used=50_000)).startswith("50.0 KB/s of 100 KB/s (50%)")
    assert "no limit at this hour" in bandwidth_of(replace(use, granted=0))


@pytest.mark.slow
def test_a_crawl_over_sockets_reads_no_more_than_was_granted(tmp_path: Path) -> None:
    """It takes at least as long as its bytes at the granted rate, however fast this machine is."""
    with serve(DemoWeb(seed=3, sites=6, pages=60, largest=20), tmp_path, *LIGHT) as served:
        ended = served.crawl(tmp_path / "crawl", "--bandwidth", "200KB/s", "--pages", "30")
    figures = ended.figures["bandwidth"]
    assert ended.code == 0, ended.errors
    assert figures["granted"] == 200_000
    assert figures["read"] >= ended.figures["bytes"] > 0
    assert figures["read"] <= 200_000 * ended.figures["seconds"]
    said = gossamer("status", tmp_path / "crawl").output
    assert "bandwidth: 200 KB/s granted; " in said


def test_an_invalid_bandwidth_is_refused_with_the_accepted_form(tmp_path: Path) -> None:
    ended = gossamer("crawl", tmp_path / "crawl", "--demo", "--bandwidth", "16Mbit/s")
    assert ended.code == 2
    assert "16 Mbit/s are 2MB/s" in ended.errors
