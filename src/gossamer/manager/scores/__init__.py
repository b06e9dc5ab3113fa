"""Link scores: when they are computed, from which graph, and how."""
