"""Verify: checks a collection for damage and contradictions. It checks the committed data and only reads, so a crawl
may run at the same time.

    files         checksums of manifest lines, segment files, journal records, image, blocks of URLs; settings,
                  the list of runs, files that the manifest does not name
    invariants    numbers without gaps, references between tables, sums
    archive       every record and its digests; each visit has its record, and each record its visit
    index         the CDXJ lines of the segments match the records

Memory is bounded: that of DuckDB by `MEMORY`, that of the archive by the pieces that are checked at the same time.

The package itself imports nothing: the processes that check the archive need only `archive`, and so start faster.
"""
