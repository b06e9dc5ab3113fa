"""The table of all strategies, that is, orders of pages: from the thesis and its papers, and published since.

A strategy has two levels (thesis, figure 4.1): an order of the pages of a site, by a *code* that the kernels of
`policies` and `profit` know, and an order of the sites that may be requested now (`harvester.queue.SITES_BY`). Some
strategies need a number for each known page that is *prepared* from the links seen so far, every so many pages. Some
are *given* a number that no crawl can know: they exist for comparison, in the simulator alone, unless a setting gives
it. All others may be chosen in `crawl.toml` as `manager.policy`.

Light to import: settings are checked against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from gossamer.base.errors import UsageError

BREADTH_FIRST, OPIC, VALUE, BACKLINKS, FRACTIONAL, MERIT, PARTIAL, RANDOM, SHALLOW, COMPLETED, MERCATOR = range(11)

AT_LAST: Final = (BREADTH_FIRST, SHALLOW, MERCATOR)
"""Policies that put re-visits after all new pages, but for those that have a turn in a continuous crawl (`profit`)."""
UNIT: Final = 2.0**50
"""Cash per unit of PageRank, for PARTIAL."""
LAST: Final = -(2.0**100)
"""Score of a page that was just fetched, under `AT_LAST`: the longer ago its visit was, the nearer to 0 is its score,
so that the oldest copy goes first and none starves."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """A row of the table."""

    name: str
    code: int
    source: str
    sentence: str
    sites_by: str = "best"
    prepares: str = ""
    """Name of the link score (`rank.prepared`) that is recomputed every so many pages."""
    given: str = ""
    """What it is given that no crawl knows by itself: worth (the true PageRank), history (PageRank of an earlier
    crawl), a plug-in, or all pages."""
    setting: str = ""
    """The setting that gives it to a real crawl."""

    @property
    def live(self) -> bool:
        """Whether a real crawl can use it."""
        return not self.given or bool(self.setting)


# fmt: off
_ROWS: Final = (
    Strategy("value", VALUE, "thesis 3.4, 7.2.1",
        "Pages whose fetch adds most to the value of the index: by quality, and by age if fetched before.",
        prepares="completed"),
    Strategy("completed-pagerank", COMPLETED, "our own: rank/completed.py",
        "Pages with the highest PageRank in the completed graph, if unfetched pages link as their site does.",
        prepares="completed"),
    Strategy("breadth-first", BREADTH_FIRST, "thesis 4.3.1; Najork and Wiener 2001; Depth in 000",
        "Pages in the order of discovery."),
    Strategy("shallow-first", SHALLOW, "thesis 3.4 (perceived depth)",
        "Pages the fewest clicks below the start page of their site or a link from another site; then by discovery."),
    Strategy("backlink-count", BACKLINKS, "thesis 4.3.1; Cho, Garcia-Molina and Page 1998",
        "Pages that most fetched pages link to."),
    Strategy("batch-pagerank", MERIT, "thesis 4.3.1; Cho, Garcia-Molina and Page 1998; Batch in 000",
        "Pages with the highest PageRank in the graph known so far, computed every K pages.", prepares="pagerank"),
    Strategy("partial-pagerank", PARTIAL, "thesis 4.3.1; Partial in 000",
        "As batch-pagerank; pages found since get the sum of PageRank / out-degree over the pages that link to them.",
        prepares="pagerank"),
    Strategy("opic", OPIC, "thesis 4.3.1; Abiteboul, Preda and Cobena 2003",
        "Pages with the most cash: a fetched page hands its cash on to the pages that it links to."),
    Strategy("opic-kept", MERIT, "Abiteboul, Preda and Cobena 2003",
        "OPIC in which fetched pages keep the cash that comes later, and hand it on whenever scores are recomputed.",
        prepares="opic"),
    Strategy("larger-sites-first", BREADTH_FIRST, "thesis 4.3.1; Length in 000",
        "The site with the most pending pages, breadth-first within a site; ties go to the site that waited longest.",
        sites_by="larger"),
    Strategy("windowed-rankmass", MERIT, "Cho and Schonfeld 2007",
        "Pages that receive most of the PageRank personalised on the seeds, by the links known so far.",
        prepares="rankmass"),
    Strategy("fractional-pagerank", FRACTIONAL, "Alam, Ha and Lee 2009",
        "As OPIC, with a part of the cash lost at every step: PageRank in one pass."),
    Strategy("random-frontier", RANDOM, "ERRATA: random", "A random known page: the baseline of a real crawl."),
    Strategy("random", RANDOM, "thesis 4.3",
        "A random page, known or not: the diagonal that the thesis compares with.", given="all pages"),
    Strategy("mercator", MERCATOR, "002; Heydon and Najork 1999",
        "A FIFO front queue per depth; pages are drawn at random, from each queue half as often as from the one above.",
        sites_by="waiting"),
    Strategy("historical-pagerank-omniscient", MERIT, "thesis 4.3.2",
        "PageRank of an earlier crawl; new pages have their true PageRank.", given="history"),
    Strategy("historical-pagerank-random", MERIT, "thesis 4.3.2",
        "PageRank of an earlier crawl; new pages have that of a random page of it.", given="history"),
    Strategy("historical-pagerank-zero", MERIT, "thesis 4.3.2",
        "PageRank of an earlier crawl; new pages come last.", given="history"),
    Strategy("historical-pagerank-parent", MERIT, "thesis 4.3.2",
        "PageRank of an earlier crawl; new pages have PageRank / out-degree of the page where they were found.",
        given="history", setting="manager.history"),
    Strategy("plugin", MERIT, "your own",
        "Pages with the highest number that a plug-in gives them; pages found since come after those above 0.",
        prepares="plugin", given="a plug-in", setting="plugins.strategy"),
    Strategy("omniscient", MERIT, "thesis 4.3.3; Optimal in 000",
        "Pages with the highest true PageRank, which only an oracle knows.", given="worth"),
)
# fmt: on

STRATEGIES: Final = {strategy.name: strategy for strategy in _ROWS}
LIVE: Final = {strategy.name: strategy for strategy in _ROWS if strategy.live}
"""Strategies that `manager.policy` may name."""


def strategy_named(name: str, among: dict[str, Strategy] = STRATEGIES, key: str = "") -> Strategy:
    """Finds a strategy; UsageError lists the names and the nearest one. `key` is the setting that held the name."""
    if name in among:
        return among[name]
    near = get_close_matches(name, among, 1)
    hint = f"Did you mean {near[0]}? " if near else ""
    what = f"{key} is {name!r}" if key else f"no strategy is called {name!r}"
    if name in STRATEGIES:
        hint = "It needs data that no crawl can have: only the simulator has it. "
    raise UsageError(what, f"{hint}Strategies: {', '.join(among)}.")
