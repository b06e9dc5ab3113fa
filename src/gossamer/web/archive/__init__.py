"""WARC files, and the index of bodies that are already archived."""
