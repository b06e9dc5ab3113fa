"""What `gossamer simulate` is given: a graph or a collection, an older collection, and settings to try."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gossamer import config
from gossamer.base.arrays import F64
from gossamer.base.errors import UsageError
from gossamer.collection import manifest
from gossamer.collection.checked import Checked
from gossamer.collection.layout import SETTINGS, is_collection, shard_folder
from gossamer.config import Settings
from gossamer.laboratory.collection_graph import Collected, collected, open_graph
from gossamer.laboratory.graphs.webgraph import WebGraph
from gossamer.laboratory.jobs import OwnJob
from gossamer.laboratory.simulate.own import described, own_of, scenario_of
from gossamer.laboratory.simulate.scenario import Scenario, changed
from gossamer.laboratory.two_crawls import known_before
from gossamer.manager.revisits.common import prior_of
from gossamer.manager.revisits.rates import decode
from gossamer.observe.image_view import open_image


class Place(NamedTuple):
    """A graph, and the collection that it is of, if it is of one."""

    graph: WebGraph
    crawl: Collected | None

    def urls(self) -> list[str]:
        assert self.crawl is not None
        return self.crawl.urls(np.arange(self.graph.pages))


def open_place(path: Path) -> Place:
    if is_collection(path):
        crawl = collected(path)
        return Place(crawl.graph, crawl)
    return Place(open_graph(path), None)


def history_of(place: Place, history: Path | None, names: Sequence[str]) -> F64 | None:
    """The PageRank that an older collection gives to the pages; None: no older one was named."""
    if history is None:
        return None
    if place.crawl is None:
        raise UsageError(
            f"--history {history}: {place.graph.name} is a graph file, whose pages have no URLs",
            "Simulate a collection: pages are found in the older one by their URLs.",
        )
    if not any(name.startswith("historical") for name in names):
        raise UsageError(
            f"--history {history}: no strategy uses it", "Add one that does: --strategy historical-pagerank-parent."
        )
    return known_before(place.crawl, collected(history))


def settings_at(path: Path) -> tuple[str, Settings]:
    """The settings of a file, or of a collection, and a name for them."""
    file = path / SETTINGS if path.is_dir() else path
    settings = config.load(file)
    name = path.resolve().name
    return f"{name} ({described(settings)})", settings


def own_jobs(
    files: Iterable[Path], place: Place, scenario: Scenario, changes: Iterable[str], keep_order: bool
) -> list[OwnJob]:
    """A job for each of these settings: with their waits, connections and plans, and the servers of the scenario."""
    jobs = []
    for path in files:
        name, settings = settings_at(path)
        mine = replace(
            scenario_of(settings, scenario.servers, scenario.random_seed),
            bandwidth=float(settings.harvester.bandwidth) or scenario.bandwidth,
            most_pages=scenario.most_pages,
        )
        own = own_of(settings, name, place.urls if place.crawl is not None else None)
        jobs.append(OwnJob(settings.manager.policy, changed(mine, changes), keep_order, own))
    return jobs


def believed_rates(place: Place) -> F64 | None:
    """Changes per second of the pages, as the collection believes; None if it knows nothing of them."""
    if place.crawl is None:
        return None
    shard = shard_folder(place.crawl.folder)
    image = open_image(shard, manifest.read(shard).image, Checked(shard))
    if image is None or not np.asarray(image.columns.page.compared).any():
        return None
    prior = prior_of(image.columns.habits, 60 * 86_400.0)
    codes = np.zeros(int(place.crawl.page.max()) + 1, np.uint16)
    belief = np.asarray(image.columns.page.belief)[: len(codes)]
    codes[: len(belief)] = belief  # pages found since the image have the prior's
    return decode(codes[place.crawl.page], prior).rates
