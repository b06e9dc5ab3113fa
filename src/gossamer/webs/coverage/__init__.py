"""Compares a crawl of the demonstration Web with what was there: coverage by kind, duplicates found, texts read.

The truth is computed (`demo.truth`), the result is read from the tables (`fates`); both are compared URL by URL. Of a
Web that lives, the visits are compared with its history (`lived`).
"""

from gossamer.webs.coverage.compare import Coverage, Part, as_served, compare, depth_of, lines
from gossamer.webs.coverage.fates import Fate, fates
from gossamer.webs.coverage.hostile import Ends, compare_ends, ends, lines_of_ends
from gossamer.webs.coverage.lived import Lived, as_json, judge, lines_of_life

__all__ = [
    "Coverage", "Ends", "Fate", "Lived", "Part", "as_json", "as_served", "compare", "compare_ends", "depth_of", "ends",
    "fates", "judge", "lines", "lines_of_ends", "lines_of_life",
]  # fmt: skip
