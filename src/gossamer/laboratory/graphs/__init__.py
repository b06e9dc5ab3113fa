"""Graphs of a Web outside a crawl: read, written, generated, converted and measured. Link analysis is in `rank`."""
