"""Graphs of a Web outside a crawl: read and written, made, converted and measured. Link analysis is in `rank`."""
