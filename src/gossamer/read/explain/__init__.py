"""`gossamer explain`: what a collection knows about a URL or a site, and the reasons for its state.

There are three sources, and the answer names the one used: the *files* (tables and journal: what was found and
requested), the *desk* of a running crawl (`observe/socket.py`), and the *image* that a stop left, which is mapped and
not loaded. After a kill, the committed effects are replayed (`collection.py`). Nothing is written.

Bound: half a second for the whole process at 10^6 pages. So nothing here imports numba, except the replay.
"""
