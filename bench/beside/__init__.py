"""Compares Gossamer with other crawlers, on the same pages, from the same seeds, on the same machine: `make bench`."""
