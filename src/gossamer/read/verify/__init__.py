"""Verify: everything in a collection against everything else. Reads only, so a crawl may run: what is committed counts.

    checksums     manifest lines, segment files, journal records, image, blocks of URLs
    invariants    numbers without gaps, references between tables, sums
    archive       every record, its digests, and that visits and records belong together one to one
    beside        settings, the list of runs, files that nothing names
    index         the CDXJ lines of the segments are those of the records

Memory is bounded: DuckDB's by `MEMORY`, the archive's by the pieces that are checked at once.

The package itself imports nothing: the processes that check the archive need `archive` only, and start sooner.
"""
