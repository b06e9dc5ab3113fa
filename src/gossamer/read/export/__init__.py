"""Export: a collection as one file for others: WACZ for replay, JSON lines for search and corpora.

What is sealed is exported, with `fresh` also what is committed in the journal, and archive files are read to these
lengths, so a crawl may run. Memory is bounded, whatever the size of the collection.
"""
