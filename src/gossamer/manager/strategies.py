"""Which page next: all strategies by name, those of the seeds and those published since. One table.

A strategy has two levels (thesis, figure 4.1): an order of the pages of a site, by a *code* that the kernels of
`policies` and `profit` know, and an order of the sites that may be asked now (`harvester.queue.SITES_BY`). Some need a
number for each known page that is *prepared* from the links seen so far, every so many pages; some are *given* one that
no crawl can know, and are there to be compared with: those are the simulator's alone. All others may be chosen in
`crawl.toml` as `manager.policy`.

Light to import: settings are checked against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from gossamer.base.errors import UsageError

BREADTH_FIRST: Final = 0
OPIC: Final = 1
VALUE: Final = 2
BACKLINKS: Final = 3
FRACTIONAL: Final = 4
MERIT: Final = 5
PARTIAL: Final = 6
RANDOM: Final = 7
SHALLOW: Final = 8
COMPLETED: Final = 9
MERCATOR: Final = 10

UNIT: Final = 2.0**50
"""Of the PageRank that PARTIAL keeps as cash."""
LAST: Final = -(2.0**64)
"""The score of a page that was fetched before, where those come after all others."""


@dataclass(frozen=True, slots=True)
class Strategy:
    name: str
    code: int
    sentence: str
    source: str
    sites_by: str = "best"
    prepares: str = ""
    """The link score (`rank.prepared`) that is computed anew every so many pages."""
    given: str = ""
    """What it is told that no crawl knows: worth (the true PageRank), history (that of a crawl before), all pages."""

    @property
    def live(self) -> bool:
        return not self.given


_ROWS: Final = (
    Strategy(
        "value",
        VALUE,
        "Pages whose fetch adds most to the value of the index: by quality, and by age if fetched before.",
        "thesis 3.4, 7.2.1",
        prepares="completed",
    ),
    Strategy(
        "completed-pagerank",
        COMPLETED,
        "Pages with the highest PageRank in the graph as it will be, if pages not fetched link as their site does.",
        "our own: rank/completed.py",
        prepares="completed",
    ),
    Strategy(
        "breadth-first",
        BREADTH_FIRST,
        "Pages in the order of discovery.",
        "thesis 4.3.1; Najork and Wiener 2001; Depth in 000",
    ),
    Strategy(
        "shallow-first",
        SHALLOW,
        "Pages fewer clicks from their site's start page, or from a link from outside; then in the order of discovery.",
        "thesis 3.4 (perceived depth)",
    ),
    Strategy(
        "backlink-count",
        BACKLINKS,
        "Pages that most fetched pages link to.",
        "thesis 4.3.1; Cho, Garcia-Molina and Page 1998",
    ),
    Strategy(
        "batch-pagerank",
        MERIT,
        "Pages with the highest PageRank in the graph known so far, computed every K pages.",
        "thesis 4.3.1; Cho, Garcia-Molina and Page 1998; Batch in 000",
        prepares="pagerank",
    ),
    Strategy(
        "partial-pagerank",
        PARTIAL,
        "As batch-pagerank; pages found since have the sum of PageRank over out-degree of the pages that link to them.",
        "thesis 4.3.1; Partial in 000",
        prepares="pagerank",
    ),
    Strategy(
        "opic",
        OPIC,
        "Pages with the most cash: pages hand theirs on to those that they link to.",
        "thesis 4.3.1; Abiteboul, Preda and Cobena 2003",
    ),
    Strategy(
        "opic-kept",
        MERIT,
        "OPIC in which fetched pages keep the cash that comes later, and hand it on whenever scores are computed anew.",
        "Abiteboul, Preda and Cobena 2003",
        prepares="opic",
    ),
    Strategy(
        "larger-sites-first",
        BREADTH_FIRST,
        "The site with the most pending pages, of these breadth-first; ties go to the site that has waited longest.",
        "thesis 4.3.1; Length in 000",
        "larger",
    ),
    Strategy(
        "windowed-rankmass",
        MERIT,
        "Pages to which most of the PageRank personalised on the seeds flows, by the links known so far.",
        "Cho and Schonfeld 2007",
        prepares="rankmass",
    ),
    Strategy(
        "fractional-pagerank",
        FRACTIONAL,
        "As OPIC, with a part of the cash lost at every step: PageRank in one pass.",
        "Alam, Ha and Lee 2009",
    ),
    Strategy("random-frontier", RANDOM, "Any page that is known: the baseline of a real crawl.", "ERRATA: random"),
    Strategy(
        "random",
        RANDOM,
        "Any page at all, known or not: the diagonal that the thesis compares with.",
        "thesis 4.3",
        given="all pages",
    ),
    Strategy(
        "mercator",
        MERCATOR,
        "Front queues by depth, FIFO each; pages are drawn from them at random, twice as often from each better one.",
        "002; Heydon and Najork 1999",
        "waiting",
    ),
    Strategy(
        "historical-pagerank-omniscient",
        MERIT,
        "PageRank of a crawl before; new pages have their true PageRank.",
        "thesis 4.3.2",
        given="history",
    ),
    Strategy(
        "historical-pagerank-random",
        MERIT,
        "PageRank of a crawl before; new pages have that of any page of it.",
        "thesis 4.3.2",
        given="history",
    ),
    Strategy(
        "historical-pagerank-zero",
        MERIT,
        "PageRank of a crawl before; new pages come last.",
        "thesis 4.3.2",
        given="history",
    ),
    Strategy(
        "historical-pagerank-parent",
        MERIT,
        "PageRank of a crawl before; new pages have that of the page where they were found over its out-degree.",
        "thesis 4.3.2",
        given="history",
    ),
    Strategy(
        "omniscient",
        MERIT,
        "Pages with the highest true PageRank, which only an oracle knows.",
        "thesis 4.3.3; Optimal in 000",
        given="worth",
    ),
)

STRATEGIES: Final = {strategy.name: strategy for strategy in _ROWS}
LIVE: Final = {strategy.name: strategy for strategy in _ROWS if strategy.live}
"""Those that `manager.policy` may name."""


def strategy_named(name: str, among: dict[str, Strategy] = STRATEGIES, key: str = "") -> Strategy:
    """UsageError lists what there is, and the nearest. `key`: the setting that named it."""
    if name in among:
        return among[name]
    near = get_close_matches(name, among, 1)
    hint = f"Did you mean {near[0]}? " if near else ""
    what = f"{key} is {name!r}" if key else f"no strategy is called {name!r}"
    if name in STRATEGIES:
        hint = "It needs what no crawl can know: only the simulator has it. "
    raise UsageError(what, f"{hint}There are: {', '.join(among)}.")
