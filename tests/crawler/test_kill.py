"""`kill -9` of the desk, of a worker, or of all processes, at random times, fifty times in the life of one
collection."""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
import xxhash

from gossamer.base.model import Outcome
from gossamer.collection.commits import MOST_BEHIND
from gossamer.collection.layout import is_collection
from gossamer.manager.pages import Pages
from gossamer.webs.checker import Request
from gossamer.webs.demo import DemoWeb
from tests.support.crawling import Crawling, Ended, Served, alive, children, kill, serve
from tests.support.reading import Found, archived, committed, rows
from tests.support.timing import wait_for

pytestmark = pytest.mark.slow

KILLS: Final = 50
WEB: Final = DemoWeb(
    seed=21,
    sites=24,
    pages=1_500,
    largest=250,
    busy=0.0,
    errors=0.002,
    delays=1,
    unavailable=1,
    slow=2,
    latency=0.2,
)
"""No limit that depends on the order is reached in this Web. There are no busy pages, because they would answer
differently later."""
ALIKE: Final = "harvester.soft_404=false"
"""Suspicions of soft 404 depend on the order of pages, and a kill loses them."""
WAITS: Final = ("harvester.wait=80ms", "harvester.wait_large=80ms", "harvester.address_wait=20ms", ALIKE)
"""Long enough for the crawl to last longer than fifty kills."""
LOST: Final = MOST_BEHIND + 2.0
"""Seconds before a kill whose requests may be repeated: a commit begins every second (test_simulated_crawl) and takes
as long as the disk does; nothing is handed out while it is so far behind."""
AFTERLIFE: Final = 0.1
"""Seconds after a kill in which the server may still read what the dead process had sent."""


@dataclass
class Story:
    """The runs of one collection, all of them killed, and what was seen at the kills."""

    served: Served
    folder: Path
    rng: random.Random
    desk_kills: list[float] = field(default_factory=list)
    worker_kills: list[float] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    """Digests of the committed records at the last kill."""

    @property
    def kills(self) -> list[float]:
        return self.desk_kills + self.worker_kills

    def run(self) -> None:
        with self.served.begin(self.folder) as crawling:
            if self.rng.random() < 0.2:
                time.sleep(self.rng.uniform(0.3, 2.0))  # during start-up or recovery
            else:
                assert crawling.wait_for(crawling.workers)
                for _ in range(self.rng.randrange(4)):
                    time.sleep(self.rng.uniform(0.02, 0.8))
                    self.kill_worker(crawling)
                time.sleep(self.rng.uniform(0.2, 1.8))
            self.kill_desk(crawling)
        self.look()

    def kill_worker(self, crawling: Crawling) -> None:
        assert not crawling.over, "the crawl continues when a worker is killed"
        if workers := crawling.workers():
            self.worker_kills.append(time.monotonic())
            kill(self.rng.choice(workers))

    def kill_desk(self, crawling: Crawling) -> None:
        """Kills the desk alone, or with all its processes in any order; they end in either case."""
        assert not crawling.over, f"it ended by itself: {crawling.ended()}"
        rest = children(crawling.pid)
        victims = [crawling.pid]
        if self.rng.random() < 0.5:
            victims += rest
            self.rng.shuffle(victims)
        self.desk_kills.append(time.monotonic())
        for pid in victims:
            kill(pid)
        crawling.process.wait()
        wait_for(lambda: not any(map(alive, rest)), "workers and sealers die with the desk")

    def look(self) -> None:
        """Checks that no committed row is lost."""
        if is_collection(self.folder):
            rows = [xxhash.xxh3_64_intdigest(effects.encode()) for effects in committed(self.folder)]
            assert rows[: len(self.rows)] == self.rows
            self.rows = rows


def asked_again(requests: Sequence[Request]) -> list[Request]:
    """Requests for pages that were requested again later."""
    by_url: dict[str, list[Request]] = defaultdict(list)
    for request in requests:
        if not request.is_robots:
            by_url[request.url].append(request)
    return [r for of_url in by_url.values() for r in sorted(of_url, key=lambda r: r.start)[:-1]]


def lost_by(request: Request, kills: Sequence[float], before: float) -> bool:
    return any(request.start - AFTERLIFE <= k <= request.end + before for k in kills)


def undisturbed_crawl(folder: Path) -> Ended:
    folder.mkdir()
    with serve(WEB, folder, ALIKE) as served:
        return served.crawl(folder / "crawl")


