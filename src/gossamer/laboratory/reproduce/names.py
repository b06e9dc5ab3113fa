"""What can be reproduced, by name: a sentence, the source and the function of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from gossamer.base.errors import UsageError
from gossamer.laboratory.findings.finding import Finding
from gossamer.laboratory.reproduce import bandwidth, batches, curves, earlier, orders, real, robots
from gossamer.laboratory.reproduce.lab import Lab
from gossamer.laboratory.reproduce.scheduling import finding as scheduling

ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class Reproduction:
    sentence: str
    source: str
    function: Callable[[Lab], Finding]
    same_as: str = ""
    """The one that it repeats under another number."""
    on_graphs: bool = True


NAMES: Final = {
    "table-4.1": Reproduction("Eleven strategies, and ours: average PageRank, tau.", "4.3.4", orders.table_4_1),
    "abstract": Reproduction("Half of the pages, 80 % of the PageRank.", "abstract", orders.abstract),
    "fig-4.2": Reproduction("How long sequential downloads take.", "4.2.1", batches.fig_4_2),
    "fig-4.3": Reproduction("The upper bound of cumulative PageRank.", "4.3.4", curves.fig_4_3),
    "fig-4.4": Reproduction("All strategies by pages, first Web.", "4.3.4", curves.fig_4_4),
    "fig-4.5": Reproduction("All strategies by pages, second Web.", "4.3.4", curves.fig_4_5),
    "fig-4.6": Reproduction("With the PageRank of an earlier crawl.", "4.3.4", curves.fig_4_6),
    "fig-4.7": Reproduction("1, 64 and 256 robots.", "4.3.5", robots.fig_4_7),
    "table-4.2": Reproduction("Speed-up by robots and bandwidth.", "4.3.5", robots.table_4_2),
    "fig-4.8": Reproduction("Speed-up by bandwidth.", "4.3.5", robots.fig_4_8),
    "fig-4.9": Reproduction("Pages of a batch by site.", "4.4", batches.fig_4_9),
    "fig-4.10": Reproduction("Active robots, one page a connection.", "4.4", batches.fig_4_10),
    "fig-4.11": Reproduction("Active robots, 100 pages a connection.", "4.4", batches.fig_4_11),
    "fig-4.12": Reproduction("A crawl: PageRank and pages by day.", "4.5.1", real.fig_4_12),
    "fig-4.13": Reproduction("A crawl: average PageRank by day.", "4.5.1", real.fig_4_13),
    "fig-4.14": Reproduction("A crawl: average PageRank by depth.", "4.5.1", real.fig_4_14),
    "fig-4.15": Reproduction("A crawl beside its simulation.", "4.5.1", real.fig_4_15),
    "fig-4.16": Reproduction("Two crawls: PageRank and pages by time.", "4.5.2", real.fig_4_16),
    "fig-000-6.5": Reproduction("Three sizes of batch; Optimal is overtaken late.", "000, 6.3", earlier.fig_000_6_5),
    "fig-000-6.6": Reproduction("As figure 4.7.", "000, 6.3", robots.fig_000_6_6, "fig-4.7"),
    "table-000-6.1": Reproduction("As table 4.2.", "000, 6.3", robots.table_000_6_1, "table-4.2"),
    "fig-000-6.7": Reproduction("As figure 4.9.", "000, 6.4", batches.fig_000_6_7, "fig-4.9"),
    "fig-000-6.8": Reproduction("As figure 4.10.", "000, 6.4", batches.fig_000_6_8, "fig-4.10"),
    "fig-000-6.9": Reproduction("As figure 4.11.", "000, 6.4", batches.fig_000_6_9, "fig-4.11"),
    "fig-000-6.10": Reproduction("As figure 4.12.", "000, 6.5", real.fig_000_6_10, "fig-4.12"),
    "fig-000-6.11": Reproduction("As figure 4.13.", "000, 6.5", real.fig_000_6_11, "fig-4.13"),
    "fig-000-6.12": Reproduction("As figure 4.14.", "000, 6.5", real.fig_000_6_12, "fig-4.14"),
    "fig-000-6.13": Reproduction("As figure 4.15.", "000, 6.5", real.fig_000_6_13, "fig-4.15"),
    "fig-003": Reproduction(
        "Four ways to keep a bandwidth, second by second.", "003, 3", bandwidth.fig_003, on_graphs=False
    ),
    "table-001": Reproduction(
        "Dynamic against static scheduling, over sockets.", "001, 3", scheduling.table_001, on_graphs=False
    ),
}


def named(name: str) -> list[str]:
    """The names that are meant; `all` leaves out those that repeat another."""
    if name == ALL:
        return [each for each, reproduction in NAMES.items() if not reproduction.same_as]
    if name in NAMES:
        return [name]
    near = get_close_matches(name, (*NAMES, ALL), 1, 0.5)
    meant = f"Did you mean {near[0]}? " if near else ""
    raise UsageError(f"nothing is called {name!r}", f"{meant}There are: {', '.join(NAMES)}, {ALL}.")
