"""CPU of link scores during a crawl: `python -m bench.rank [most visits, default 10^6] [--pages N]`

Two measurements. Each compares the CPU time of all computations of scores with that of the crawl without them; both
use the scheduler of a crawl (`gossamer.manager.scores.schedule`). A missed bound ends it with a nonzero exit code.

1. A whole crawl over loopback HTTP of the demonstration Web in its bulk form (pages of 25 KB and 75 links), all
   features on. Its log has the time of each computation. Segments are sealed every 10,000 visits, so there are several.
2. The scheduler alone, fed as by a crawl of 10^6 visits: a collection with 75 links and ten known pages per visit grows
   by real segments of 100,000 visits; each visit counts with the cost measured in 1.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from bench.answers import Quiet
from bench.bounds import Figure, judge
from gossamer.base.model import NONE, VISIT, Texts
from gossamer.collection import layout, manifest, sealing
from gossamer.collection.journal import journal
from gossamer.collection.journal.effects import PAGE, Effects
from gossamer.collection.journal.records import Mark
from gossamer.collection.tables import seal
from gossamer.config import Settings
from gossamer.crawler.run import run
from gossamer.crawler.start import CrawlRequest
from gossamer.manager.scores.schedule import Scorer
from gossamer.webs.demo import DemoWeb
from gossamer.webs.local import served

SEGMENT: Final = 100_000
TICK: Final = 2_000
NEW, MENU, NEAR, FAVOURITES, ABROAD = 10, 26, 20, 15, 4
SITE: Final = 300
"""Pages per site; their numbers are consecutive."""
BOUND: Final = 5.0
"""Percent of the CPU time of the crawl."""
PAGES: Final = 60_000


def links_of(first: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Columns of `TICK` pages from `first` on, fetched in the order of discovery."""
    page = np.arange(first, first + TICK)[:, None]
    known, home = first * NEW + 1, page // SITE * SITE
    new = known + (page - first) * NEW + np.arange(NEW)
    menu = home + np.arange(MENU)
    near = page + rng.integers(-30, 60, (TICK, NEAR))
    favourites = home + (SITE * rng.random((TICK, FAVOURITES)) ** 3).astype(np.int64)
    abroad = (known * rng.random((TICK, ABROAD)) ** 3).astype(np.int64)
    old = np.clip(np.concatenate([menu, near, favourites, abroad], 1), 0, max(known - 1, 0))
    return np.concatenate([new, old], 1)


def ticks(first: int, rng: np.random.Generator) -> Iterator[Effects]:
    for at in range(first, first + SEGMENT, TICK):
        links = links_of(at, rng)
        begin = at * NEW + 1 if at else 0
        pages = np.zeros((at + TICK) * NEW + 1 - begin, PAGE)
        pages["site"] = np.arange(begin, begin + len(pages)) // SITE
        visits = np.zeros(TICK, VISIT)
        visits["page"], visits["duplicate_of"], visits["links"] = np.arange(at, at + TICK), NONE, links.shape[1]
        visits["site"] = visits["page"] // SITE
        urls = Texts(np.zeros(len(pages), "<u2"), b"")
        yield Effects(
            1 + at // TICK,
            1.0,
            1.0,
            0,
            0,
            begin,
            pages=pages,
            urls=urls,
            visits=visits,
            link_targets=links.reshape(-1).astype("<u4"),
            link_kinds=np.zeros(links.size, "u1"),
        )


