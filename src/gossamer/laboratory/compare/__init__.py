"""Compares a real crawl with its simulation on the graph that it found (thesis 4.5)."""

from gossamer.laboratory.compare.crawled import Crawled, read
from gossamer.laboratory.compare.finding import compare

__all__ = ["Crawled", "compare", "read"]
