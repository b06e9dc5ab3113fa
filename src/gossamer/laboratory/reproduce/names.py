"""The reproductions by name, each with a sentence, its source and its function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final

from gossamer.base.errors import UsageError
from gossamer.laboratory.findings.finding import Finding
from gossamer.laboratory.reproduce import (
    bandwidth,
    batches,
    chapter5,
    chapter8,
    curves,
    freshness,
    orders,
    real,
    robots,
)
from gossamer.laboratory.reproduce.lab import Lab
from gossamer.laboratory.reproduce.scheduling import finding as scheduling

ALL: Final = "all"
CHAPTER_5: Final = "chapter-5"
CHAPTER_8: Final = "chapter-8"


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A table or figure that can be recomputed."""

    sentence: str
    source: str
    function: Callable[[Lab], Finding]
    on_graphs: bool = True
    same_as: str = ""
    """The name of the reproduction that it repeats under another number."""


_AGAIN: Final = (
    ("fig-000-6.6", "fig-4.7", "Figure 6.6 of 000: many robots", "figure 6.6, 6.3", "6.3"),
    ("table-000-6.1", "table-4.2", "Table 6.1 of 000: speed-up by more robots", "table 6.1", "6.3"),
    ("fig-000-6.7", "fig-4.9", "Figure 6.7 of 000: pages of a batch by site", "figure 6.7, 6.4", "6.4"),
    ("fig-000-6.8", "fig-4.10", "Figure 6.8 of 000: active robots", "figure 6.8, 6.4", "6.4"),
    ("fig-000-6.9", "fig-4.11", "Figure 6.9 of 000: active robots, 100 pages per connection", "figure 6.9, 6.4", "6.4"),
    ("fig-000-6.10", "fig-4.12", "Figure 6.10 of 000: PageRank by day", "figure 6.10, 6.5", "6.5"),
    ("fig-000-6.11", "fig-4.13", "Figure 6.11 of 000: average PageRank by day", "figure 6.11, 6.5", "6.5"),
    ("fig-000-6.12", "fig-4.14", "Figure 6.12 of 000: average PageRank by depth", "figure 6.12, 6.5", "6.5"),
    ("fig-000-6.13", "fig-4.15", "Figure 6.13 of 000: crawl and simulation", "figure 6.13, 6.5", "6.5"),
)
"""Figures of 000 that the thesis has under another number: name, name in the thesis, title, place, section in 000."""


def _again(name: str, same_as: str, title: str, source: str, section: str) -> Reproduction:
    """The same experiment under the number and the title that 000 gives it."""
    number = same_as.replace("fig-", "figure ").replace("table-", "table ")

    def renumbered(lab: Lab) -> Finding:
        finding = NAMES[same_as].function(lab)

        def named(part: str) -> str:
            return name + part.removeprefix(same_as)

        return replace(
            finding,
            name=name,
            title=f"{title} (as {number})",
            source=f"000, {source}",
            tables=tuple(replace(table, name=named(table.name)) for table in finding.tables),
            plots=tuple(replace(plot, name=named(plot.name)) for plot in finding.plots),
        )

    return Reproduction(f"As {number}.", f"000, {section}", renumbered, same_as=same_as)


NAMES: Final[dict[str, Reproduction]] = {
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
    "fig-4.10": Reproduction("Active robots, one page per connection.", "4.4", batches.fig_4_10),
    "fig-4.11": Reproduction("Active robots, 100 pages per connection.", "4.4", batches.fig_4_11),
    "fig-4.12": Reproduction("A crawl: PageRank and pages by day.", "4.5.1", real.fig_4_12),
    "fig-4.13": Reproduction("A crawl: average PageRank by day.", "4.5.1", real.fig_4_13),
    "fig-4.14": Reproduction("A crawl: average PageRank by depth.", "4.5.1", real.fig_4_14),
    "fig-4.15": Reproduction("A crawl and its simulation.", "4.5.1", real.fig_4_15),
    "fig-4.16": Reproduction("Two crawls: PageRank and pages by time.", "4.5.2", real.fig_4_16),
    "fig-000-6.5": Reproduction("Three sizes of batch; Optimal is overtaken late.", "000, 6.3", curves.fig_000_6_5),
    **{row[0]: _again(*row) for row in _AGAIN},
    "fig-003": Reproduction("Four ways to limit the bandwidth, second by second.", "003, 3", bandwidth.fig_003, False),
    "freshness": Reproduction("Twelve policies of re-visits, by budget.", "2.4.2", freshness.freshness, False),
    **{
        name: Reproduction(row.sentence, row.source, chapter5.reproduction(name), False)
        for name, row in chapter5.ROWS.items()
    },
    "models-5": Reproduction("Models A, B, C: simulated, and found again.", "5.2", chapter5.simulated, False),
    "fig-5.17": Reproduction("Cumulated PageRank by level.", "5.5", chapter5.ranked, False),
    **{
        name: Reproduction(row.sentence, row.source, chapter8.reproduction(name), False)
        for name, row in chapter8.ROWS.items()
    },
    "table-001": Reproduction("Dynamic and static scheduling, over sockets.", "001, 3", scheduling.table_001, False),
}


def named(name: str) -> list[str]:
    """The reproductions with this name; a chapter has all of that chapter, `all` leaves out repetitions."""
    if name == ALL:
        return [each for each, reproduction in NAMES.items() if not reproduction.same_as]
    if name == CHAPTER_5:
        return [*chapter5.ROWS, "models-5", "fig-5.17"]
    if name == CHAPTER_8:
        return [*chapter8.ROWS]
    if name in NAMES:
        return [name]
    near = get_close_matches(name, (*NAMES, CHAPTER_5, CHAPTER_8, ALL), 1, 0.5)
    meant = f"Did you mean {near[0]}? " if near else ""
    raise UsageError(
        f"there is no reproduction {name!r}", f"{meant}There are: {', '.join(NAMES)}, {CHAPTER_5}, {CHAPTER_8}, {ALL}."
    )
