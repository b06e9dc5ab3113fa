"""Static and dynamic scheduling (001), over real sockets: a Web, a server, processes with the crawl's own kernel.

The static mode is for comparison only. It is here, not in `bench/`, because an installed `gossamer reproduce` runs it.
"""
