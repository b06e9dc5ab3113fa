"""Simulated crawls: the manager, the site queue and what the seeder learns, against a graph of a Web (chapter 4).

Read in this order: `scenario` (what can be set), `servers` (how the simulated Web answers), `loop` (a crawl under a
virtual clock), `run` (from a graph to the order of its pages), `measures` (how good that was).
"""
