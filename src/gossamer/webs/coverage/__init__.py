"""Compares a crawl of the demonstration Web with what was there: coverage by kind, duplicates found, texts read.

The truth is computed (`demo.truth`), the result is read from the tables (`fates`); both are compared URL by URL.
"""

from gossamer.webs.coverage.compare import Coverage, Part, as_served, compare, depth_of, lines
from gossamer.webs.coverage.fates import Fate, fates
from gossamer.webs.coverage.hostile import Ends, compare_ends, ends, lines_of_ends

__all__ = [
    "Coverage", "Ends", "Fate", "Part", "as_served", "compare", "compare_ends", "depth_of", "ends", "fates", "lines",
    "lines_of_ends",
]  # fmt: skip
