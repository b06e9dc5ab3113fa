"""Readers of a collection: explain, sql, export and verify only read, also during a crawl; compact needs a stop."""
