"""Simulated crawls: the manager, the site queue and the learning of the seeder, run on the graph of a Web (chapter 4).

Read in this order: `scenario` (the settings), `servers` (how the simulated Web answers), `loop` (a crawl under a
virtual clock), `run` (from a graph to the order of its pages). `measured` tells how good that order was.
"""
