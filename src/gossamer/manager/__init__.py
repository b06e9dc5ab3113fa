"""Long term: which pages are worth asking for next (thesis 3.4, 7.2.1)."""
