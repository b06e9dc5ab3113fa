"""Export: a collection as one file for others: WACZ for replay, JSON lines for search and corpora.

Only what is sealed is exported, and archive files are read to their sealed lengths, so a crawl may run. Memory is
bounded, whatever the size of the collection.
"""
