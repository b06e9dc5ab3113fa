"""Tables and figures of the sources, made again: the paper's figures beside ours, and what agrees.

The sources are *Effective Web Crawling* (C. Castillo, thesis, 2004), chapter 4, its earlier form, cited as 000, and
*Design of a Crawler with Bounded Bandwidth* (M. Diligenti and others, 2004), cited as 003.
Their misprints are read as `paper` says beside each.
"""
