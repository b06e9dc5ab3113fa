"""Continuous crawls: a share of the requests for new pages, re-visits, pages that are gone and come back."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from gossamer import urls
from gossamer.base.ending import Ending
from gossamer.base.model import Ask, Outcome, State
from gossamer.harvester.errands.probes import SAME
from gossamer.manager.revisits.common import AGAIN, SCALE
from gossamer.manager.revisits.habits import Habits
from gossamer.manager.revisits.heard import Heard
from gossamer.observe.measure import statistics_of
from gossamer.robots import Rules
from gossamer.webs.simulated import Reply, Sitemaps
from tests.support.world import Result, World, impolite, state_of

DAY = 86_400.0
GONE = Reply(outcome=Outcome.NOT_FOUND, status=404)


class Endless:
    """Sites whose pages link to ever more pages. A page changes every one to thirty days, by its URL."""

    def __init__(self, folder: Path, *changes: str) -> None:
        self.world = World(folder, self.reply, ["manager.continuous=true", *changes])

    def reply(self, url: str) -> Reply:
        if url.endswith("robots.txt"):
            return GONE
        base, _, name = url.rpartition("/")
        if not (name or "0").isdigit():
            return GONE
        number = int(name or 0)
        period = DAY * 30 ** ((urls.fingerprint(url, 2) % 1000) / 1000)
        version = int(self.world.clock.wall() / period)
        links = [f"{base}/{3 * number + i}" for i in (1, 2, 3)]
        return Reply(digest=1 + urls.fingerprint(f"{url} {version}", 1) % 2**60, links=links)

    def asked(self) -> list[str]:
        return [each.url for each in self.world.asked if each.ask is Ask.PAGE]


@pytest.mark.parametrize("policy", ["value", "breadth-first"])
def test_new_pages_get_their_share_in_every_tenth_of_an_endless_web(tmp_path: Path, policy: str) -> None:
    waits = "harvester.wait=240s", "harvester.wait_large=240s"
    web = Endless(tmp_path, "manager.min_period=5min", f"manager.policy={policy}", *waits)
    result = web.world.run([f"http://s{i}.example/" for i in range(5)], seconds=DAY)
    assert result.ending is Ending.TIME
    assert impolite(web.world.asked, 240.0, 1.0) == []
    seen, new = set[str](), list[bool]()
    for url in web.asked():
        new.append(url not in seen)
        seen.add(url)
    assert len(new) > 1500
    tenths = [float(np.mean(part)) for part in np.array_split(new, 10)]
    assert max(abs(tenth - 0.5) for tenth in tenths) < 0.05, tenths
    desk = result.crawl.desk
    assert desk.columns.habits[AGAIN] == len(new) - len(seen)
    told = statistics_of(desk, web.world.clock.wall()).parts["habits"]
    assert told["none"] + told["major"] == told["re-visits"] == len(new) - len(seen)
    assert 0 < told["freshness"] < 1
    json.dumps(told)


ROOT = "http://a.example/"


def test_a_continuous_crawl_goes_on_for_weeks(tmp_path: Path) -> None:
    """It sleeps until something is due, asks for what is gone ever more seldom, and takes back what returns."""
    web = {
        ROOT: Reply(links=[ROOT + n for n in ("1", "2", "gone", "away", "forbidden")], digest=1),
        ROOT + "1": Reply(digest=2),
        ROOT + "2": Reply(digest=3),
        ROOT + "gone": Reply(outcome=Outcome.NOT_FOUND, status=410),
        ROOT + "away": GONE,
        ROOT + "forbidden": Reply(outcome=Outcome.REFUSED, status=403),
        "http://www.nowhere.example/": Reply(digest=9),
    }
    names: dict[str, str | None] = {"nowhere.example": None, "www.nowhere.example": None}
    world = World(
        tmp_path,
        web,
        ["manager.continuous=true", "harvester.robots_valid=1d"],
        address=lambda host: names.get(host, "192.0.2.1"),
    )
    begun = world.clock.monotonic()

    def days(url: str) -> list[float]:
        return [(each.start - begun) / DAY for each in world.asked if each.url == url]

    assert world.run([ROOT, "http://nowhere.example/"], seconds=40 * DAY).ending is Ending.TIME
    assert len(days(ROOT + "1")) == len(days(ROOT)) >= 38, "once a day"
    assert min(np.diff(days(ROOT))) >= 1
    assert [round(day) for day in days(ROOT + "away")] == [0, 7, 21]
    assert [round(day) for day in days(ROOT + "gone")] == [0, 28], "a page that is gone for good"
    assert [round(day) for day in days(ROOT + "forbidden")] == [0, 30]
    names.clear()
    web[ROOT + "away"] = Reply(digest=4)
    result = world.run(seconds=40 * DAY)
    desk = result.crawl.desk
    assert result.pages["http://nowhere.example/"][:2] == (State.DONE, Outcome.OK)
    assert days(ROOT + "away")[3:5] == [pytest.approx(49, abs=0.1), pytest.approx(50, abs=0.1)], "ordinary again"
    assert desk.columns.page.tries[: desk.columns.page.count].max() > 1
    assert impolite(world.asked, 15.0, 1.0) == []
    lived, replayed = state_of(desk), state_of(world.replayed())
    for state in (lived, replayed):
        state["habits: habits"][SCALE] = state["site.resolved"] = 0  # type: ignore[index]
    assert replayed == lived
    counts = Counter(each.url for each in world.asked)
    told = desk[Habits].explain_page(int(desk.columns.page.count) - 1) or desk[Habits].explain_page(0)
    assert told["compared"] == counts[ROOT] - 1
    assert told["changed"] == 0


def test_a_page_that_redirects_counts_once_however_often_it_is_visited(tmp_path: Path) -> None:
    """Otherwise a page that moved would count as many, and soon as a soft 404: every target of a site had it."""
    moved = Reply(outcome=Outcome.REDIRECT, status=301, redirect=ROOT + "new", links=[ROOT + "new"])
    web = {ROOT: Reply(links=[ROOT + "old", ROOT + "older", ROOT + "new"], digest=1), ROOT + "new": Reply(digest=2)}
    web |= {ROOT + "old": moved, ROOT + "older": moved}
    changes = ["manager.continuous=true", "manager.min_period=1h"]
    world = World(tmp_path, lambda url: web.get(url, GONE), changes)
    result = world.run([ROOT], seconds=4 * DAY)
    asked = Counter(each.url for each in world.asked if each.ask is Ask.PAGE)
    assert asked[ROOT + "old"] + asked[ROOT + "older"] > 100
    assert result.crawl.desk.columns.origin.moved[0] == 2 * SAME
    assert _outcomes(result) == {Outcome.OK, Outcome.REDIRECT}


def _outcomes(result: Result) -> set[Outcome]:
    page = result.crawl.desk.columns.page
    return {Outcome(int(o)) for o in page.outcome[: page.count]}


def test_dates_of_sitemaps_are_heard_day_by_day(tmp_path: Path) -> None:
    """A page that is dated anew every day is signalled, one that keeps its date is not."""
    listed = [ROOT + n for n in ("1", "2", "3")]

    def reply(url: str) -> Reply:
        day = int(world.clock.wall() // DAY)
        if url.endswith("robots.txt"):
            return Reply(sitemaps=Sitemaps((ROOT + "s.xml",)), rules=Rules.parse(b"", "Gossamer").compiled())
        if url == ROOT + "s.xml":
            dates = str(world.clock.wall() - 60), str(1e9), ""
            return Reply(links=listed, sitemaps=Sitemaps(changed=dates))
        return Reply(digest=1 + urls.fingerprint(f"{url} {day}", 1) % 2**60)

    changes = ["manager.continuous=true", "harvester.robots_valid=1d", "manager.min_period=3d"]
    world = World(tmp_path, reply, ["seeder.sitemaps=true", 'seeder.domains=["example"]', *changes])
    result = world.run([ROOT], seconds=12.5 * DAY)
    asked = [each for each in world.asked if each.ask is Ask.SITEMAP]
    assert 10 <= len(asked) <= 13, "daily"
    assert impolite(world.asked, 15.0, 1.0) == []
    desk = result.crawl.desk
    page, numbers = desk.columns.page, {url: number for number, url in enumerate(result.pages)}
    signals = [int(page.signals[numbers[url]]) for url in listed]
    assert signals[0] > 1
    assert signals[1:] == [1, 0]
    assert desk[Heard].explain_site(0)["lastmod"]
    lived, replayed = state_of(desk), state_of(world.replayed())
    for state in (lived, replayed):
        state["habits: habits"][SCALE] = state["site.resolved"] = 0  # type: ignore[index]
    assert replayed == lived
