"""Compiles every kernel, so that the first crawl starts at once: `python -m gossamer.warm`, part of `make install`.

A small simulated crawl calls everything that a real one calls, with the same types; `compiled` keeps the result.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from gossamer.clock import VirtualClock
from gossamer.compiled import forget_old
from gossamer.config import Settings, override
from gossamer.crawl import Bounds, Crawl
from gossamer.manager.policies import POLICIES
from gossamer.opening import open_collection
from gossamer.robots import Rules
from gossamer.simulator.web import Reply, SimulatedNames, SimulatedWeb


def reply(url: str) -> Reply:
    if url.endswith("/robots.txt"):
        return Reply(rules=Rules.parse(b"User-agent: *\nDisallow: /1$", "Gossamer").compiled())
    page = int(url.rpartition("/")[2] or 0)
    links = [f"http://{host}.example/{page * 2 + i}" for host in "ab" for i in (1, 2)] if page < 30 else []
    return Reply(links=links, digest=1 + page)


def warm(folder: Path, policy: str) -> int:
    """Crawls a Web of two sites; returns the number of visits."""
    small = ("collection.max_pages=1000", "collection.max_sites=10")
    settings = override(Settings(), (f"manager.policy={policy}", *small))
    clock = VirtualClock()
    store, desk, _ = open_collection(folder, settings, clock)
    try:
        names = SimulatedNames(lambda host: "192.0.2.1")
        crawl = Crawl(desk, store, SimulatedWeb(reply, clock, desk.seed), names, clock, Bounds())
        crawl.plant(["http://a.example/", "http://b.example/"])
        crawl.run()
        return desk.visits
    finally:
        store.close()


def main() -> None:
    forget_old()
    with tempfile.TemporaryDirectory() as folder:
        for policy in POLICIES:
            warm(Path(folder) / policy, policy)


if __name__ == "__main__":
    main()
