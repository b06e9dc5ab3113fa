"""Recomputes tables and figures of the sources, shows the paper's figures next to ours, and says what agrees.

The sources are *Effective Web Crawling* (C. Castillo, thesis, 2004), chapter 4; its earlier form, cited as 000; and
*Design of a Crawler with Bounded Bandwidth* (M. Diligenti and others, 2004), cited as 003. `paper` says how misprints
are read.
"""
