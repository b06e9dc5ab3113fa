"""Readers of a collection: explain, sql, export, verify, compact. None of them writes to a running crawl."""
