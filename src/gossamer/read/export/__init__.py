"""Export: writes a collection to one file for other tools: WACZ for replay, JSON lines for search and corpora.

The sealed data is exported and, with `fresh`, also the committed data of the journal. Archive files are read only up to
the corresponding lengths, so a crawl may run at the same time. Memory is bounded for collections of any size.
"""
