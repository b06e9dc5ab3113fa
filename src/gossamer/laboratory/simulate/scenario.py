"""The settings of a simulation, in one flat table. The defaults simulate the order alone, page by page.

`Scenario` has more fields than a value should: each is an option that the user names (`gossamer simulate --set`), and
all are printed as one table in the reference.

Servers answer as the thesis measured them, where it did. Between sites, latency and speed are drawn from log-normal
distributions that are negatively correlated (3.3: r = -.645); within a site they vary by 96 % and 42 % of their mean
(3.3); together with the sizes of pages they are set such that 90 % of transfers take less than 1.5 s and 95 % less than
3 s (4.2.1, figure 4.2). Servers are slower by day than by night and slower on working days than at weekends (the thesis
says so, citing Liu 1998; the amounts `day` and `weekend` are ours). With faults, a quarter of the sites does not answer
usefully (3.3: 250 of 1,000), and a fifth of the requests to the other sites returns no page (8.3.1: 15 to 25 %).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from math import inf
from typing import Any

from gossamer.base.errors import UsageError


@dataclass(frozen=True, slots=True)
class Servers:
    """How the servers of a simulated Web answer."""

    latency: float = 0.0
    """Seconds from the request to the first byte: the median over sites."""
    latency_spread: float = 0.0
    """Standard deviation of the logarithm of the latency, over sites."""
    latency_within: float = 0.0
    """Standard deviation of the latency within a site, relative to its mean."""
    speed: float = inf
    """Bytes per second: the median over sites."""
    speed_spread: float = 0.0
    """Standard deviation of the logarithm of the speed, over sites."""
    speed_within: float = 0.0
    """Standard deviation of the speed within a site, relative to its mean."""
    correlation: float = -0.645
    """Correlation of the logarithms of latency and speed, over sites."""
    day: float = 0.0
    """By how much latency rises and speed falls at midday; the reverse at night. 0.3 is 30 %."""
    weekend: float = 0.0
    """By how much latency falls and speed rises on two days of seven."""
    dead: float = 0.0
    """Share of sites that never answer: a request ends after `connect_timeout`."""
    failing: float = 0.0
    """Share of the requests to other sites that never return a page."""
    connect_timeout: float = 30.0
    """Seconds until a request to a dead site ends."""

    @staticmethod
    def instant() -> Servers:
        """Answers take no time: only the order and the waits matter."""
        return Servers()

    @staticmethod
    def measured() -> Servers:
        """Servers as the thesis measured them."""
        return Servers(
            latency=0.12,
            latency_spread=1.8,
            latency_within=0.96,
            speed=200_000.0,
            speed_spread=1.0,
            speed_within=0.42,
            day=0.3,
            weekend=0.15,
        )

    @staticmethod
    def faulty() -> Servers:
        """Servers as measured, some sites and pages of which do not answer."""
        return replace(Servers.measured(), dead=0.25, failing=0.2)


@dataclass(frozen=True, slots=True)
class Scenario:
    """How a crawl is simulated. The letters are those of the thesis (4.2)."""

    connections: int = 1
    """Maximum number of requests in flight: r."""
    wait: float = 0.0
    """Seconds between turns at a site, from the end of an answer: w."""
    wait_large: float = -1.0
    """The same at sites with more than `large_site` known pages; -1: the same as `wait`."""
    large_site: int = 100
    """Known pages above which a site is large."""
    per_turn: int = 1
    """Pages per turn: c."""
    pause: float = 0.0
    """Seconds between the pages of a turn."""
    sites_an_address: int = 1
    """Number of sites that share an IP address; an address gets one request at a time."""
    address_wait: float = 0.0
    """Seconds between requests to an address."""
    bandwidth: float = inf
    """Bytes per second that the crawler can receive: B. If all transfers together would use more, all slow down."""
    batch: int = 1
    """Pages per plan: K. 1: the order is updated after every page."""
    per_site: int = 0
    """Maximum number of pages of one site in a plan; 0: no limit."""
    rank_every: float = 0.0
    """Pages after which link scores are computed again: below 1 a share of the graph, else a number. 0: the default of
    the strategy, which is a hundredth of the graph, or a growth of the crawl by a twentieth. With plans of more than
    one page, scores are computed again for each plan."""
    pages_per_site: int = 0
    """Maximum number of known pages of a site; 0: no limit."""
    depth: int = 0
    """Maximum depth in clicks within a site; 0: no limit."""
    most_pages: int = 0
    """Pages after which the crawl ends; 0: it ends with the last reachable page."""
    servers: Servers = field(default_factory=Servers)
    """How servers answer."""
    random_seed: int = 1
    """Runs with the same number are identical."""


def changed(scenario: Scenario, changes: Iterable[str]) -> Scenario:
    """Applies settings such as "wait=15" or "servers.dead=0.1". UsageError names the nearest known setting."""
    for change in changes:
        key, equals, text = change.partition("=")
        if not equals:
            raise UsageError(f"--set {change}: the value is missing", "Write NAME=VALUE, as in servers.latency=0.5.")
        part, _, name = key.strip().rpartition(".")
        if part == "servers":
            scenario = replace(scenario, servers=_with(scenario.servers, name, text, change))
        else:
            scenario = _with(scenario, key.strip(), text, change)
    return scenario


def _with(values: Any, name: str, text: str, change: str) -> Any:
    known = {each.name: type(getattr(values, each.name)) for each in fields(values) if each.name != "servers"}
    if name not in known:
        near = get_close_matches(name, known, 1)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise UsageError(f"--set {change}: no such setting", f"{hint}There are: {', '.join(known)}, servers.NAME.")
    try:
        value = known[name](text)
    except ValueError:
        raise UsageError(f"--set {change}: {text!r} is not a number") from None
    if not value >= 0 and name not in ("correlation", "wait_large"):
        raise UsageError(f"--set {change}: the value is negative", "Give 0 or more.")
    return replace(values, **{name: value})
