"""What a simulation can be told: one table of settings. Defaults simulate the order alone, page by page.

How servers answer is as the thesis measured it, where it did. Between sites, latency and speed are drawn from log-
normal distributions that go against each other (3.3: r = -.645); within a site both vary by 96 % and 42 % of their
mean (3.3); together with the sizes of pages they are set so that 90 % of transfers take less than 1.5 s and 95 % less
than 3 s (4.2.1, figure 4.2). Servers are slower by day than by night and on working days than at weekends, by so much
as `day` and `weekend` say (the thesis says that they are, and cites Liu 1998; the amounts are ours). With faults, a
quarter of the sites does not answer usefully (3.3: 250 of 1,000), and of the requests to the others a fifth brings no
page (8.3.1: 15 to 25 %).
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
    """Standard deviation, over sites, of its logarithm."""
    latency_within: float = 0.0
    """Deviation within a site, relative to its mean."""
    speed: float = inf
    """Bytes a second: the median over sites."""
    speed_spread: float = 0.0
    """Standard deviation, over sites, of its logarithm."""
    speed_within: float = 0.0
    """Deviation within a site, relative to its mean."""
    correlation: float = -0.645
    """Of the logarithms of latency and speed, over sites."""
    day: float = 0.0
    """By how much latency rises, and speed falls, in the middle of the day, and the other way round at night: 0.3 is
    30 %."""
    weekend: float = 0.0
    """By how much latency falls, and speed rises, on two days of seven."""
    dead: float = 0.0
    """Share of sites that never answer: a request ends when `connect_timeout` is over."""
    failing: float = 0.0
    """Share of the requests to other sites that bring no page, for good."""
    connect_timeout: float = 30.0
    """Seconds until a request to a dead site is given up."""

    @staticmethod
    def instant() -> Servers:
        """Answers take no time: only the order and the waits count."""
        return Servers()

    @staticmethod
    def measured() -> Servers:
        """As the thesis measured them."""
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
        """As measured, with sites and pages that do not answer."""
        return replace(Servers.measured(), dead=0.25, failing=0.2)


@dataclass(frozen=True, slots=True)
class Scenario:
    """How a crawl is simulated; the letters are those of the thesis (4.2)."""

    connections: int = 1
    """Requests in flight at most: r."""
    wait: float = 0.0
    """Seconds between turns at a site, from the end of an answer: w."""
    wait_large: float = -1.0
    """The same at sites of over `large_site` known pages; -1: as `wait`."""
    large_site: int = 100
    """Known pages above which a site is large."""
    per_turn: int = 1
    """Pages of a turn: c."""
    pause: float = 0.0
    """Seconds between the pages of a turn."""
    sites_an_address: int = 1
    """Sites that share an address, which is asked by one of them at a time."""
    address_wait: float = 0.0
    """Seconds between requests to an address."""
    bandwidth: float = inf
    """Bytes a second of the crawler's line: B. Transfers slow down alike when all together would take more."""
    batch: int = 1
    """Pages of a plan: K. 1: the order is kept up to date page by page."""
    per_site: int = 0
    """Pages of one site in a plan at most; 0: no limit."""
    rank_every: float = 0.0
    """Link scores are computed anew after so many pages: a share of the graph below 1, else a number. 0: as the
    strategy has it, a hundredth of the graph, or whenever the crawl has grown by a twentieth. With plans of more than
    one page they are computed anew for each plan."""
    pages_per_site: int = 0
    """Known pages of a site at most; 0: no limit."""
    depth: int = 0
    """Greatest depth, in clicks within a site; 0: no limit."""
    most_pages: int = 0
    """The crawl ends after so many; 0: with the last page that can be reached."""
    servers: Servers = field(default_factory=Servers)
    """How servers answer."""
    random_seed: int = 1
    """The same number gives the same run."""


def changed(scenario: Scenario, changes: Iterable[str]) -> Scenario:
    """With settings written as "wait=15" or "servers.dead=0.1". UsageError names the nearest that is known."""
    for change in changes:
        key, equals, text = change.partition("=")
        if not equals:
            raise UsageError(f"--set {change}: there is no value", "Write NAME=VALUE, as in servers.latency=0.5.")
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
        raise UsageError(f"--set {change}: {text!r} is no number") from None
    if not value >= 0 and name not in ("correlation", "wait_large"):
        raise UsageError(f"--set {change}: it is less than nothing", "Give 0 or more.")
    return replace(values, **{name: value})
