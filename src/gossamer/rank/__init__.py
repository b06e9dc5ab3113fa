"""Link scores (thesis 2.4, 7.3.4): pure functions over a graph, in memory or on disk."""