def test_fifty_kills_lose_nothing_repeat_little_and_harm_nobody(tmp_path: Path) -> None:
    quick = tmp_path / "quick"
    with ThreadPoolExecutor(1) as beside, serve(WEB, tmp_path, *WAITS) as served:
        waited_for = beside.submit(undisturbed_crawl, quick)
        story = Story(served, tmp_path / "killed", random.Random(4))
        while len(story.kills) < KILLS:
            story.run()
        ended = served.crawl(story.folder)
        assert ended.code == 0, ended.errors
        story.look()
        report = served.verdict(story.kills)
        requests = served.requests()
    undisturbed = waited_for.result()
    assert undisturbed.code == 0, undisturbed.errors
    assert report.violations == []
    again = asked_again(requests)
    assert [r for r in again if not (lost_by(r, story.desk_kills, LOST) or lost_by(r, story.worker_kills, 0.5))] == []
    found, expected = Found(story.folder), Found(quick / "crawl")
    expect_nothing_twice(found)
    expect_same(found, expected)
    assert ended.figures["known"] == undisturbed.figures["known"] == len(found.urls)
    with_desk = [r for r in again if not lost_by(r, story.worker_kills, 0.5)]
    ages = (min(k - r.end for k in story.desk_kills if k >= r.start - AFTERLIFE) for r in with_desk)
    oldest = max(ages, default=0.0)
    print(
        f"{len(story.desk_kills)} kills of the desk, {len(story.worker_kills)} of workers; {len(requests)} requests, "
        f"{len(again)} repeated, the oldest {oldest:.2f} s before its kill; {len(story.rows)} records"
    )


PATIENT: Final = DemoWeb(seed=22, sites=10, pages=100, largest=30, errors=0, busy=0, delays=0, unavailable=0, slow=0)


def test_no_site_is_requested_before_its_wait_has_passed_whenever_the_crawl_is_killed(tmp_path: Path) -> None:
    """Waits are longer than a start takes; the first kill comes before the first commit."""
    waits = ("harvester.wait=4s", "harvester.wait_large=4s", "harvester.address_wait=2s")
    kills = []
    with serve(PATIENT, tmp_path, *waits) as served:
        for pause in (0.3, 0.1, 1.3):
            with served.begin(tmp_path / "crawl") as crawling:
                assert crawling.wait_for(served.has_grown())
                time.sleep(pause)
                kills.append(time.monotonic())
                crawling.kill()
        assert served.crawl(tmp_path / "crawl", "--pages", "20").code == 0
        report = served.verdict(kills)
    assert report.violations == []
    assert report.requests > 3 * PATIENT.sites


def expect_nothing_twice(found: Found) -> None:
    """Each fetched page has one visit, each archived visit one record, and each record one visit."""
    asked = found.visits[(found.visits["outcome"] <= Outcome.DUPLICATE) & (found.visits["ask"] == 0)]
    assert max(Counter(asked["page"].tolist()).values()) == 1
    kept = found.kept()
    records = {(record.file, record.offset): record.page for record in archived(found.folder)}
    assert records == kept
    assert len(kept) == int((found.visits["warc_end"] != 0).sum())


def expect_same(found: Found, expected: Found) -> None:
    """Of equal pages one is OK and the others are duplicates; which one depends on the order."""

    def outcomes(of: Found) -> dict[str, object]:
        twins = Counter(of.twins.values())
        return {
            url: (state, "twin" if twins[of.twins.get(url, url)] > 1 else outcome, of.digests.get(url))
            for url, (state, outcome) in of.states.items()
        }

    assert outcomes(found) == outcomes(expected)
    assert found.links == expected.links
    assert anchors(found) == anchors(expected)
    assert counts(found) == counts(expected)
    for collection in (found, expected):
        stored = [u for u, (_, outcome) in collection.states.items() if outcome is Outcome.OK]
        originals = Counter(collection.twins[u] for u in stored if u in collection.digests)
        assert set(originals.values()) == {1}
        assert int(collection.desk[Pages].counts.sum()) == len(collection.urls)


def anchors(found: Found) -> set[tuple[object, ...]]:
    """Texts of links, from the tables, because a replay does not give them. Those of nofollow links depend on the
    order."""
    pages = {row["page"]: row["url"] for row in rows(found.folder, "pages")}
    followed = {(source, target) for source, target, _ in found.links}
    texts: set[tuple[object, ...]] = set()
    for row in rows(found.folder, "anchors"):
        source, target = pages[row["source"]], pages[row["target"]]
        source = found.twins.get(source, source)
        if (source, target) in followed:
            texts.add((source, target, row["text"], row["tag"]))
    return texts


def counts(found: Found) -> Counter[tuple[object, ...]]:
    """Counts of what was seen and not fetched, from the tables."""
    names = {row["site"]: row["name"] for row in rows(found.folder, "sites") if row["name"]}
    total: Counter[tuple[object, ...]] = Counter()
    for row in rows(found.folder, "counts"):
        total[names[row["site"]], row["class"], row["extension"], row["domain"]] += row["number"]
    return total
