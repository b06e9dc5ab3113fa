"""Gossamer beside other crawlers, over the same pages, from the same seeds, on the same machine: `make bench`."""
