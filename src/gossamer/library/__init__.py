"""Gossamer for Python programs: collections that are open for reading, and crawls in processes of their own.

`import gossamer` offers it under short names: `gossamer.open`, `gossamer.crawl`. Nothing is imported before it is used.
"""
