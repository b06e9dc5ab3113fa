"""The gatherer: turns the bytes of a response into charset, title, text, language, sketch, links, digest, directives.

It runs in the worker and needs no state of the crawl. The entry is `gather.py` for a page and `reader.py` for any
response: page, probe, robots.txt or sitemap.
"""
