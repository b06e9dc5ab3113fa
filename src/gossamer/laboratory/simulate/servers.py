"""The servers of a simulated Web: latency and speed of each site are drawn once; each answer varies around them.

The duration of an answer depends only on the random seed, the page and the number of the try, never on the order of
requests: all strategies meet the same Web.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import F64, I64, U8, U32
from gossamer.base.compiled import njit
from gossamer.laboratory.graphs.webgraph import WebGraph
from gossamer.laboratory.simulate.scenario import Scenario, Servers

HOURS: Final = 168
_BUSIEST: Final = 15


class ServedWeb(NamedTuple):
    """The graph and its servers, in the form that the kernels take."""

    offsets: I64
    targets: U32
    site: U32
    size: U32
    latency: F64
    """Seconds, by site."""
    speed: F64
    """Bytes per second, by site."""
    dead: U8
    week: F64
    """By hour of the week: latency is multiplied by it, speed is divided by it."""
    latency_within: float
    speed_within: float
    """Standard deviations of the logarithms."""
    failing: float
    connect_timeout: float
    seed: int


def serve(graph: WebGraph, scenario: Scenario) -> ServedWeb:
    servers, rng = scenario.servers, np.random.default_rng([scenario.random_seed, 1])
    sites = graph.sites
    one, other = rng.standard_normal(sites), rng.standard_normal(sites)
    other = servers.correlation * one + math.sqrt(1 - servers.correlation**2) * other
    latency = servers.latency * np.exp(servers.latency_spread * one)
    speed = np.full(sites, servers.speed) * np.exp(servers.speed_spread * other)
    dead = rng.random(sites) < servers.dead
    return ServedWeb(
        graph.links.offsets,
        graph.links.targets,
        graph.site,
        graph.size,
        latency,
        np.minimum(speed, scenario.bandwidth),
        dead.astype(np.uint8),
        _week(servers),
        _sigma(servers.latency_within),
        _sigma(servers.speed_within),
        servers.failing,
        servers.connect_timeout,
        scenario.random_seed,
    )


def _week(servers: Servers) -> F64:
    """The factor of each hour of the week, which begins on Monday at midnight."""
    hours = np.arange(HOURS)
    day = 1 + servers.day * np.cos((hours % 24 - _BUSIEST) * (2 * np.pi / 24))
    return np.asarray(np.where(hours >= 120, day * (1 - servers.weekend), day))


def _sigma(relative: float) -> float:
    """Standard deviation of the logarithm of a log-normal variable, from its deviation relative to its mean."""
    return math.sqrt(math.log1p(relative**2))


@njit
def _stir(x: np.uint64) -> np.uint64:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit
def chance(seed: int, page: int, tries: int, what: int) -> float:
    """A random number between 0 and 1, the same for the same four arguments."""
    x = _stir(np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(page))
    x = _stir(x + np.uint64(tries) * np.uint64(0xD1342543DE82EF95) + np.uint64(what))
    return (np.int64(x >> np.uint64(11)) + 0.5) / 2.0**53


@njit
def _bell(seed: int, page: int, tries: int, what: int) -> float:
    """A standard normal number (Box and Muller 1958)."""
    radius = math.sqrt(-2.0 * math.log(chance(seed, page, tries, what)))
    return radius * math.cos(2.0 * math.pi * chance(seed, page, tries, what + 1))


@njit
def latency_of(web: ServedWeb, page: int, tries: int, now: float) -> float:
    """Seconds until the first byte of the answer to a request at `now`."""
    seconds = web.latency[web.site[page]]
    if web.latency_within > 0:
        seconds *= math.exp(web.latency_within * _bell(web.seed, page, tries, 0) - web.latency_within**2 / 2)
    return float(seconds * web.week[int(now // 3600) % HOURS])


@njit
def speed_of(web: ServedWeb, page: int, tries: int, now: float) -> float:
    """Bytes per second of the answer to a request at `now`, while the bandwidth is not full."""
    speed = web.speed[web.site[page]]
    if web.speed_within > 0 and speed < np.inf:
        speed *= math.exp(web.speed_within * _bell(web.seed, page, tries, 2) - web.speed_within**2 / 2)
    return float(speed / web.week[int(now // 3600) % HOURS])


@njit
def fails(web: ServedWeb, page: int, tries: int) -> bool:
    return web.failing > 0 and chance(web.seed, page, tries, 4) < web.failing
