"""A crawl that was run, beside its simulation on the graph that it found (thesis 4.5)."""

from gossamer.compare.crawled import Crawled, read
from gossamer.compare.finding import compare

__all__ = ["Crawled", "compare", "read"]
