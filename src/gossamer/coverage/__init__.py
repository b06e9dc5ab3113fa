"""What a crawl of the demonstration Web made of what was there: coverage by kind, duplicates found, texts read.

The truth is computed (`demo.truth`), what was found is read from the tables (`fates`); both are compared URL by URL.
"""

from gossamer.coverage.compare import Coverage, Part, compare
from gossamer.coverage.fates import Fate, fates
from gossamer.coverage.served import as_served, depth_of
from gossamer.coverage.text import lines

__all__ = ["Coverage", "Fate", "Part", "as_served", "compare", "depth_of", "fates", "lines"]
