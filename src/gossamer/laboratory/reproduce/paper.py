"""The figures of the sources with which reproductions are compared, and where each is found.

Page numbers are those of the thesis; "000" is the earlier form of its chapter 4, "003" the paper on bounded bandwidth.
Only text, tables and captions are used: nothing was read off a printed curve.
"""

from __future__ import annotations

from typing import Final, NamedTuple

TITLES: Final = {
    "table-4.1": ("Table 4.1: the strategies compared", "Thesis, table 4.1, page 64"),
    "abstract": ("The abstract: half of the pages, 80 % of the PageRank", "Thesis, abstract and 4.3"),
    "fig-4.2": ("Figure 4.2: how long downloads take", "Thesis, figure 4.2, page 56, and 4.2.1"),
    "fig-4.3": ("Figure 4.3: the upper bound", "Thesis, figure 4.3, page 60"),
    "fig-4.4": ("Figure 4.4: all strategies, first Web", "Thesis, figure 4.4, page 61, and 4.3.4"),
    "fig-4.5": ("Figure 4.5: all strategies, second Web", "Thesis, figure 4.5, page 62, and 4.3.4"),
    "fig-4.6": ("Figure 4.6: with the PageRank of an earlier crawl", "Thesis, figure 4.6, page 63"),
    "fig-4.7": ("Figure 4.7: many robots", "Thesis, figure 4.7, page 65"),
    "table-4.2": ("Table 4.2: speed-up by more robots", "Thesis, table 4.2, page 66"),
    "fig-4.8": ("Figure 4.8: speed-up by bandwidth", "Thesis, figure 4.8, page 66"),
    "fig-4.9": ("Figure 4.9: pages of a batch by site", "Thesis, figure 4.9, page 67"),
    "fig-4.10": ("Figure 4.10: active robots, one page per connection", "Thesis, figure 4.10, page 68, and 4.4"),
    "fig-4.11": ("Figure 4.11: active robots, 100 pages per connection", "Thesis, figure 4.11, page 69, and 4.4"),
    "fig-4.12": ("Figure 4.12: PageRank by day", "Thesis, figure 4.12, page 70, and 4.5.1"),
    "fig-4.13": ("Figure 4.13: average PageRank by day", "Thesis, figure 4.13, page 71"),
    "fig-4.14": ("Figure 4.14: average PageRank by depth", "Thesis, figure 4.14, page 71"),
    "fig-4.15": ("Figure 4.15: crawl and simulation", "Thesis, figure 4.15, page 72"),
    "fig-4.16": ("Figure 4.16: two crawls by time", "Thesis, figure 4.16, page 73, and 4.5.2"),
    "fig-000-6.5": ("Figure 6.5 of 000: Optimal, Depth, Length, Batch, Partial", "000, figure 6.5, 6.3"),
    "fig-003": ("Figures 1 to 3 of 003: four ways to limit the bandwidth", "003, section 3, figures 1 to 3"),
    "table-001": ("Tables 1 and 2 of 001: dynamic and static scheduling", "001, tables 1 and 2, figures 5 to 7"),
    "freshness": (
        "Freshness: policies of re-visits compared",
        "Thesis, 2.4.2, and the work of Cho and Garcia-Molina that it cites",
    ),
}
"""By name of a reproduction: its title, and where the source has it."""


class Score(NamedTuple):
    """A row of table 4.1."""

    average: float
    """Average cumulative PageRank."""
    tau: float
    """Kendall's tau against the order by PageRank."""


TABLE_4_1: Final = {
    "backlink-count": Score(0.4952, 0.0157),
    "partial-pagerank": Score(0.5221, 0.0236),
    "breadth-first": Score(0.6425, 0.1293),
    "batch-pagerank": Score(0.6341, 0.1961),
    "opic": Score(0.6709, 0.2229),
    "larger-sites-first": Score(0.6749, 0.2498),
    "historical-pagerank-zero": Score(0.6758, 0.3573),
    "historical-pagerank-random": Score(0.6977, 0.3689),
    "historical-pagerank-parent": Score(0.7074, 0.3520),
    "historical-pagerank-omniscient": Score(0.7731, 0.6385),
    "omniscient": Score(0.7427, 0.6504),
}
"""Page 64: r = 1, w = 15 s, c = 1, bandwidth not binding; means of four collections, the historical ones of one. The
text ranks batch-pagerank above breadth-first, the table does not."""

