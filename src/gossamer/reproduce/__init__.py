"""Tables and figures of the sources, made again: the paper's figures beside ours, and what agrees.

The sources are *Effective Web Crawling* (C. Castillo, thesis, 2004), chapter 4, and its earlier form, cited as 000.
Their misprints are read as `paper` says beside each.
"""
