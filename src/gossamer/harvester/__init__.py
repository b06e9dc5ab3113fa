"""Short term: which site is asked now (thesis 3.3, 7.2.2)."""
