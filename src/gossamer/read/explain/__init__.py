"""`gossamer explain`: what a collection knows about a URL or a site, and why it is as it is.

Three sources, each said in the answer: *files* (tables and journal: what was found and what was asked for), the *desk*
of a running crawl (`observe/socket.py`), and the *image* that a stop left behind, mapped and not loaded. After a kill,
what was committed is replayed (`replayed.py`). Nothing is written.

Bound: half a second for the whole process at 10^6 pages, so nothing here imports numba, but for the replay.
"""
