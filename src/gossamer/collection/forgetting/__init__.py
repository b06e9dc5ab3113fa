"""Forgetting: a page or a site leaves the collection, as its owner or a court may ask, and is kept out from then on.

    an order is written           `tombstones.py`: what, why, since when; with the name, until it is carried out
    bodies that others refer to   `bodies.py`: pages that stay and repeat a forgotten body get it, in a new archive file
    segments are rewritten        `tables.py`, under new names; then the manifest, atomically: from here on they count
    the archive is blanked        `blanks.py`: records of the same length in place of the old ones
    all else goes                 `leftovers.py`: URL texts, versions, old segments, caches, what was merged or cut away
    the order becomes a tombstone: time, reason and fingerprint, no name and no content

A kill before the manifest changes leaves the collection as it was, with an order. After that, each step finds what is
left to do in the files themselves. `carry_out` does all of it, as often as it is called; each start of a crawl calls it
before anything else reads the collection.

Forgotten pages and sites keep their numbers, since numbers are places in columns: a page is excluded as `forgotten`,
and its URL and its fingerprint are those of its number. The visits stay as rows that say when a request was made and
how long it took: politeness is reckoned from them. Those that brought a page have the outcome `forgotten`.

Invariants, each a test of the same name: nothing of a forgotten page is left in any file; all rows of other pages stay;
a killed forgetting is finished by the next start; a forgotten page is never requested again; bodies that others repeat
stay readable.
"""
