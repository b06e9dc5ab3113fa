"""A user's own settings in a simulation: the policy, weights, boosts and preset of a `crawl.toml`, and its waits.

A simulated crawl fetches each page once, so the times between re-visits do not count in it; `freshness/` simulates
those. Boosts and the score `static` need the URLs of the pages, which a collection has and a graph file has not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F32, F64, U32, Array, Bools
from gossamer.base.errors import UsageError
from gossamer.config import Settings
from gossamer.config.presets import in_force
from gossamer.laboratory.simulate.scenario import Scenario, Servers
from gossamer.manager.scores.stored import merit_of
from gossamer.manager.strategies import VALUE, Strategy, strategy_named
from gossamer.manager.value import Value, merit_weights
from gossamer.rank.graph import Graph
from gossamer.rank.hits import hubs_and_authorities
from gossamer.rank.pagerank import pagerank, siterank
from gossamer.urls.classify import Classes

Urls = Callable[[], Sequence[str]]


class Own(NamedTuple):
    """What a simulation takes of settings."""

    name: str = ""
    """Name of the owner, for tables; empty: none."""
    value: Value = Value()
    boost: F32 = np.zeros(0, np.float32)
    """By page of the graph; empty: no page has one."""
    dynamic: Bools = np.zeros(0, np.bool_)


NOBODY: Final = Own()


def own_of(settings: Settings, name: str, urls: Urls | None) -> Own:
    """The settings for a graph whose pages have these URLs; None: they have none."""
    manager = settings.manager
    value = replace(Value.of(manager), min_period=0.0, continuous=False)
    if strategy_named(manager.policy).code != VALUE:
        return Own(name, value)
    if "linkrank" in value.weights:
        raise UsageError(
            f"{name}: manager.weights names linkrank, which cannot be simulated: a graph has no texts of links",
            "Leave it out, or use pagerank.",
        )
    wanted = [each for each in ("boost", "static") if each in value.weights]
    if wanted and urls is None:
        raise UsageError(
            f"{name}: manager.weights names {wanted[0]}, which needs the URLs of the pages: a graph file has none",
            "Simulate the collection itself, or leave the weight out.",
        )
    texts = urls() if wanted and urls is not None else ()
    classes = Classes.by(settings.seeder)
    patterns = [(re.compile(text), boost) for text, boost in manager.boosts.items()]
    boosts = [next((boost for pattern, boost in patterns if pattern.search(url)), 0.0) for url in texts]
    dynamic = [classes.of(url).dynamic for url in texts] if "static" in wanted else []
    return Own(name, value, np.array(boosts, np.float32), np.array(dynamic, np.bool_))


def scenario_of(settings: Settings, servers: Servers, random_seed: int) -> Scenario:
    """A crawl with the connections, waits, turns and plans of the settings."""
    harvester, manager = settings.harvester, settings.manager
    return Scenario(
        connections=harvester.connections,
        wait=float(harvester.wait),
        wait_large=float(harvester.wait_large),
        large_site=harvester.large_site,
        per_turn=harvester.per_turn,
        pause=float(harvester.pause),
        batch=max(2, manager.batch_size),
        per_site=manager.batch_per_site,
        servers=servers,
        random_seed=random_seed,
    )


def described(settings: Settings) -> str:
    """What decides the order of pages: "value: completed 1, depth 0.5; preset news"."""
    manager = settings.manager
    if strategy_named(manager.policy).code != VALUE:
        return manager.policy
    weights = ", ".join(f"{name} {weight:g}" for name, weight in manager.weights.items() if weight > 0)
    boosts = f", {len(manager.boosts)} boosts" if manager.boosts and manager.weights.get("boost") else ""
    preset, alpha, gamma = manager.preset, *in_force(manager)[:2]
    return f"{manager.policy}: {weights}{boosts}; preset {preset}, alpha {alpha:g}, gamma {gamma:g}"


def link_merits(rule: Strategy, value: Value) -> dict[str, float]:
    """The weights of the link scores that the policy uses."""
    return merit_weights(value.weights) if rule.code == VALUE else {}


def merits(graph: Graph, site: U32, weights: dict[str, float], before: F64 | None) -> tuple[F32, F64]:
    """The merit of each known page, as `manager/scores` computes it, and its PageRank."""
    sites = int(site.max(initial=0)) + 1
    ranks = pagerank(graph, before)
    by_page: dict[str, Array] = {"pagerank": ranks.values, "indegree": ranks.indegree}
    if weights.keys() & {"hub", "authority"}:
        both = hubs_and_authorities(graph)
        by_page |= {"hub": both.hub, "authority": both.authority}
    if "siterank" in weights:
        by_page["siterank"] = siterank(graph, site, sites)[site]
    return merit_of(by_page, weights, sites), ranks.values
