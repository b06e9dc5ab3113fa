"""Compiles all kernels of a crawl, so that the first crawl starts at once: `python -m gossamer.tools.compile`, run by
`make install`.

A small simulated crawl calls everything that a real crawl calls, with the same types, and `base/compiled.py` stores the
result. `--laboratory` also compiles the kernels of the simulator, which are otherwise compiled when they are first
used: this is run before the tests, whose processes would all compile them at the same time. An empty file beside the
kernels notes that all are there.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from gossamer.base.clock import VirtualClock
from gossamer.base.compiled import KEPT, forget_old
from gossamer.base.model import Outcome, Texts
from gossamer.config import Settings, override
from gossamer.crawl.loop import Bounds, Crawl
from gossamer.crawl.open import open_collection
from gossamer.crawl.parts import new_columns
from gossamer.desk.account import Account
from gossamer.desk.rulebook import RuleBook
from gossamer.harvester.bandwidth.schedule import Moment
from gossamer.harvester.bandwidth.speeds import Speeds
from gossamer.harvester.queue import turns
from gossamer.harvester.queue.queue import SiteQueue
from gossamer.manager.plan import make_plan
from gossamer.manager.scores.compute import compute
from gossamer.manager.strategies import LIVE
from gossamer.robots import Rules
from gossamer.seeder.seed import kept_texts
from gossamer.webs.simulated import Reply, SimulatedNames, SimulatedWeb


def reply(url: str) -> Reply:
    """The answer of the simulated Web to a request."""
    if url.endswith("/robots.txt"):
        return Reply(rules=Rules.parse(b"User-agent: *\nDisallow: /1$", "Gossamer").compiled())
    last = url.rpartition("/")[2] or "0"
    if not last.isdigit():
        return Reply(outcome=Outcome.NOT_FOUND, status=404)
    page = int(last)
    links = [f"http://{host}.example/{page * 2 + i}" for host in "ab" for i in (1, 2)] if page < 30 else []
    return Reply(links=links, digest=1 + page)


def warm(folder: Path, policy: str) -> int:
    """Crawls a simulated Web of two sites; returns the number of visits."""
    small = ("collection.max_pages=1000", "collection.max_sites=10")
    settings = override(Settings(), (f"manager.policy={policy}", *small))
    clock = VirtualClock()
    store, desk, _ = open_collection(folder, settings, clock)
    try:
        names = SimulatedNames(lambda host: "192.0.2.1")
        crawl = Crawl(desk, store, SimulatedWeb(reply, clock, desk.seed), names, clock, Bounds())
        crawl.plant(["http://a.example/", "http://b.example/"])
        crawl.run()
        store.commit(rotate=True)
        while store.sealing.busy:
            store.turn()
        compute(store.shard, {"pagerank": 1.0, "hub": 1.0, "siterank": 1.0}, "completed")
        return desk[Account].visits
    finally:
        store.close()


def warm_rest() -> None:
    """Compiles the kernels that such a small crawl does not call: plans of many pages begin with a sample, requests are
    taken back when the address of a site has expired, sites compete when a plan is replaced, rules are moved when many
    are unused, and links have texts."""
    columns = new_columns(100_000, 1)
    columns.page.count, columns.site.count, columns.origin.count = 100_000, 1, 1
    for policy in LIVE.values():
        make_plan(columns, policy, 0.0, 1_000, 10)
    queue, nothing = SiteQueue(1, 1), np.zeros(0, np.uint32)
    queue.skip(nothing, 0.0)
    turns.touch(queue.arrays, nothing, nothing)
    Speeds(1).predict(nothing, Moment(0.0, False))
    RuleBook(1).pack(np.zeros(1, np.uint32), np.zeros(1, np.uint32))
    kept_texts(Texts(np.zeros(1, np.uint16), b""), np.zeros(1, np.bool_))


def warm_laboratory() -> None:
    """Compiles the kernels of the simulator (page by page and with plans, with waits and without) and of graphs."""
    from gossamer.laboratory.analyse import analyse
    from gossamer.laboratory.graphs.figures import figures
    from gossamer.laboratory.graphs.make import make
    from gossamer.laboratory.simulate.run import simulate
    from gossamer.laboratory.simulate.scenario import Scenario, Servers

    graph = make(300)
    figures(graph)
    analyse(graph, lambda step: None)
    for strategy in ("opic", "completed-pagerank", "larger-sites-first", "batch-pagerank"):
        for scenario in (Scenario(), Scenario(connections=8, wait=15.0, servers=Servers.measured(), batch=50)):
            simulate(graph, strategy, scenario)


def main() -> None:
    laboratory = "--laboratory" in sys.argv[1:]
    note = KEPT / ("whole-laboratory" if laboratory else "whole")
    if note.exists():
        return
    forget_old()
    warm_rest()
    with tempfile.TemporaryDirectory() as folder:
        for policy in ("value", "larger-sites-first"):
            warm(Path(folder) / policy, policy)
    if laboratory:
        warm_laboratory()
    note.touch()


if __name__ == "__main__":
    main()
