"""Compiles kernels ahead, so that the first crawl starts at once: `python -m gossamer.tools.compile`, run by
`make install`. `--laboratory` also compiles the kernels of the simulator and of graphs; the tests run that before.

A small simulated crawl calls what a real crawl calls, with the same types, and `base/compiled.py` keeps the result.
`base/compiling.py` starts this tool once for each core, with a *piece* of the work: the first process crawls, the
others call by themselves what that crawl comes to late, and what such a small crawl does not come to.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.base.clock import VirtualClock
from gossamer.base.compiled import CRAWL, LABORATORY, SCORES, forget_old
from gossamer.base.compiling import compile_ahead
from gossamer.base.model import VISIT, Outcome, Texts
from gossamer.cli.progress import Progress
from gossamer.collection.journal.effects import Effects
from gossamer.config import Settings, override
from gossamer.crawler.loop import Bounds, Crawl
from gossamer.crawler.open import open_collection
from gossamer.crawler.parts import new_columns, new_desk
from gossamer.desk.account import Account
from gossamer.desk.applied import Applied
from gossamer.desk.kernels import NO_VISITS, writable
from gossamer.desk.rulebook import RuleBook
from gossamer.desk.rules import Rules as RobotsRules
from gossamer.harvester.backoff import set_clocks
from gossamer.harvester.bandwidth.schedule import Moment
from gossamer.harvester.bandwidth.speeds import Speeds, learn_speeds
from gossamer.harvester.errands.probes import said
from gossamer.harvester.queue import turns
from gossamer.harvester.queue.holders import leave_domains
from gossamer.harvester.queue.queue import SiteQueue
from gossamer.manager.pages import judge_pages, learn_from_visits
from gossamer.manager.plan import make_plan
from gossamer.manager.scores.compute import compute
from gossamer.manager.strategies import LIVE
from gossamer.robots import Rules
from gossamer.seeder.seed import kept_texts
from gossamer.webs.simulated import Reply, SimulatedNames, SimulatedWeb

SMALL: Final = ("collection.max_pages=1000", "collection.max_sites=10")


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


def crawl(folder: Path, policy: str) -> tuple[Path, int]:
    """Crawls a simulated Web of two sites; returns the shard and the number of visits."""
    settings = override(Settings(), (f"manager.policy={policy}", *SMALL))
    clock = VirtualClock()
    store, desk, _ = open_collection(folder, settings, clock)
    try:
        names = SimulatedNames(lambda host: "192.0.2.1")
        run = Crawl(desk, store, SimulatedWeb(reply, clock, desk.seed), names, clock, Bounds())
        run.plant(["http://a.example/", "http://b.example/"])
        run.run()
        store.commit(rotate=True)
        while store.unsealed:
            store.turn()
            time.sleep(0.01)
        return store.shard, desk[Account].visits
    finally:
        store.close()


def warm(folder: Path, policy: str) -> int:
    """Crawls a simulated Web and computes its link scores; returns the number of visits."""
    shard, visits = crawl(folder, policy)
    compute(shard, {"pagerank": 1.0, "hub": 1.0, "siterank": 1.0, "linkrank": 1.0}, "completed")
    return visits


def crawls() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for policy in ("value", "larger-sites-first"):
            crawl(Path(folder) / policy, policy)


def plans() -> None:
    """Plans of many pages begin with a sample."""
    columns = new_columns(100_000, 1)
    columns.page.count, columns.site.count, columns.origin.count = 100_000, 1, 1
    for policy in LIVE.values():
        make_plan(columns, policy, 0.0, 1_000, 10)


def effects() -> None:
    """What a tick does with visits, verdicts and rules."""
    desk = new_desk(override(Settings(), SMALL), 1)
    nothing = Effects(0, 0.0, 0.0)
    visits = writable(nothing.visits)
    applied = Applied(nothing, visits, NO_VISITS, visits)
    for function in (learn_from_visits, judge_pages, set_clocks, learn_speeds):
        function(desk, applied)
    desk[RobotsRules].allows(0, "http://a.example/")


def rest() -> None:
    """Requests are taken back when the address of a site has expired, sites compete when a plan is replaced, or leave
    their domains; missing pages are asked for, rules are moved when many are unused, links have texts."""
    queue, nothing = SiteQueue(1, 1), np.zeros(0, np.uint32)
    queue.skip(nothing, 0.0)
    turns.touch(queue.arrays, nothing, nothing)
    leave_domains(queue.arrays, nothing)
    said(np.zeros(0, VISIT))
    Speeds(1).predict(nothing, Moment(0.0, False))
    RuleBook(1).pack(np.zeros(1, np.uint32), np.zeros(1, np.uint32))
    kept_texts(Texts(np.zeros(1, np.uint16), b""), np.zeros(1, np.bool_))


def scores() -> None:
    with tempfile.TemporaryDirectory() as folder:
        warm(Path(folder), "value")


def simulations() -> None:
    """Page by page and with plans, with waits and without."""
    from gossamer.laboratory.graphs.make import make
    from gossamer.laboratory.simulate.run import simulate
    from gossamer.laboratory.simulate.scenario import Scenario, Servers

    graph = make(300)
    for strategy in ("opic", "completed-pagerank", "larger-sites-first", "batch-pagerank"):
        for scenario in (Scenario(), Scenario(connections=8, wait=15.0, servers=Servers.measured(), batch=50)):
            simulate(graph, strategy, scenario)


def graphs() -> None:
    from gossamer.laboratory.analyse import analyse
    from gossamer.laboratory.graphs.figures import figures
    from gossamer.laboratory.graphs.make import make
    from gossamer.laboratory.graphs.models import MODELS
    from gossamer.laboratory.graphs.models import make as grow
    from gossamer.laboratory.graphs.walk import sample

    graph = make(300)
    figures(graph)
    for model in MODELS:
        sample(grow(model, 50, 2.0).links, 5)
    analyse(graph, lambda step: None)


def sessions() -> None:
    """Logs in each format, and surfers who walk."""
    from gossamer.laboratory.sessions import made
    from gossamer.laboratory.sessions.gather import gather
    from gossamer.laboratory.sessions.walk import walk
    from gossamer.rank.surfers import MODELS

    model = MODELS["C"]
    w3c = "#Fields: date time c-ip cs-method cs-uri-stem sc-status\n2026-01-01 00:00:00 192.0.2.1 GET / 200\n"
    json = '{"ip": "192.0.2.1", "time": 1, "status": 200, "request": "GET / HTTP/1.1"}\n'
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.log"
        made.write(path, model, (0.3,), 3)
        gather([path], "")
        for text in (w3c, json):
            path.write_text(text)
            gather([path], "")
    walk(model, (0.3,), 10)


PIECES: Final = {
    CRAWL: (crawls, plans, effects, rest),
    SCORES: (scores,),
    LABORATORY: (simulations, graphs, sessions),
}


def main() -> None:
    match sys.argv[1:]:
        case ["--piece", group, at, cores]:
            gc.set_threshold(100_000, 50, 100)  # numba makes so many objects that a fifth of the time would be lost
            pieces = PIECES[group]
            mine = pieces[:1] if at == "0" else pieces[int(at) :: int(cores) - 1]
            for piece in pieces if cores == "1" else mine:
                piece()
        case given:
            forget_old()
            with Progress(sys.stderr) as progress:
                for group in (CRAWL, SCORES, LABORATORY) if "--laboratory" in given else (CRAWL, SCORES):
                    compile_ahead(group, progress.doing, progress.say)


if __name__ == "__main__":
    main()
