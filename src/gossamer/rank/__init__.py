"""Scores that follow from links (thesis 2.4, 7.3.4): pure functions over a graph, whatever it lies in."""