class Collection:
    def __init__(self, folder: Path) -> None:
        self.shard = layout.shard_folder(folder)
        layout.make_folders(self.shard)
        manifest.Manifest.create(self.shard, manifest.Meta(layout.FORMAT, 0, 1, 1.0))
        self.rng, self.segments = np.random.default_rng(1), 0

    def seal(self) -> None:
        self.segments += 1
        before = (self.segments - 1) * SEGMENT // TICK
        opened = journal.begin(self.shard, 0, self.segments, Mark(before, before))
        for effects in ticks((self.segments - 1) * SEGMENT, self.rng):
            opened.append(effects)
        opened.commit(opened.snapshot({}, [], rotate=True))
        opened.close()
        file = manifest.Manifest.open(self.shard)
        sealing.finish(self.shard, file, seal.seal(self.shard, self.segments))
        file.close()

    def bytes_in(self, name: str) -> int:
        return sum(p.stat().st_size for p in (self.shard / name).iterdir())


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of CPU time."""

    crawl: float
    scores: list[float]
    visits: int

    def figure(self, name: str) -> Figure:
        """The figure of this cost. Ends the program if scores were never computed, as that would prove nothing."""
        if not self.scores:
            raise SystemExit(f"{name}: link scores were never computed")
        aside = f"{len(self.scores)} times, {sum(self.scores):.1f} s of {self.crawl:.1f} s"
        return Figure(name, 100 * sum(self.scores) / self.crawl, "%", BOUND, aside=aside)


def crawl(folder: Path, pages: int) -> Cost:
    web, log = DemoWeb(bulk=True, sites=400, pages=4 * pages, largest=pages), folder / "events.jsonl"
    changes = (
        "harvester.wait=100ms",
        "harvester.wait_large=100ms",
        "harvester.address_wait=10ms",
        "collection.seal_visits=10000",
    )
    report = run(
        CrawlRequest(folder / "crawl", serve=partial(served, web), changes=changes, pages=pages, patience=5.0, log=log),
        Quiet(),
    )
    scores = list(computations(log))
    ran = report.statistics.run
    return Cost(ran.resources.cpu_seconds - sum(scores), scores, ran.visits)


def computations(log: Path) -> Iterator[float]:
    """CPU time of each computation, from the log of the crawl."""
    for line in log.read_text().splitlines():
        if '"scores"' in line and (event := json.loads(line))["event"] == "scores":
            yield float(event["cpu"])


def schedule(folder: Path, most: int, a_visit: float) -> Cost:
    """Runs the scheduler over growing segments. `a_visit`: seconds of CPU time per visit."""
    collection, every = Collection(folder), Settings().manager.rank_every
    scorer = Scorer(collection.shard, {"pagerank": 1.0}, every)
    scores: list[float] = []
    while (visits := collection.segments * SEGMENT) < most:
        collection.seal()
        visits += SEGMENT
        spent = visits * a_visit + sum(scores)
        if scorer.begin_if_due(visits, spent) or (visits >= most and scorer.finish(visits, spent)):
            scores.append(_taken(scorer)["cpu"])
            row(collection, scorer.figures)
    return Cost(visits * a_visit, scores, visits)


def _taken(scorer: Scorer) -> dict[str, Any]:
    """Waits for the running computation."""
    while scorer.poll() is None:
        if scorer.warnings:
            raise SystemExit(scorer.warnings[0])
        time.sleep(0.05)
    return scorer.figures


def row(collection: Collection, said: dict[str, Any]) -> None:
    print(
        f"  {collection.segments * SEGMENT:>10,} visits {said['pages']:>11,} pages {said['links']:>12,} links "
        f"{said['iterations']:>3} iterations {said['cpu']:6.1f} s of CPU, {said['memory'] / 1e6:6.0f} MB; "
        f"rows {collection.bytes_in('graph') / said['links']:.2f} B per link, "
        f"scores {collection.bytes_in('scores') / said['pages']:.1f} B per page",
        flush=True,
    )


def measure(most: int, pages: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        whole = crawl(Path(folder), pages)
    a_visit = whole.crawl / whole.visits
    yield whole.figure(f"scores in a crawl of {whole.visits:,} visits")
    with tempfile.TemporaryDirectory() as folder:
        long = schedule(Path(folder), most, a_visit)
    yield long.figure(f"scores in {long.visits:,} visits of {1000 * a_visit:.2f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("most", type=float, nargs="?", default=1e6)
    parser.add_argument("--pages", type=int, default=PAGES)
    given = parser.parse_args()
    judge(measure(int(given.most), given.pages))


if __name__ == "__main__":
    main()