COLLECTION_BATCHES: Final = 35
"""K = 100,000 of 3.5 million pages."""
BATCHES_OF_000: Final = (35, 70, 350)
"""K = 100,000, 50,000 and 10,000 (000, 6.3)."""
WAIT: Final = 15.0
ROBOTS: Final = (1, 64, 256)

TABLE_4_2: Final = {
    200: (0.2, 1.6, 3.0),
    2_000: (0.7, 3.8, 16.0),
    20_000: (1.0, 27.0, 83.3),
    200_000: (1.0, 43.0, 114.1),
    2_000_000: (1.0, 54.3, 204.3),
    20_000_000: (1.0, 54.6, 220.1),
}
"""Page 66, and table 6.1 of 000: bytes per second to the speed-up with 1, 64 and 256 robots, larger-sites-first. The
base is one robot at the highest bandwidth."""

HISTORY_PAGES: Final = 0.55
HISTORY_PAGERANK: Final = 0.72
"""4.3.4, page 63: the share of pages known from the earlier crawl, and their share of the PageRank."""

HALF_PAGERANK_WITHIN: Final = (0.20, 0.30)
"""4.3.4, page 62: share of the pages for half of the PageRank, by batch-pagerank, larger-sites-first and OPIC."""
BREADTH_FIRST_GOOD_UNTIL: Final = 0.25
"""4.3.4: breadth-first is close to the best for the first 20 to 30 % of the pages."""

DOWNLOADS: Final = {1.5: 0.90, 3.0: 0.95}
"""4.2.1 and figure 4.2, page 56: seconds to the share of sequential downloads that are shorter."""
ALMOST_ALL_DOWNLOADS: Final = 10.0
"""4.2.1, after Liu 1998: seconds."""

BATCH_HOURS: Final = {(2_000, 1): 33.0, (20_000, 1): 9.0, (2_000, 100): 29.0, (20_000, 100): 3.0}
"""4.4, page 67, figures 4.10 and 4.11: bytes per second and pages per connection to the hours of a batch."""
BATCH_BYTES: Final = 29 * 3600 * 2_000
"""The most that can be received in 29 hours: the batch, of unknown size, is not larger. This is about 9,000 pages."""


class Milestone(NamedTuple):
    """A point of a crawl: a share of the pages and the share of PageRank that they hold."""

    when: str
    pages: float
    pagerank: float


ABSTRACT: Final = Milestone("abstract", 0.50, 0.80)
REAL: Final = (Milestone("end of day 2", 0.50, 0.80), Milestone("end of day 4", 0.80, 0.95))
"""4.5.1, page 69: more than .95 at the second milestone."""
DAYS: Final = 8
"""4.5.1: the length of the crawl."""
LEVELS: Final = 4
"""4.5.1, page 70: from 3 to 4 clicks from the home page on, PageRank and depth are hardly correlated."""

PROCESSES_001: Final = 5
PAGES_001: Final = 21_000
PAGES_001_TABLE_1: Final = 40_000
"""001, section 3: URLs on 177 hosts. Table 1 counts up to 36,022 pages, so it needs a larger Web."""
TABLE_001_1: Final = {
    10: (10_449, 1_805),
    20: (19_563, 2_886),
    30: (30_333, 4_391),
    40: (34_516, 5_078),
    45: (36_022, 5_713),
}
"""001, table 1: minutes to the pages collected with dynamic and with static scheduling; means of ten runs."""
TABLE_001_2: Final = {
    2: (3.7, 13.8),
    4: (6.0, 27.3),
    6: (8.7, 47.0),
    8: (11.0, 65.0),
    10: (13.1, 80.0),
    12: (14.8, 99.0),
    14: (16.8, 120.0),
    16: (18.0, 145.0),
    18: (19.8, 175.0),
    20: (21.7, 210.0),
}
"""001, table 2: thousands of pages to the minutes with dynamic and with static scheduling (its second 6 is read as 8;
the speed-ups printed for 12 and 14 should be 6.7 and 7.1)."""

NAMES_OF_000: Final = {
    "omniscient": "Optimal",
    "breadth-first": "Depth",
    "larger-sites-first": "Length",
    "batch-pagerank": "Batch",
    "partial-pagerank": "Partial",
}
"""The names of the strategies in 000."""

BANDWIDTH_LIMIT: Final = 140_000
"""003, section 3: bytes per second of its first experiment."""
BANDWIDTH_SECONDS: Final = 40
"""003, figure 1: seconds shown."""
BANDWIDTH_MEANS: Final = {6: 71_788, 2: 64_562}
"""003, section 3: max_d to the average bandwidth. The limit of that experiment and the unit are not given, so only the
ratio can be compared."""
