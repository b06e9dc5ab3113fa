"""What a crawl of the demonstration Web made of what was there: coverage by kind, duplicates found, texts read.

The truth is computed (`demo.truth`), what was found is read from the tables (`fates`); both are compared URL by URL.
"""

from gossamer.coverage.compare import Coverage, Part, compare
from gossamer.coverage.fates import Fate, fates
from gossamer.coverage.hostile import Ends, compare_ends, ends, lines_of_ends
from gossamer.coverage.served import as_served, depth_of
from gossamer.coverage.text import lines

__all__ = [
    "Coverage",
    "Ends",
    "Fate",
    "Part",
    "as_served",
    "compare",
    "compare_ends",
    "depth_of",
    "ends",
    "fates",
    "lines",
    "lines_of_ends",
]
